/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Text to tokens and back, by tables that `tflmgen tokenizer` writes: byte pairs with scores, as SentencePiece's BPE
 * models and llama2.c have them. No heap; any bytes are text, whether they are UTF-8 or not.
 */
#ifndef TFLMGEN_TOKENIZER_H
#define TFLMGEN_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

struct tflmgen_tokenizer {
    int32_t tokens;
    const uint32_t *offsets; /* tokens + 1 of them: where the text of each token begins in `texts` */
    const uint8_t *texts;
    const uint16_t *ranks;  /* of scores: the pair whose token has the greatest rank is joined first */
    const uint16_t *sorted; /* tokens in the order of their texts as bytes; of equal texts the first token alone */
    int32_t sorted_tokens;
    const uint16_t *bytes; /* token of each byte, where no token has the character's text */
    int32_t begin;         /* token that begins a text */
    int32_t space;         /* token of a space, which stands before each text; -1: none does */
};

/* A text in two parts. */
struct tflmgen_two_texts {
    const uint8_t *first;
    const uint8_t *second;
    int32_t first_length;
    int32_t length; /* of both */
};

/* -1, 0, 1: the text of a token is before, equal to, behind another one, byte by byte. */
static inline int32_t tflmgen_compare_token(const struct tflmgen_tokenizer *t, int32_t token,
                                            struct tflmgen_two_texts text)
{
    const uint8_t *const own = t->texts + t->offsets[token];
    const int32_t length = (int32_t)(t->offsets[token + 1] - t->offsets[token]);
    for (int32_t i = 0; i < length && i < text.length; ++i) {
        const uint8_t other = i < text.first_length ? text.first[i] : text.second[i - text.first_length];
        if (own[i] != other) {
            return own[i] < other ? -1 : 1;
        }
    }
    return length == text.length ? 0 : length < text.length ? -1 : 1;
}

/* The token of a text, or -1. */
static inline int32_t tflmgen_find_token(const struct tflmgen_tokenizer *t, struct tflmgen_two_texts text)
{
    int32_t low = 0;
    int32_t high = t->sorted_tokens;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const int32_t order = tflmgen_compare_token(t, t->sorted[middle], text);
        if (order == 0) {
            return t->sorted[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

static inline int32_t tflmgen_find_pair(const struct tflmgen_tokenizer *t, int32_t left, int32_t right)
{
    const int32_t left_length = (int32_t)(t->offsets[left + 1] - t->offsets[left]);
    const int32_t right_length = (int32_t)(t->offsets[right + 1] - t->offsets[right]);
    const struct tflmgen_two_texts text = {t->texts + t->offsets[left], t->texts + t->offsets[right], left_length,
                                           left_length + right_length};
    return tflmgen_find_token(t, text);
}

/* Joins pairs, that of the greatest rank first and of these the leftmost, until none is a token. How many are left. */
static inline int32_t tflmgen_join_tokens(const struct tflmgen_tokenizer *t, int32_t *tokens, int32_t count)
{
    for (;;) {
        int32_t best = -1;
        int32_t place = 0;
        for (int32_t i = 0; i + 1 < count; ++i) {
            const int32_t pair = tflmgen_find_pair(t, tokens[i], tokens[i + 1]);
            if (pair >= 0 && (best < 0 || t->ranks[pair] > t->ranks[best])) {
                best = pair;
                place = i;
            }
        }
        if (best < 0) {
            return count;
        }
        tokens[place] = best;
        --count;
        for (int32_t i = place + 1; i < count; ++i) {
            tokens[i] = tokens[i + 1];
        }
    }
}

/* Writes the tokens of `length` bytes, behind the one that begins a text. How many; -1 if `room` is too small for the
 * characters, of which there may be as many as bytes, and two more. Takes time with the square of the length. */
static inline int32_t tflmgen_encode(const struct tflmgen_tokenizer *t, const char *text, int32_t length,
                                     int32_t *tokens, int32_t room)
{
    const uint8_t *const bytes = (const uint8_t *)(const void *)text;
    if (room < 2) {
        return -1;
    }
    tokens[0] = t->begin;
    int32_t count = 1;
    if (length > 0 && t->space >= 0) {
        tokens[count++] = t->space;
    }
    for (int32_t i = 0; i < length;) {
        int32_t end = i + 1;
        while (end < length && end - i < 4 && (bytes[end] & 0xC0u) == 0x80u) {
            ++end;
        }
        const struct tflmgen_two_texts character = {bytes + i, bytes + i, end - i, end - i};
        const int32_t token = tflmgen_find_token(t, character);
        if (token >= 0) {
            if (count == room) {
                return -1;
            }
            tokens[count++] = token;
            i = end;
        }
        for (; i < end; ++i) {
            if (count == room) {
                return -1;
            }
            tokens[count++] = t->bytes[bytes[i]];
        }
    }
    return 1 + tflmgen_join_tokens(t, tokens + 1, count - 1);
}

/* The byte that a token such as <0x0A> stands for, or -1. */
static inline int32_t tflmgen_byte_of_token(const struct tflmgen_tokenizer *t, int32_t token)
{
    const uint8_t *const text = t->texts + t->offsets[token];
    if (t->offsets[token + 1] - t->offsets[token] != 6 || text[0] != '<' || text[1] != '0' || text[2] != 'x' ||
        text[5] != '>') {
        return -1;
    }
    int32_t value = 0;
    for (int32_t i = 3; i < 5; ++i) {
        const uint8_t digit = text[i];
        const bool is_number = digit >= '0' && digit <= '9';
        if (!is_number && !(digit >= 'A' && digit <= 'F')) {
            return -1;
        }
        value = 16 * value + (is_number ? digit - '0' : digit - 'A' + 10);
    }
    return value;
}

/* Writes the bytes of a token behind another one, at most `room`, without a 0 at the end. How many there are, also
 * where they are more; 0 for a token that there is not. A space behind the begin of a text is left out. */
static inline int32_t tflmgen_decode(const struct tflmgen_tokenizer *t, int32_t previous, int32_t token, char *text,
                                     int32_t room)
{
    if (token < 0 || token >= t->tokens) {
        return 0;
    }
    const int32_t byte = tflmgen_byte_of_token(t, token);
    if (byte >= 0) {
        if (room > 0) {
            text[0] = (char)(uint8_t)byte;
        }
        return 1;
    }
    const uint8_t *own = t->texts + t->offsets[token];
    int32_t length = (int32_t)(t->offsets[token + 1] - t->offsets[token]);
    if (previous == t->begin && t->space >= 0 && length > 0 && own[0] == ' ') {
        ++own;
        --length;
    }
    for (int32_t i = 0; i < length && i < room; ++i) {
        text[i] = (char)own[i];
    }
    return length;
}

#endif

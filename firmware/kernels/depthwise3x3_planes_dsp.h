/* Planes of four channels in halves, for depthwise3x3_dsp.h and depthwise3x3_pairs_dsp.h: an input's lines, a word for two
 * columns, and padding around them, a strip of lines at a time. A strip's last lines are the next strip's first.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_PLANES_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_PLANES_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_depthwise3x3_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t padding_value;
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
    int32_t strip; /* output lines at a time */
};

/* `words` words of padding in each of `count` lines, `pitch` bytes apart. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_pad(uint8_t *to, int32_t count, int32_t words, int32_t pitch,
                                                 int32_t plane, int32_t padding_value)
{
    const uint32_t padding = tflmgen_even_bytes(tflmgen_splat4(padding_value));
    for (; count > 0; --count, to += pitch) {
        for (uint32_t *word = (uint32_t *)(void *)to; word < (uint32_t *)(void *)to + words; ++word) {
            word[0] = padding;
            word[plane / 4] = padding;
            word[plane / 2] = padding;
            word[plane / 4 * 3] = padding;
        }
    }
}

/* Lines of four channels, in the order in which the assembly reads it. Bytes of words with two columns of the input or
 * with padding and one; of one behind them with a column and padding; how many lines; padding, in all four bytes; from the
 * end of a line to the next one's start, of the planes and of the input; whether the first word begins with padding. */
struct tflmgen_depthwise3x3_dsp_fill {
    int32_t whole;
    int32_t half;
    int32_t count;
    uint32_t padding;
    int32_t plane_gap;
    int32_t input_gap;
    int32_t padded;
};

/* A word of each plane costs 15 instructions for 8 values, a line 15 more. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_fill_lines(uint8_t *to, const int8_t *input, int32_t pixel, int32_t plane,
                                                        const struct tflmgen_depthwise3x3_dsp_fill *lines)
{
    register uint8_t *r0 __asm__("r0") = to;
    register const int8_t *r1 __asm__("r1") = input;
    register int32_t r2 __asm__("r2") = pixel;
    register int32_t r3 __asm__("r3") = plane;
    register const struct tflmgen_depthwise3x3_dsp_fill *r12 __asm__("r12") = lines;
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldmia.w r12, {r4, r5, r6, r7, r8, r9, r10}\n\t"
                     "push {r4, r5, r8, r9}\n\t"
                     "mov r12, r6\n\t"
                     "mov r11, r7\n\t"
                     "mov lr, r10\n\t"
                     "add r4, r3, r3, lsl #1\n"
                     "1:\n\t"
                     "ldrd r9, r10, [sp]\n\t"
                     "add r9, r9, r0\n\t"
                     "add r10, r10, r9\n\t"
                     "cmp lr, #0\n\t"
                     "beq 2f\n\t"
                     "mov r5, r11\n\t"
                     "ldr r6, [r1]\n\t"
                     "add r1, r1, r2\n\t"
                     "b 3f\n"
                     "4:\n\t"
                     "mov r6, r11\n\t"
                     "ldr r5, [r1]\n\t"
                     "add r1, r1, r2\n\t"
                     "b 3f\n"
                     "2:\n\t"
                     "ldr r5, [r1]\n\t"
                     "ldr r6, [r1, r2]\n\t"
                     "add r1, r1, r2, lsl #1\n"
                     "3:\n\t"
                     "pkhbt r7, r5, r6, lsl #16\n\t"
                     "pkhtb r6, r6, r5, asr #16\n\t"
                     "sxtb16 r5, r7\n\t"
                     "sxtb16 r7, r7, ror #8\n\t"
                     "sxtb16 r8, r6\n\t"
                     "sxtb16 r6, r6, ror #8\n\t"
                     "str r7, [r0, r3]\n\t"
                     "str r8, [r0, r3, lsl #1]\n\t"
                     "str r6, [r0, r4]\n\t"
                     "str r5, [r0], #4\n\t"
                     "cmp r0, r9\n\t"
                     "blo 2b\n\t"
                     "cmp r0, r10\n\t"
                     "blo 4b\n\t"
                     "ldrd r5, r6, [sp, #8]\n\t"
                     "add r0, r0, r5\n\t"
                     "add r1, r1, r6\n\t"
                     "subs r12, r12, #1\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #16\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r12)
                     :
                     : "cc", "memory");
}

/* `count` lines of four channels, `pitch` bytes apart, `words` words each; the first word begins `padding_left` columns
 * before the input's row. padded: words of padding at their ends are there already. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_fill(uint8_t *to, const int8_t *row, int32_t count, int32_t words,
                                                  int32_t pitch, int32_t plane, bool padded,
                                                  const struct tflmgen_depthwise3x3_dsp_s8 *p)
{
    const int32_t pixel = p->input_channels;
    const int32_t columns = p->input_width + p->padding_left;
    const int32_t whole = tflmgen_min_s32(columns >> 1, words);
    const int32_t half = whole < words && columns % 2;
    const int32_t used = 4 * (whole + half);
    const struct tflmgen_depthwise3x3_dsp_fill lines = {
        4 * whole,
        4 * half,
        count,
        tflmgen_splat4(p->padding_value),
        pitch - used,
        (p->input_width - 2 * whole - half + p->padding_left) * pixel,
        p->padding_left};
    if (count <= 0) {
        return;
    }
    tflmgen_depthwise3x3_dsp_fill_lines(to, row, pixel, plane, &lines);
    if (!padded && used < 4 * words) {
        tflmgen_depthwise3x3_dsp_pad(to + used, count, words - used / 4, pitch, plane, p->padding_value);
    }
}

/* Moves the lines that begin `from` bytes on to a plane's start, with the word that is behind the last one. */
TFLMGEN_HELPER void tflmgen_depthwise3x3_dsp_keep(uint8_t *plane, int32_t from, int32_t bytes)
{
    struct four_words {
        uint32_t word[4];
    };
    struct four_words *to = (struct four_words *)(void *)plane;
    const struct four_words *source = (const struct four_words *)(const void *)(plane + from);
    for (int32_t moved = 0; moved < bytes; moved += 16) {
        *to++ = *source++;
    }
    if (bytes > 0) {
        to->word[0] = source->word[0];
    }
}

/* Four planes of `lines` lines of `pitch` bytes, of which `words` words from `start` on are used. */
struct tflmgen_depthwise3x3_dsp_planes {
    uint8_t *first;
    int32_t pitch;
    int32_t lines;
    int32_t words;
    int32_t start;
};

/* What `count` lines of output from y on need of the four channels at `input`. moved: how many lines of output the planes'
 * lines are for already, from y - moved on. first: these are the first channels. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_strip(const struct tflmgen_depthwise3x3_dsp_planes *planes,
                                                   const int8_t *input, int32_t y, int32_t count, int32_t moved,
                                                   bool first, const struct tflmgen_depthwise3x3_dsp_s8 *p)
{
    const int32_t pitch = planes->pitch;
    const int32_t plane = planes->lines * pitch;
    uint8_t *const begin = planes->first + planes->start;
    int32_t next = 0;
    if (y > 0) {
        next = tflmgen_max_s32(3 - p->stride_height, 0);
        for (int32_t i = 0; i < 4; ++i) {
            tflmgen_depthwise3x3_dsp_keep(planes->first + i * plane, moved * p->stride_height * pitch, next * pitch);
        }
    }
    const int32_t in_y = y * p->stride_height - p->padding_top;
    const int32_t last = (count - 1) * p->stride_height + 3;
    const int32_t above = tflmgen_clamp_s32(-in_y, next, last);
    const int32_t below = tflmgen_clamp_s32(p->input_height - in_y, above, last);
    if (first || count < p->output_height) {
        tflmgen_depthwise3x3_dsp_pad(begin + next * pitch, above - next, planes->words, pitch, plane, p->padding_value);
        tflmgen_depthwise3x3_dsp_pad(begin + below * pitch, last - below, planes->words, pitch, plane,
                                     p->padding_value);
    }
    tflmgen_depthwise3x3_dsp_fill(begin + above * pitch,
                                  input + (in_y + above) * p->input_width * p->input_channels, below - above,
                                  planes->words, pitch, plane, !first || y > 0, p);
}

TFLMGEN_HELPER struct tflmgen_depthwise3x3_dsp_planes tflmgen_depthwise3x3_dsp_planes_in(
    void *scratch, int32_t pitch, const struct tflmgen_depthwise3x3_dsp_s8 *p)
{
    const uintptr_t aligned = ((uintptr_t)scratch + (uintptr_t)pitch - 1u) & ~((uintptr_t)pitch - 1u);
    const struct tflmgen_depthwise3x3_dsp_planes planes = {
        (uint8_t *)aligned, pitch, (p->strip - 1) * p->stride_height + 3, (p->output_width + 1) / 2 + 1, 0};
    return planes;
}

#endif

#endif

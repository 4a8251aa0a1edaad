/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Planes of four channels, for depthwise3x3_dsp.h and depthwise3x3_pairs_dsp.h: lines of the input, and padding around
 * them, one plane per channel, a strip of lines at a time. A word holds two neighbouring columns as halves:
 *     line: | x0 x1 | x2 x3 | ...   `pitch` bytes from line to line
 * The last lines of a strip are kept as the first ones of the next strip.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE3X3_PLANES_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE3X3_PLANES_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_depthwise3x3_dsp_s8 {
    TFLMGEN_IMAGE_FIELDS
    int32_t stride_height;
    int32_t padding_top;
    int32_t padding_left;
    int32_t padding_value;
    int32_t output_zero_point;
    int32_t output_min;
    int32_t output_max;
    int32_t strip; /* output lines at a time */
};

/* `words` words of padding in each of `count` lines, `pitch` bytes apart. */
TFLMGEN_UNCLONED void tflmgen_depthwise3x3_dsp_pad(uint8_t *to, int32_t count, int32_t words, int32_t pitch,
                                                   int32_t plane, int32_t padding_value)
{
    const uint32_t padding = tflmgen_even_bytes(tflmgen_splat4(padding_value));
    for (; count > 0; --count, to += pitch) {
        for (tflmgen_u32 *word = (tflmgen_u32 *)(void *)to; word < (tflmgen_u32 *)(void *)to + words; ++word) {
            word[0] = padding;
            word[plane / 4] = padding;
            word[plane / 2] = padding;
            word[plane / 4 * 3] = padding;
        }
    }
}

/* Lines to transpose, in the order in which the assembly reads it. */
struct tflmgen_depthwise3x3_dsp_fill {
    int32_t whole;     /* bytes of a line's words with two columns of the input, or padding and one */
    int32_t half;      /* bytes of the word behind them with a column and padding: 4 or 0 */
    int32_t count;     /* lines */
    uint32_t padding;  /* in all four bytes */
    int32_t plane_gap; /* bytes from the end of a line to the next one's start, of the planes */
    int32_t input_gap; /* and of the input */
    int32_t padded;    /* whether the first word begins with padding */
};

/* Two columns, in r5 and r6, become a word of each plane. */
#define TFLMGEN_DEPTHWISE3X3_DSP_PUT_WORDS \
    "pkhbt r7, r5, r6, lsl #16\n\t"        \
    "pkhtb r6, r6, r5, asr #16\n\t"        \
    "sxtb16 r5, r7\n\t"                    \
    "sxtb16 r7, r7, ror #8\n\t"            \
    "sxtb16 r8, r6\n\t"                    \
    "sxtb16 r6, r6, ror #8\n\t"            \
    "str r7, [r0, r3]\n\t"                 \
    "str r8, [r0, r3, lsl #1]\n\t"         \
    "str r6, [r0, r4]\n\t"                 \
    "str r5, [r0], #4\n\t"

/* A word of each plane costs 15 instructions for 8 values, a line 12 more. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_fill_lines(uint8_t *to, const int8_t *input, int32_t pixel, int32_t plane,
                                                        const struct tflmgen_depthwise3x3_dsp_fill *lines)
{
    TFLMGEN_IN_REGISTERS_4(to, input, pixel, plane);
    register const struct tflmgen_depthwise3x3_dsp_fill *r12 __asm__("r12") = lines;
    /* clang-format off */
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
                     "add r1, r1, r2\n\t" TFLMGEN_DEPTHWISE3X3_DSP_PUT_WORDS
                     "cmp r0, r9\n\t"
                     "bhs 4f\n"
                     "2:\n\t"
                     "ldr r5, [r1]\n\t"
                     "ldr r6, [r1, r2]\n\t"
                     "add r1, r1, r2, lsl #1\n"
                     "3:\n\t" TFLMGEN_DEPTHWISE3X3_DSP_PUT_WORDS
                     "cmp r0, r9\n\t"
                     "blo 2b\n"
                     "4:\n\t"
                     "cmp r0, r10\n\t"
                     "blo 5f\n\t"
                     "ldrd r5, r6, [sp, #8]\n\t"
                     "add r0, r0, r5\n\t"
                     "add r1, r1, r6\n\t"
                     "subs r12, r12, #1\n\t"
                     "bne 1b\n\t"
                     "b 6f\n"
                     "5:\n\t"
                     "mov r6, r11\n\t"
                     "ldr r5, [r1]\n\t"
                     "add r1, r1, r2\n\t"
                     "b 3b\n"
                     "6:\n\t"
                     "add sp, sp, #16\n\t"
                     "pop {r4-r11, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r12)
                     :
                     : "cc", "memory");
    /* clang-format on */
}

/* Moves lines of each plane, `bytes` bytes at `from`, to where the first plane's begin, with the two words behind them:
 * 16 bytes take 4 instructions, a plane 7 more. */
TFLMGEN_SHARED void tflmgen_depthwise3x3_dsp_keep(uint8_t *to, const uint8_t *from, int32_t plane, int32_t bytes)
{
    TFLMGEN_IN_REGISTERS_4(to, from, plane - bytes, bytes);
    __asm__ volatile("push {r4-r7, lr}\n\t"
                     "mov lr, #4\n"
                     "1:\n\t"
                     "add r12, r0, r3\n"
                     "2:\n\t"
                     "ldmia.w r1!, {r4, r5, r6, r7}\n\t"
                     "stmia.w r0!, {r4, r5, r6, r7}\n\t"
                     "cmp r0, r12\n\t"
                     "bne 2b\n\t"
                     "ldrd r4, r5, [r1]\n\t"
                     "strd r4, r5, [r0]\n\t"
                     "add r0, r0, r2\n\t"
                     "add r1, r1, r2\n\t"
                     "subs lr, lr, #1\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r7, lr}"
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
                     :
                     : "r12", "cc", "memory");
}

/* Four planes, `plane` bytes apart, of lines of `pitch` bytes, of which `words` words from `start` on are used;
 * their lines of input and how they are filled. */
struct tflmgen_depthwise3x3_dsp_planes {
    uint8_t *first;
    int32_t plane;
    int32_t pitch;
    int32_t words;
    int32_t start;
    int32_t line; /* bytes of the input's */
    struct tflmgen_depthwise3x3_dsp_fill fill;
};

/* Lines of ((strip - 1) * stride_height + 3) lines of output each; their first words begin `start` bytes on. */
TFLMGEN_HELPER struct tflmgen_depthwise3x3_dsp_planes
tflmgen_depthwise3x3_dsp_planes_in(void *scratch, int32_t pitch, int32_t start,
                                   const struct tflmgen_depthwise3x3_dsp_s8 *p)
{
    const uintptr_t aligned = ((uintptr_t)scratch + (uintptr_t)pitch - 1u) & ~((uintptr_t)pitch - 1u);
    const int32_t words = (p->output_width + 1) / 2 + 1;
    const int32_t columns = p->input_width + p->padding_left;
    const int32_t whole = tflmgen_min_s32(columns >> 1, words);
    const int32_t half = whole < words && columns % 2;
    const struct tflmgen_depthwise3x3_dsp_planes planes = {
        (uint8_t *)aligned,
        ((p->strip - 1) * p->stride_height + 3) * pitch,
        pitch,
        words,
        start,
        p->input_width * p->input_channels,
        {4 * whole, 4 * half, 0, tflmgen_splat4(p->padding_value), pitch - 4 * (whole + half),
         (columns - 2 * whole - half) * p->input_channels, p->padding_left}};
    return planes;
}

/* What `count` lines of output from y on need of the four channels at `input`. moved: how many lines of output the
 * planes' lines are for already, from y - moved on. first: these are the first channels. */
TFLMGEN_UNCLONED void tflmgen_depthwise3x3_dsp_strip(struct tflmgen_depthwise3x3_dsp_planes *planes,
                                                     const int8_t *input, int32_t y, int32_t count, int32_t moved,
                                                     bool first, const struct tflmgen_depthwise3x3_dsp_s8 *p)
{
    const int32_t pitch = planes->pitch;
    const int32_t plane = planes->plane;
    const int32_t stride = p->stride_height;
    uint8_t *to = planes->first + planes->start;
    int32_t in_y = y * stride - p->padding_top;
    int32_t lines = (count - 1) * stride + 3;
    if (y > 0) {
        const int32_t kept = 3 - stride;
        tflmgen_depthwise3x3_dsp_keep(planes->first, planes->first + moved * stride * pitch, plane, kept * pitch);
        to += kept * pitch;
        in_y += kept;
        lines -= kept;
    }
    const int32_t above = tflmgen_clamp_s32(-in_y, 0, lines);
    const int32_t inside = tflmgen_clamp_s32(p->input_height - in_y, above, lines) - above;
    const int32_t below = lines - above - inside;
    /* Padding around the input is the same for all channels, where all lines have their places. */
    const bool pad = first || count < p->output_height;
    if (pad && above > 0) {
        tflmgen_depthwise3x3_dsp_pad(to, above, planes->words, pitch, plane, p->padding_value);
    }
    to += above * pitch;
    if (inside > 0) {
        const int32_t used = planes->fill.whole + planes->fill.half;
        planes->fill.count = inside;
        tflmgen_depthwise3x3_dsp_fill_lines(to, input + (in_y + above) * planes->line, p->input_channels, plane,
                                            &planes->fill);
        if (first && y == 0 && used < 4 * planes->words) {
            tflmgen_depthwise3x3_dsp_pad(to + used, inside, planes->words - used / 4, pitch, plane, p->padding_value);
        }
    }
    if (pad && below > 0) {
        tflmgen_depthwise3x3_dsp_pad(to + inside * pitch, below, planes->words, pitch, plane, p->padding_value);
    }
}

#endif

#endif

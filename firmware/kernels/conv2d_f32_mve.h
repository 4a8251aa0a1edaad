/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_2D of float32 for cores with MVE and its floating point (MVE-F), as conv2d.h has it, without groups.
 *
 * One window times eight output channels at a time, or times the last four. The weights are a stream of groups of eight
 * channels, the last of four where no more are left, in the order of use; channels that fill it up are zeros:
 *
 *     eight channels' weights of value 0 | of value 1 | ... | 8 biases
 *
 * Each sum adds its products one after the other, rounding the product and the sum, and its bias last: the results are
 * those of rows_f32.h. But vectors take numbers below FLT_MIN, denormal ones, for zero.
 */
#ifndef TFLMGEN_KERNELS_CONV2D_F32_MVE_H
#define TFLMGEN_KERNELS_CONV2D_F32_MVE_H

#include "mve.h"
#include "window.h"

#if TFLMGEN_HAS_MVE_F32

#define TFLMGEN_CONV2D_F32_MVE_CHANNELS 8 /* of a group */

struct tflmgen_conv2d_f32_mve {
    TFLMGEN_DILATED_WINDOW_FIELDS
    bool backward; /* a line's pixels from the last to the first */
    float output_min;
    float output_max;
};

/* The values of the input that a window has: `planes` times `runs` runs of values side by side. The assembly reads the
 * first five fields. */
struct tflmgen_conv2d_f32_mve_runs {
    int32_t quads;      /* of four values in a run */
    int32_t remainder;  /* values of a run behind those */
    int32_t input_skip; /* bytes from the end of a run to the next */
    int32_t eight_skip; /* the same in the stream, for groups of eight channels */
    int32_t four_skip;  /* and of four */
    int32_t runs;
    int32_t planes;
    int32_t input_step; /* values from a plane to the next */
    int32_t weight_step;
    int32_t terms; /* of a window */
    int32_t channels;
    float least;
    float greatest;
};

/* A value in register `x` times its weights of eight channels: 2 VLDRW + 2 VMUL + 2 VADD; of four, half of that. */
/* clang-format off */
#define TFLMGEN_CONV2D_F32_MVE_FOUR(x, a, b)       \
    "vldrw.u32 " a ", [%[w]], #16\n\t"             \
    "vmul.f32 " a ", " a ", " x "\n\t"             \
    "vadd.f32 %q[low], %q[low], " a "\n\t"
#define TFLMGEN_CONV2D_F32_MVE_EIGHT(x, a, b)      \
    "vldrw.u32 " a ", [%[w]], #16\n\t"             \
    "vmul.f32 " a ", " a ", " x "\n\t"             \
    "vldrw.u32 " b ", [%[w]], #16\n\t"             \
    "vadd.f32 %q[low], %q[low], " a "\n\t"         \
    "vmul.f32 " b ", " b ", " x "\n\t"             \
    "vadd.f32 %q[high], %q[high], " b "\n\t"
/* clang-format on */

/* The sums of a group of channels. Four values: LDM + 24 + LE; one: LDR + 6 + LE; between runs 10. */
#define TFLMGEN_CONV2D_F32_MVE_SUMS(VALUE, skip)                                                                     \
    __asm__ volatile(                                                                                                \
        "0:\n\t"                                                                                                     \
        "ldr r4, [%[r]]\n\t"                                                                                         \
        "wls lr, r4, 2f\n"                                                                                           \
        "1:\n\t"                                                                                                     \
        "ldm %[x]!, {r4, r5, r6, r8}\n\t" VALUE("r4", "q2", "q3") VALUE("r5", "q4", "q5") VALUE("r6", "q2", "q3")    \
            VALUE("r8", "q4", "q5") "le lr, 1b\n"                                                                    \
                                    "2:\n\t"                                                                         \
                                    "ldr r4, [%[r], #4]\n\t"                                                         \
                                    "wls lr, r4, 4f\n"                                                               \
                                    "3:\n\t"                                                                         \
                                    "ldr r4, [%[x]], #4\n\t" VALUE("r4", "q2", "q3") "le lr, 3b\n"                   \
                                                                                     "4:\n\t"                        \
                                                                                     "subs %[runs], #1\n\t"          \
                                                                                     "beq 5f\n\t"                    \
                                                                                     "ldr r4, [%[r], #8]\n\t"        \
                                                                                     "ldr r5, [%[r], #" skip "]\n\t" \
                                                                                     "add %[x], %[x], r4\n\t"        \
                                                                                     "add %[w], %[w], r5\n\t"        \
                                                                                     "b 0b\n"                        \
                                                                                     "5:"                            \
        : [low] "+w"(low), [high] "+w"(high), [x] "+r"(x), [w] "+r"(w), [runs] "+r"(runs)                            \
        : [r] "r"(r)                                                                                                 \
        : "r4", "r5", "r6", "r8", "lr", "q2", "q3", "q4", "q5", "cc", "memory")
/* clang-format on */

/* All channels of one window. first: values of the window in front of the first one inside the input. */
TFLMGEN_SHARED void tflmgen_conv2d_f32_mve_groups(const tflmgen_f32 *window, const tflmgen_f32 *stream, int32_t first,
                                                  tflmgen_f32 *output, const struct tflmgen_conv2d_f32_mve_runs *r)
{
    const int32_t planes = r->runs > 0 && r->quads + r->remainder > 0 ? r->planes : 0;
    const float32x4_t least = vdupq_n_f32(r->least);
    const float32x4_t greatest = vdupq_n_f32(r->greatest);
    for (int32_t left = r->channels; left > 0; left -= TFLMGEN_CONV2D_F32_MVE_CHANNELS) {
        const int32_t lanes = left > 4 ? 8 : 4;
        const tflmgen_f32 *const bias = stream + r->terms * lanes;
        float32x4_t low = vdupq_n_f32(0.0f);
        float32x4_t high = vdupq_n_f32(0.0f);
        for (int32_t plane = 0; plane < planes; ++plane) {
            const tflmgen_f32 *x = window + plane * r->input_step;
            const tflmgen_f32 *w = stream + (first + plane * r->weight_step) * lanes;
            int32_t runs = r->runs;
            if (lanes == 8) {
                TFLMGEN_CONV2D_F32_MVE_SUMS(TFLMGEN_CONV2D_F32_MVE_EIGHT, "12");
            } else {
                TFLMGEN_CONV2D_F32_MVE_SUMS(TFLMGEN_CONV2D_F32_MVE_FOUR, "16");
            }
        }
        low = tflmgen_clamp_f32_mve(vaddq_f32(low, vldrwq_f32(bias)), least, greatest);
        tflmgen_write_f32_mve(output, low, left);
        if (lanes == 8) {
            high = tflmgen_clamp_f32_mve(vaddq_f32(high, vldrwq_f32(bias + 4)), least, greatest);
            tflmgen_write_f32_mve(output + 4, high, left - 4);
        }
        output += lanes;
        stream = bias + lanes;
    }
}

/* stream: packed weights and biases. */
TFLMGEN_KERNEL void tflmgen_conv2d_f32_mve(const tflmgen_f32 *input, const tflmgen_f32 *stream, tflmgen_f32 *output,
                                           const struct tflmgen_conv2d_f32_mve *p)
{
    const int32_t tap = p->input_channels;
    const int32_t row = p->filter_width * tap;
    const int32_t line = p->dilation_height * p->input_width * tap;
    struct tflmgen_conv2d_f32_mve_runs runs = {0};
    runs.terms = p->filter_height * row;
    runs.channels = p->output_channels;
    runs.least = p->output_min;
    runs.greatest = p->output_max;
    runs.input_step = line;
    runs.weight_step = row;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t out_y = 0; out_y < p->output_height; ++out_y) {
            const struct tflmgen_taps y = TFLMGEN_TAPS_OF_ROW(p, out_y);
            const int32_t first_y = y.origin + y.first * p->dilation_height;
            for (int32_t i = 0; i < p->output_width; ++i) {
                const int32_t out_x = p->backward ? p->output_width - 1 - i : i;
                const struct tflmgen_taps x = TFLMGEN_TAPS_OF_COLUMN(p, out_x);
                const int32_t first_x = x.origin + x.first * p->dilation_width;
                const int32_t columns = x.end - x.first;
                const int32_t lines = y.end - y.first;
                const int32_t length = p->dilation_width == 1 ? columns * tap : tap;
                runs.quads = length / 4;
                runs.remainder = length % 4;
                if (p->dilation_width == 1) {
                    runs.runs = lines;
                    runs.planes = 1;
                    runs.input_skip = 4 * (line - length);
                    runs.four_skip = 16 * (row - length);
                } else {
                    runs.runs = columns;
                    runs.planes = lines;
                    runs.input_skip = 4 * (p->dilation_width - 1) * tap;
                    runs.four_skip = 0;
                }
                runs.eight_skip = 2 * runs.four_skip;
                tflmgen_conv2d_f32_mve_groups(input + (first_y * p->input_width + first_x) * tap, stream,
                                              y.first * row + x.first * tap, output + out_x * p->output_channels,
                                              &runs);
            }
            output += p->output_width * p->output_channels;
        }
        input += p->input_height * p->input_width * tap;
    }
}

#endif

#endif

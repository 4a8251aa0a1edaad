/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* CONV_3D: tensors [batch, depth, height, width, channels].
 *
 * Files have the output channels of a filter last, and so has the kernel for MVE, whose vectors are of them; the other
 * one has them first. */
#ifndef TFLMGEN_KERNELS_CONV3D_H
#define TFLMGEN_KERNELS_CONV3D_H

#include "dot.h"
#include "mve.h"
#include "window.h"

/* Extents along depth, height and width. */
struct tflmgen_conv3d_f32 {
    int32_t batches;
    int32_t input[3];
    int32_t input_channels;
    int32_t output[3];
    int32_t output_channels;
    int32_t filter[3];
    int32_t stride[3];
    int32_t dilation[3];
    int32_t padding[3];
    float output_min;
    float output_max;
};

/* STATEMENT for each run of values side by side in the input: of `length` values from `x` on, whose weights begin
 * `place` values into a filter. */
#define TFLMGEN_CONV3D_EACH_RUN(input, taps, p, STATEMENT)                                                        \
    for (int32_t kz = taps[0].first; kz < taps[0].end; ++kz) {                                                    \
        const int32_t plane = (taps[0].origin + kz * p->dilation[0]) * p->input[1];                               \
        for (int32_t ky = taps[1].first; ky < taps[1].end; ++ky) {                                                \
            const int32_t line = (plane + taps[1].origin + ky * p->dilation[1]) * p->input[2];                    \
            const int32_t step = p->dilation[2] == 1 ? taps[2].end - taps[2].first : 1;                           \
            const int32_t length = step * p->input_channels;                                                      \
            for (int32_t kx = taps[2].first; kx < taps[2].end; kx += step) {                                      \
                const tflmgen_f32 *x = input + (line + taps[2].origin + kx * p->dilation[2]) * p->input_channels; \
                const int32_t place = ((kz * p->filter[1] + ky) * p->filter[2] + kx) * p->input_channels;         \
                STATEMENT                                                                                         \
            }                                                                                                     \
        }                                                                                                         \
    }

/* All output channels of one window. bias: one per output channel, or NULL. */
TFLMGEN_HELPER void tflmgen_conv3d_outputs_f32(const tflmgen_f32 *input, const tflmgen_f32 *filter,
                                               const tflmgen_f32 *bias, tflmgen_f32 *output,
                                               const struct tflmgen_taps *taps, const struct tflmgen_conv3d_f32 *p)
{
    const int32_t filter_size = p->filter[0] * p->filter[1] * p->filter[2] * p->input_channels;
    for (int32_t channel = 0; channel < p->output_channels; ++channel, filter += filter_size) {
        float sum = 0.0f;
        TFLMGEN_CONV3D_EACH_RUN(input, taps, p, sum = tflmgen_dot_f32(sum, x, filter + place, length);)
        output[channel] = tflmgen_clamp_f32(sum + (bias ? bias[channel] : 0.0f), p->output_min, p->output_max);
    }
}

/* Defines a kernel that computes OUTPUTS of each window. */
#define TFLMGEN_CONV3D(name, OUTPUTS)                                                                    \
    TFLMGEN_KERNEL void name(const tflmgen_f32 *restrict input, const tflmgen_f32 *restrict filter,      \
                             const tflmgen_f32 *restrict bias, tflmgen_f32 *restrict output,             \
                             const struct tflmgen_conv3d_f32 *p)                                         \
    {                                                                                                    \
        const int32_t positions = p->output[0] * p->output[1] * p->output[2];                            \
        for (int32_t batch = 0; batch < p->batches; ++batch) {                                           \
            int32_t at[3] = {0, 0, 0};                                                                   \
            for (int32_t position = 0; position < positions; ++position, output += p->output_channels) { \
                struct tflmgen_taps taps[3];                                                             \
                for (int32_t d = 0; d < 3; ++d) {                                                        \
                    const int32_t origin = at[d] * p->stride[d] - p->padding[d];                         \
                    taps[d] = tflmgen_taps_inside(origin, p->dilation[d], p->filter[d], p->input[d]);    \
                }                                                                                        \
                OUTPUTS(input, filter, bias, output, taps, p);                                           \
                for (int32_t d = 2; d >= 0 && ++at[d] == p->output[d]; --d) {                            \
                    at[d] = 0;                                                                           \
                }                                                                                        \
            }                                                                                            \
            input += p->input[0] * p->input[1] * p->input[2] * p->input_channels;                        \
        }                                                                                                \
    }

TFLMGEN_CONV3D(tflmgen_conv3d_f32, tflmgen_conv3d_outputs_f32)

#if TFLMGEN_HAS_MVE_F32
/* `count` values, each times its weights of up to four output channels: LDR, VPST, VLDRW, ADD, VMUL, VADD, LE. */
TFLMGEN_HELPER float32x4_t tflmgen_conv3d_four_mve(float32x4_t sums, const tflmgen_f32 *x, const tflmgen_f32 *weights,
                                                   int32_t count, int32_t channels, int32_t step)
{
    __asm__ volatile("vctp.32 %[channels]\n\t"
                     "wls lr, %[count], 2f\n"
                     "1:\n\t"
                     "ldr r4, [%[x]], #4\n\t"
                     "vpst\n\t"
                     "vldrwt.u32 q0, [%[weights]]\n\t"
                     "add %[weights], %[weights], %[step]\n\t"
                     "vmul.f32 q0, q0, r4\n\t"
                     "vadd.f32 %q[sums], %q[sums], q0\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [sums] "+w"(sums), [x] "+r"(x), [weights] "+r"(weights)
                     : [count] "r"(count), [channels] "r"(channels), [step] "r"(step)
                     : "r4", "lr", "q0", "cc", "memory");
    return sums;
}

/* The same of eight: LDR, 2 VLDRW, ADD, 2 VMUL, 2 VADD, LE. */
TFLMGEN_HELPER void tflmgen_conv3d_eight_mve(float32x4_t *sums, const tflmgen_f32 *x, const tflmgen_f32 *weights,
                                             int32_t count, int32_t step)
{
    float32x4_t low = sums[0], high = sums[1];
    __asm__ volatile("wls lr, %[count], 2f\n"
                     "1:\n\t"
                     "ldr r4, [%[x]], #4\n\t"
                     "vldrw.u32 q0, [%[weights]]\n\t"
                     "vmul.f32 q0, q0, r4\n\t"
                     "vldrw.u32 q1, [%[weights], #16]\n\t"
                     "vadd.f32 %q[low], %q[low], q0\n\t"
                     "vmul.f32 q1, q1, r4\n\t"
                     "add %[weights], %[weights], %[step]\n\t"
                     "vadd.f32 %q[high], %q[high], q1\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [low] "+w"(low), [high] "+w"(high), [x] "+r"(x), [weights] "+r"(weights)
                     : [count] "r"(count), [step] "r"(step)
                     : "r4", "lr", "q0", "q1", "memory");
    sums[0] = low;
    sums[1] = high;
}

/* Each sum adds its products one after the other; but vectors take numbers below FLT_MIN for zero. */
TFLMGEN_HELPER void tflmgen_conv3d_outputs_lanes(const tflmgen_f32 *input, const tflmgen_f32 *filter,
                                                 const tflmgen_f32 *bias, tflmgen_f32 *output,
                                                 const struct tflmgen_taps *taps, const struct tflmgen_conv3d_f32 *p)
{
    const float32x4_t least = vdupq_n_f32(p->output_min), greatest = vdupq_n_f32(p->output_max);
    const int32_t channels = p->output_channels, bytes = 4 * channels;
    for (int32_t channel = 0; channel < channels;) {
        const int32_t left = channels - channel, vectors = left >= 8 ? 2 : 1;
        float32x4_t sums[2] = {vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
        const tflmgen_f32 *const weights = filter + channel;
        if (vectors == 2) {
            TFLMGEN_CONV3D_EACH_RUN(input, taps, p,
                                    tflmgen_conv3d_eight_mve(sums, x, weights + place * channels, length, bytes);)
        } else {
            TFLMGEN_CONV3D_EACH_RUN(
                input, taps, p,
                sums[0] = tflmgen_conv3d_four_mve(sums[0], x, weights + place * channels, length, left, bytes);)
        }
        for (int32_t i = 0; i < vectors; ++i, channel += 4) {
            const mve_pred16_t inside = vctp32q((uint32_t)(channels - channel));
            const float32x4_t sum = bias ? vaddq_f32(sums[i], vldrwq_z_f32(bias + channel, inside)) : sums[i];
            tflmgen_write_f32_mve(output + channel, tflmgen_clamp_f32_mve(sum, least, greatest), channels - channel);
        }
    }
}

TFLMGEN_CONV3D(tflmgen_conv3d_lanes_f32, tflmgen_conv3d_outputs_lanes)
#endif

#endif

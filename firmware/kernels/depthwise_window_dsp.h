/* DEPTHWISE_CONV_2D in int8 with any window and one output per input channel, for cores with the DSP extension: four
 * channels of one output pixel at a time.
 *
 * The weights are a stream of groups of four channels c0..c3, taps in pairs (t, u), the last one filled up with zeros:
 *     four biases | (c0 t, c1 t, c0 u, c1 u) (c2 t, c3 t, c2 u, c3 u) times `pairs` | s0 + 256 s1 + ... |
 *     m0 m1 m2 m3 | ra0 ra1 ra2 ra3
 * The last group are the last four channels, some of them computed twice where channels are no multiple of four.
 */
#ifndef TFLMGEN_KERNELS_DEPTHWISE_WINDOW_DSP_H
#define TFLMGEN_KERNELS_DEPTHWISE_WINDOW_DSP_H

#include "dsp.h"
#include "window.h"

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

struct tflmgen_depthwise_window_dsp_s8 {
    TFLMGEN_WINDOW_FIELDS
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t padding_value;
    int32_t pairs;
    int32_t sign_fix; /* what a negative sum's rescaled value loses: 128, or 0 where it is clamped */
    int32_t output_min;
    int32_t output_max;
};

TFLMGEN_HELPER int8_t tflmgen_depthwise_window_dsp_finish(int32_t sum, int32_t multiplier, int32_t addend,
                                                          uint32_t shift, int32_t sign_fix)
{
    const int32_t scaled = tflmgen_smmla(sum << 8, multiplier, addend) + (sum >> 31) * sign_fix;
    return (int8_t)tflmgen_saturate_s8(scaled >> (shift & 255u));
}

/* Four channels of one pixel; a pair of taps, 8 MACs: 2 LDR of addresses, 2 LDR, 2 PKH, 8 SXTB16, 2 LDR, 4 SMLAD and 3
 * to loop. Returns where the next group begins. */
TFLMGEN_HELPER const uint32_t *tflmgen_depthwise_window_dsp_group(const int8_t *const *taps, int32_t channel,
                                                                  const uint32_t *stream, int8_t *output,
                                                                  const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    int32_t sum0 = (int32_t)stream[0];
    int32_t sum1 = (int32_t)stream[1];
    int32_t sum2 = (int32_t)stream[2];
    int32_t sum3 = (int32_t)stream[3];
    stream += 4;
    for (const uint32_t *end = stream + 2 * p->pairs; stream != end; stream += 2, taps += 2) {
        const uint32_t t = tflmgen_load4(taps[0] + channel);
        const uint32_t u = tflmgen_load4(taps[1] + channel);
        const uint32_t low = (t & 0xFFFFu) | u << 16;
        const uint32_t high = t >> 16 | (u & 0xFFFF0000u);
        sum0 = tflmgen_smlad(tflmgen_even_bytes(low), tflmgen_even_bytes(stream[0]), sum0);
        sum1 = tflmgen_smlad(tflmgen_odd_bytes(low), tflmgen_odd_bytes(stream[0]), sum1);
        sum2 = tflmgen_smlad(tflmgen_even_bytes(high), tflmgen_even_bytes(stream[1]), sum2);
        sum3 = tflmgen_smlad(tflmgen_odd_bytes(high), tflmgen_odd_bytes(stream[1]), sum3);
    }
    const uint32_t shifts = stream[0];
    const int32_t *factors = (const int32_t *)(stream + 1);
    output[0] = tflmgen_depthwise_window_dsp_finish(sum0, factors[0], factors[4], shifts, p->sign_fix);
    output[1] = tflmgen_depthwise_window_dsp_finish(sum1, factors[1], factors[5], shifts >> 8, p->sign_fix);
    output[2] = tflmgen_depthwise_window_dsp_finish(sum2, factors[2], factors[6], shifts >> 16, p->sign_fix);
    output[3] = tflmgen_depthwise_window_dsp_finish(sum3, factors[3], factors[7], shifts >> 24, p->sign_fix);
    return stream + 9;
}

/* Where each tap of a window begins; `outside` where it is not in the input, and for a tap that is none. */
TFLMGEN_SHARED void tflmgen_depthwise_window_dsp_taps(const int8_t **taps, const int8_t *outside, const int8_t *input,
                                                      int32_t origin_y, int32_t origin_x,
                                                      const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    for (int32_t ky = 0; ky < p->filter_height; ++ky) {
        const int32_t y = origin_y + ky * p->dilation_height;
        const bool inside = y >= 0 && y < p->input_height;
        for (int32_t kx = 0; kx < p->filter_width; ++kx) {
            const int32_t x = origin_x + kx * p->dilation_width;
            const bool here = inside && x >= 0 && x < p->input_width;
            *taps++ = here ? input + (y * p->input_width + x) * p->input_channels : outside;
        }
    }
    if (p->filter_height * p->filter_width % 2) {
        *taps = outside;
    }
}

/* scratch: 2 * pairs addresses, and a pixel of padding. */
TFLMGEN_SHARED void tflmgen_depthwise_window_dsp_s8(const int8_t *input, const uint32_t *stream, void *scratch,
                                                    int8_t *output, const struct tflmgen_depthwise_window_dsp_s8 *p)
{
    const int8_t **const taps = (const int8_t **)scratch;
    int8_t *const outside = (int8_t *)(taps + 2 * p->pairs);
    const int32_t channels = p->input_channels;
    for (int32_t channel = 0; channel < channels; ++channel) {
        outside[channel] = (int8_t)p->padding_value;
    }
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t y = 0; y < p->output_height; ++y) {
            for (int32_t x = 0; x < p->output_width; ++x, output += channels) {
                const uint32_t *at = stream;
                tflmgen_depthwise_window_dsp_taps(taps, outside, input, y * p->stride_height - p->padding_top,
                                                  x * p->stride_width - p->padding_left, p);
                for (int32_t channel = 0; channel < channels; channel += 4) {
                    const int32_t first = tflmgen_min_s32(channel, channels - 4);
                    at = tflmgen_depthwise_window_dsp_group(taps, first, at, output + first, p);
                }
            }
        }
        input += p->input_height * p->input_width * channels;
    }
    if (p->output_min > -128 || p->output_max < 127) {
        const int32_t count = p->batches * p->output_height * p->output_width * channels;
        tflmgen_clamp_dsp_s8(output - count, count, p->output_min, p->output_max);
    }
}

#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Copies of weights from slow flash to idle bytes of the arena, where their operator reads them many times.
 *
 * With TFLMGEN_PREFETCH_HOOK the application defines both functions, for a DMA, say. tflmgen_prefetch() may return
 * before the bytes have arrived, tflmgen_prefetch_wait() once all have. Between the two nobody reads or writes the
 * destination. Source and destination are aligned to 4 bytes.
 */
#ifndef TFLMGEN_KERNELS_PREFETCH_H
#define TFLMGEN_KERNELS_PREFETCH_H

#include <string.h>

#include "common.h"

#ifdef TFLMGEN_PREFETCH_HOOK

void tflmgen_prefetch(void *destination, const void *source, uint32_t bytes);
void tflmgen_prefetch_wait(void);

#else

/* Words that are read in one burst. */
struct tflmgen_prefetch_burst {
    tflmgen_u32 words[4];
};

static __attribute__((noinline, unused)) void tflmgen_prefetch(void *destination, const void *source, uint32_t bytes)
{
    struct tflmgen_prefetch_burst *to = destination;
    const struct tflmgen_prefetch_burst *from = source;
    for (; bytes >= sizeof *to; bytes -= (uint32_t)sizeof *to) {
        *to++ = *from++;
    }
    memcpy(to, from, bytes);
}

TFLMGEN_HELPER void tflmgen_prefetch_wait(void)
{
}

#endif

#endif

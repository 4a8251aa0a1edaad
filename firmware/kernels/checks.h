/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Checks of the device's memory while it runs: guard bytes beside arrays, and the CRC-32 of constants.
 *
 * All accesses are volatile: the compiler knows what a constant array holds and what was written beside it, and would
 * check what it knows instead of what is there. */
#ifndef TFLMGEN_KERNELS_CHECKS_H
#define TFLMGEN_KERNELS_CHECKS_H

#include "common.h"
#include "memory.h"

/* Bytes of a guard, and how many lie before an array so that it stays aligned. */
#define TFLMGEN_GUARD 16
#define TFLMGEN_GUARD_BEFORE TFLMGEN_ARENA_ALIGNMENT

/* A constant array. */
typedef struct {
    const void *data;
    uint32_t bytes;
} tflmgen_constant;

/* Byte i of a guard. Neighbours differ, so that no constant that is written over a guard passes for it. */
TFLMGEN_KERNEL uint8_t tflmgen_guard_byte(uint32_t i)
{
    return (uint8_t)(0xC3u + 37u * i);
}

TFLMGEN_KERNEL void tflmgen_set_guards(uint8_t *const *guards, uint32_t count)
{
    for (uint32_t g = 0; g < count; ++g) {
        volatile uint8_t *const guard = guards[g];
        for (uint32_t i = 0; i < TFLMGEN_GUARD; ++i) {
            guard[i] = tflmgen_guard_byte(i);
        }
    }
}

TFLMGEN_KERNEL bool tflmgen_are_guards_intact(uint8_t *const *guards, uint32_t count)
{
    for (uint32_t g = 0; g < count; ++g) {
        const volatile uint8_t *const guard = guards[g];
        for (uint32_t i = 0; i < TFLMGEN_GUARD; ++i) {
            if (guard[i] != tflmgen_guard_byte(i)) {
                return false;
            }
        }
    }
    return true;
}

/* The CRC-32 of IEEE 802.3 (zlib's: polynomial 0xEDB88320, reflected) over all bytes of some arrays, half a byte at a
 * time: a table of 64 bytes, and no unit of the device. */
TFLMGEN_KERNEL uint32_t tflmgen_crc32(const tflmgen_constant *constants, uint32_t count)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t c = 0; c < count; ++c) {
        const volatile uint8_t *const data = constants[c].data;
        const uint32_t bytes = constants[c].bytes;
        for (uint32_t i = 0; i < bytes; ++i) {
            crc ^= data[i];
            crc = (crc >> 4) ^ table[crc & 15u];
            crc = (crc >> 4) ^ table[crc & 15u];
        }
    }
    return ~crc;
}

#endif

/* Where generated models put their arena, state and weights. Define the macros on the command line to choose other sections. */
#ifndef TFLMGEN_MEMORY_H
#define TFLMGEN_MEMORY_H

#ifndef TFLMGEN_ARENA_ALIGNMENT
#define TFLMGEN_ARENA_ALIGNMENT 16
#endif

#if defined(TFLMGEN_ARENA_SECTION)
#define TFLMGEN_ARENA __attribute__((section(TFLMGEN_ARENA_SECTION), aligned(TFLMGEN_ARENA_ALIGNMENT)))
#else
#define TFLMGEN_ARENA __attribute__((aligned(TFLMGEN_ARENA_ALIGNMENT)))
#endif

#if defined(TFLMGEN_STATE_SECTION)
#define TFLMGEN_STATE __attribute__((section(TFLMGEN_STATE_SECTION), aligned(8)))
#else
#define TFLMGEN_STATE __attribute__((aligned(8)))
#endif

#if defined(TFLMGEN_WEIGHTS_SECTION)
#define TFLMGEN_WEIGHTS __attribute__((section(TFLMGEN_WEIGHTS_SECTION), aligned(4)))
#else
#define TFLMGEN_WEIGHTS __attribute__((aligned(4)))
#endif

#endif

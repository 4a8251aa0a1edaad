/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* tflmgen: what every generated model offers, whatever it computes. */
#ifndef TFLMGEN_H
#define TFLMGEN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TFLMGEN_OK = 0,
    TFLMGEN_ERROR_BOUND = 1,      /* a dimension known only at run time exceeds the bound that memory was planned for */
    TFLMGEN_ERROR_ITERATIONS = 2, /* a loop ran longer than it was allowed to */
    TFLMGEN_ERROR_ARGUMENT = 3,   /* an input's value is outside of what the model accepts */
    TFLMGEN_ERROR_STATE = 4,      /* what was to be loaded is no state of this model */
    TFLMGEN_MORE = 5,             /* no error: the input comes by rows, and this was not the last one */
    TFLMGEN_ERROR_MEMORY = 6,     /* bytes beside the arena or the state were overwritten: --check-memory */
    TFLMGEN_ERROR_WEIGHTS = 7     /* the constants in flash have changed: --check-weights */
} tflmgen_status;

typedef struct {
    const char *name;
    void *(*data)(void); /* where the tensor lies now; ask again after each invoke and reset */
    uint32_t bytes;      /* its capacity */
    uint32_t row_bytes;  /* 0, or what each element of the dimensions takes that are known at run time only */
    int32_t (*dim)(uint32_t number,
                   int32_t size); /* then: sets such a dimension of an input (-1 if there are not as many),
                                                    tells that of an output; else NULL */
} tflmgen_tensor;

typedef struct {
    const char *key;
    tflmgen_status (*invoke)(void);
    const tflmgen_tensor *inputs;
    const tflmgen_tensor *outputs;
    uint16_t input_count;
    uint16_t output_count;
} tflmgen_signature;

typedef struct {
    const char *name;
    const tflmgen_signature *signatures;
    uint16_t signature_count;
    void (*reset)(void);  /* back to the initial state; NULL for a model without state */
    uint32_t fingerprint; /* of the model's file, the build options and the version of tflmgen */
} tflmgen_model;

#ifdef __cplusplus
}
#endif
#endif

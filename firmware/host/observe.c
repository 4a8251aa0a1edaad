/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Runs a model with an observer of its intermediate values, in the process of who loads it as a shared library: what
 * tflmgen links to the library of a model that was emitted with its layers shown. */
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <tflmgen.h>
#include <tflmgen/memory.h>

enum { ENDED_BY_OBSERVER = -1 };

/* Gets what tflmgen_layer() gets, and may change the data; other than 0 ends the invoke. */
typedef int (*tflmgen_observer)(uint32_t step, uint32_t output, void *data, uint32_t bytes);

static tflmgen_observer active_observer;
static const uint8_t *observed_steps;
static jmp_buf before_invoke;

void tflmgen_layer(uint32_t step, uint32_t output, const void *data, uint32_t bytes)
{
    if (observed_steps[step] != 0 && active_observer(step, output, (void *)(uintptr_t)data, bytes) != 0) {
        longjmp(before_invoke, 1); /* over generated code only, which keeps nothing that would have to be released */
    }
}

/* The signature's status, or ENDED_BY_OBSERVER. `steps` has, for each step, whether the observer wants to see it. */
int tflmgen_invoke_observed(const tflmgen_signature *signature, tflmgen_observer observer, const uint8_t *steps);
int tflmgen_invoke_observed(const tflmgen_signature *signature, tflmgen_observer observer, const uint8_t *steps)
{
    active_observer = observer;
    observed_steps = steps;
    if (setjmp(before_invoke) != 0) {
        return ENDED_BY_OBSERVER;
    }
    return (int)signature->invoke();
}

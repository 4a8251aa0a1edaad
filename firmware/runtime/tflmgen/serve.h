/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
/* Serves a model over a byte link: inputs in, invoke, outputs out, with counts. docs/understand/protocol.md
 * describes the protocol. */
#ifndef TFLMGEN_SERVE_H
#define TFLMGEN_SERVE_H

#include <tflmgen.h>
#include <tflmgen/board.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TFLMGEN_PROTOCOL_VERSION 2
#define TFLMGEN_PROTOCOL_PAYLOAD 512

/* Answers requests until the link is closed (on a UART: for ever). Resets the model first. Not reentrant. */
void tflmgen_serve(const tflmgen_model *model, const tflmgen_link *link);

#ifdef __cplusplus
}
#endif
#endif

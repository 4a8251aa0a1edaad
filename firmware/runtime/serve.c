/* SPDX-License-Identifier: Apache-2.0 OR LicenseRef-tflmgen-output */
#include <tflmgen/serve.h>

#include <stddef.h>
#include <string.h>

#include "frame.h"
#include "measure.h"

enum { HELLO = 0x01, RESET, WRITE, INVOKE, READ, SIGNATURE, TENSOR, ROWS };
enum { DIMS = 8 };
enum { LAYER = 0x40, REPLY = 0x80, FAULT = 0xFE, REFUSED = 0xFF };
enum { UNKNOWN_REQUEST = 1, BAD_ARGUMENT = 2, NOT_OPEN = 3 };
#define INVOKE_REPLY_BYTES 13u
#define LAYER_HEAD_BYTES 14u

static const tflmgen_link *active_link;
static uint8_t active_sequence;
static uint32_t layer_frames; /* sent since the INVOKE began */

typedef struct {
    const tflmgen_model *model;
    const tflmgen_link *link;
    bool open;    /* there was a HELLO since the start */
    bool invoked; /* the last request was an INVOKE; then its sequence number and reply */
    uint8_t sequence;
    uint8_t reply[INVOKE_REPLY_BYTES];
} server;

static uint32_t get16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}
static uint32_t get32(const uint8_t *p)
{
    return get16(p) | get16(p + 2) << 16;
}
static uint8_t *put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    return p + 2;
}
static uint8_t *put32(uint8_t *p, uint32_t value)
{
    return put16(put16(p, value), value >> 16);
}

static void answer(const server *self, const tflmgen_frame *request, const uint8_t *head, uint32_t head_length,
                   const void *body, uint32_t body_length)
{
    const uint32_t room = TFLMGEN_PROTOCOL_PAYLOAD - head_length;
    tflmgen_frame_send(self->link, (uint8_t)(request->type | REPLY), request->sequence, head, head_length, body,
                       body_length < room ? body_length : room);
}

static void refuse(const server *self, const tflmgen_frame *request, uint8_t reason)
{
    tflmgen_frame_send(self->link, REFUSED, request->sequence, &reason, 1, NULL, 0);
}

static const tflmgen_signature *find_signature(const server *self, const tflmgen_frame *request)
{
    const uint32_t index = request->length >= 2 ? get16(request->payload) : UINT32_MAX;
    return index < self->model->signature_count ? &self->model->signatures[index] : NULL;
}

static const tflmgen_tensor *find_tensor(const tflmgen_signature *signature, bool output, uint32_t index)
{
    if (signature == NULL) {
        return NULL;
    }
    if (output) {
        return index < signature->output_count ? &signature->outputs[index] : NULL;
    }
    return index < signature->input_count ? &signature->inputs[index] : NULL;
}

/* The bytes that a WRITE or READ names by signature, tensor, offset and count; NULL where there are none such. */
static uint8_t *find_range(const server *self, const tflmgen_frame *request, bool output, uint32_t count)
{
    const tflmgen_tensor *tensor = find_tensor(find_signature(self, request), output, get16(request->payload + 2));
    const uint32_t offset = get32(request->payload + 4);
    if (tensor == NULL || offset > tensor->bytes || count > tensor->bytes - offset) {
        return NULL;
    }
    return (uint8_t *)tensor->data() + offset;
}

static void on_hello(server *self, const tflmgen_frame *request)
{
    uint8_t head[9];
    self->open = true;
    head[0] = TFLMGEN_PROTOCOL_VERSION;
    put32(put16(put16(head + 1, TFLMGEN_PROTOCOL_PAYLOAD), self->model->signature_count), self->model->fingerprint);
    answer(self, request, head, sizeof head, self->model->name, (uint32_t)strlen(self->model->name));
}

static void on_reset(server *self, const tflmgen_frame *request)
{
    if (self->model->reset != NULL) {
        self->model->reset();
    }
    answer(self, request, NULL, 0, NULL, 0);
}

static void on_signature(server *self, const tflmgen_frame *request)
{
    const tflmgen_signature *signature = find_signature(self, request);
    uint8_t head[4];
    if (signature == NULL) {
        refuse(self, request, BAD_ARGUMENT);
        return;
    }
    put16(put16(head, signature->input_count), signature->output_count);
    answer(self, request, head, sizeof head, signature->key, (uint32_t)strlen(signature->key));
}

static void on_tensor(server *self, const tflmgen_frame *request)
{
    const uint8_t *p = request->payload;
    const tflmgen_tensor *tensor = NULL;
    uint8_t head[8];
    if (request->length == 5) {
        tensor = find_tensor(find_signature(self, request), p[2] != 0, get16(p + 3));
    }
    if (tensor == NULL) {
        refuse(self, request, BAD_ARGUMENT);
        return;
    }
    put32(put32(head, tensor->bytes), tensor->row_bytes);
    answer(self, request, head, sizeof head, tensor->name, (uint32_t)strlen(tensor->name));
}

/* Sets the dimensions of an input that are known at run time only, or tells those of an output. */
static void on_dims(server *self, const tflmgen_frame *request)
{
    const uint8_t *p = request->payload;
    const bool output = request->length == 5;
    const uint32_t given = request->length >= 5 ? (request->length - 5u) / 4 : 0;
    const tflmgen_tensor *tensor = NULL;
    uint8_t head[4 * DIMS];
    uint32_t count = 0;
    if ((output || (given > 0 && given <= DIMS && request->length == 5 + 4 * given)) && (p[2] != 0) == output) {
        tensor = find_tensor(find_signature(self, request), output, get16(p + 3));
    }
    if (tensor == NULL || tensor->dim == NULL || (!output && tensor->dim(given, 0) >= 0)) {
        refuse(self, request, BAD_ARGUMENT);
        return;
    }
    for (; output ? count < DIMS && tensor->dim(count, 0) >= 0 : count < given; count++) {
        put32(head + 4 * count, (uint32_t)tensor->dim(count, output ? 0 : (int32_t)get32(p + 5 + 4 * count)));
    }
    answer(self, request, head, 4 * count, NULL, 0);
}

static void on_write(server *self, const tflmgen_frame *request)
{
    const uint32_t count = request->length >= 8 ? request->length - 8u : 0;
    uint8_t *to = request->length >= 8 ? find_range(self, request, false, count) : NULL;
    if (to == NULL) {
        refuse(self, request, BAD_ARGUMENT);
        return;
    }
    memcpy(to, request->payload + 8, count);
    answer(self, request, NULL, 0, NULL, 0);
}

static void on_read(server *self, const tflmgen_frame *request)
{
    const uint8_t *from = NULL;
    uint32_t count = 0;
    if (request->length == 10) {
        count = get16(request->payload + 8);
        if (count <= TFLMGEN_PROTOCOL_PAYLOAD) {
            from = find_range(self, request, true, count);
        }
    }
    if (from == NULL) {
        refuse(self, request, BAD_ARGUMENT);
        return;
    }
    answer(self, request, NULL, 0, from, count);
}

static void on_invoke(server *self, const tflmgen_frame *request)
{
    const tflmgen_signature *signature = find_signature(self, request);
    tflmgen_measurement measured;
    if (signature == NULL) {
        refuse(self, request, BAD_ARGUMENT);
        return;
    }
    if (!self->invoked || self->sequence != request->sequence) {
        active_sequence = request->sequence;
        layer_frames = 0;
        tflmgen_timed_invoke(signature, self->link->stack_limit, &measured);
        self->reply[0] = (uint8_t)measured.status;
        put32(put32(put32(self->reply + 1, measured.stack_bytes), measured.stack_room), measured.cycles);
    }
    answer(self, request, self->reply, sizeof self->reply, NULL, 0);
}

/* Declared where the libraries see it, in tflmgen/memory.h. */
void tflmgen_layer(uint32_t step, uint32_t output, const void *data, uint32_t bytes);
void tflmgen_layer(uint32_t step, uint32_t output, const void *data, uint32_t bytes)
{
    uint32_t at = 0;
    if (active_link == NULL) {
        return;
    }
    do {
        const uint32_t room = TFLMGEN_PROTOCOL_PAYLOAD - LAYER_HEAD_BYTES;
        const uint32_t count = bytes - at < room ? bytes - at : room;
        const uint8_t *from = bytes == 0 ? NULL : (const uint8_t *)data + at;
        uint8_t head[LAYER_HEAD_BYTES];
        put32(put16(put32(put32(head, layer_frames++), step), output), at);
        tflmgen_frame_send(active_link, LAYER, active_sequence, head, sizeof head, from, count);
        at += count;
    } while (at < bytes);
}

static void serve_one(server *self, const tflmgen_frame *request)
{
    if (!self->open && request->type != HELLO) { /* restarted: what the computer has written and invoked is gone */
        refuse(self, request, NOT_OPEN);
        return;
    }
    switch (request->type) {
    case HELLO:
        on_hello(self, request);
        break;
    case RESET:
        on_reset(self, request);
        break;
    case WRITE:
        on_write(self, request);
        break;
    case INVOKE:
        on_invoke(self, request);
        break;
    case READ:
        on_read(self, request);
        break;
    case SIGNATURE:
        on_signature(self, request);
        break;
    case TENSOR:
        on_tensor(self, request);
        break;
    case ROWS:
        on_dims(self, request);
        break;
    default:
        refuse(self, request, UNKNOWN_REQUEST);
        break;
    }
    self->invoked = request->type == INVOKE;
    self->sequence = request->sequence;
}

void tflmgen_serve(const tflmgen_model *model, const tflmgen_link *link)
{
    server self = {.model = model, .link = link};
    tflmgen_frame request;
    active_link = link;
    if (model->reset != NULL) {
        model->reset();
    }
    while (tflmgen_frame_receive(link, &request)) {
        serve_one(&self, &request);
    }
    active_link = NULL;
}

void tflmgen_on_fault(const tflmgen_fault *fault)
{
    uint8_t head[20];
    if (active_link == NULL) {
        return;
    }
    put32(put32(put32(put32(put32(head, fault->exception), fault->pc), fault->lr), fault->cfsr), fault->address);
    int byte;
    do { /* again for each request, since the first report may be lost on the way */
        tflmgen_frame_send(active_link, FAULT, 0, head, sizeof head, NULL, 0);
        do {
            byte = active_link->get();
        } while (byte >= 0 && byte != (int)TFLMGEN_FRAME_SYNC);
    } while (byte >= 0);
}

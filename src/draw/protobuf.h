// SPDX-License-Identifier: Apache-2.0
// Messages in the wire format of protocol buffers, as far as traces need it.
#ifndef BRAID_DRAW_PROTOBUF_H
#define BRAID_DRAW_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

// A message that is being made; messages within it are made apart, then added.
struct protobuf {
    struct array bytes;
    bool out_of_memory;
};

// Empties it for the next message.
static inline void protobuf_clear(struct protobuf *message)
{
    message->bytes.num = 0;
}

void braid_protobuf_add_number(struct protobuf *message, uint32_t field, uint64_t number);
void braid_protobuf_add_fixed(struct protobuf *message, uint32_t field, uint64_t number);
void braid_protobuf_add_bytes(struct protobuf *message, uint32_t field, const void *bytes,
                              size_t num);
void braid_protobuf_add_text(struct protobuf *message, uint32_t field, const char *text);
void braid_protobuf_add_message(struct protobuf *message, uint32_t field,
                                const struct protobuf *inner);

#endif

// SPDX-License-Identifier: Apache-2.0
// Messages in the wire format of protocol buffers: fields are tagged varints, fixed words or bytes.
#include "draw/protobuf.h"

#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED_64 = 1, WIRE_BYTES = 2 };

static void append(struct protobuf *message, const void *bytes, size_t num)
{
    if (num == 0)
        return;
    void *to = braid_array_append(&message->bytes, num, 1);
    if (to)
        memcpy(to, bytes, num);
    else
        message->out_of_memory = true;
}

static void append_varint(struct protobuf *message, uint64_t number)
{
    unsigned char bytes[10];
    size_t num = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[num++] = (unsigned char)(number | 0x80);
    bytes[num++] = (unsigned char)number;
    append(message, bytes, num);
}

static void append_tag(struct protobuf *message, uint32_t field, enum wire_type type)
{
    append_varint(message, (uint64_t)field << 3 | type);
}

void braid_protobuf_add_number(struct protobuf *message, uint32_t field, uint64_t number)
{
    append_tag(message, field, WIRE_VARINT);
    append_varint(message, number);
}

void braid_protobuf_add_fixed(struct protobuf *message, uint32_t field, uint64_t number)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    append_tag(message, field, WIRE_FIXED_64);
    append(message, bytes, sizeof(bytes));
}

void braid_protobuf_add_bytes(struct protobuf *message, uint32_t field, const void *bytes,
                              size_t num)
{
    append_tag(message, field, WIRE_BYTES);
    append_varint(message, num);
    append(message, bytes, num);
}

void braid_protobuf_add_text(struct protobuf *message, uint32_t field, const char *text)
{
    braid_protobuf_add_bytes(message, field, text, strlen(text));
}

void braid_protobuf_add_message(struct protobuf *message, uint32_t field,
                                const struct protobuf *inner)
{
    message->out_of_memory = message->out_of_memory || inner->out_of_memory;
    braid_protobuf_add_bytes(message, field, inner->bytes.items, inner->bytes.num);
}

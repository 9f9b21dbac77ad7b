// SPDX-License-Identifier: Apache-2.0
// A send or receive of memory that a rank owns. It is an operation as a program would add it, and
// both ends also tell its buffer and range.
#include "ranks/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "ranks/rank_graph.h"

enum { NUM_TAGS = 32768, WIDE_BYTES = 8 };

uint64_t braid_transfer_key(const char *name, uint64_t offset, uint64_t bytes)
{
    uint64_t key = hash_bytes(name, strlen(name) + 1);
    key = hash_more(key, &offset, sizeof(offset));
    key = hash_more(key, &bytes, sizeof(bytes));
    return key ? key : 1;
}

// Messages of over 2 GiB go as words where they can.
static void count_elements(uint64_t bytes, braid_communication *out)
{
    bool is_wide = bytes > INT32_MAX && bytes % WIDE_BYTES == 0;
    out->element = is_wide ? BRAID_ELEMENT_UINT64 : BRAID_ELEMENT_BYTE;
    out->count = is_wide ? bytes / WIDE_BYTES : bytes;
}

static braid_status add_named(braid_graph *graph, const struct transfer *transfer, const char *name)
{
    const struct graph_resource *resource = graph_resource_at(graph, transfer->resource.index);
    uint64_t key = braid_transfer_key(braid_names_at(&graph->names, resource->name),
                                      resource->offset, resource->bytes);
    const braid_access access = { transfer->resource,
                                  transfer->receives ? BRAID_WRITE : BRAID_READ };
    braid_communication communication = {
        .node = { .name = name, .accesses = &access, .num_accesses = 1 },
        .operation = transfer->receives ? BRAID_RANK_RECEIVE : BRAID_RANK_SEND,
        .communicator = transfer->communicator,
        .peer = transfer->peer,
        .tag = (uint32_t)(key % NUM_TAGS),
    };
    count_elements(resource->bytes, &communication);
    *(transfer->receives ? &communication.to_resource : &communication.from_resource) =
        transfer->resource;
    return braid_graph_append_communication(graph, &communication, key, NULL);
}

braid_status braid_graph_add_transfer(braid_graph *graph, const struct transfer *transfer)
{
    char buffer[256];
    const char *what =
        braid_graph_resource_name(graph, transfer->resource.index, buffer, sizeof(buffer));
    size_t size = strlen(what) + sizeof(" from 4294967295");
    char *name = malloc(size);
    if (!name)
        return braid_error_no_memory("the name of a transfer");
    snprintf(name, size, "%s %s %u", what, transfer->receives ? "from" : "to", transfer->peer);
    braid_status status = add_named(graph, transfer, name);
    free(name);
    return status;
}

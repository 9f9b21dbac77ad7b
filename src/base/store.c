// SPDX-License-Identifier: Apache-2.0
// Arrays that are freed together.
#include "base/store.h"

#include <stdint.h>

#include "base/host_memory.h"

struct store_piece {
    struct store_piece *before;
    _Alignas(max_align_t) unsigned char bytes[];
};

void *braid_store_take(struct store *store, size_t num, size_t bytes)
{
    const size_t most = SIZE_MAX - sizeof(struct store_piece);
    struct store_piece *piece = NULL;
    if (bytes == 0 || num <= most / bytes)
        piece = braid_allocate_zeroed(1, sizeof(*piece) + num * bytes);
    store->failed = store->failed || !piece;
    if (!piece)
        return NULL;
    piece->before = store->last;
    store->last = piece;
    return piece->bytes;
}

void braid_store_finish(struct store *store)
{
    while (store->last) {
        struct store_piece *before = store->last->before;
        braid_free(store->last);
        store->last = before;
    }
}

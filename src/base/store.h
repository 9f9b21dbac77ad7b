// SPDX-License-Identifier: Apache-2.0
// Arrays that are freed together.
#ifndef BRAID_BASE_STORE_H
#define BRAID_BASE_STORE_H

#include <stdbool.h>
#include <stddef.h>

struct store_piece;

// Zero-initialised is empty.
struct store {
    struct store_piece *last;
    bool failed; // memory ran out
};

// num * bytes of zeroed memory, until the store is finished; NULL, and `failed`, when memory runs
// out.
void *braid_store_take(struct store *store, size_t num, size_t bytes);
void braid_store_finish(struct store *store);

#endif

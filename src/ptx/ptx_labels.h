// SPDX-License-Identifier: Apache-2.0
// The labels of a function by their names.
#ifndef BRAID_PTX_PTX_LABELS_H
#define BRAID_PTX_PTX_LABELS_H

#include "ptx/ptx_read.h"

struct ptx_label {
    struct ptx_word name; // length 0: the place is free
    size_t index;         // the statement's
};

struct ptx_labels {
    struct ptx_label *places; // by the hash of the name
    size_t num_places;        // a power of two
};

// Room for the labels among so many statements. False: memory ran out.
bool braid_ptx_labels_create(size_t num, struct ptx_labels *out_labels);
void braid_ptx_labels_finish(struct ptx_labels *labels);

// The place of the name, or the free one where it goes.
struct ptx_label *braid_ptx_find_label(const struct ptx_labels *labels, struct ptx_word name);

// The name that a branch goes to; length 0: it is no branch to one place.
struct ptx_word braid_ptx_target_of(const struct ptx_statement *statement);

#endif

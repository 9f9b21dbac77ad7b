// SPDX-License-Identifier: Apache-2.0
// The labels of a function by their names.
#include "ptx/ptx_labels.h"

#include "base/hash.h"
#include "base/host_memory.h"

bool braid_ptx_labels_create(size_t num, struct ptx_labels *out_labels)
{
    size_t room = 16;
    while (room < 2 * num)
        room *= 2;
    out_labels->places = braid_allocate_zeroed(room, sizeof(struct ptx_label));
    out_labels->num_places = room;
    return out_labels->places != NULL;
}

void braid_ptx_labels_finish(struct ptx_labels *labels)
{
    braid_free(labels->places);
}

struct ptx_label *braid_ptx_find_label(const struct ptx_labels *labels, struct ptx_word name)
{
    size_t at = hash_bytes(name.at, name.length) & (labels->num_places - 1);
    while (labels->places[at].name.length && !ptx_same_word(labels->places[at].name, name))
        at = (at + 1) & (labels->num_places - 1);
    return &labels->places[at];
}

struct ptx_word braid_ptx_target_of(const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    bool is_plain =
        statement->kind == PTX_INSTRUCTION && (braid_ptx_word_is(statement->word, "bra") ||
                                               braid_ptx_word_is(statement->word, "bra.uni"));
    return is_plain ? braid_ptx_next_word(&at) : (struct ptx_word){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// The meaning of names in a module or a function.
#include "accesses/code_names.h"

#include <string.h>

#include "base/array.h"
#include "base/host_memory.h"

enum { FEWEST_SLOTS = 64 };

// Names of C++ are long, and begin or end alike: eight bytes at a time.
static uint32_t hash_of(struct ptx_word word)
{
    uint64_t hash = word.length, part;
    size_t at = 0;
    for (; at + sizeof(part) <= word.length; at += sizeof(part)) {
        memcpy(&part, word.at + at, sizeof(part));
        hash = (hash ^ part) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    part = 0;
    memcpy(&part, word.at + at, word.length - at);
    hash = (hash ^ part) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash ^ hash >> 32);
}

static struct code_name *find_slot(const struct code_names *names, struct ptx_word word,
                                   uint32_t hash)
{
    size_t at = hash & (names->num_slots - 1);
    while (names->slots[at].word.length &&
           !(names->slots[at].hash == hash && ptx_same_word(names->slots[at].word, word)))
        at = (at + 1) & (names->num_slots - 1);
    return &names->slots[at];
}

struct code_name *braid_code_names_find(const struct code_names *names, struct ptx_word word)
{
    struct code_name *slot = names->num_slots ? find_slot(names, word, hash_of(word)) : NULL;
    return slot && slot->word.length ? slot : NULL;
}

// At least half of the slots are free.
static bool grow(struct code_names *names)
{
    struct code_names grown = *names;
    if (2 * (names->num + 1) <= names->num_slots)
        return true;
    grown.num_slots = names->num_slots ? 2 * names->num_slots : FEWEST_SLOTS;
    grown.slots = braid_allocate_zeroed(grown.num_slots, sizeof(*grown.slots));
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < names->num_slots; i++) {
        if (names->slots[i].word.length)
            *find_slot(&grown, names->slots[i].word, names->slots[i].hash) = names->slots[i];
    }
    braid_free(names->slots);
    *names = grown;
    return true;
}

struct code_name *braid_code_names_put(struct code_names *names, struct ptx_word word,
                                       enum code_name_kind kind, uint32_t index)
{
    if (!grow(names))
        return NULL;
    const uint32_t hash = hash_of(word);
    struct code_name *slot = find_slot(names, word, hash);
    if (!slot->word.length) {
        *slot = (struct code_name){ .word = word, .kind = kind, .index = index, .hash = hash };
        names->num++;
    } else if (slot->kind != kind) {
        slot->kind = CODE_NAME_MIXED;
    }
    return slot;
}

void braid_code_names_finish(struct code_names *names)
{
    braid_free(names->slots);
    *names = (struct code_names){ 0 };
}

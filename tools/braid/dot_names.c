// SPDX-License-Identifier: Apache-2.0
// A table of different names, numbered in the order of their first appearance.
#include "dot_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/big_memory.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "dot_attributes.h"

// The name's beginning stands here as well: a text with a million nodes looks each up in no order,
// and each memory that it reads is far away.
struct dot_name_slot {
    uint64_t start;  // its first eight bytes, and zeros behind a name that ends there
    uint32_t hash;   // mixed so that its low bits depend on all bytes
    uint32_t number; // 1 + its number; 0: there is none
};

struct dot_name_chunk {
    struct dot_name_chunk *before;
    size_t used, room;
    char bytes[];
};

// The slot of a name, without its number.
static struct dot_name_slot read_slot(const char *name)
{
    struct dot_name_slot slot = { 0 };
    size_t i = 0;
    for (; i < sizeof(slot.start) && name[i]; i++)
        slot.start |= (uint64_t)(unsigned char)name[i] << 8 * i;
    uint64_t hash = (slot.start ^ slot.start >> 32) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
    if (i == sizeof(slot.start))
        hash = hash_more(hash, name + i, strlen(name + i));
    slot.hash = (uint32_t)((hash * 0x9e3779b97f4a7c15) >> 32);
    return slot;
}

// A name whose eighth byte is zero has ended there: the slot has all of it.
static bool is_name(const struct dot_names *names, const struct dot_name_slot *slot,
                    const struct dot_name_slot *wanted, const char *name)
{
    const bool is_short = slot->start >> 56 == 0;
    return slot->hash == wanted->hash && slot->start == wanted->start &&
           (is_short || strcmp(names->names[slot->number - 1], name) == 0);
}

// Where a name is, or would be.
static struct dot_name_slot *find(const struct dot_names *names, const char *name,
                                  const struct dot_name_slot *wanted)
{
    uint32_t at = wanted->hash & (names->num_slots - 1);
    while (names->slots[at].number && !is_name(names, &names->slots[at], wanted, name))
        at = (at + 1) & (names->num_slots - 1);
    return &names->slots[at];
}

uint32_t dot_names_find(const struct dot_names *names, const char *name)
{
    if (!names->num)
        return DOT_NONE;
    const struct dot_name_slot wanted = read_slot(name);
    return find(names, name, &wanted)->number - 1; // 0 - 1: DOT_NONE
}

static bool make_slots(struct dot_names *names)
{
    if (names->num < names->num_slots / 2)
        return true;
    struct dot_names larger = *names;
    larger.num_slots = names->num_slots ? names->num_slots * 2 : 64;
    larger.slots = plan_allocate_zeroed(larger.num_slots, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; i < names->num_slots; i++) {
        uint32_t at = names->slots[i].hash & (larger.num_slots - 1);
        while (names->slots[i].number && larger.slots[at].number)
            at = (at + 1) & (larger.num_slots - 1);
        if (names->slots[i].number)
            larger.slots[at] = names->slots[i];
    }
    braid_free(names->slots);
    *names = larger;
    return true;
}

// A copy in a chunk of up to a big page. NULL: no memory.
static const char *copy_name(struct dot_names *names, const char *name)
{
    struct dot_name_chunk *chunk = names->chunks;
    const size_t bytes = strlen(name) + 1, header = sizeof(*chunk);
    if (!chunk || chunk->room - chunk->used < bytes) {
        size_t room = chunk ? 2 * (chunk->room + header) : 4096;
        room = (room < PLAN_BIG_PAGE ? room : PLAN_BIG_PAGE) - header - 1;
        room = bytes < room ? room : bytes;
        chunk = plan_allocate(header + room, 1);
        if (!chunk)
            return NULL;
        *chunk = (struct dot_name_chunk){ names->chunks, 0, room };
        names->chunks = chunk;
    }
    char *copy = memcpy(chunk->bytes + chunk->used, name, bytes);
    chunk->used += bytes;
    return copy;
}

uint32_t dot_names_add(struct dot_names *names, const char *name, bool *out_is_new)
{
    void *items = names->names;
    if (!dot_make_room(&items, names->num, &names->room, sizeof(*names->names)))
        return DOT_NONE;
    names->names = items;
    if (!make_slots(names))
        return DOT_NONE;
    struct dot_name_slot wanted = read_slot(name);
    struct dot_name_slot *slot = find(names, name, &wanted);
    *out_is_new = !slot->number;
    if (slot->number)
        return slot->number - 1;
    const char *copy = copy_name(names, name);
    if (!copy)
        return DOT_NONE;
    names->names[names->num] = copy;
    wanted.number = ++names->num;
    *slot = wanted;
    return names->num - 1;
}

void dot_names_close(struct dot_names *names)
{
    braid_free(names->slots);
    free(names->names);
    names->slots = NULL;
    names->names = NULL;
}

void dot_names_finish(struct dot_names *names)
{
    dot_names_close(names);
    while (names->chunks) {
        struct dot_name_chunk *chunk = names->chunks;
        names->chunks = chunk->before;
        braid_free(chunk);
    }
    *names = (struct dot_names){ 0 };
}

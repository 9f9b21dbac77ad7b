// SPDX-License-Identifier: Apache-2.0
// A table of different names, numbered in the order of their first appearance.
#include "dot_names.h"

#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

struct dot_name_slot {
    uint32_t hash, number; // one more than the name's; 0: none
};

// FNV-1a, mixed so that its low bits depend on all bytes.
static uint32_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return (uint32_t)((hash * 0x9e3779b97f4a7c15) >> 32);
}

// Where a name is, or would be.
static struct dot_name_slot *find(const struct dot_names *names, const char *name, uint32_t hash)
{
    uint32_t at = hash & (names->num_slots - 1);
    while (names->slots[at].number && (names->slots[at].hash != hash ||
                                       strcmp(names->names[names->slots[at].number - 1], name)))
        at = (at + 1) & (names->num_slots - 1);
    return &names->slots[at];
}

uint32_t dot_names_find(const struct dot_names *names, const char *name)
{
    return names->num ? find(names, name, hash_of(name))->number - 1 : DOT_NONE;
}

static bool make_slots(struct dot_names *names)
{
    if (names->num < names->num_slots / 2)
        return true;
    struct dot_names larger = *names;
    larger.num_slots = names->num_slots ? names->num_slots * 2 : 64;
    larger.slots = calloc(larger.num_slots, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; i < names->num_slots; i++) {
        uint32_t at = names->slots[i].hash & (larger.num_slots - 1);
        while (names->slots[i].number && larger.slots[at].number)
            at = (at + 1) & (larger.num_slots - 1);
        if (names->slots[i].number)
            larger.slots[at] = names->slots[i];
    }
    free(names->slots);
    *names = larger;
    return true;
}

uint32_t dot_names_add(struct dot_names *names, const char *name, bool *out_is_new)
{
    void *items = names->names;
    if (!dot_make_room(&items, names->num, &names->room, sizeof(*names->names)))
        return DOT_NONE;
    names->names = items;
    if (!make_slots(names))
        return DOT_NONE;
    const uint32_t hash = hash_of(name);
    struct dot_name_slot *slot = find(names, name, hash);
    *out_is_new = !slot->number;
    if (slot->number)
        return slot->number - 1;
    char *copy = strdup(name);
    if (!copy)
        return DOT_NONE;
    *slot = (struct dot_name_slot){ hash, names->num + 1 };
    names->names[names->num] = copy;
    return names->num++;
}

void dot_names_close(struct dot_names *names)
{
    free(names->slots);
    names->slots = NULL;
}

void dot_names_finish(struct dot_names *names)
{
    dot_names_close(names);
    for (uint32_t i = 0; i < names->num; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct dot_names){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// The sources of all that a kernel stores in its local memory.
#include "accesses/local_memory.h"

#include <string.h>

enum { WORD = 8 };

struct local_variable {
    struct array words; // uint32_t: the set of each 8 bytes, as far as something was stored there
    uint32_t anywhere;  // the set of all that was stored at an unknown place of it
    uint32_t all;
};

// Where the place is in its variable. False: nobody knows.
static bool find(struct local_place place, uint64_t *out_first, uint64_t *out_last)
{
    const uint32_t offset = source_offset(place.address);
    const int64_t at = (int64_t)offset + place.behind;
    *out_first = (uint64_t)at / WORD;
    *out_last = ((uint64_t)at + place.bytes - 1) / WORD;
    return offset != SOURCE_ANYWHERE && place.bytes && at >= 0 && at < SOURCE_LOCAL_FARTHEST;
}

static struct local_variable *variable_of(const struct local_memory *memory, uint64_t address)
{
    struct local_variable *variables = memory->variables.items;
    return source_item(address) < memory->variables.num ? &variables[source_item(address)] : NULL;
}

static bool grow(struct source_sets *sets, uint32_t *set, uint32_t more)
{
    const uint32_t grown = braid_sources_join(sets, *set, more);
    const bool grew = grown != *set;
    *set = grown;
    return grew;
}

static bool reserve(struct array *items, size_t num, size_t bytes)
{
    const size_t more = num > items->num ? num - items->num : 0;
    void *added = more ? braid_array_append(items, more, bytes) : items;
    if (more && added)
        memset(added, 0, more * bytes);
    return added != NULL;
}

bool braid_local_memory_store(struct local_memory *memory, struct source_sets *sets,
                              struct local_place to, uint32_t set)
{
    const uint32_t item = source_item(to.address);
    uint64_t first, last;
    bool grew = grow(sets, &memory->all, set);
    if (!set)
        return false;
    if (item == SOURCE_NO_LOCAL)
        return grow(sets, &memory->unknown, set) || grew;
    if (!reserve(&memory->variables, (size_t)item + 1, sizeof(struct local_variable))) {
        sets->failed = true;
        return false;
    }
    struct local_variable *variable = variable_of(memory, to.address);
    grew = grow(sets, &variable->all, set) || grew;
    if (!find(to, &first, &last))
        return grow(sets, &variable->anywhere, set) || grew;
    if (!reserve(&variable->words, last + 1, sizeof(uint32_t))) {
        sets->failed = true;
        return false;
    }
    for (uint64_t i = first; i <= last; i++)
        grew = grow(sets, (uint32_t *)variable->words.items + i, set) || grew;
    return grew;
}

uint32_t braid_local_memory_load(const struct local_memory *memory, struct source_sets *sets,
                                 struct local_place from)
{
    const struct local_variable *variable = variable_of(memory, from.address);
    uint64_t first, last;
    if (source_item(from.address) == SOURCE_NO_LOCAL)
        return memory->all;
    if (!variable)
        return memory->unknown;
    if (!find(from, &first, &last))
        return braid_sources_join(sets, memory->unknown, variable->all);
    uint32_t set = braid_sources_join(sets, memory->unknown, variable->anywhere);
    for (uint64_t i = first; i <= last && i < variable->words.num; i++)
        set = braid_sources_join(sets, set, ((const uint32_t *)variable->words.items)[i]);
    return set;
}

void braid_local_memory_finish(struct local_memory *memory)
{
    struct local_variable *variables = memory->variables.items;
    for (size_t i = 0; i < memory->variables.num; i++)
        braid_array_finish(&variables[i].words);
    braid_array_finish(&memory->variables);
    *memory = (struct local_memory){ 0 };
}

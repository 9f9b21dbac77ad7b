// SPDX-License-Identifier: Apache-2.0
// The facts of kernels in a text.
#include "accesses/text_facts.h"

#include <stdio.h>
#include <string.h>

#include "accesses/kernel_accesses.h"
#include "base/error.h"
#include "base/host_memory.h"

enum { WORD = 8, HALF = 4 };

struct code_text {
    const char *ptx;
    struct kernel_code code;
    bool is_read;
    struct ptx_reason reason; // it is not
};

braid_status braid_code_open_text(const char *ptx, struct code_text **out_text)
{
    struct code_text *text = braid_allocate_zeroed(1, sizeof(*text));
    if (!text)
        return braid_error_no_memory("a text of kernels");
    text->ptx = ptx;
    text->is_read = braid_code_read(ptx, &text->code, &text->reason);
    if (!text->is_read && !text->reason.text[0]) {
        braid_free(text);
        return braid_error_no_memory("a text of kernels");
    }
    *out_text = text;
    return BRAID_OK;
}

void braid_code_close_text(struct code_text *text)
{
    if (text && text->is_read)
        braid_code_finish(&text->code);
    braid_free(text);
}

static void tell_why(const struct code_text *text, const char *why, const char *at,
                     struct code_facts *facts)
{
    snprintf(facts->why, sizeof(facts->why), "%s", why);
    facts->line = braid_ptx_line(text->ptx, at ? at : text->ptx);
}

// Loads are aligned, so a pointer at an unknown offset is not at each of them.
static struct code_address address_of(const struct kernel_access *access,
                                      const struct code_parameter *parameter)
{
    const uint32_t most = access->offset == SOURCE_ANYWHERE ? WORD : HALF;
    struct code_address address = { .parameter = access->parameter,
                                    .offset = access->offset,
                                    .bytes = WORD,
                                    .step = WORD,
                                    .reads = access->acts & ~(unsigned)ACCESSES_WRITES,
                                    .writes = access->acts & ACCESSES_WRITES,
                                    .reads_below = access->below & ~(unsigned)ACCESSES_WRITES,
                                    .writes_below = access->below & ACCESSES_WRITES,
                                    .is_above = access->is_above };
    if (source_is_anywhere(access->offset)) {
        address.offset = 0;
        address.bytes = parameter->bytes;
        address.step = parameter->align && parameter->align < most ? parameter->align : most;
    }
    return address;
}

// One address for each range, if all of them are known.
static bool copy_ranges(const struct kernel_accesses *found, uint64_t source,
                        struct code_address address, struct code_facts *facts)
{
    const struct kernel_range *ranges = found->ranges.items;
    bool is_done = true, is_known = false;
    for (size_t i = 0; i < found->ranges.num; i++) {
        if (ranges[i].source != source)
            continue;
        is_known = ranges[i].bytes;
        if (!is_known)
            break;
    }
    if (!is_known)
        return braid_array_put(&facts->addresses, &address, sizeof(address));
    for (size_t i = 0; i < found->ranges.num && is_done; i++) {
        if (ranges[i].source != source)
            continue;
        address.from = ranges[i].from;
        address.touched = ranges[i].bytes;
        address.reads = ranges[i].acts & ~(unsigned)ACCESSES_WRITES;
        address.writes = ranges[i].acts & ACCESSES_WRITES;
        is_done = braid_array_put(&facts->addresses, &address, sizeof(address));
    }
    return is_done;
}

// The address that a pointer is: a load through it is an access, so it is there, wherever the load
// moved it. The first is as good as any.
struct first_address {
    uint64_t source;
    uint32_t number; // from 1
};

static uint32_t find_base(const struct array *firsts, uint64_t base)
{
    const struct first_address *known = firsts->items;
    for (size_t i = 0; i < firsts->num; i++) {
        if (known[i].source == base)
            return known[i].number;
    }
    return 0;
}

static bool note_first(struct array *firsts, uint64_t source, const struct code_facts *facts)
{
    const struct first_address first = { source, (uint32_t)facts->addresses.num + 1 };
    return braid_array_put(firsts, &first, sizeof(first));
}

static bool copy_pointed(const struct source_place *places, const struct kernel_accesses *found,
                         struct array *firsts, struct code_facts *facts)
{
    const struct kernel_pointed *pointed = found->pointed.items;
    bool is_done = true;
    for (size_t i = 0; i < found->pointed.num && is_done; i++) {
        const struct source_place *place = &places[pointed[i].place];
        const uint64_t source = source_make(SOURCE_POINTED, pointed[i].place, 0);
        const bool is_anywhere = place->offset == SOURCE_ANYWHERE;
        const struct code_address address = {
            .through = find_base(firsts, source_at_left(place->base, 0)),
            .offset = is_anywhere ? 0 : place->offset,
            .bytes = is_anywhere ? UINT32_MAX : WORD,
            .step = WORD,
            .reads = pointed[i].acts & ~(unsigned)ACCESSES_WRITES,
            .writes = pointed[i].acts & ACCESSES_WRITES,
            .reads_below = pointed[i].below & ~(unsigned)ACCESSES_WRITES,
            .writes_below = pointed[i].below & ACCESSES_WRITES,
            .is_above = pointed[i].is_above,
            .is_loaded_below = source_is_sunk(place->base),
        };
        is_done = address.through && note_first(firsts, source, facts) &&
                  copy_ranges(found, source, address, facts);
    }
    return is_done;
}

static bool copy_words(const struct kernel_accesses *found, struct array *firsts,
                       struct code_facts *facts)
{
    const struct code_parameter *parameters = found->parameters.items;
    const struct kernel_access *accesses = found->items.items;
    bool is_done = true;
    for (size_t i = 0; i < found->parameters.num && is_done; i++)
        is_done = braid_array_put(&facts->parameters, &parameters[i].bytes, sizeof(uint32_t));
    for (size_t i = 0; i < found->items.num && is_done; i++) {
        const uint64_t source = source_make(SOURCE_WORD, accesses[i].parameter, accesses[i].offset);
        is_done = note_first(firsts, source, facts) &&
                  copy_ranges(found, source,
                              address_of(&accesses[i], &parameters[accesses[i].parameter]), facts);
    }
    return is_done;
}

static bool copy_found(const struct source_place *places, const struct kernel_accesses *found,
                       struct code_facts *facts)
{
    struct array firsts = { 0 };
    const bool is_done =
        copy_words(found, &firsts, facts) && copy_pointed(places, found, &firsts, facts);
    braid_array_finish(&firsts);
    return is_done;
}

static bool copy_variables(const struct code_names *names, struct code_facts *facts)
{
    bool is_done = true;
    for (size_t i = 0; i < names->num_slots && is_done; i++) {
        const struct code_name *name = &names->slots[i];
        if (!name->word.length ||
            (name->kind != CODE_NAME_VARIABLE && name->kind != CODE_NAME_MIXED))
            continue;
        char *to = braid_array_append(&facts->variables, name->word.length + 1, 1);
        is_done = to;
        if (is_done) {
            memcpy(to, name->word.at, name->word.length);
            to[name->word.length] = '\0';
        }
    }
    return is_done;
}

static bool find_facts(struct code_text *text, uint32_t entry, struct code_facts *facts)
{
    struct kernel_accesses found = { 0 };
    if (!braid_kernel_accesses_find(&text->code, entry, &found))
        return false;
    facts->calls_out = found.calls_out;
    facts->reads_variables = found.of_variables || found.reads_constants;
    facts->writes_variables = found.of_variables & ACCESSES_WRITES;
    const bool is_done = copy_found(text->code.sets.places.items, &found, facts) &&
                         (!facts->reads_variables || copy_variables(&text->code.names, facts));
    if (found.why)
        facts->line = braid_ptx_line(text->ptx, found.at);
    facts->is_lost = found.beside && !found.is_broken;
    if (found.beside)
        tell_why(text, found.beside, found.beside_at, facts);
    braid_kernel_accesses_finish(&found);
    return is_done;
}

braid_status braid_code_read_entry(struct code_text *text, const char *entry,
                                   struct code_facts *out_facts)
{
    struct code_facts facts = { .has_entry = strstr(text->ptx, entry) };
    uint32_t index = CODE_NONE;
    if (!facts.has_entry) {
        *out_facts = facts;
        return BRAID_OK;
    }
    if (text->is_read) {
        index = braid_code_find_entry(&text->code, entry);
        facts.has_entry = index != CODE_NONE;
    } else {
        facts.calls_out = true;
        tell_why(text, text->reason.text, text->reason.at, &facts);
    }
    if (index != CODE_NONE && !find_facts(text, index, &facts)) {
        braid_code_facts_finish(&facts);
        return braid_error_no_memory("a kernel's accesses");
    }
    *out_facts = facts;
    return BRAID_OK;
}

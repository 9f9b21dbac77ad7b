// SPDX-License-Identifier: Apache-2.0
// The accesses of a kernel, from the sources of the addresses in its code.
#include "accesses/kernel_accesses.h"

#include <stdlib.h>

#include "accesses/flow.h"

static const char unknown[] = "an address comes from no parameter",
                  loaded[] = "an address is loaded from memory",
                  assembled[] = "an address is put together in a way that is not known";

static void refuse_pointed(struct kernel_accesses *accesses, const char *why, const char *at)
{
    if (accesses->why)
        return;
    accesses->why = why;
    accesses->at = at;
}

static void refuse(struct kernel_accesses *accesses, const char *why, const char *at)
{
    refuse_pointed(accesses, why, at);
    if (accesses->beside)
        return;
    accesses->beside = why;
    accesses->beside_at = at;
}

static struct kernel_access *find_item(struct kernel_accesses *accesses, uint64_t source)
{
    const struct kernel_access added = { .parameter = source_item(source),
                                         .offset = source_offset(source) };
    struct kernel_access *items = accesses->items.items;
    for (size_t i = 0; i < accesses->items.num; i++) {
        if (items[i].parameter == added.parameter && items[i].offset == added.offset)
            return &items[i];
    }
    if (!braid_array_put(&accesses->items, &added, sizeof(added)))
        return NULL;
    return (struct kernel_access *)accesses->items.items + accesses->items.num - 1;
}

static unsigned acts_of(const struct code_instruction *instruction)
{
    static const unsigned acts[] = {
        [PTX_READS] = ACCESSES_READS,
        [PTX_WRITES] = ACCESSES_WRITES,
        [PTX_UPDATES] = ACCESSES_READS | ACCESSES_WRITES | ACCESSES_UPDATES,
    };
    return acts[instruction->act];
}

// [p-4] is below p.
static bool goes_down(const struct code_function *function,
                      const struct code_instruction *instruction)
{
    bool is_down = false;
    for (uint32_t i = 0; i < instruction->num_operands; i++)
        is_down = is_down || code_operands(function, instruction)[i].offset < 0;
    return is_down;
}

static bool take_item(struct kernel_accesses *accesses, uint64_t source, bool is_below,
                      const struct code_instruction *instruction)
{
    struct kernel_access *item = find_item(accesses, source);
    const unsigned acts = acts_of(instruction);
    if (!item)
        return false;
    item->acts |= acts;
    item->below |= is_below ? acts : 0;
    item->is_above |= !is_below;
    if ((acts & ACCESSES_READS) && !item->read_at)
        item->read_at = instruction->statement->begin;
    if ((acts & ACCESSES_WRITES) && !item->written_at)
        item->written_at = instruction->statement->begin;
    return true;
}

static bool take_pointed(struct kernel_accesses *accesses, uint64_t source, bool is_below,
                         const struct code_instruction *instruction)
{
    struct kernel_pointed *pointed = accesses->pointed.items;
    const unsigned acts = acts_of(instruction);
    const struct kernel_pointed added = { source_item(source), acts, is_below ? acts : 0, !is_below,
                                          instruction->statement->begin };
    refuse_pointed(accesses, loaded, instruction->statement->begin);
    for (size_t i = 0; i < accesses->pointed.num; i++) {
        if (pointed[i].place != added.place)
            continue;
        pointed[i].acts |= added.acts;
        pointed[i].below |= added.below;
        pointed[i].is_above |= added.is_above;
        return true;
    }
    return braid_array_put(&accesses->pointed, &added, sizeof(added));
}

// Many ranges count as all of the memory.
static bool take_range(struct kernel_accesses *accesses, uint64_t source,
                       const struct code_instruction *instruction)
{
    enum { MOST_RANGES = 256 };
    struct kernel_range *ranges = accesses->ranges.items;
    struct kernel_range added = { .source = source_at_left(source, 0),
                                  .acts = acts_of(instruction) };
    if (!source_left(source) && accesses->ranges.num < MOST_RANGES) {
        added.from = instruction->access_from;
        added.bytes = instruction->access_bytes;
    }
    for (size_t i = 0; i < accesses->ranges.num; i++) {
        if (ranges[i].source != added.source || ranges[i].bytes != added.bytes ||
            ranges[i].from != added.from)
            continue;
        ranges[i].acts |= added.acts;
        return true;
    }
    return braid_array_put(&accesses->ranges, &added, sizeof(added));
}

// An access through an address that has these sources. Without one that is an address, nobody knows
// where it goes.
static bool take(struct kernel_accesses *accesses, const struct kernel_code *code, uint32_t set,
                 bool is_down, const struct code_instruction *instruction)
{
    uint32_t num;
    const uint64_t *members = braid_sources_members(&code->sets, set, &num);
    bool is_known = false;
    for (uint32_t i = 0; i < num; i++) {
        const enum source_kind kind = source_kind(members[i]);
        const bool is_below = is_down || source_is_sunk(members[i]);
        if (kind == SOURCE_WORD && !take_item(accesses, members[i], is_below, instruction))
            return false;
        if (kind == SOURCE_POINTED && !take_pointed(accesses, members[i], is_below, instruction))
            return false;
        if (source_is_pointer(members[i]) && !take_range(accesses, members[i], instruction))
            return false;
        if (kind == SOURCE_VARIABLE)
            accesses->of_variables |= acts_of(instruction);
        const bool is_loaded = kind == SOURCE_LOADED && !source_left(members[i]);
        if (is_loaded || kind == SOURCE_UNKNOWN)
            refuse(accesses, is_loaded ? loaded : assembled, instruction->statement->begin);
        accesses->is_broken |= kind == SOURCE_UNKNOWN;
        is_known = is_known || is_loaded || source_is_pointer(members[i]) ||
                   kind == SOURCE_VARIABLE || kind == SOURCE_LOCAL || kind == SOURCE_SHARED ||
                   kind == SOURCE_CELL || kind == SOURCE_PARAMETER;
    }
    if (!is_known) {
        refuse(accesses, unknown, instruction->statement->begin);
        accesses->is_broken = true;
    }
    return true;
}

static bool take_function(struct kernel_accesses *accesses, const struct flow *flow,
                          const struct flow_function *reached)
{
    const struct code_function *function = &flow->code->functions[reached->function];
    const struct code_instruction *instructions = function->instructions.items;
    for (size_t i = 0; i < function->instructions.num; i++) {
        const struct code_value *values = function->values.items;
        const bool is_load =
            instructions[i].operation == CODE_LOAD && instructions[i].space == CODE_GLOBAL;
        accesses->reads_constants |= is_load && instructions[i].access_base == CODE_NONE;
        accesses->calls_out |= instructions[i].operation == CODE_REFUSED &&
                               braid_ptx_word_begins(instructions[i].statement->word, "call");
        if (instructions[i].access_base == CODE_NONE)
            continue;
        const uint32_t set =
            braid_flow_sources(flow, reached->first_cell, &values[instructions[i].access_base]);
        if (!take(accesses, flow->code, set, goes_down(function, &instructions[i]),
                  &instructions[i]))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct kernel_access *one = a, *other = b;
    if (one->parameter != other->parameter)
        return one->parameter < other->parameter ? -1 : 1;
    return (one->offset > other->offset) - (one->offset < other->offset);
}

// A pointer of depth 1 may be the base of one of depth 2, and has the lower number.
static int compare_pointed(const void *a, const void *b)
{
    const struct kernel_pointed *one = a, *other = b;
    return (one->place > other->place) - (one->place < other->place);
}

static bool take_all(struct kernel_accesses *accesses, const struct flow *flow)
{
    const struct flow_function *functions = flow->functions.items;
    const struct array *parameters = &flow->code->functions[functions[0].function].parameters;
    for (size_t i = 0; i < parameters->num; i++) {
        const struct code_parameter *parameter = (const struct code_parameter *)parameters->items;
        if (!braid_array_put(&accesses->parameters, &parameter[i], sizeof(*parameter)))
            return false;
    }
    accesses->is_broken = flow->why;
    if (flow->why)
        refuse(accesses, flow->why, flow->at);
    if (flow->by_address)
        refuse(accesses, "it calls a function by its address", flow->by_address);
    for (size_t i = 0; i < flow->functions.num; i++) {
        if (!take_function(accesses, flow, &functions[i]))
            return false;
    }
    if (accesses->items.num)
        qsort(accesses->items.items, accesses->items.num, sizeof(struct kernel_access), compare);
    if (accesses->pointed.num)
        qsort(accesses->pointed.items, accesses->pointed.num, sizeof(struct kernel_pointed),
              compare_pointed);
    return !flow->code->sets.failed;
}

bool braid_kernel_accesses_find(struct kernel_code *code, uint32_t entry,
                                struct kernel_accesses *out_accesses)
{
    struct flow flow;
    *out_accesses = (struct kernel_accesses){ 0 };
    if (!braid_flow_find(code, entry, &flow))
        return false;
    bool is_done = take_all(out_accesses, &flow);
    braid_flow_finish(&flow);
    if (!is_done)
        braid_kernel_accesses_finish(out_accesses);
    return is_done;
}

void braid_kernel_accesses_finish(struct kernel_accesses *accesses)
{
    braid_array_finish(&accesses->parameters);
    braid_array_finish(&accesses->items);
    braid_array_finish(&accesses->pointed);
    braid_array_finish(&accesses->ranges);
    *accesses = (struct kernel_accesses){ 0 };
}

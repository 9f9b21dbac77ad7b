// SPDX-License-Identifier: Apache-2.0
// The accesses of each captured node.
#include "import/uses.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "import/bytes.h"
#include "import/cells.h"
#include "import/statements.h"

// Addresses in packed structs stand at multiples of a step.
enum { WORD = 8, STEP = 4, TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGNMENT = 64 };

struct finder {
    struct import_memory *memory;
    const struct captured_graph *captured;
    const struct import_code *code;
    struct import_uses *uses;
    struct import_statements *statements;
    bool *near;    // room, by node
    uint32_t node; // which is looked at
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("the accesses of a captured graph");
}

static const struct captured_node *node_of(const struct finder *finder)
{
    return &captured_nodes(finder->captured)[finder->node];
}

// ---- results ----

__attribute__((format(printf, 3, 4))) static braid_status
distrust(const struct finder *finder, uint32_t line, const char *format, ...)
{
    struct import_reason reason = { .node = finder->node, .line = line };
    va_list args;
    finder->uses->blind[finder->node] = true;
    if (!finder->uses->proven[finder->node])
        return BRAID_OK;
    finder->uses->proven[finder->node] = false;
    va_start(args, format);
    vsnprintf(reason.text, sizeof(reason.text), format, args);
    va_end(args);
    return braid_array_put(&finder->uses->reasons, &reason, sizeof(reason)) ? BRAID_OK
                                                                            : no_memory();
}

static braid_status put_access(const struct finder *finder, uint32_t number, bool writes)
{
    const struct import_access access = { finder->node, number, writes, true };
    return braid_array_put(&finder->uses->accesses, &access, sizeof(access)) ? BRAID_OK
                                                                             : no_memory();
}

// Kernels of the program reach the memory that their device reaches. Mapped memory has its own
// rules.
static braid_status check_reach(const struct finder *finder, const struct import_buffer *of)
{
    const struct import_members *members = &finder->captured->members;
    const struct captured_node *node = node_of(finder);
    if (members->num == 1 || node->type != GPU_NODE_KERNEL || of->member == MEMBER_NONE ||
        of->is_mapped || members->reaches[node->member] >> of->member & 1)
        return BRAID_OK;
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s of the captured graph, kernel '%s' on %s, uses memory of %s, which "
                       "that device does not reach",
                       node->place, captured_function_of(finder->captured, node)->name,
                       members->gpu[node->member]->label, members->gpu[of->member]->label);
}

static bool overlap(const struct import_buffer *one, const struct import_buffer *other)
{
    return one->begin < other->begin + other->bytes && other->begin < one->begin + one->bytes;
}

// Its accesses are known.
static braid_status distrust_seen(const struct finder *finder, const char *why)
{
    const bool was_blind = finder->uses->blind[finder->node];
    const braid_status status = distrust(finder, 0, "%s", why);
    finder->uses->blind[finder->node] = was_blind;
    return status;
}

static braid_status distrust_watched(const struct finder *finder)
{
    return distrust_seen(finder, "it touches memory that others may look at");
}

// The rest of an allocation is not told apart from parts that the program gives.
static braid_status add_parts(const struct finder *finder, const struct import_buffer *whole,
                              bool writes)
{
    const struct import_buffer *buffers = import_buffers(finder->memory);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < finder->memory->num_given && !status; i++) {
        if (!overlap(&buffers[i], whole))
            continue;
        status = put_access(finder, USE_FIRST_BUFFER + i, writes);
        if (!status && buffers[i].is_watched)
            status = distrust_watched(finder);
    }
    return status;
}

// Kernels reach all variables by name.
static braid_status add_access(const struct finder *finder, uint32_t index, bool writes)
{
    const struct import_buffer *buffers = import_buffers(finder->memory), *of = &buffers[index];
    bool is_variable = false;
    braid_status status = check_reach(finder, of);
    if (!status)
        status = put_access(finder, USE_FIRST_BUFFER + index, writes);
    if (!status && of->kind == BUFFER_DRIVER)
        status = add_parts(finder, of, writes);
    for (uint32_t i = 0; i < finder->memory->buffers.num && !is_variable; i++)
        is_variable = buffers[i].kind == BUFFER_VARIABLE && overlap(&buffers[i], of);
    if (is_variable && !status)
        status = put_access(finder, USE_VARIABLES, writes);
    if (of->is_mapped && !status)
        status = put_access(finder, USE_MAPPED, writes);
    return status || !of->is_watched ? status : distrust_watched(finder);
}

static braid_status refuse_dead(const struct finder *finder, uint32_t buffer)
{
    const struct captured_node *nodes = captured_nodes(finder->captured);
    return braid_error_invalid("node %s of the captured graph, a %s, uses memory of node %s, an "
                               "allocation, before it exists or after it is freed",
                               node_of(finder)->place, braid_captured_kind(node_of(finder)->type),
                               nodes[import_buffers(finder->memory)[buffer].node].place);
}

static braid_status refuse_hidden(const struct finder *finder, uint32_t buffer, const char *where)
{
    const struct captured_node *nodes = captured_nodes(finder->captured);
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s of the captured graph, kernel '%s', may hide an address of node "
                       "%s, an allocation, in %s",
                       node_of(finder)->place,
                       captured_function_of(finder->captured, node_of(finder))->name,
                       nodes[import_buffers(finder->memory)[buffer].node].place, where);
}

// ---- kernels ----

static const struct captured_param *params_of(const struct finder *finder, uint32_t *out_num)
{
    const struct captured_function *function =
        captured_function_of(finder->captured, node_of(finder));
    *out_num = function->num_params;
    return captured_params_of(finder->captured, function);
}

static const unsigned char *argument_of(const struct finder *finder, uint32_t index)
{
    return braid_captured_argument(finder->captured, node_of(finder), index);
}

static uint64_t word_at(const unsigned char *argument, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, argument + offset, sizeof(word));
    return word;
}

static braid_status put_word(const struct finder *finder, uint32_t argument, uint32_t offset)
{
    const struct code_word word = { finder->node, argument, offset, WORD };
    return braid_array_put(&finder->uses->words, &word, sizeof(word)) ? BRAID_OK : no_memory();
}

// The word becomes an address of the allocation, unless one that it overlaps does.
static braid_status patch_word(const struct finder *finder, uint32_t argument, uint32_t offset,
                               uint32_t buffer, uint64_t word)
{
    const struct import_patch *all = finder->uses->patches.items;
    const struct import_patch patch = { finder->node, argument, offset, buffer,
                                        word - import_buffers(finder->memory)[buffer].begin };
    for (size_t i = finder->uses->patches.num; i-- > 0 && all[i].node == finder->node;) {
        if (all[i].argument == argument && all[i].offset < offset + WORD &&
            offset < all[i].offset + WORD)
            return BRAID_OK;
    }
    if (!braid_array_put(&finder->uses->patches, &patch, sizeof(patch)))
        return no_memory();
    return put_word(finder, argument, offset);
}

static bool has_patch(const struct finder *finder, uint32_t buffer)
{
    const struct import_patch *all = finder->uses->patches.items;
    for (size_t i = finder->uses->patches.num; i-- > 0 && all[i].node == finder->node;) {
        if (all[i].buffer == buffer)
            return true;
    }
    return false;
}

// An address that is the end of the allocation may be the begin of other memory.
static braid_status find_end(const struct finder *finder, uint32_t buffer, uint64_t address,
                             bool *out_is_end)
{
    enum import_place place = PLACE_UNKNOWN;
    uint32_t other = 0;
    braid_status status = BRAID_OK;
    *out_is_end = has_patch(finder, buffer);
    if (!*out_is_end)
        status = braid_import_memory_find(finder->memory, finder->node, address, &place, &other);
    *out_is_end = *out_is_end || place != PLACE_BUFFER;
    return status;
}

// Addresses in the allocation, or its end.
static braid_status patch_for(const struct finder *finder, uint32_t buffer, bool is_end)
{
    uint32_t num;
    const struct captured_param *params = params_of(finder, &num);
    const struct import_buffer of = import_buffers(finder->memory)[buffer];
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        const unsigned char *argument = argument_of(finder, i);
        for (uint32_t at = 0; at + WORD <= params[i].bytes && !status; at += STEP) {
            const uint64_t word = word_at(argument, at);
            bool is_own = !is_end;
            if (is_end ? word - of.begin != of.bytes : word - of.begin >= of.bytes)
                continue;
            if (is_end)
                status = find_end(finder, buffer, word, &is_own);
            if (!status && is_own)
                status = patch_word(finder, i, at, buffer, word);
        }
    }
    return status;
}

// Any word that looks like an address of an allocation is one, whether or not the code uses it. A
// word that the code of a proven kernel does not use is rather the end of one that it uses.
static braid_status patch_all(const struct finder *finder)
{
    const uint32_t first = finder->memory->num_given;
    const uint32_t end = first + finder->memory->num_allocations;
    const bool proven = finder->uses->proven[finder->node];
    braid_status status = BRAID_OK;
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = first; i < end && !status; i++) {
            if (braid_import_memory_lives(&import_buffers(finder->memory)[i], finder->node))
                status = patch_for(finder, i, proven == (turn == 0));
        }
    }
    return status;
}

// A number, such as a distance of rows, or NULL. Far from all memory a pointer may stand that a
// kernel moves into memory before it uses it. At offsets that nobody knows, most words are others.
static bool is_number(const struct code_address *address, uint64_t word)
{
    return address->bytes > WORD || !braid_import_may_point(word);
}

// An address that is none of any memory may be far from an allocation, and be moved into it. At an
// offset that nobody knows it may as well be left over.
static braid_status distrust_word(const struct finder *finder, const struct code_address *address,
                                  uint64_t word)
{
    const uint32_t first = finder->memory->num_given;
    char where[96];
    snprintf(where, sizeof(where), "argument %u, which has the address 0x%llx of no known memory",
             address->parameter, (unsigned long long)word);
    for (uint32_t i = first; i < first + finder->memory->num_allocations; i++) {
        if (address->bytes == WORD &&
            braid_import_memory_lives(&import_buffers(finder->memory)[i], finder->node))
            return refuse_hidden(finder, i, where);
    }
    return distrust(finder, 0, "argument %u has an address in no known memory", address->parameter);
}

// A range that is empty or leaves the buffer counts as all of it.
static braid_status add_acts(const struct finder *finder, uint32_t buffer, uint64_t from,
                             uint64_t to, bool reads, bool writes)
{
    const uint64_t bytes = import_buffers(finder->memory)[buffer].bytes;
    const struct array *accesses = &finder->uses->accesses;
    const size_t first = accesses->num;
    const braid_status status = add_access(finder, buffer, writes);
    for (size_t i = first; i < accesses->num; i++) {
        struct import_access *access = (struct import_access *)accesses->items + i;
        const bool is_range =
            access->buffer == USE_FIRST_BUFFER + buffer && from < to && to <= bytes;
        access->reads = reads;
        access->from = is_range ? from : 0;
        access->to = is_range ? to : 0;
    }
    return status;
}

// Bytes that the code tells may leave the buffer, and lie in those behind it.
static braid_status add_bytes_behind(const struct finder *finder, struct import_buffer of,
                                     uint64_t at, const struct code_address *address)
{
    const uint64_t end = at + address->touched;
    braid_status status = BRAID_OK;
    for (at = at > of.begin + of.bytes ? at : of.begin + of.bytes;
         at < end && of.kind != BUFFER_ALLOCATION && !status; at = of.begin + of.bytes) {
        enum import_place place;
        uint32_t index = 0;
        status = braid_import_memory_find(finder->memory, finder->node, at, &place, &index);
        of = import_buffers(finder->memory)[index];
        if (status || place != PLACE_BUFFER || of.kind == BUFFER_ALLOCATION)
            break;
        status =
            add_acts(finder, index, at - of.begin, end - of.begin, address->reads, address->writes);
    }
    return status;
}

// Nobody knows which of the two a pointer means, and an allocation moves.
static braid_status refuse_between(const struct finder *finder, uint32_t buffer, uint64_t word)
{
    return braid_error(
        BRAID_UNSUPPORTED,
        "node %s of the captured graph, kernel '%s', goes down from 0x%llx, where "
        "memory of node %s, an allocation, begins or ends beside other memory",
        node_of(finder)->place, captured_function_of(finder->captured, node_of(finder))->name,
        (unsigned long long)word,
        captured_nodes(finder->captured)[import_buffers(finder->memory)[buffer].node].place);
}

// The buffer has the address. Another one, `before`, may end there: a pointer that the kernel goes
// down from means either. If it goes upwards, too, it begins the one behind.
static braid_status add_addressed(const struct finder *finder, uint32_t buffer, uint32_t before,
                                  uint64_t word, const struct code_address *address)
{
    const uint64_t from = word - import_buffers(finder->memory)[buffer].begin + address->from;
    braid_status status =
        add_acts(finder, buffer, from, from + address->touched, address->reads, address->writes);
    if (!status)
        status = add_bytes_behind(finder, import_buffers(finder->memory)[buffer],
                                  word + address->from, address);
    if (status || before == IMPORT_NONE)
        return status;
    const struct import_buffer *buffers = import_buffers(finder->memory);
    if (buffers[buffer].kind != BUFFER_ALLOCATION && buffers[before].kind != BUFFER_ALLOCATION)
        return add_acts(finder, before, 0, 0, address->reads_below, address->writes_below);
    if (address->is_above || address->bytes > WORD)
        return BRAID_OK;
    return refuse_between(finder, buffers[buffer].kind == BUFFER_ALLOCATION ? buffer : before,
                          word);
}

static braid_status find_address(const struct finder *finder, const struct code_address *address,
                                 uint64_t word, enum import_place *out_place, uint32_t *out_buffer,
                                 uint32_t *out_before)
{
    const bool is_below = address->reads_below || address->writes_below;
    *out_before = IMPORT_NONE;
    return braid_import_memory_find_or_end(finder->memory, finder->node, word, out_place,
                                           out_buffer, is_below ? out_before : NULL);
}

static braid_status use_word(const struct finder *finder, const struct code_address *address,
                             uint32_t offset)
{
    enum import_place place;
    uint32_t buffer = 0, before;
    const uint64_t word = word_at(argument_of(finder, address->parameter), offset);
    braid_status status = put_word(finder, address->parameter, offset);
    if (!status)
        status = find_address(finder, address, word, &place, &buffer, &before);
    if (status || (place == PLACE_NOWHERE && is_number(address, word)))
        return status;
    if (place == PLACE_UNKNOWN || place == PLACE_NOWHERE)
        return distrust_word(finder, address, word);
    if (place == PLACE_DEAD) // at an offset that nobody knows, it may be an old one
        return address->bytes > WORD ? BRAID_OK : refuse_dead(finder, buffer);
    if (import_buffers(finder->memory)[buffer].kind == BUFFER_ALLOCATION)
        status = patch_word(finder, address->parameter, offset, buffer, word);
    return status ? status : add_addressed(finder, buffer, before, word, address);
}

// The memory that the kernel loads pointers from, with all other names of it.
static braid_status add_cells(const struct finder *finder, const struct import_pointers *pointers)
{
    const struct array *accesses = &finder->uses->accesses;
    const size_t first = accesses->num;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < pointers->cells.num && !status; i++) {
        const struct import_cell *cell = (const struct import_cell *)pointers->cells.items + i;
        status = add_acts(finder, cell->buffer, cell->from, cell->to, true, false);
    }
    for (size_t i = first; i < accesses->num && !status; i++) {
        const struct import_access cell = ((const struct import_access *)accesses->items)[i];
        if (!braid_array_put(&finder->uses->cells, &cell, sizeof(cell)))
            status = no_memory();
    }
    finder->uses->num_pointers += pointers->num_words;
    return status;
}

static braid_status use_pointer(const struct finder *finder, const struct import_code *code,
                                const struct code_address *address, uint64_t value)
{
    enum import_place place;
    uint32_t buffer = 0, before;
    braid_status status = find_address(finder, address, value, &place, &buffer, &before);
    if (status || (place == PLACE_NOWHERE && !braid_import_may_point(value)))
        return status;
    if (place == PLACE_UNKNOWN || place == PLACE_NOWHERE)
        return distrust(finder, code->loads_line, "it loads an address in no known memory");
    if (place == PLACE_DEAD || import_buffers(finder->memory)[buffer].kind == BUFFER_ALLOCATION)
        return refuse_hidden(finder, buffer, "memory");
    return add_addressed(finder, buffer, before, value, address);
}

static braid_status add_closed(const struct finder *finder)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < finder->memory->num_given && !status; i++) {
        if (import_buffers(finder->memory)[i].is_closed)
            status = add_access(finder, i, true);
    }
    return status;
}

// Addresses that the kernel loads from memory, which the check of all nodes may refuse later.
static braid_status use_pointers(const struct finder *finder, const struct import_code *code)
{
    const struct code_address *addresses = code->addresses.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < code->addresses.num && !status; i++) {
        struct import_pointers pointers;
        if (!addresses[i].through)
            continue;
        status = braid_import_read_cells(finder->memory, finder->node, &code->addresses,
                                         (uint32_t)i, &pointers);
        if (status)
            return status;
        status = pointers.why ? distrust(finder, code->loads_line, "%s", pointers.why)
                              : add_cells(finder, &pointers);
        if (!status && pointers.is_closed)
            status = add_closed(finder);
        for (size_t k = 0; k < pointers.values.num && !pointers.why && !status; k++)
            status = use_pointer(finder, code, &addresses[i],
                                 ((const uint64_t *)pointers.values.items)[k]);
        braid_import_pointers_finish(&pointers);
    }
    return status;
}

static braid_status use_words(const struct finder *finder, const struct import_code *code)
{
    const struct code_address *addresses = code->addresses.items;
    uint32_t num;
    const struct captured_param *params = params_of(finder, &num);
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < code->addresses.num && !status; i++) {
        const struct code_address *address = &addresses[i];
        const uint64_t end = address->offset + (uint64_t)address->bytes;
        for (uint64_t at = address->offset; !status && !address->through && at + WORD <= end &&
                                            at + WORD <= params[address->parameter].bytes;
             at += address->step)
            status = use_word(finder, address, (uint32_t)at);
    }
    if (!status)
        status = use_pointers(finder, code);
    if (!status && (code->reads_variables || code->writes_variables))
        status = put_access(finder, USE_VARIABLES, code->writes_variables);
    if (!status && code->watches_variables)
        status = distrust(finder, 0, "its module has variables that others may look at");
    return status;
}

// ---- statements ----

// A range may cover several buffers. The rest of an allocation takes along the parts that the
// program gives of it.
static braid_status use_span(const struct finder *finder, uint64_t begin, uint64_t bytes,
                             bool writes)
{
    braid_status status = BRAID_OK;
    for (uint64_t at = begin; at < begin + bytes && !status;) {
        enum import_place place;
        uint32_t index = 0;
        status = braid_import_memory_find(finder->memory, finder->node, at, &place, &index);
        if (status)
            return status;
        if (place == PLACE_DEAD)
            return refuse_dead(finder, index);
        if (place != PLACE_BUFFER)
            return distrust(finder, 0, "a range that it touches is in no known memory");
        const struct import_buffer *of = &import_buffers(finder->memory)[index];
        at = of->begin + of->bytes;
        status = add_access(finder, index, writes);
    }
    return status;
}

// A word that points to memory is an address, wherever it stands in the parameters of a kernel of
// the statement.
static braid_status use_any_words(const struct finder *finder,
                                  const braid_import_statement *statement,
                                  const struct captured_node *of)
{
    const struct code_address any = { .bytes = WORD };
    const struct captured_function *function = captured_function_of(finder->captured, of);
    const struct captured_param *params = captured_params_of(finder->captured, function);
    const bool is_own = of == node_of(finder);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < function->num_params; i++) {
        const unsigned char *argument = braid_captured_argument(finder->captured, of, i);
        for (uint32_t at = 0; at + WORD <= params[i].bytes && !status; at += STEP) {
            const uint64_t word = word_at(argument, at);
            enum import_place place;
            uint32_t index = 0;
            if (is_number(&any, word))
                continue;
            status = braid_import_memory_find(finder->memory, finder->node, word, &place, &index);
            if (status || place != PLACE_BUFFER)
                continue;
            if (is_own)
                status = put_word(finder, i, at);
            if (!status && !braid_import_is_in_range(statement, word))
                status = add_access(finder, index, true);
        }
    }
    return status;
}

static braid_status use_ends(const struct finder *finder, const struct captured_node *of)
{
    const struct cuda_copy_parameters *copy = &of->copy;
    const struct cuda_fill_parameters *fill = &of->fill;
    if (of->type == GPU_NODE_FILL)
        return use_span(finder, fill->to,
                        (fill->height - 1) * fill->pitch + fill->width * fill->value_bytes, true);
    braid_status status = use_span(finder, braid_import_side_begin(&copy->from),
                                   braid_import_copy_span(copy, &copy->from), true);
    return status ? status
                  : use_span(finder, braid_import_side_begin(&copy->to),
                             braid_import_copy_span(copy, &copy->to), true);
}

static braid_status use_statement(const struct finder *finder,
                                  const braid_import_statement *statement)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < statement->num_ranges && !status; i++)
        status = use_span(finder, (uintptr_t)statement->ranges[i].address,
                          statement->ranges[i].bytes, statement->ranges[i].is_written);
    for (size_t i = 0; i < statement->num_nodes && !status; i++) {
        const struct captured_node *of =
            braid_import_stated_node(finder->statements, statement->nodes[i]);
        if (of->type == GPU_NODE_KERNEL)
            status = use_any_words(finder, statement, of);
        else if (of->type == GPU_NODE_COPY || of->type == GPU_NODE_FILL)
            status = use_ends(finder, of);
    }
    if (!status && finder->uses->proven[finder->node])
        finder->uses->num_stated++;
    return status;
}

// ---- allocations beside kernels that are not proven ----

// A tensor map holds an address in a form of its own. It is the whole argument, or the argument is
// a struct that is aligned as the map is, so that its size is a multiple. The driver tells offsets
// behind constants of its own, so that an offset does not tell the alignment.
static bool may_have_map(const struct finder *finder)
{
    uint32_t num;
    const struct captured_param *params = params_of(finder, &num);
    for (uint32_t i = 0; i < num; i++) {
        if (params[i].bytes >= TENSOR_MAP_BYTES && params[i].bytes % TENSOR_MAP_ALIGNMENT == 0)
            return true;
    }
    return false;
}

// A node that no code proves may use each allocation that lives then.
static braid_status hold_allocations(const struct finder *finder)
{
    const struct import_buffer *buffers = import_buffers(finder->memory);
    const uint32_t end = finder->memory->num_given + finder->memory->num_allocations;
    for (uint32_t i = finder->memory->num_given; i < end; i++) {
        const struct import_access hold = { finder->node, USE_FIRST_BUFFER + i, true };
        if (!braid_import_memory_lives(&buffers[i], finder->node))
            continue;
        if (node_of(finder)->type == GPU_NODE_KERNEL && may_have_map(finder))
            return refuse_hidden(finder, i, "a tensor map");
        if (!braid_array_put(&finder->uses->holds, &hold, sizeof(hold)))
            return no_memory();
    }
    return BRAID_OK;
}

static int compare_patches(const void *left, const void *right)
{
    const struct import_patch *a = left, *b = right;
    return a->argument != b->argument ? (a->argument > b->argument) - (a->argument < b->argument)
                                      : (a->offset > b->offset) - (a->offset < b->offset);
}

// It touches memory that an address in its parameters leads to: a setter reads a word there.
static braid_status use_all_words(const struct finder *finder, bool writes)
{
    uint32_t num;
    const struct captured_param *params = params_of(finder, &num);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num; i++) {
        for (uint32_t at = 0; at + WORD <= params[i].bytes && !status; at += STEP) {
            enum import_place place;
            uint32_t index = 0;
            status = braid_import_memory_find(finder->memory, finder->node,
                                              word_at(argument_of(finder, i), at), &place, &index);
            if (status || place != PLACE_BUFFER)
                continue;
            status = writes ? put_word(finder, i, at) : BRAID_OK;
            if (!status)
                status = add_access(finder, index, writes);
        }
    }
    finder->uses->num_stated += writes;
    return status;
}

// A text may tell where it finds the word.
static braid_status use_setter(const struct finder *finder, const struct import_code *code,
                               bool is_lost)
{
    const braid_status status = put_access(finder, USE_CONDITIONS, true);
    if (status)
        return status;
    return code->why[0] || is_lost ? use_all_words(finder, false) : use_words(finder, code);
}

static braid_status use_kernel(const struct finder *finder)
{
    const struct import_code *code = &finder->code[node_of(finder)->kernel.function];
    const size_t first = finder->uses->patches.num;
    const braid_import_statement *statement =
        braid_import_statement_of(finder->statements, finder->node);
    const bool is_lost = code->loads_line && !finder->memory->options->follows_pointers;
    const char *name = captured_function_of(finder->captured, node_of(finder))->name;
    const bool is_closed = code->why[0] && code->is_lost && finder->memory->has_closed;
    braid_status status = BRAID_OK;
    if (node_of(finder)->is_setter)
        status = use_setter(finder, code, is_lost);
    else if ((code->why[0] || is_lost) && statement)
        status = use_statement(finder, statement);
    else if ((code->why[0] || is_lost) && braid_import_is_confined(finder->memory->options, name))
        status = use_all_words(finder, true);
    else if (code->why[0] && !is_closed)
        status = distrust(finder, code->line, "%s", code->why);
    else if (is_lost)
        status = distrust(finder, code->loads_line, "an address is loaded from memory");
    else
        status = use_words(finder, code);
    if (!status && is_closed && finder->uses->proven[finder->node])
        status = add_closed(finder);
    if (!status)
        status = patch_all(finder);
    struct import_patch *all = finder->uses->patches.items;
    if (!status && finder->uses->patches.num > first)
        qsort(all + first, finder->uses->patches.num - first, sizeof(*all), compare_patches);
    return status;
}

// ---- copies and fills ----

static braid_status use_host(const struct finder *finder, bool writes)
{
    if (!finder->memory->options->is_unwatched)
        return distrust_seen(finder, "it touches memory of the host, which others may look at");
    return put_access(finder, USE_HOST, writes);
}

static bool is_inside(const struct finder *finder, uint32_t index, uint64_t begin, uint64_t bytes)
{
    const struct import_buffer *of = &import_buffers(finder->memory)[index];
    return bytes <= of->bytes - (begin - of->begin);
}

static bool touches_part(const struct finder *finder, uint64_t begin, uint64_t bytes)
{
    const struct import_buffer *parts = import_buffers(finder->memory);
    for (uint32_t i = 0; i < finder->memory->num_given; i++) {
        if (begin < parts[i].begin + parts[i].bytes && parts[i].begin < begin + bytes)
            return true;
    }
    return false;
}

// From the first byte to behind the last. A range that leaves a part which the program gives may
// still end in the allocation around it.
static braid_status use_range(const struct finder *finder, uint64_t begin, uint64_t bytes,
                              bool writes)
{
    enum import_place place;
    uint32_t index = 0;
    braid_status status =
        braid_import_memory_find(finder->memory, finder->node, begin, &place, &index);
    if (status)
        return status;
    if (place == PLACE_BUFFER && import_buffers(finder->memory)[index].kind == BUFFER_GIVEN &&
        !is_inside(finder, index, begin, bytes))
        return use_span(finder, begin, bytes, writes);
    if (place == PLACE_DEAD)
        return refuse_dead(finder, index);
    if (place != PLACE_BUFFER && touches_part(finder, begin, bytes))
        return distrust(finder, 0, "it touches a part of memory and more than that");
    if (place != PLACE_BUFFER)
        return use_host(finder, writes);
    if (!is_inside(finder, index, begin, bytes))
        return distrust(finder, 0, "it ends beyond the memory in which it begins");
    return add_access(finder, index, writes);
}

static braid_status use_copy(const struct finder *finder)
{
    const struct cuda_copy_parameters *copy = &node_of(finder)->copy;
    const struct cuda_copy_side *sides[] = { &copy->from, &copy->to };
    braid_status status = BRAID_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = sides[i]->memory_type == GPU_MEMORY_ARRAY
                     ? distrust(finder, 0, "it copies from or to an array")
                     : use_range(finder, braid_import_side_begin(sides[i]),
                                 braid_import_copy_span(copy, sides[i]), i);
    return status;
}

static braid_status use_fill(const struct finder *finder)
{
    const struct cuda_fill_parameters *fill = &node_of(finder)->fill;
    return use_range(finder, fill->to,
                     (fill->height - 1) * fill->pitch + fill->width * fill->value_bytes, true);
}

// ---- values and semaphores ----

// A lane runs one node after another: the work that a wait needs could stand behind it.
static braid_status use_value(const struct finder *finder)
{
    const struct captured_node *node = node_of(finder);
    if (braid_import_awaits(node) &&
        braid_captured_runs_beside(finder->captured, finder->node, finder->near))
        return braid_error(BRAID_UNSUPPORTED,
                           "node %s of the captured graph, a %s, waits for a value beside other "
                           "nodes, which may have to write it",
                           node->place, braid_captured_kind(node->type));
    return distrust(finder, 0,
                    node->type == GPU_NODE_OPERATIONS
                        ? "others may wait for the values, or write them"
                        : "others may wait for the semaphore, or signal it");
}

// ---- conditional nodes ----

// It reads its word: its first access. Nodes inside it tell for themselves.
static braid_status use_word_of_condition(const struct finder *finder)
{
    if (node_of(finder)->recorded)
        return put_access(finder, USE_CONDITIONS, true);
    const uint64_t word = (uintptr_t)node_of(finder)->conditional.told->condition;
    enum import_place place;
    uint32_t index = 0;
    braid_status status =
        braid_import_memory_find(finder->memory, finder->node, word, &place, &index);
    if (status)
        return status;
    if (place == PLACE_DEAD)
        return refuse_dead(finder, index);
    if (place != PLACE_BUFFER || !is_inside(finder, index, word, sizeof(uint32_t)))
        return braid_error(BRAID_UNSUPPORTED,
                           "node %s of the captured graph, a conditional node, has its word at "
                           "0x%llx, in no known memory",
                           node_of(finder)->place, (unsigned long long)word);
    return add_access(finder, index, false);
}

// ---- the walk ----

static braid_status use_node(const struct finder *finder)
{
    switch (node_of(finder)->type) {
    case GPU_NODE_KERNEL:
        return use_kernel(finder);
    case GPU_NODE_COPY:
        return use_copy(finder);
    case GPU_NODE_FILL:
        return use_fill(finder);
    case GPU_NODE_CONDITIONAL:
        return use_word_of_condition(finder);
    case GPU_NODE_HOST:
        return node_of(finder)->recorded && node_of(finder)->recorded->name[0]
                   ? distrust(finder, 0, "nobody knows what the call '%s' does",
                              node_of(finder)->recorded->name)
                   : distrust(finder, 0, "a host call may touch any memory");
    case GPU_NODE_OPERATIONS:
    case GPU_NODE_SIGNAL:
    case GPU_NODE_AWAIT:
        return use_value(finder);
    default:
        return distrust(finder, 0, "others may wait for the event, or record it");
    }
}

static braid_status find_all(struct finder *finder)
{
    const struct captured_graph *captured = finder->captured;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < captured->nodes.num && !status; i++) {
        finder->node = i;
        finder->uses->proven[i] = true;
        finder->uses->region[i] = captured_nodes(captured)[i].region;
        const int type = captured_nodes(captured)[i].type;
        finder->uses->is_work[i] =
            type != GPU_NODE_EMPTY && type != GPU_NODE_ALLOCATION && type != GPU_NODE_FREE;
        if (!finder->uses->is_work[i])
            continue;
        const uint32_t num_stated = finder->uses->num_stated;
        status = use_node(finder);
        if (!status && (!finder->uses->proven[i] || num_stated < finder->uses->num_stated) &&
            type != GPU_NODE_CONDITIONAL) // reads its word alone
            status = hold_allocations(finder);
    }
    return status;
}

// ---- pointers that kernels load ----
//
// All cells were taken for constants. If a node writes one, or may write any memory, then the
// kernels that use them are not proven. Such a kernel may write any memory itself, so all others
// with cells fall with it.

static const char *place_of(const struct finder *finder, uint32_t node)
{
    return captured_nodes(finder->captured)[node].place;
}

// The first node that may write any memory.
static uint32_t find_blind(const struct finder *finder)
{
    uint32_t node = 0;
    while (node < finder->captured->nodes.num && !finder->uses->blind[node])
        node++;
    return node;
}

// The first node that writes a cell of a node, of those that write each number; IMPORT_NONE.
static uint32_t find_writer(const struct finder *finder, uint32_t node, const uint32_t *writers,
                            bool *out_has_cells)
{
    const struct import_access *cells = finder->uses->cells.items;
    uint32_t writer = IMPORT_NONE;
    size_t at = braid_array_find(&finder->uses->cells, node, sizeof(*cells));
    *out_has_cells = at < finder->uses->cells.num && cells[at].node == node;
    for (; at < finder->uses->cells.num && cells[at].node == node && writer == IMPORT_NONE; at++)
        writer = writers[cells[at].buffer];
    return writer;
}

static int compare_reasons(const void *left, const void *right)
{
    const struct import_reason *a = left, *b = right;
    return (a->node > b->node) - (a->node < b->node);
}

static int compare_holds(const void *left, const void *right)
{
    const struct import_access *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static braid_status distrust_cells(const struct finder *finder, uint32_t writer)
{
    const struct import_code *code = &finder->code[node_of(finder)->kernel.function];
    braid_status status =
        writer != IMPORT_NONE
            ? distrust(finder, code->loads_line,
                       "it loads a pointer from memory that node %s writes",
                       place_of(finder, writer))
            : distrust(finder, code->loads_line,
                       "it loads a pointer from memory, and node %s may write any memory",
                       place_of(finder, find_blind(finder)));
    return status ? status : hold_allocations(finder);
}

// Kernels whose cells a node writes come first: they are why all others fall.
static braid_status distrust_all_cells(struct finder *finder, const uint32_t *writers)
{
    const uint32_t num = (uint32_t)finder->captured->nodes.num;
    bool has_cells, is_broken = find_blind(finder) < num;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !is_broken; i++)
        is_broken = find_writer(finder, i, writers, &has_cells) != IMPORT_NONE;
    for (uint32_t i = 0; i < 2 * num && is_broken && !status; i++) {
        finder->node = i % num;
        const uint32_t writer = find_writer(finder, finder->node, writers, &has_cells);
        if (has_cells && finder->uses->proven[finder->node] && (writer != IMPORT_NONE || i >= num))
            status = distrust_cells(finder, writer);
    }
    return status;
}

// A record has the bytes of a copy, so that it is known which pointers these change.
static bool is_told(const struct finder *finder, uint32_t node)
{
    const struct captured_node *of = &captured_nodes(finder->captured)[node];
    return of->type == GPU_NODE_COPY && of->recorded && of->recorded->bytes &&
           braid_import_memory_sent_bytes(finder->memory, of->operation);
}

static braid_status check_cells(struct finder *finder)
{
    struct import_uses *uses = finder->uses;
    const struct import_access *accesses = uses->accesses.items;
    const size_t num = finder->memory->buffers.num + USE_FIRST_BUFFER;
    uint32_t *writers = braid_allocate_zeroed(num, sizeof(*writers));
    if (!writers)
        return no_memory();
    for (size_t i = 0; i < num; i++)
        writers[i] = IMPORT_NONE;
    for (size_t i = uses->accesses.num; i-- > 0;) {
        if (accesses[i].writes && !is_told(finder, accesses[i].node))
            writers[accesses[i].buffer] = accesses[i].node;
    }
    const braid_status status = distrust_all_cells(finder, writers);
    braid_free(writers);
    if (!status && uses->reasons.num)
        qsort(uses->reasons.items, uses->reasons.num, sizeof(struct import_reason),
              compare_reasons);
    if (!status && uses->holds.num)
        qsort(uses->holds.items, uses->holds.num, sizeof(struct import_access), compare_holds);
    return status;
}

braid_status braid_import_find_uses(struct import_memory *memory, const struct import_code *code,
                                    struct import_uses *out_uses)
{
    struct import_uses uses = { 0 };
    struct import_statements statements = { 0 };
    struct finder finder = { .memory = memory,
                             .captured = memory->captured,
                             .code = code,
                             .uses = &uses,
                             .statements = &statements };
    uses.is_work = braid_allocate_zeroed(memory->captured->nodes.num, sizeof(bool));
    uses.proven = braid_allocate_zeroed(memory->captured->nodes.num, sizeof(bool));
    uses.region = braid_allocate_zeroed(memory->captured->nodes.num, sizeof(uint32_t));
    finder.near = braid_allocate_zeroed(memory->captured->nodes.num, sizeof(bool));
    uses.blind = braid_allocate_zeroed(memory->captured->nodes.num, sizeof(bool));
    const bool has_room = uses.is_work && uses.proven && uses.region && finder.near && uses.blind;
    braid_status status = has_room ? BRAID_OK : no_memory();
    if (!status)
        status = braid_import_match_statements(memory->captured, memory->options, &statements);
    if (!status)
        status = find_all(&finder);
    if (!status && memory->recorded.record)
        status = braid_import_split_bytes(memory, USE_FIRST_BUFFER, &uses.accesses, &uses.cells);
    if (!status && uses.cells.num)
        status = check_cells(&finder);
    braid_import_statements_finish(&statements);
    braid_free(finder.near);
    if (status)
        braid_import_uses_finish(&uses);
    else
        *out_uses = uses;
    return status;
}

void braid_import_uses_finish(struct import_uses *uses)
{
    braid_free(uses->is_work);
    braid_free(uses->proven);
    braid_free(uses->blind);
    braid_free(uses->region);
    braid_array_finish(&uses->accesses);
    braid_array_finish(&uses->holds);
    braid_array_finish(&uses->patches);
    braid_array_finish(&uses->words);
    braid_array_finish(&uses->reasons);
    braid_array_finish(&uses->cells);
    *uses = (struct import_uses){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// Reads the nodes of a capture: their accesses, and values with addresses in them.
#include "capture_nodes.h"

#include <inttypes.h>
#include <string.h>

enum word_kind { WORD_NUMBER, WORD_ADDRESS, WORD_TRAP };

// The next eight bytes of a value. `size` is that of the value.
static void read_word(struct capture_reader *reader, uint64_t place, uint32_t size)
{
    struct capture_file *file = reader->file;
    uint32_t kind = capture_take_below(reader, 1, WORD_TRAP + 1, "kind of word");
    if (kind == WORD_NUMBER) {
        const unsigned char *bytes = capture_take(reader, 8);
        if (bytes)
            memcpy((unsigned char *)file->values.items + place, bytes, 8);
        return;
    }
    struct capture_word word = { .place = place, .is_trap = kind == WORD_TRAP };
    bool is_whole = size == 8;
    if (!word.is_trap) {
        uint64_t begin;
        word.resource = capture_take_below(reader, 4, file->num_resources, "resource");
        word.offset = capture_take_number(reader, 8);
        if (reader->status != EXIT_DONE)
            return;
        uint32_t buffer = capture_buffer_of(file, word.resource, &begin);
        if (file->resources[buffer].kind == CAPTURE_NAME ||
            word.offset > file->resources[word.resource].bytes)
            capture_refuse(reader, "resource %" PRIu32 " has no byte %" PRIu64, word.resource,
                           word.offset);
        is_whole = is_whole && word.offset == 0;
        if (file->resources[buffer].kind == CAPTURE_BUFFER)
            is_whole = true;
    }
    if (!is_whole)
        capture_refuse(reader, "an address that frames choose is a part of a value");
    struct capture_word *slot = capture_append(reader, &file->words, 1, sizeof(*slot));
    if (slot)
        *slot = word;
}

// Its bytes are words, and a rest.
static void read_value(struct capture_reader *reader, uint32_t bytes, bool is_unchecked)
{
    struct capture_file *file = reader->file;
    uint32_t least = bytes / 8 + bytes % 8; // the word of a trap is a byte
    if (reader->status == EXIT_DONE && (bytes == 0 || least > reader->end - reader->at))
        capture_refuse(reader, "a value of %" PRIu32 " bytes does not fit", bytes);
    struct capture_argument argument = { .place = file->values.num,
                                         .bytes = bytes,
                                         .is_unchecked = is_unchecked,
                                         .first_word = (uint32_t)file->words.num };
    if (!capture_append(reader, &file->values, ((size_t)bytes + 15) / 16 * 16, 1))
        return;
    uint32_t at = 0;
    for (; bytes - at >= 8 && reader->status == EXIT_DONE; at += 8)
        read_word(reader, argument.place + at, bytes);
    const unsigned char *rest = capture_take(reader, bytes - at);
    if (rest)
        memcpy((unsigned char *)file->values.items + argument.place + at, rest, bytes - at);
    argument.num_words = (uint32_t)file->words.num - argument.first_word;
    struct capture_argument *slot = capture_append(reader, &file->arguments, 1, sizeof(*slot));
    if (slot)
        *slot = argument;
}

// A value that is an address in a buffer, or else a number if none is needed.
static void read_pointer(struct capture_reader *reader, uint32_t bytes, bool is_unchecked,
                         bool is_needed, const char *what)
{
    const struct capture_file *file = reader->file;
    size_t first = file->words.num;
    read_value(reader, bytes, is_unchecked);
    const struct capture_word *words = file->words.items;
    bool is_number = file->words.num == first;
    if (reader->status == EXIT_DONE &&
        (bytes != 8 || (is_number ? is_needed : words[first].is_trap)))
        capture_refuse(reader, "%s is no address in a buffer", what);
}

// So many bytes from a word on, in its buffer and those that follow.
static bool glue(struct capture_file *file, const struct capture_word *word, uint64_t bytes)
{
    struct capture_resource *resources = file->resources;
    uint64_t offset = word->offset;
    uint32_t at = word->resource;
    while (bytes > resources[at].bytes - offset) {
        bytes -= resources[at].bytes - offset;
        at = resources[at].kind == CAPTURE_BUFFER ? resources[at].next : CAPTURE_NONE;
        if (at == CAPTURE_NONE)
            return false;
        resources[at].is_glued = true;
        offset = 0;
    }
    return true;
}

static void check_ends(struct capture_reader *reader, const struct capture_node *node,
                       uint64_t bytes)
{
    struct capture_file *file = reader->file;
    const struct capture_word *words = file->words.items;
    for (uint32_t i = 0; i < node->num_arguments && reader->status == EXIT_DONE; i++) {
        const struct capture_word *word = &words[file->words.num - 1 - i];
        if (bytes == 0 || !glue(file, word, bytes))
            capture_refuse(reader, "%" PRIu64 " bytes reach beyond resource %" PRIu32, bytes,
                           word->resource);
    }
}

static braid_dim3 read_grid(struct capture_reader *reader)
{
    braid_dim3 grid;
    grid.x = (uint32_t)capture_take_number(reader, 4);
    grid.y = (uint32_t)capture_take_number(reader, 4);
    grid.z = (uint32_t)capture_take_number(reader, 4);
    return grid;
}

static void read_kernel(struct capture_reader *reader, struct capture_node *node)
{
    node->kernel = capture_take_below(reader, 4, reader->file->num_kernels, "kernel");
    node->grid = read_grid(reader);
    node->block = read_grid(reader);
    node->cluster = read_grid(reader);
    node->shared_bytes = (uint32_t)capture_take_number(reader, 4);
    node->priority = (int32_t)capture_take_number(reader, 4);
    const uint32_t how = capture_take_below(reader, 1, 3, "way to launch");
    node->has_grid_from = how == 1;
    node->is_cooperative = how == 2;
    node->num_arguments = (uint32_t)capture_take_number(reader, 4);
    for (uint32_t i = 0; i < node->num_arguments && reader->status == EXIT_DONE; i++) {
        uint32_t bytes = (uint32_t)capture_take_number(reader, 4);
        bool is_unchecked = capture_take_below(reader, 1, 2, "truth value") != 0;
        if (node->has_grid_from && i + 1 == node->num_arguments)
            read_pointer(reader, bytes, is_unchecked, true, "the grid of a kernel");
        else
            read_value(reader, bytes, is_unchecked);
    }
    if (node->has_grid_from && node->num_arguments == 0)
        capture_refuse(reader, "a kernel has no argument for its grid");
}

static void read_copy(struct capture_reader *reader, struct capture_node *node)
{
    node->num_arguments = 2;
    for (int i = 0; i < 2; i++)
        read_pointer(reader, 8, false, true, "an end of a copy");
    node->num = capture_take_number(reader, 8);
    check_ends(reader, node, node->num);
}

static void read_fill(struct capture_reader *reader, struct capture_node *node)
{
    node->num_arguments = 1;
    read_pointer(reader, 8, false, true, "the end of a fill");
    node->value = (uint32_t)capture_take_number(reader, 4);
    node->value_bytes = capture_take_below(reader, 4, 5, "size of a value");
    node->num = capture_take_number(reader, 8);
    if (node->value_bytes == 0 || node->value_bytes == 3 || node->num > INT64_MAX / 4)
        capture_refuse(reader, "a fill with %" PRIu64 " values of %" PRIu32 " bytes", node->num,
                       node->value_bytes);
    check_ends(reader, node, node->num * node->value_bytes);
}

static void check_condition(struct capture_reader *reader, const struct capture_node *node)
{
    const struct capture_file *file = reader->file;
    uint64_t begin;
    if (node->condition == CAPTURE_NONE && node->kind == CAPTURE_LOOP && node->most != UINT64_MAX)
        return;
    if (node->condition == CAPTURE_NONE)
        capture_refuse(reader, "a loop or branch has no condition");
    if (node->condition >= file->num_resources)
        capture_refuse(reader, "there is no resource %" PRIu32 " for a condition", node->condition);
    if (reader->status != EXIT_DONE)
        return;
    const struct capture_resource *it = &file->resources[node->condition];
    uint32_t buffer = capture_buffer_of(file, node->condition, &begin);
    if (file->resources[buffer].kind == CAPTURE_NAME || it->bytes < sizeof(uint32_t) ||
        begin % sizeof(uint32_t))
        capture_refuse(reader, "resource %" PRIu32 " is no word in a buffer, as conditions are",
                       node->condition);
}

static void read_region(struct capture_reader *reader, struct capture_node *node)
{
    node->condition = (uint32_t)capture_take_number(reader, 4);
    node->most = capture_take_number(reader, 8);
    node->expected = capture_take_number(reader, 8);
    node->tests_first = capture_take_below(reader, 1, 2, "truth value") != 0;
    node->num_nodes = (uint32_t)capture_take_number(reader, 4);
    node->num_else = (uint32_t)capture_take_number(reader, 4);
    if (reader->status != EXIT_DONE)
        return;
    bool is_branch = node->kind == CAPTURE_BRANCH;
    if (node->most == 0 || (is_branch ? node->most != 1 : node->num_else != 0))
        capture_refuse(reader, "a %s with %" PRIu64 " iterations and %" PRIu32 " other nodes",
                       is_branch ? "branch" : "loop", node->most, node->num_else);
    check_condition(reader, node);
}

static void read_accesses(struct capture_reader *reader, struct capture_node *node)
{
    struct capture_file *file = reader->file;
    node->first_access = (uint32_t)file->accesses.num;
    node->num_accesses = (uint32_t)capture_take_number(reader, 4);
    for (uint32_t i = 0; i < node->num_accesses && reader->status == EXIT_DONE; i++) {
        struct capture_access access = { 0 };
        access.resource = capture_take_below(reader, 4, file->num_resources, "resource");
        access.mode = capture_take_below(reader, 1, BRAID_ACCUMULATE + 1, "mode of an access");
        struct capture_access *slot = capture_append(reader, &file->accesses, 1, sizeof(*slot));
        if (slot)
            *slot = access;
    }
}

static void read_node(struct capture_reader *reader, uint32_t index)
{
    struct capture_node *node = &reader->file->nodes[index];
    node->name = capture_take_text(reader, true);
    node->kind = capture_take_below(reader, 1, CAPTURE_BRANCH + 1, "kind of node");
    node->role = capture_take_below(reader, 1, 3, "role");
    node->main = capture_take_below(reader, 4, (uint64_t)index + 1, "main node before");
    node->is_enabled = capture_take_below(reader, 1, 2, "truth value") != 0;
    node->cost_ns = capture_take_number(reader, 8);
    node->lane_hint = (uint32_t)capture_take_number(reader, 4);
    if ((node->role == 0) != (node->main == index))
        capture_refuse(reader, "node %" PRIu32 " is of no bundle", index);
    read_accesses(reader, node);
    node->first_argument = (uint32_t)reader->file->arguments.num;
    switch (node->kind) {
    case CAPTURE_KERNEL:
        read_kernel(reader, node);
        break;
    case CAPTURE_COPY:
        read_copy(reader, node);
        break;
    case CAPTURE_FILL:
        read_fill(reader, node);
        break;
    case CAPTURE_HOST:
        node->num_arguments = 1;
        read_pointer(reader, 8, false, false, "the data of a host call");
        break;
    case CAPTURE_EMPTY:
        break;
    case CAPTURE_LOOP:
    case CAPTURE_BRANCH:
        read_region(reader, node);
        break;
    default:
        capture_refuse(reader, "node %" PRIu32 " is of kind %u", index, (unsigned)node->kind);
    }
}

// What is in a loop or branch that rests, rests.
static void enter(struct capture_reader *reader, uint32_t index, uint32_t around, uint32_t end)
{
    struct capture_node *node = &reader->file->nodes[index];
    const struct capture_node *outer = &reader->file->nodes[around == CAPTURE_NONE ? 0 : around];
    node->around = around;
    if (around != CAPTURE_NONE && !outer->is_enabled)
        node->is_enabled = false;
    if (around != CAPTURE_NONE && index - around <= outer->num_nodes)
        end = around + 1 + outer->num_nodes; // that of the first arm
    uint64_t inside = (uint64_t)node->num_nodes + node->num_else;
    if (capture_is_region(node) && (!node->num_nodes || inside >= end - index))
        capture_refuse(reader,
                       "node %" PRIu32 " has a body of %" PRIu64 " nodes, and %" PRIu32 " are left",
                       index, inside, end - index - 1);
}

// Bodies nest, as each lies between its node and the end of the one around.
static void find_bodies(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    struct {
        uint32_t node, end;
    } open[CAPTURE_MOST_NESTING + 1] = { { CAPTURE_NONE, file->num_nodes } };
    uint32_t depth = 0;
    for (uint32_t i = 0; i < file->num_nodes && reader->status == EXIT_DONE; i++) {
        while (open[depth].end == i)
            depth--;
        enter(reader, i, open[depth].node, open[depth].end);
        if (!capture_is_region(&file->nodes[i]) || reader->status != EXIT_DONE)
            continue;
        if (depth++ == CAPTURE_MOST_NESTING) {
            capture_refuse(reader, "node %" PRIu32 " is nested deeper than %d", i,
                           CAPTURE_MOST_NESTING);
            return;
        }
        open[depth].node = i;
        open[depth].end = i + capture_num_with(&file->nodes[i]);
    }
}

void capture_read_nodes(struct capture_reader *reader)
{
    struct capture_file *file = reader->file;
    capture_begin_section(reader, "NODE");
    file->nodes = capture_take_items(reader, 28, sizeof(*file->nodes), &file->num_nodes);
    for (uint32_t i = 0; i < file->num_nodes && reader->status == EXIT_DONE; i++)
        read_node(reader, i);
    if (reader->status == EXIT_DONE)
        find_bodies(reader);
    capture_end_section(reader);
}

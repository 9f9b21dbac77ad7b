// SPDX-License-Identifier: Apache-2.0
// Counts what the attributes of a DOT file stand for, before that takes memory.
#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

enum exit_status dot_count_add(struct dot_file *file, enum dot_limit kind, uint64_t more)
{
    file->counts[kind] += more;
    if (dot_limits_allow(&file->limits, kind, file->counts[kind]))
        return EXIT_DONE;
    return dot_limits_refuse(&file->limits, file->text.path, 1, kind, file->counts[kind]);
}

// What one text stands for.
struct text_count {
    uint64_t num_bytes, num_words, num_ids; // ids: "\N"
};

static struct text_count count_text(const char *text, enum dot_limit kind)
{
    struct text_count count = { .num_bytes = strlen(text) };
    if (kind != DOT_TEXT)
        count.num_words = dot_words_count(text);
    for (const char *next = text; (next = strstr(next, "\\N")); next += 2)
        count.num_ids++;
    return count;
}

// Nodes in a row that have the same default are given the same place of the text.
enum exit_status dot_texts_count(struct dot_file *file, const struct dot_attribute *attribute,
                                 enum dot_limit kind)
{
    struct text_count count = { 0 };
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0, counted = 0; i < file->num_nodes && status == EXIT_DONE; i++) {
        const uint32_t value = dot_given_value(attribute, i);
        const struct dot_string *text = dot_given_read(file, value);
        if (!text)
            return EXIT_FAILED;
        if (value != counted)
            count = count_text(text->data, kind);
        counted = value;
        const uint64_t ids = count.num_ids ? count.num_ids * strlen(file->nodes[i].id) : 0;
        status = dot_count_add(file, DOT_TEXT, count.num_bytes + ids);
        if (status == EXIT_DONE && kind != DOT_TEXT)
            status = dot_count_add(file, kind, count.num_words);
    }
    return status;
}

// A transient buffer is one block, and scratch is one for each node that is given its address.
struct block_count {
    const struct dot_file *file;
    uint32_t *latest; // by resource: 1 + the latest node that was counted with it
    uint64_t num;
};

static void count_transient(struct block_count *blocks, uint32_t resource)
{
    const struct dot_resource *whole = &blocks->file->resources[resource];
    const uint32_t buffer = whole->name ? resource : whole->buffer;
    whole = &blocks->file->resources[buffer];
    if (whole->is_transient && !whole->is_scratch && !blocks->latest[buffer])
        blocks->latest[buffer] = (uint32_t)++blocks->num;
}

static void count_scratch(struct block_count *blocks, uint32_t node, uint32_t resource)
{
    if (resource == DOT_NONE || !blocks->file->resources[resource].is_scratch ||
        blocks->latest[resource] == node + 1)
        return;
    blocks->latest[resource] = node + 1;
    blocks->num++;
}

static void count_blocks(struct block_count *blocks)
{
    const struct dot_file *file = blocks->file;
    for (uint32_t i = 0; i < file->num_accesses; i++)
        count_transient(blocks, file->accesses[i].resource);
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct dot_node *node = &file->nodes[i];
        for (uint32_t arg = 0; node->has_args && arg < node->num_args; arg++)
            count_scratch(blocks, i, file->args[node->first_arg + arg].resource);
        count_scratch(blocks, i, node->grid_from);
        count_scratch(blocks, i, node->to);
        count_scratch(blocks, i, node->from);
        count_scratch(blocks, i, node->user);
    }
}

enum exit_status dot_blocks_count(struct dot_file *file)
{
    struct block_count blocks = { .file = file };
    if (file->num_resources == 0)
        return EXIT_DONE;
    blocks.latest = calloc((size_t)file->num_resources + 1, sizeof(*blocks.latest));
    if (!blocks.latest)
        return dot_text_no_memory(&file->text);
    count_blocks(&blocks);
    free(blocks.latest);
    return dot_count_add(file, DOT_BLOCKS, blocks.num);
}

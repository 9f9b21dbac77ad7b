// SPDX-License-Identifier: Apache-2.0
// Loops and branches of DOT files: how they run, and their bodies, which follow them.
#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

static enum exit_status read_number(const struct dot_file *file, uint32_t node, const char *name,
                                    const char *text, uint64_t *out_number)
{
    const char *next = text;
    if (dot_number_read(&next, out_number) && !*next && *out_number > 0)
        return EXIT_DONE;
    return dot_attribute_refuse(file, node, name, text, "that is a number of iterations, from 1");
}

enum exit_status dot_most_read(struct dot_file *file, uint32_t node, const char *text)
{
    return read_number(file, node, "most", text, &file->nodes[node].most);
}

enum exit_status dot_expected_read(struct dot_file *file, uint32_t node, const char *text)
{
    return read_number(file, node, "expected", text, &file->nodes[node].expected);
}

enum exit_status dot_tests_first_read(struct dot_file *file, uint32_t node, const char *text)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return dot_attribute_refuse(file, node, "tests_first", text, "it is true or false");
    file->nodes[node].tests_first = strcmp(text, "true") == 0;
    return EXIT_DONE;
}

enum exit_status dot_condition_read(struct dot_file *file, uint32_t node, const char *text)
{
    uint64_t number;
    const char *next = text;
    if (!dot_number_read(&next, &number) || *next)
        return dot_attribute_refuse(file, node, "condition", text,
                                    "that is the number of a resource");
    if (number >= file->num_resources)
        return dot_resource_refuse(file, node, "condition", text, number);
    file->nodes[node].condition = (uint32_t)number;
    return EXIT_DONE;
}

static enum exit_status check_around(const struct dot_file *file, uint32_t node)
{
    const struct dot_node *inside = &file->nodes[node], *around = &file->nodes[inside->around];
    const char *name = inside->is_else ? "else_of" : "body_of";
    if (around->kind == DOT_BRANCH || (around->kind == DOT_LOOP && !inside->is_else))
        return EXIT_DONE;
    return dot_attribute_refuse(file, node, name, around->id,
                                inside->is_else ? "that node is no branch"
                                                : "that node is no loop and no branch");
}

// Nodes by the body that they are directly in: lists whose heads are those of the frame, and of
// each node its body and its second arm. Each list goes backwards.
struct lists {
    uint32_t frame;
    uint32_t *heads; // two a node
    uint32_t *next;  // a node
};

static void fill_lists(const struct dot_file *file, struct lists *lists)
{
    lists->frame = DOT_NONE;
    for (uint32_t i = 0; i < 2 * file->num_nodes; i++)
        lists->heads[i] = DOT_NONE;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct dot_node *node = &file->nodes[i];
        uint32_t *head = &lists->frame;
        if (node->around != DOT_NONE)
            head = &lists->heads[2 * node->around + node->is_else];
        lists->next[i] = *head;
        *head = i;
    }
}

// The node pushed last comes first. How many there are: fewer than all, if bodies go round.
static uint32_t order(const struct dot_file *file, const struct lists *lists, uint32_t *stack,
                      uint32_t *new_index)
{
    uint32_t num = 0, depth = 0;
    for (uint32_t i = 0; i < file->num_nodes; i++)
        new_index[i] = DOT_NONE;
    for (uint32_t i = lists->frame; i != DOT_NONE; i = lists->next[i])
        stack[depth++] = i;
    while (depth) {
        uint32_t node = stack[--depth];
        new_index[node] = num++;
        for (int arm = 1; arm >= 0; arm--)
            for (uint32_t i = lists->heads[2 * node + (uint32_t)arm]; i != DOT_NONE;
                 i = lists->next[i])
                stack[depth++] = i;
    }
    return num;
}

static enum exit_status refuse_round(const struct dot_file *file, const uint32_t *new_index)
{
    uint32_t node = 0;
    while (new_index[node] != DOT_NONE)
        node++;
    return dot_attribute_refuse(file, node, file->nodes[node].is_else ? "else_of" : "body_of",
                                file->nodes[file->nodes[node].around].id,
                                "that node is inside of it, or inside of itself");
}

static enum exit_status move_bodies(struct dot_file *file)
{
    size_t num = (size_t)file->num_nodes + 1;
    uint32_t *room = calloc(5 * num, sizeof(*room));
    enum exit_status status = EXIT_DONE;
    if (!room)
        return dot_text_no_memory(&file->text);
    struct lists lists = { .heads = room, .next = room + 2 * num };
    uint32_t *stack = room + 3 * num, *new_index = room + 4 * num;
    fill_lists(file, &lists);
    if (order(file, &lists, stack, new_index) < file->num_nodes)
        status = refuse_round(file, new_index);
    else if (!dot_nodes_move(file, new_index))
        status = dot_text_no_memory(&file->text);
    free(room);
    return status;
}

enum exit_status dot_bodies_check(struct dot_file *file)
{
    bool has_body = false;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        const struct dot_node *node = &file->nodes[i];
        bool is_region = node->kind == DOT_LOOP || node->kind == DOT_BRANCH;
        const struct dot_node *main = node->role == DOT_MAIN ? node : &file->nodes[node->main];
        file->without_cost -= is_region && !node->cost.is_given; // that of its body
        if (node->around != main->around || node->is_else != main->is_else)
            return dot_bundle_refuse(file, i, "that node is not in the same body");
        if (node->around == DOT_NONE)
            continue;
        has_body = true;
        enum exit_status status = check_around(file, i);
        if (status != EXIT_DONE)
            return status;
    }
    return has_body ? move_bodies(file) : EXIT_DONE;
}

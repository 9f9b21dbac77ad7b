// SPDX-License-Identifier: Apache-2.0
// Walks through a captured frame as one thread would run it.
#include "replay_walk.h"

// So many nodes of the order, from `at` on.
static enum exit_status walk_nodes(const struct replay_walk *walk, uint32_t at, uint32_t num);

static enum exit_status read_condition(const struct replay_walk *walk, uint32_t resource,
                                       bool *out_is_set)
{
    uint64_t begin;
    uint32_t value = 0, buffer = capture_buffer_of(walk->device->replay.file, resource, &begin);
    enum exit_status status =
        replay_device_read(walk->device, buffer, begin, sizeof(value), (unsigned char *)&value);
    *out_is_set = value != 0;
    return status;
}

static enum exit_status walk_branch(const struct replay_walk *walk, uint32_t at,
                                    const struct capture_node *node)
{
    bool is_set = false;
    enum exit_status status = read_condition(walk, node->condition, &is_set);
    if (status != EXIT_DONE)
        return status;
    return is_set ? walk_nodes(walk, at + 1, node->num_nodes)
                  : walk_nodes(walk, at + 1 + node->num_nodes, node->num_else);
}

static enum exit_status walk_loop(const struct replay_walk *walk, uint32_t at,
                                  const struct capture_node *node)
{
    uint64_t *num = &walk->iterations[walk->device->replay.file->order[at]];
    enum exit_status status = EXIT_DONE;
    for (*num = 0; *num < node->most && status == EXIT_DONE;) {
        bool goes_on = true, tests = *num || node->tests_first;
        if (tests && node->condition != CAPTURE_NONE)
            status = read_condition(walk, node->condition, &goes_on);
        if (status != EXIT_DONE || !goes_on)
            break;
        ++*num;
        status = walk_nodes(walk, at + 1, node->num_nodes);
    }
    return status;
}

static enum exit_status walk_nodes(const struct replay_walk *walk, uint32_t at, uint32_t num)
{
    const struct capture_file *file = walk->device->replay.file;
    enum exit_status status = EXIT_DONE;
    for (uint32_t end = at + num; at < end && status == EXIT_DONE;) {
        const struct capture_node *node = &file->nodes[file->order[at]];
        if (!node->is_enabled)
            status = EXIT_DONE;
        else if (node->kind == CAPTURE_LOOP)
            status = walk_loop(walk, at, node);
        else if (node->kind == CAPTURE_BRANCH)
            status = walk_branch(walk, at, node);
        else
            status = walk->visit(walk->context, file->order[at]);
        at += capture_num_with(node);
    }
    return status;
}

enum exit_status replay_walk(const struct replay_walk *walk)
{
    return walk_nodes(walk, 0, walk->device->replay.file->num_nodes);
}

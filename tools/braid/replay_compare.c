// SPDX-License-Identifier: Apache-2.0
// Compares what the nodes of a captured frame write, on two devices or serially and as planned.
#include "replay_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "replay_device.h"

struct comparing {
    struct replay_comparison *comparison;
    struct replay_difference difference; // the first one
    uint64_t num_iterations;             // all loops', so far
    // Called on a walk through the frame, as one thread would run it.
    enum exit_status (*run)(struct comparing *comparing, uint32_t node);
};

// So many nodes of the order, from `at` on.
static enum exit_status walk_nodes(struct comparing *comparing, uint32_t at, uint32_t num);

static enum exit_status read_condition(const struct replay_comparison *comparison,
                                       uint32_t resource, bool *out_is_set)
{
    uint64_t begin;
    uint32_t value = 0, buffer = capture_buffer_of(comparison->graph.file, resource, &begin);
    enum exit_status status = replay_device_read(&comparison->left, buffer, begin, sizeof(value),
                                                 (unsigned char *)&value);
    *out_is_set = value != 0;
    return status;
}

static enum exit_status walk_branch(struct comparing *comparing, uint32_t at,
                                    const struct capture_node *node)
{
    bool is_set = false;
    enum exit_status status = read_condition(comparing->comparison, node->condition, &is_set);
    if (status != EXIT_DONE)
        return status;
    return is_set ? walk_nodes(comparing, at + 1, node->num_nodes)
                  : walk_nodes(comparing, at + 1 + node->num_nodes, node->num_else);
}

static enum exit_status refuse_iterations(const struct capture_file *file, uint32_t loop,
                                          uint64_t most)
{
    return fail(EXIT_FAILED,
                "%s: with loop %" PRIu32 " '%s', of at most %" PRIu64
                " iterations, loops have over %" PRIu64 " in all: --iterations allows more",
                file->path, loop, printable_name(file->nodes[loop].name).text,
                file->nodes[loop].most, most);
}

static bool is_fixed(const struct capture_node *node)
{
    return node->is_enabled && node->kind == CAPTURE_LOOP && node->condition == CAPTURE_NONE;
}

// How often the loop iterates, if it is in none but such as have no condition; else 0.
static uint64_t count_fixed(const struct capture_file *file, uint32_t loop)
{
    uint64_t num = 1;
    for (uint32_t at = loop; at != CAPTURE_NONE && num; at = file->nodes[at].around) {
        uint64_t times = is_fixed(&file->nodes[at]) ? file->nodes[at].most : 0;
        num = times > 0 && num > UINT64_MAX / times ? UINT64_MAX : num * times;
    }
    return num;
}

enum exit_status replay_check_iterations(const struct capture_file *file, uint64_t most)
{
    uint64_t left = most;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        uint64_t num = count_fixed(file, i);
        if (num > left)
            return refuse_iterations(file, i, most);
        left -= num;
    }
    return EXIT_DONE;
}

static enum exit_status walk_loop(struct comparing *comparing, uint32_t at,
                                  const struct capture_node *node)
{
    const struct replay_comparison *comparison = comparing->comparison;
    uint64_t *num = &comparison->iterations[comparison->graph.file->order[at]];
    enum exit_status status = EXIT_DONE;
    for (*num = 0; *num < node->most && status == EXIT_DONE;) {
        bool goes_on = true, tests = *num || node->tests_first;
        if (tests && node->condition != CAPTURE_NONE)
            status = read_condition(comparison, node->condition, &goes_on);
        if (status != EXIT_DONE || !goes_on)
            break;
        if (comparing->num_iterations++ == comparison->most_iterations)
            return refuse_iterations(comparison->graph.file, comparison->graph.file->order[at],
                                     comparison->most_iterations);
        ++*num;
        status = walk_nodes(comparing, at + 1, node->num_nodes);
    }
    return status;
}

static enum exit_status walk_nodes(struct comparing *comparing, uint32_t at, uint32_t num)
{
    const struct capture_file *file = comparing->comparison->graph.file;
    enum exit_status status = EXIT_DONE;
    for (uint32_t end = at + num; at < end && status == EXIT_DONE;) {
        const struct capture_node *node = &file->nodes[file->order[at]];
        if (!node->is_enabled)
            status = EXIT_DONE;
        else if (node->kind == CAPTURE_LOOP)
            status = walk_loop(comparing, at, node);
        else if (node->kind == CAPTURE_BRANCH)
            status = walk_branch(comparing, at, node);
        else
            status = comparing->run(comparing, file->order[at]);
        at += capture_num_with(node);
    }
    return status;
}

typedef enum exit_status read_bytes(const struct replay_comparison *comparison, uint32_t buffer,
                                    uint64_t begin, uint64_t bytes);

static enum exit_status prepare(struct replay_comparison *comparison)
{
    const struct capture_file *file = comparison->graph.file;
    uint64_t most = 1;
    for (uint32_t i = 0; i < file->num_resources; i++) {
        if (file->resources[i].kind != CAPTURE_NAME && file->resources[i].bytes > most)
            most = file->resources[i].bytes;
    }
    for (int i = 0; i < 2; i++)
        comparison->room[i] = malloc(most);
    comparison->iterations = calloc((size_t)file->num_nodes + 1, sizeof(uint64_t));
    return comparison->room[0] && comparison->room[1] && comparison->iterations
               ? EXIT_DONE
               : fail(EXIT_FAILED, "out of memory for the buffers of %s", file->path);
}

void replay_comparison_finish(struct replay_comparison *comparison)
{
    const struct capture_file *file = comparison->graph.file;
    replay_device_close(&comparison->right);
    replay_device_close(&comparison->left);
    for (uint32_t i = 0; comparison->contents && i < file->num_resources; i++)
        free(comparison->contents[i]);
    free(comparison->contents);
    free(comparison->room[0]);
    free(comparison->room[1]);
    free(comparison->iterations);
}

struct who {
    char text[512];
};

// A node, with the iterations of the loops round it.
static struct who name_node(const struct replay_comparison *comparison, uint32_t node)
{
    const struct capture_node *nodes = comparison->graph.file->nodes;
    struct who who;
    int end = snprintf(who.text, sizeof(who.text), "%" PRIu32 " '%s'", node,
                       printable_name(nodes[node].name).text);
    for (uint32_t i = nodes[node].around; i != CAPTURE_NONE; i = nodes[i].around) {
        uint64_t iteration = comparison->iterations[i];
        if (iteration && end >= 0 && (size_t)end < sizeof(who.text))
            end += snprintf(who.text + end, sizeof(who.text) - (size_t)end,
                            " in iteration %" PRIu64 " of '%s'", iteration,
                            printable_name(nodes[i].name).text);
    }
    return who;
}

// A plan is compared once all its nodes have run: then any that writes the byte may be at fault.
static enum exit_status tell(struct replay_comparison *comparison,
                             const struct replay_difference *difference)
{
    const struct capture_file *file = comparison->graph.file;
    uint32_t num_writers = 0, last = difference->node;
    char who[1200] = "no node that writes it";
    for (uint32_t i = 0; comparison->contents && i < file->num_nodes; i++) {
        if (!replay_graph_writes(&comparison->graph, file->order[i], difference->buffer,
                                 difference->at))
            continue;
        num_writers++;
        last = file->order[i];
    }
    comparison->found = *difference;
    comparison->found.last = last;
    comparison->found.num_writers = num_writers;
    if (difference->node != CAPTURE_NONE && num_writers <= 1)
        snprintf(who, sizeof(who), "node %s", name_node(comparison, difference->node).text);
    else if (difference->node != CAPTURE_NONE)
        snprintf(who, sizeof(who), "one of %" PRIu32 " nodes from %s to %s", num_writers,
                 name_node(comparison, difference->node).text, name_node(comparison, last).text);
    return fail(EXIT_FAILED, "%s: buffer '%s' differs from byte %" PRIu64 " on: %s %s, %s %s", who,
                printable_name(file->resources[difference->buffer].name).text, difference->at,
                difference->left.text, comparison->left_name, difference->right.text,
                comparison->right_name);
}

// Compares bytes in `room`.
static void compare(struct comparing *comparing, uint32_t node, uint32_t buffer, uint64_t begin,
                    uint64_t bytes)
{
    const struct replay_comparison *comparison = comparing->comparison;
    const struct replay_tolerance *tolerance = &comparison->tolerance;
    unsigned char *const *room = comparison->room;
    uint64_t at;
    if (!replay_find_difference(room[0], room[1], bytes, tolerance, &at))
        return;
    comparing->difference =
        (struct replay_difference){ .is_found = true,
                                    .node = node,
                                    .buffer = buffer,
                                    .at = begin + at,
                                    .left = replay_show_value(room[0], at, bytes, tolerance),
                                    .right = replay_show_value(room[1], at, bytes, tolerance) };
}

// Reads what both sides have in the buffers that the node writes, and compares. With CAPTURE_NONE
// that is all buffers. A node that rests writes nothing.
static enum exit_status compare_written(struct comparing *comparing, uint32_t node,
                                        read_bytes *read)
{
    const struct replay_comparison *comparison = comparing->comparison;
    const struct capture_file *file = comparison->graph.file;
    const struct capture_access *accesses = file->accesses.items;
    enum exit_status status = EXIT_DONE;
    bool is_all = node == CAPTURE_NONE;
    bool only_kept = is_all || comparison->contents; // a plan keeps no transient buffers
    uint32_t num = is_all ? file->num_resources : file->nodes[node].num_accesses;
    if (!is_all && replay_graph_rests(&comparison->graph, node))
        return EXIT_DONE;
    for (uint32_t i = 0; i < num && status == EXIT_DONE && !comparing->difference.is_found; i++) {
        const struct capture_access *access =
            is_all ? NULL : &accesses[file->nodes[node].first_access + i];
        uint64_t begin;
        uint32_t resource = access ? access->resource : i;
        uint32_t buffer = capture_buffer_of(file, resource, &begin);
        bool is_kept = file->resources[buffer].kind == CAPTURE_BUFFER;
        bool is_written = !access || replay_access_writes(access);
        if (!comparison->left.memory[buffer] || !is_written || (only_kept && !is_kept))
            continue;
        status = read(comparison, buffer, begin, file->resources[resource].bytes);
        if (status == EXIT_DONE)
            compare(comparing, node, buffer, begin, file->resources[resource].bytes);
    }
    return status;
}

static enum exit_status read_devices(const struct replay_comparison *comparison, uint32_t buffer,
                                     uint64_t begin, uint64_t bytes)
{
    enum exit_status status =
        replay_device_read(&comparison->left, buffer, begin, bytes, comparison->room[0]);
    return status == EXIT_DONE
               ? replay_device_read(&comparison->right, buffer, begin, bytes, comparison->room[1])
               : status;
}

static enum exit_status run_on_both(struct comparing *comparing, uint32_t node)
{
    struct replay_comparison *comparison = comparing->comparison;
    enum exit_status status = replay_device_run(&comparison->left, node);
    if (status == EXIT_DONE)
        status = replay_device_run(&comparison->right, node);
    if (status == EXIT_DONE)
        status = compare_written(comparing, node, read_devices);
    return comparing->difference.is_found ? tell(comparison, &comparing->difference) : status;
}

enum exit_status replay_compare_devices(struct replay_comparison *comparison)
{
    struct comparing comparing = { .comparison = comparison, .run = run_on_both };
    enum exit_status status = prepare(comparison);
    if (status == EXIT_DONE)
        status = walk_nodes(&comparing, 0, comparison->graph.file->num_nodes);
    if (status == EXIT_DONE)
        status = compare_written(&comparing, CAPTURE_NONE, read_devices);
    return status == EXIT_DONE && comparing.difference.is_found
               ? tell(comparison, &comparing.difference)
               : status;
}

// Reads the bytes of the serial run, and of the planned one.
static enum exit_status read_runs(const struct replay_comparison *comparison, uint32_t buffer,
                                  uint64_t begin, uint64_t bytes)
{
    memcpy(comparison->room[0], comparison->contents[buffer] + begin, bytes);
    return replay_device_read(&comparison->left, buffer, begin, bytes, comparison->room[1]);
}

static enum exit_status keep_contents(struct replay_comparison *comparison)
{
    const struct capture_file *file = comparison->graph.file;
    enum exit_status status = EXIT_DONE;
    if (!comparison->contents)
        comparison->contents = calloc((size_t)file->num_resources + 1, sizeof(unsigned char *));
    for (uint32_t i = 0; i < file->num_resources && status == EXIT_DONE; i++) {
        const struct capture_resource *it = &file->resources[i];
        if (it->kind != CAPTURE_BUFFER)
            continue;
        if (comparison->contents && !comparison->contents[i])
            comparison->contents[i] = malloc(it->bytes);
        status =
            comparison->contents && comparison->contents[i]
                ? replay_device_read(&comparison->left, i, 0, it->bytes, comparison->contents[i])
                : fail(EXIT_FAILED, "out of memory for the buffers of %s", file->path);
    }
    return status;
}

static enum exit_status run_serially(struct comparing *comparing, uint32_t node)
{
    return replay_device_run(&comparing->comparison->left, node);
}

static enum exit_status run_twice(struct comparing *comparing, uint32_t num_lanes)
{
    struct replay_comparison *comparison = comparing->comparison;
    const struct capture_file *file = comparison->graph.file;
    enum exit_status status = replay_device_fill(&comparison->left);
    if (status == EXIT_DONE)
        status = walk_nodes(comparing, 0, file->num_nodes);
    if (status == EXIT_DONE)
        status = keep_contents(comparison);
    if (status == EXIT_DONE)
        status = replay_device_fill(&comparison->left);
    if (status == EXIT_DONE)
        status = replay_device_run_planned(&comparison->left, num_lanes);
    for (uint32_t i = 0; i < file->num_nodes && status == EXIT_DONE; i++) {
        if (!comparing->difference.is_found)
            status = compare_written(comparing, file->order[i], read_runs);
    }
    return status == EXIT_DONE && !comparing->difference.is_found
               ? compare_written(comparing, CAPTURE_NONE, read_runs)
               : status;
}

// CAPTURE_NONE: there is none.
static uint32_t outermost_loop(const struct capture_file *file, uint32_t node)
{
    uint32_t loop = CAPTURE_NONE;
    uint32_t at = node == CAPTURE_NONE ? CAPTURE_NONE : file->nodes[node].around;
    for (; at != CAPTURE_NONE; at = file->nodes[at].around) {
        if (file->nodes[at].kind == CAPTURE_LOOP)
            loop = at;
    }
    return loop;
}

// Halves the iterations of a loop until one more makes the difference. Of inner loops the
// iteration is not known.
static enum exit_status find_iteration(struct comparing *comparing, uint32_t loop,
                                       uint32_t num_lanes)
{
    struct replay_comparison *comparison = comparing->comparison;
    const struct capture_file *file = comparison->graph.file;
    uint64_t low = 0, high = comparison->iterations[loop], *most = &file->nodes[loop].most;
    const uint64_t whole = *most;
    enum exit_status status = EXIT_DONE;
    while (high > low + 1 && status == EXIT_DONE) {
        struct comparing trial = { .comparison = comparison, .run = run_serially };
        *most = low + (high - low) / 2;
        status = run_twice(&trial, num_lanes);
        *(trial.difference.is_found ? &high : &low) = *most;
        if (trial.difference.is_found)
            comparing->difference = trial.difference;
    }
    *most = whole;
    memset(comparison->iterations, 0, file->num_nodes * sizeof(*comparison->iterations));
    comparison->iterations[loop] = high;
    return status;
}

enum exit_status replay_compare_runs(struct replay_comparison *comparison, uint32_t num_lanes)
{
    struct comparing comparing = { .comparison = comparison, .run = run_serially };
    enum exit_status status = prepare(comparison);
    if (status == EXIT_DONE)
        status = run_twice(&comparing, num_lanes);
    if (status != EXIT_DONE || !comparing.difference.is_found)
        return status;
    uint32_t loop = outermost_loop(comparison->graph.file, comparing.difference.node);
    if (loop != CAPTURE_NONE)
        status = find_iteration(&comparing, loop, num_lanes);
    return status == EXIT_DONE ? tell(comparison, &comparing.difference) : status;
}

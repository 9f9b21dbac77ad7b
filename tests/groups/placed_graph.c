// SPDX-License-Identifier: Apache-2.0
// Random graphs over several devices: made, built, and computed on the host.
#include "groups/placed_graph.h"

#include <stdio.h>

#include "support/check.h"
#include "support/kernels.h"

static uint32_t words_of(uint32_t part)
{
    return part == 0 ? PLACED_WORDS : PLACED_WORDS / 2;
}

static uint32_t offset_of(uint32_t part)
{
    return part == 2 ? PLACED_WORDS / 2 : 0;
}

// Each part has the size of the node's other parts.
static struct placed_part choose_part(const struct placed_model *model, struct random *random,
                                      bool is_whole)
{
    uint32_t part = is_whole ? 0 : 1 + random_below(random, 2);
    return (struct placed_part){ random_below(random, model->num_buffers), part };
}

static struct placed_part choose_other(const struct placed_model *model, struct random *random,
                                       struct placed_part one)
{
    struct placed_part other = choose_part(model, random, one.part == 0);
    if (other.buffer == one.buffer)
        other.buffer = (other.buffer + 1) % model->num_buffers;
    return other;
}

static void choose_node(struct placed_model *model, struct random *random, struct placed_node *node,
                        uint32_t named)
{
    bool is_whole = random_chance(random, 60);
    *node = (struct placed_node){ .kind = (enum placed_kind)random_below(random, 5),
                                  .factor = random_below(random, 7) + 1,
                                  .addend = random_below(random, 1000) };
    node->to = choose_part(model, random, is_whole);
    node->from = choose_other(model, random, node->to);
    node->with = choose_other(model, random, node->to);
    if (random_chance(random, named))
        node->place = random_below(random, model->num_places) + 1;
}

// A frame finds nothing in a transient buffer: the first nodes fill them.
void placed_model_make(struct placed_model *model, struct random *random, uint32_t num_places,
                       uint32_t named)
{
    model->num_places = num_places;
    model->num_buffers = 3 + random_below(random, PLACED_MOST_BUFFERS - 3);
    model->num_transients = random_below(random, 3);
    model->num_nodes = 6 + random_below(random, PLACED_MOST_NODES - 6);
    for (uint32_t i = 0; i < model->num_buffers; i++)
        model->homes[i] = i ? random_below(random, num_places) : 0;
    for (uint32_t i = 0; i < model->num_nodes; i++)
        choose_node(model, random, &model->nodes[i], named);
    for (uint32_t i = 0; i < model->num_transients; i++) {
        struct placed_node *node = &model->nodes[i];
        node->kind = PLACED_FILL;
        node->to = (struct placed_part){ model->num_buffers - 1 - i, 0 };
    }
}

struct handles {
    braid_resource parts[PLACED_MOST_BUFFERS][PLACED_NUM_PARTS];
};

static void declare(const struct placed_model *model, uint32_t *const *addresses,
                    braid_graph *graph, struct handles *handles)
{
    const uint64_t bytes = PLACED_WORDS * sizeof(uint32_t);
    for (uint32_t i = 0; i < model->num_buffers; i++) {
        braid_resource *parts = handles->parts[i];
        char name[16];
        snprintf(name, sizeof(name), "b%u", i);
        if (i >= model->num_buffers - model->num_transients) {
            check_ok(braid_graph_add_transient(graph, name, bytes, 0, &parts[0]));
        } else {
            check_ok(braid_graph_add_buffer(graph, name, addresses[i], bytes, &parts[0]));
            check_ok(braid_graph_set_home(graph, parts[0], model->homes[i] + 1));
        }
        check_ok(braid_graph_add_range(graph, parts[0], 0, bytes / 2, &parts[1]));
        check_ok(braid_graph_add_range(graph, parts[0], bytes / 2, bytes / 2, &parts[2]));
    }
}

static const braid_resource *handle_of(const struct handles *handles, struct placed_part part)
{
    return &handles->parts[part.buffer][part.part];
}

static void add_kernel(struct placed_node *node, const struct handles *handles, braid_graph *graph)
{
    const braid_resource *to = handle_of(handles, node->to), *from = handle_of(handles, node->from),
                         *with = handle_of(handles, node->with);
    uint32_t num = words_of(node->to.part);
    bool adds = node->kind == PLACED_ADD, changes = node->kind == PLACED_CHANGE;
    if (changes)
        from = to;
    const braid_access accesses[] = { { *to, changes ? BRAID_READ_WRITE : BRAID_WRITE },
                                      { *from, BRAID_READ },
                                      { *with, BRAID_READ } };
    bool same = node->from.buffer == node->with.buffer && node->from.part == node->with.part;
    const braid_arg args[] = { braid_resource_address(to), braid_resource_address(from),
                               adds ? braid_resource_address(with) : BRAID_ARG(node->factor),
                               adds ? BRAID_ARG(num) : BRAID_ARG(node->addend), BRAID_ARG(num) };
    const braid_kernel_node launch = {
        .node = { .accesses = accesses,
                  .num_accesses = changes         ? 1
                                  : adds && !same ? 3
                                                  : 2,
                  .cost_ns = 5000,
                  .place = node->place },
        .kernel = adds ? &test_add : &test_axpy,
        .grid = { 1, 1, 1 },
        .block = { PLACED_WORDS, 1, 1 },
        .args = args,
        .num_args = adds ? 4 : 5,
    };
    check_ok(braid_graph_add_kernel(graph, &launch, &node->handle));
}

static void add_node(struct placed_node *node, const struct handles *handles, braid_graph *graph)
{
    const braid_resource *to = handle_of(handles, node->to), *from = handle_of(handles, node->from);
    uint32_t num = words_of(node->to.part);
    const braid_access accesses[] = { { *to, BRAID_WRITE }, { *from, BRAID_READ } };
    braid_node_options options = { .accesses = accesses,
                                   .num_accesses = node->kind == PLACED_COPY ? 2 : 1,
                                   .cost_ns = 5000,
                                   .place = node->place };
    if (node->kind == PLACED_COPY) {
        const braid_copy copy = { .node = options,
                                  .to_resource = *to,
                                  .from_resource = *from,
                                  .bytes = num * sizeof(uint32_t) };
        check_ok(braid_graph_add_copy(graph, &copy, &node->handle));
    } else if (node->kind == PLACED_FILL) {
        const braid_fill fill = { .node = options,
                                  .to_resource = *to,
                                  .value = node->addend,
                                  .value_bytes = 4,
                                  .num_values = num };
        check_ok(braid_graph_add_fill(graph, &fill, &node->handle));
    } else {
        add_kernel(node, handles, graph);
    }
}

void placed_model_build(struct placed_model *model, uint32_t *const *addresses, braid_graph *graph)
{
    struct handles handles;
    declare(model, addresses, graph, &handles);
    for (uint32_t i = 0; i < model->num_buffers; i++)
        model->buffers[i] = handles.parts[i][0];
    for (uint32_t i = 0; i < model->num_nodes; i++)
        add_node(&model->nodes[i], &handles, graph);
}

static uint32_t *find(uint32_t *words, struct placed_part part)
{
    return words + part.buffer * PLACED_WORDS + offset_of(part.part);
}

void placed_model_run(const struct placed_model *model, uint32_t *words)
{
    for (uint32_t i = 0; i < model->num_nodes; i++) {
        const struct placed_node *node = &model->nodes[i];
        uint32_t *to = find(words, node->to);
        const uint32_t *from = node->kind == PLACED_CHANGE ? to : find(words, node->from);
        const uint32_t *with = find(words, node->with);
        for (uint32_t k = 0; k < words_of(node->to.part) && !node->rests; k++) {
            if (node->kind == PLACED_FILL)
                to[k] = node->addend;
            else if (node->kind == PLACED_COPY)
                to[k] = from[k];
            else if (node->kind == PLACED_ADD)
                to[k] = from[k] + with[k];
            else
                to[k] = from[k] * node->factor + node->addend;
        }
    }
}

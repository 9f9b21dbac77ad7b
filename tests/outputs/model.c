// SPDX-License-Identifier: Apache-2.0
// Makes models and their graphs, computes, and goes back from outputs.
#include "outputs/model.h"

#include <string.h>

enum { FRAMES = 3 * MODEL_NODES };

static bool is_lock(const struct model_part *part)
{
    return part->thing >= MODEL_BUFFERS;
}

static bool reads(braid_access_mode mode)
{
    return mode == BRAID_READ || mode == BRAID_READ_WRITE || mode == BRAID_EXCLUSIVE;
}

// What a node writes depends on itself and on all that it reads. It reads no lock that it holds.
static void compute(void *user)
{
    struct model_node *node = user;
    unsigned hash = (unsigned)(node - node->model->nodes) * 2654435761u + 1;
    atomic_fetch_add(&node->num_runs, 1);
    for (uint32_t k = 0; k < node->num; k++) {
        const struct model_part *part = node->parts[k];
        for (uint32_t b = 0; b < part->num && reads(node->modes[k]) &&
                             !(node->modes[k] == BRAID_EXCLUSIVE && is_lock(part));
             b++)
            hash = hash * 31 + atomic_load(&node->model->bytes[part->thing][part->first + b]);
    }
    for (uint32_t k = 0; k < node->num; k++) {
        const struct model_part *part = node->parts[k];
        bool adds = node->modes[k] == BRAID_ACCUMULATE || is_lock(part);
        for (uint32_t b = 0; b < part->num && node->modes[k] != BRAID_READ; b++) {
            atomic_uint *byte = &node->model->bytes[part->thing][part->first + b];
            if (adds && node->modes[k] != BRAID_WRITE)
                atomic_fetch_add(byte, hash);
            else
                atomic_store(byte, hash + b);
        }
    }
}

static void make_parts(struct model *model, struct random *random, braid_graph *graph)
{
    for (uint32_t i = 0; i < MODEL_THINGS; i++) {
        struct model_part *part = &model->parts[model->num_parts++];
        model->is_transient[i] = i > 0 && i < MODEL_BUFFERS && random_chance(random, 30);
        *part = (struct model_part){ .thing = i, .num = i < MODEL_BUFFERS ? MODEL_BYTES : 1 };
        if (is_lock(part))
            part->handle = new_resource(graph, "lock");
        else if (model->is_transient[i])
            part->handle = transient(graph, "transient", MODEL_BYTES);
        else
            check_ok(braid_graph_add_buffer(graph, "buffer", NULL, MODEL_BYTES, &part->handle));
        if (is_lock(part) || model->is_transient[i] || random_chance(random, 40))
            continue;
        struct model_part *range = &model->parts[model->num_parts++];
        *range = (struct model_part){ .thing = i, .first = random_below(random, MODEL_BYTES - 1) };
        range->num = 1 + random_below(random, MODEL_BYTES - range->first);
        check_ok(
            braid_graph_add_range(graph, part->handle, range->first, range->num, &range->handle));
    }
}

// No node has two accesses to one thing. A transient buffer is written first.
static void choose_accesses(struct model *model, struct random *random, struct model_node *node,
                            bool *is_written)
{
    static const braid_access_mode modes[] = {
        BRAID_READ, BRAID_READ, BRAID_WRITE, BRAID_READ_WRITE, BRAID_ACCUMULATE, BRAID_EXCLUSIVE
    };
    uint32_t wanted = random_below(random, 4);
    for (uint32_t i = 0; i < wanted; i++) {
        struct model_part *part = &model->parts[random_below(random, model->num_parts)];
        bool is_new = true;
        for (uint32_t k = 0; k < node->num; k++)
            is_new = is_new && node->parts[k]->thing != part->thing;
        if (!is_new)
            continue;
        bool is_first = model->is_transient[part->thing] && !is_written[part->thing];
        node->parts[node->num] = part;
        node->modes[node->num++] = is_first ? BRAID_WRITE : modes[random_below(random, 6)];
        is_written[part->thing] = true;
    }
}

// Behind a node that does not write a transient buffer, that has any bytes.
static bool begins_transient(const struct model_node *node)
{
    bool any = false;
    for (uint32_t k = 0; k < node->num; k++)
        any |= node->modes[k] == BRAID_WRITE && node->model->is_transient[node->parts[k]->thing];
    return any;
}

static void add_node(struct model *model, struct random *random, braid_graph *graph, uint32_t i)
{
    struct model_node *node = &model->nodes[i];
    braid_access accesses[3];
    for (uint32_t k = 0; k < node->num; k++)
        accesses[k] = (braid_access){ node->parts[k]->handle, node->modes[k] };
    braid_node_options options = { .name = "user",
                                   .accesses = accesses,
                                   .num_accesses = node->num,
                                   .cost_ns = 1 + random_below(random, 50) };
    node->model = model;
    node->main = i;
    node->before = MODEL_NODES;
    if (i && random_chance(random, 15) && model->nodes[i - 1].main == i - 1) {
        node->main = i - 1;
        options.epilogue_of = model->nodes[i - 1].handle;
    } else if (i && random_chance(random, 15)) {
        node->before = random_below(random, i);
        options.after = &model->nodes[node->before].handle;
        options.num_after = 1;
    }
    node->is_empty = random_chance(random, 20) && !begins_transient(node);
    const braid_host_call call = { .node = options, .call = compute, .user = node };
    if (node->is_empty)
        check_ok(braid_graph_add_empty(graph, &(braid_empty){ options }, &node->handle));
    else
        check_ok(braid_graph_add_host_call(graph, &call, &node->handle));
    node->may_rest = random_chance(random, 30) && !begins_transient(node);
    if (!node->may_rest)
        return;
    check_ok(braid_graph_add_parameter(graph, "enabled", 4, &node->enabled));
    check_ok(braid_graph_use_parameter(
        graph, node->enabled,
        &(braid_parameter_use){ .node = node->handle, .target = BRAID_TARGET_ENABLED }));
}

braid_graph *model_graph(struct model *model, uint64_t seed)
{
    struct random random = { seed };
    bool is_written[MODEL_THINGS] = { false };
    braid_graph *graph = new_graph();
    memset(model, 0, sizeof(*model));
    make_parts(model, &random, graph);
    model->num_nodes = 2 + random_below(&random, MODEL_NODES - 1);
    for (uint32_t i = 0; i < model->num_nodes; i++) {
        choose_accesses(model, &random, &model->nodes[i], is_written);
        add_node(model, &random, graph, i);
    }
    for (uint32_t i = 0; i < MODEL_OUTPUTS; i++) {
        do
            model->outputs[i] = &model->parts[random_below(&random, model->num_parts)];
        while (model->is_transient[model->outputs[i]->thing]);
    }
    return graph;
}

void model_set_outputs(const struct model *model, braid_graph *graph)
{
    for (uint32_t i = 0; i < MODEL_OUTPUTS; i++)
        check_ok(braid_graph_set_output(graph, model->outputs[i]->handle));
}

bool model_has_effect(const struct model_node *node)
{
    for (uint32_t k = 0; k < node->num; k++) {
        braid_access_mode mode = node->modes[k];
        if (mode == BRAID_WRITE || mode == BRAID_READ_WRITE || mode == BRAID_ACCUMULATE)
            return false;
    }
    return !node->is_empty;
}

typedef bool wanted_bytes[MODEL_THINGS][MODEL_BYTES];

// Whether somebody behind the node looks at a byte that it may change.
static bool changes_wanted(const struct model_node *node, wanted_bytes wanted)
{
    bool any = false;
    for (uint32_t k = 0; k < node->num; k++) {
        const struct model_part *part = node->parts[k];
        for (uint32_t b = 0; b < part->num && node->modes[k] != BRAID_READ; b++)
            any |= wanted[part->thing][part->first + b];
    }
    return any;
}

static void want_before(const struct model_node *node, wanted_bytes wanted)
{
    for (uint32_t k = 0; k < node->num; k++) {
        const struct model_part *part = node->parts[k];
        bool overwrites = node->modes[k] == BRAID_WRITE && !node->is_empty && !node->may_rest;
        bool looks =
            node->modes[k] != BRAID_WRITE && !(node->modes[k] == BRAID_EXCLUSIVE && is_lock(part));
        for (uint32_t b = 0; b < part->num; b++) {
            bool *byte = &wanted[part->thing][part->first + b];
            *byte = overwrites ? false : *byte || looks;
        }
    }
}

static bool is_wanted(const struct model *model, uint32_t index, wanted_bytes wanted)
{
    const struct model_node *node = &model->nodes[index];
    bool any = node->is_needed || model_has_effect(node) || changes_wanted(node, wanted);
    for (uint32_t i = 0; i < model->num_nodes; i++) {
        any |= model->nodes[i].is_needed && model->nodes[i].before == index;
        any |= model->nodes[i].is_needed && model->nodes[i].main == node->main;
    }
    return any;
}

// At the end of each frame the outputs are needed. So many frames need no more than fewer do.
void model_find_needed(struct model *model)
{
    wanted_bytes wanted = { { false } };
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        for (uint32_t i = 0; i < MODEL_OUTPUTS; i++)
            memset(&wanted[model->outputs[i]->thing][model->outputs[i]->first], true,
                   model->outputs[i]->num);
        for (uint32_t i = model->num_nodes; i-- > 0;) {
            struct model_node *node = &model->nodes[i];
            node->is_needed = is_wanted(model, i, wanted);
            if (node->is_needed)
                want_before(node, wanted);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Random graphs as the program would build them: nodes in a random order that the rules allow,
// edges by .after or added later.
#include <string.h>

#include "contract/contract.h"
#include "contract/random_cells.h"
#include "contract/random_graph.h"
#include "support/check.h"
#include "support/kernels.h"

struct builder {
    struct random_graph *model;
    struct random *random;
    const struct random_memory *memory;
    bool has_rows; // and cooperative launches: neither HIP nor islands may have them
    braid_graph *graph;
    braid_resource resources[random_num_resources], words;
};

static void mix_on_host(void *user)
{
    const struct random_node *node = user;
    const struct random_memory *memory = node->memory;
    test_mix_run(memory->cells, memory->outputs, node->words, (uint32_t)(node - node->graph->nodes),
                 *memory->frame, node->salt, node->delay_ns);
}

static braid_status copy_as_a_graph(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    const struct random_node *node = user;
    uint64_t *outputs = node->memory->outputs;
    return braid_stream_copy(stream, outputs + (node - node->graph->nodes),
                             outputs + node->words[1], sizeof(*outputs));
}

static braid_status add_mix(struct builder *builder, const braid_node_options *options,
                            struct random_node *node)
{
    const struct random_memory *memory = builder->memory;
    uint32_t place = (uint32_t)(node - builder->model->nodes);
    uint32_t first_word = place * random_max_words;
    braid_kernel_node launch = {
        .node = *options,
        .kernel = &test_mix,
        .cooperative = builder->has_rows && random_chance(builder->random, 10),
        BRAID_ARGS(BRAID_ARG(memory->cells), BRAID_ARG(memory->outputs), BRAID_ARG(memory->words),
                   BRAID_ARG(first_word), BRAID_ARG(place), BRAID_ARG(memory->frame),
                   BRAID_ARG(node->salt), BRAID_ARG(node->delay_ns))
    };
    return braid_graph_add_kernel(builder->graph, &launch, &node->handle);
}

static braid_status add_kind(struct builder *builder, const braid_node_options *options,
                             struct random_node *node)
{
    braid_graph *graph = builder->graph;
    uint64_t *outputs = builder->memory->outputs, *cells = builder->memory->cells;
    uint64_t *output = outputs + (node - builder->model->nodes);
    braid_copy copy = { .node = *options, .to = output, .bytes = sizeof(*output) };
    const bool in_rows = builder->has_rows && random_chance(builder->random, 30);
    if (in_rows && node->kind == RANDOM_COPY)
        copy.bytes /= copy.rows.num = 2; // half of the bytes, twice
    switch (node->kind) {
    case RANDOM_MIX:
        return add_mix(builder, options, node);
    case RANDOM_HOST:
        return braid_graph_add_host_call(
            graph, &(braid_host_call){ .node = *options, .call = mix_on_host, .user = node },
            &node->handle);
    case RANDOM_COPY:
        copy.from = outputs + node->words[1];
        return braid_graph_add_copy(graph, &copy, &node->handle);
    case RANDOM_QUEUE:
        return braid_graph_add_queue_call(
            graph, &(braid_queue_call){ .node = *options, .call = copy_as_a_graph, .user = node },
            &node->handle);
    case RANDOM_COPY_CELL:
        copy.from = cells + random_cells_single(node->chosen.accesses[0].resource.index);
        copy.to = cells + random_cells_single(node->chosen.accesses[1].resource.index);
        return braid_graph_add_copy(graph, &copy, &node->handle);
    case RANDOM_FILL:
        return braid_graph_add_fill(graph,
                                    &(braid_fill){ .node = *options,
                                                   .to = output,
                                                   .value = (uint32_t)node->salt,
                                                   .value_bytes = 4,
                                                   .num_values = in_rows ? 1 : 2,
                                                   .rows.num = in_rows ? 2 : 0 },
                                    &node->handle);
    case RANDOM_EMPTY:
        break;
    }
    return braid_graph_add_empty(graph, &(braid_empty){ *options }, &node->handle);
}

static struct random_node *main_of(struct builder *builder, const struct random_node *node)
{
    struct random_node *main = builder->model->nodes;
    while (main->bundle != node->bundle || main->role != 0)
        main++;
    return main;
}

// Edges from nodes that are there already go with the node, or later like the rest.
static void add_node(struct builder *builder, struct random_node *node)
{
    struct random_choice *chosen = &node->chosen, made = { .options = chosen->options };
    braid_node_options options = made.options;
    for (size_t i = 0; i < options.num_accesses; i++)
        made.accesses[i] = (braid_access){ builder->resources[chosen->accesses[i].resource.index],
                                           chosen->accesses[i].mode };
    options.accesses = made.accesses;
    options.after = made.after;
    options.num_after = chosen->options.num_after = 0;
    if (builder->words.graph && node->kind != RANDOM_EMPTY)
        made.accesses[options.num_accesses++] = (braid_access){ builder->words, BRAID_READ };
    for (size_t i = 0; i < made.options.num_after; i++) {
        const struct random_node *before = &builder->model->nodes[chosen->after[i].index];
        if (before->added && random_chance(builder->random, 70))
            made.after[options.num_after++] = before->handle;
        else
            chosen->after[chosen->options.num_after++] = chosen->after[i];
    }
    if (contract_places() > 1 && node->role == 0 && !options.lane_hint)
        options.place = random_below(builder->random, contract_places()) + 1;
    if (node->role < 0)
        options.prelude_of = main_of(builder, node)->handle;
    if (node->role > 0)
        options.epilogue_of = main_of(builder, node)->handle;
    node->graph = builder->model;
    node->memory = builder->memory;
    check_ok(add_kind(builder, &options, node));
    node->added = true;
}

// Whether the rules let a node be added now: main nodes in order, unless edges alone order them;
// members of a bundle behind their main node, those of one role in running order.
static bool may_add(struct builder *builder, const struct random_node *node)
{
    if (node->added)
        return false;
    if (node->role != 0 && !main_of(builder, node)->added)
        return false;
    for (const struct random_node *other = builder->model->nodes; other < node; other++)
        if (!other->added && other->role == node->role &&
            (node->role == 0 ? !builder->model->shuffled : other->bundle == node->bundle))
            return false;
    return true;
}

static void add_later_edges(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->model->num_nodes; i++) {
        struct random_node *node = &builder->model->nodes[i];
        for (size_t k = 0; k < node->chosen.options.num_after; k++)
            check_ok(braid_graph_add_edge(builder->graph,
                                          builder->model->nodes[node->chosen.after[k].index].handle,
                                          node->handle));
    }
}

void random_graph_build(struct random_graph *model, struct random *random,
                        const struct random_memory *memory, braid_graph *graph)
{
    struct builder builder = { .model = model, .random = random, .memory = memory, .graph = graph };
    builder.has_rows =
        strcmp(contract_backend(), "hip") && contract_islands() != BRAID_ISLANDS_WHOLE;
    random_cells_declare(graph, builder.resources);
    if (model->declares_words && contract_places() == 1)
        check_ok(braid_graph_add_buffer(graph, "words", memory->words,
                                        sizeof(uint32_t) * random_max_nodes * random_max_words,
                                        &builder.words));
    for (uint32_t num_added = 0; num_added < model->num_nodes;) {
        struct random_node *node = &model->nodes[random_below(random, model->num_nodes)];
        if (!may_add(&builder, node))
            continue;
        add_node(&builder, node);
        num_added++;
    }
    add_later_edges(&builder);
}

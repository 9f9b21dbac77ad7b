// SPDX-License-Identifier: Apache-2.0
// Random graphs: what they consist of, and what they compute.
#include "contract/random_graph.h"

#include <string.h>

#include "contract/random_cells.h"
#include "support/check.h"
#include "support/kernels.h"

// ---- making ----

// A node that leaves no output passes on the duty to be seen to those before it.
static bool has_output(const struct random_node *node)
{
    return node->kind != RANDOM_EMPTY && node->kind != RANDOM_COPY_CELL;
}

// Nodes that must have ended before this one, by its edges and its bundle: a bit each that leaves
// an output.
static uint64_t find_seen(const struct random_graph *graph, uint32_t place)
{
    const struct random_node *node = &graph->nodes[place];
    uint64_t before = 0, seen = 0;
    for (size_t i = 0; i < node->chosen.options.num_after; i++)
        before |= UINT64_C(1) << node->chosen.after[i].index;
    for (uint32_t i = place; i-- > 0 && graph->nodes[i].bundle == node->bundle;)
        before |= UINT64_C(1) << i;
    for (uint32_t i = 0; i < place; i++)
        if (before >> i & 1)
            seen |= has_output(&graph->nodes[i]) ? UINT64_C(1) << i : find_seen(graph, i);
    return seen;
}

// Kinds are chosen so that every edge into a node shows: what reads one output has one node before
// it, what reads none has none.
static void choose_kind(struct random_graph *graph, struct random *random,
                        struct random_limits limits, uint32_t place)
{
    struct random_node *node = &graph->nodes[place];
    int num_seen = __builtin_popcountll(find_seen(graph, place));
    uint32_t dice = random_below(random, 100);
    node->kind = RANDOM_MIX;
    if (dice < 8)
        node->kind = RANDOM_EMPTY;
    else if (dice < 20 && num_seen == 1 && limits.moves)
        node->kind = limits.queue_calls && dice < 14 ? RANDOM_QUEUE : RANDOM_COPY;
    else if (dice < 30 && num_seen == 0 && limits.moves)
        node->kind = dice < 25 || graph->shuffled ? RANDOM_FILL : RANDOM_COPY_CELL;
    else if (dice < 36 && limits.host_calls)
        node->kind = RANDOM_HOST;
    if (node->kind == RANDOM_COPY_CELL)
        random_cells_choose_pair(random, &node->chosen);
    else if (node->kind != RANDOM_MIX && node->kind != RANDOM_HOST)
        node->chosen.options.num_accesses = 0;
}

// How many, and which.
static void write_set(struct random_node *node, uint64_t set)
{
    uint32_t *count = &node->words[node->num_words++];
    for (uint32_t i = 0; i < random_max_nodes; i++)
        if (set >> i & 1) {
            assert_true(node->num_words + 2 < random_max_words);
            node->words[node->num_words++] = i;
            ++*count;
        }
}

static void write_words(struct random_graph *graph, uint32_t place)
{
    struct random_node *node = &graph->nodes[place];
    write_set(node, find_seen(graph, place));
    for (int writes = 0; writes < 2; writes++) {
        uint32_t mask = 0;
        for (size_t i = 0; i < node->chosen.options.num_accesses; i++)
            if (random_cells_touched(node->chosen.accesses[i].mode, writes))
                mask |= random_cells_of(node->chosen.accesses[i].resource.index);
        write_set(node, mask);
    }
}

static void make_node(struct random_graph *graph, struct random *random,
                      struct random_limits limits, int role, uint32_t num_hints)
{
    uint32_t place = graph->num_nodes++;
    struct random_node *node = &graph->nodes[place];
    // Far edges are implied by others and check nothing of their own: most are near.
    const struct random_shape shape = { .edges = 3,
                                        .reach = 6,
                                        .far = 30,
                                        .accesses = graph->shuffled ? 0 : 3,
                                        .num_resources = random_num_resources,
                                        .num_modes = 4,
                                        .hinted = num_hints && role == 0 ? 40 : 0,
                                        .num_hints = num_hints };
    *node = (struct random_node){ .bundle = graph->num_bundles - 1,
                                  .role = role,
                                  .salt = random_next(random) };
    if (random_chance(random, 25))
        node->delay_ns = random_below(random, 30000);
    random_choose(random, &shape, NULL, place, NULL, &node->chosen);
    node->chosen.options.cost_ns = random_below(random, 5) * 1000;
    choose_kind(graph, random, limits, place);
    write_words(graph, place);
}

void random_graph_make(struct random_graph *graph, struct random *random,
                       struct random_limits limits)
{
    graph->num_nodes = graph->num_bundles = 0;
    graph->shuffled = random_chance(random, 20);
    graph->declares_words = random_chance(random, 40);
    uint32_t num_hints = !graph->shuffled && random_chance(random, 20) ? 3 : 0;
    uint32_t num_bundles = 2 + random_below(random, 30);
    bool bundled = !graph->shuffled && random_chance(random, 50);
    while (graph->num_bundles < num_bundles && graph->num_nodes + 5 < random_max_nodes) {
        graph->num_bundles++;
        uint32_t num_preludes = bundled && random_chance(random, 30) ? random_below(random, 3) : 0;
        uint32_t num_epilogues = bundled && random_chance(random, 20) ? random_below(random, 3) : 0;
        for (uint32_t i = 0; i < num_preludes; i++)
            make_node(graph, random, limits, -1, num_hints);
        make_node(graph, random, limits, 0, num_hints);
        for (uint32_t i = 0; i < num_epilogues; i++)
            make_node(graph, random, limits, 1, num_hints);
    }
}

void random_graph_words(const struct random_graph *graph, uint32_t *words)
{
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        memcpy(words + i * random_max_words, graph->nodes[i].words,
               graph->nodes[i].num_words * sizeof(*words));
}

// ---- running on the host ----

static void run_node(const struct random_graph *graph, const struct random_memory *memory,
                     uint32_t place)
{
    const struct random_node *node = &graph->nodes[place];
    switch (node->kind) {
    case RANDOM_MIX:
    case RANDOM_HOST:
        test_mix_run(memory->cells, memory->outputs, node->words, place, *memory->frame, node->salt,
                     0);
        return;
    case RANDOM_COPY:
    case RANDOM_QUEUE:
        memory->outputs[place] = memory->outputs[node->words[1]];
        return;
    case RANDOM_COPY_CELL:
        memory->cells[random_cells_single(node->chosen.accesses[1].resource.index)] =
            memory->cells[random_cells_single(node->chosen.accesses[0].resource.index)];
        return;
    case RANDOM_FILL:
        memory->outputs[place] = (uint32_t)node->salt * UINT64_C(0x100000001);
        return;
    case RANDOM_EMPTY:
        return;
    }
}

void random_graph_run(const struct random_graph *graph, const struct random_memory *memory)
{
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        run_node(graph, memory, i);
}

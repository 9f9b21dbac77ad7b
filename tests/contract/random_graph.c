// SPDX-License-Identifier: Apache-2.0
// Random graphs: what they consist of, and what they compute.
#include "contract/random_graph.h"

#include <string.h>

#include "contract/random_cells.h"
#include "support/check.h"
#include "support/kernels.h"

// ---- making ----

static void add_before(struct random_node *node, uint32_t place)
{
    for (uint32_t i = 0; i < node->num_before; i++)
        if (node->before[i] == place)
            return;
    if (node->num_before < random_max_before)
        node->before[node->num_before++] = place;
}

static void choose_edges(struct random_graph *graph, struct random *random, uint32_t place)
{
    struct random_node *node = &graph->nodes[place];
    uint32_t num = place ? random_below(random, 4) : 0;
    for (uint32_t i = 0; i < num; i++)
        // Mostly near ones: far edges are implied by others and check nothing of their own.
        add_before(node, random_chance(random, 70)
                             ? place - 1 - random_below(random, place < 6 ? place : 6)
                             : random_below(random, place));
}

static void choose_accesses(struct random_node *node, struct random *random)
{
    node->num_accesses = random_below(random, random_max_accesses + 1);
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        node->resources[i] = random_below(random, random_num_resources);
        node->modes[i] = random_chance(random, 50)
                             ? BRAID_READ
                             : (braid_access_mode)(2 + random_below(random, 3));
    }
}

// Nodes that must have ended before this one: its edges, and its bundle's members before it.
static uint32_t list_before(const struct random_graph *graph, uint32_t place, uint32_t *list)
{
    const struct random_node *node = &graph->nodes[place];
    uint32_t num = node->num_before;
    memcpy(list, node->before, num * sizeof(*list));
    for (uint32_t i = place; i-- > 0 && graph->nodes[i].bundle == node->bundle;)
        list[num++] = i;
    return num;
}

// A node that leaves no output passes on the duty to be seen to those before it.
static bool has_output(const struct random_node *node)
{
    return node->kind != RANDOM_EMPTY && node->kind != RANDOM_COPY_CELL;
}

static void mark_seen(const struct random_graph *graph, uint32_t place, bool *seen)
{
    uint32_t list[random_max_before + random_max_nodes];
    uint32_t num = list_before(graph, place, list);
    for (uint32_t i = 0; i < num; i++) {
        if (has_output(&graph->nodes[list[i]]))
            seen[list[i]] = true;
        else
            mark_seen(graph, list[i], seen);
    }
}

// Kinds are chosen so that every edge into a node shows: what reads one output has one node before
// it, what reads none has none.
static void choose_kind(struct random_graph *graph, struct random *random,
                        struct random_limits limits, uint32_t place)
{
    struct random_node *node = &graph->nodes[place];
    bool seen[random_max_nodes] = { false };
    mark_seen(graph, place, seen);
    uint32_t num_seen = 0;
    for (uint32_t i = 0; i < place; i++)
        num_seen += seen[i];
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
        random_cells_choose_pair(random, node->resources, node->modes, &node->num_accesses);
    else if (node->kind != RANDOM_MIX && node->kind != RANDOM_HOST)
        node->num_accesses = 0;
}

static void write_words(struct random_graph *graph, uint32_t place)
{
    struct random_node *node = &graph->nodes[place];
    bool seen[random_max_nodes] = { false };
    mark_seen(graph, place, seen);
    uint32_t *count = &node->words[node->num_words++];
    for (uint32_t i = 0; i < place; i++)
        if (seen[i]) {
            assert_true(node->num_words < random_max_words);
            node->words[node->num_words++] = i;
            ++*count;
        }
    for (int writes = 0; writes < 2; writes++) {
        uint32_t mask = 0;
        for (uint32_t i = 0; i < node->num_accesses; i++)
            if (random_cells_touched(node->modes[i], writes))
                mask |= random_cells_of(node->resources[i]);
        count = &node->words[node->num_words++];
        for (uint32_t cell = 0; cell < random_num_cells; cell++)
            if (mask >> cell & 1) {
                assert_true(node->num_words < random_max_words);
                node->words[node->num_words++] = cell;
                ++*count;
            }
    }
}

static void make_node(struct random_graph *graph, struct random *random,
                      struct random_limits limits, int role, uint32_t num_hints)
{
    uint32_t place = graph->num_nodes++;
    struct random_node *node = &graph->nodes[place];
    *node = (struct random_node){ .bundle = graph->num_bundles - 1,
                                  .role = role,
                                  .salt = random_next(random),
                                  .cost_ns = random_below(random, 5) * 1000 };
    if (random_chance(random, 25))
        node->delay_ns = random_below(random, 30000);
    if (num_hints && role == 0 && random_chance(random, 40))
        node->lane_hint = 1 + random_below(random, num_hints);
    choose_edges(graph, random, place);
    if (!graph->shuffled)
        choose_accesses(node, random);
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
        memory->cells[random_cells_single(node->resources[1])] =
            memory->cells[random_cells_single(node->resources[0])];
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

// SPDX-License-Identifier: Apache-2.0
// Makes big graphs.
#include "plan_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void plan_check(braid_status status)
{
    if (status == BRAID_OK)
        return;
    fprintf(stderr, "%s\n", braid_error_get_message());
    exit(1);
}

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double plan_wall_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double plan_cpu_seconds(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static void add_node(braid_graph *graph, uint64_t cost_ns, const braid_node *after,
                     size_t num_after)
{
    braid_empty node = {
        .node = { .cost_ns = cost_ns, .after = after, .num_after = num_after },
    };
    plan_check(braid_graph_add_empty(graph, &node, NULL));
}

braid_graph *plan_random_graph(uint32_t num_nodes, uint32_t reach)
{
    braid_graph *graph;
    uint64_t state = 1;
    plan_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num_nodes; i++) {
        braid_node after[4];
        uint32_t range = i < reach ? i : reach;
        for (int k = 0; k < 4 && range; k++)
            after[k] = braid_graph_get_node(graph, i - 1 - (uint32_t)(next_random(&state) % range));
        add_node(graph, 1000 + next_random(&state) % 1000, after, range ? 4 : 0);
    }
    return graph;
}

// A task that changes one tile and reads up to two others, after their latest writers.
static void add_task(braid_graph *graph, uint32_t *writer, uint64_t cost_ns, uint32_t tile,
                     uint32_t read, uint32_t also_read)
{
    const uint32_t tiles[] = { tile, read, also_read };
    braid_node after[3];
    size_t num = 0;
    for (int i = 0; i < 3; i++) {
        bool seen = (i > 0 && tiles[i] == tile) || (i == 2 && also_read == read);
        if (!seen && writer[tiles[i]] != UINT32_MAX)
            after[num++] = braid_graph_get_node(graph, writer[tiles[i]]);
    }
    add_node(graph, cost_ns, after, num);
    writer[tile] = (uint32_t)braid_graph_get_num_nodes(graph) - 1;
}

braid_graph *plan_cholesky_graph(uint32_t num_nodes)
{
    uint32_t num = 1;
    while ((uint64_t)(num + 1) * (num + 2) * (num + 3) / 6 <= num_nodes)
        num++;
    uint32_t *writer = malloc((size_t)num * num * sizeof(*writer));
    braid_graph *graph;
    if (!writer)
        abort();
    for (uint32_t i = 0; i < num * num; i++)
        writer[i] = UINT32_MAX;
    plan_check(braid_graph_create(&graph));
    for (uint32_t k = 0; k < num; k++) {
        uint32_t pivot = k * num + k;
        add_task(graph, writer, 1000, pivot, pivot, pivot);
        for (uint32_t i = k + 1; i < num; i++)
            add_task(graph, writer, 3000, i * num + k, pivot, pivot);
        for (uint32_t i = k + 1; i < num; i++) {
            for (uint32_t j = k + 1; j <= i; j++)
                add_task(graph, writer, i == j ? 3000 : 6000, i * num + j, i * num + k,
                         j * num + k);
        }
    }
    free(writer);
    return graph;
}

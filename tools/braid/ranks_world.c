// SPDX-License-Identifier: Apache-2.0
// Building the graph of all ranks task by task, or from a file.
#include "ranks_world.h"

#include <stdlib.h>
#include <string.h>

#include "dot_cost.h"

bool ranks_make_room(void *items, size_t num, size_t *room, size_t item_bytes)
{
    void *old, *grown;
    if (num < *room)
        return true;
    size_t more = *room ? *room * 2 : 1024;
    memcpy(&old, items, sizeof(old));
    grown = num < UINT32_MAX ? realloc(old, more * item_bytes) : NULL;
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof(grown));
    *room = more;
    return true;
}

uint32_t ranks_world_add_task(struct ranks_world *world, uint32_t rank, double cost_ns,
                              double bytes)
{
    if (!ranks_make_room(&world->tasks, world->num_tasks, &world->room_tasks,
                         sizeof(*world->tasks))) {
        world->lacks_memory = true;
        return 0;
    }
    world->tasks[world->num_tasks] =
        (struct ranks_task){ cost_ns < 1 ? 1 : (uint64_t)(cost_ns + 0.5), (uint64_t)bytes, rank };
    return (uint32_t)world->num_tasks++;
}

void ranks_world_add_edge(struct ranks_world *world, uint32_t from)
{
    if (!ranks_make_room(&world->edges, world->num_edges, &world->room_edges,
                         sizeof(*world->edges))) {
        world->lacks_memory = true;
        return;
    }
    world->edges[world->num_edges++] = (struct ranks_edge){ from, (uint32_t)world->num_tasks - 1 };
}

void ranks_world_finish(struct ranks_world *world)
{
    free(world->tasks);
    free(world->edges);
    *world = (struct ranks_world){ 0 };
}

// The edges of a file by the node that they lead to.
struct into {
    uint32_t *first, *from;
};

static bool sort_edges(const struct dot_file *file, struct into *into)
{
    size_t num = (size_t)file->num_edges + file->num_implied_edges;
    into->first = calloc((size_t)file->num_nodes + 2, sizeof(*into->first));
    into->from = malloc((num + 1) * sizeof(*into->from));
    if (!into->first || !into->from)
        return false;
    for (size_t i = 0; i < num; i++)
        into->first[file->edges[i].to + 2]++;
    for (uint32_t i = 0; i < file->num_nodes; i++)
        into->first[i + 2] += into->first[i + 1];
    for (size_t i = 0; i < num; i++)
        into->from[into->first[file->edges[i].to + 1]++] = file->edges[i].from;
    return true;
}

// Takes nodes of which all that they need was taken, in the file's order as far as that goes.
struct taking {
    const struct dot_file *file;
    struct into into;
    uint32_t *number; // the task's, from 1
    uint32_t *stack;
    struct ranks_world *world;
};

static void take_node(struct taking *taking, uint32_t node)
{
    const struct dot_node *given = &taking->file->nodes[node];
    struct ranks_world *world = taking->world;
    uint32_t task = ranks_world_add_task(
        world, given->rank, (double)dot_cost_ns(taking->file, node), (double)given->bytes);
    taking->number[node] = task + 1;
    for (uint32_t i = taking->into.first[node]; i < taking->into.first[node + 1]; i++)
        ranks_world_add_edge(world, taking->number[taking->into.from[i]] - 1);
    if (given->rank >= world->num_ranks)
        world->num_ranks = given->rank + 1;
}

// Depth first; a file that was read has no cycle.
static void take_behind(struct taking *taking, uint32_t node)
{
    uint32_t depth = 0;
    taking->stack[depth++] = node;
    while (depth > 0) {
        uint32_t top = taking->stack[depth - 1], i = taking->into.first[top];
        while (i < taking->into.first[top + 1] && taking->number[taking->into.from[i]])
            i++;
        if (i < taking->into.first[top + 1]) {
            taking->stack[depth++] = taking->into.from[i];
        } else {
            if (!taking->number[top])
                take_node(taking, top);
            depth--;
        }
    }
}

enum exit_status ranks_file_make(const struct dot_file *file, struct ranks_world *out_world)
{
    struct ranks_world world = { 0 };
    struct taking taking = { .file = file, .world = &world };
    taking.number = calloc((size_t)file->num_nodes + 1, sizeof(*taking.number));
    taking.stack = malloc(((size_t)file->num_nodes + 1) * sizeof(*taking.stack));
    world.lacks_memory = !taking.number || !taking.stack || !sort_edges(file, &taking.into);
    for (uint32_t i = 0; i < file->num_nodes && !world.lacks_memory; i++)
        take_behind(&taking, i);
    free(taking.number);
    free(taking.stack);
    free(taking.into.first);
    free(taking.into.from);
    if (world.lacks_memory) {
        ranks_world_finish(&world);
        return fail(EXIT_FAILED, "out of memory for the graph of all ranks");
    }
    *out_world = world;
    return EXIT_DONE;
}

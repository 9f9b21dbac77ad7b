// SPDX-License-Identifier: Apache-2.0
// The graph of all ranks, as a simulation is given it: tasks with a rank, and which needs which.
#ifndef BRAID_TOOL_RANKS_WORLD_H
#define BRAID_TOOL_RANKS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "dot_file.h"
#include "message.h"

// Tasks stand in an order in which none needs a later one.
struct ranks_task {
    uint64_t cost_ns;
    uint64_t bytes; // that another rank is sent of what it makes, once, if it needs it
    uint32_t rank;
};

struct ranks_edge {
    uint32_t from, to;
};

struct ranks_world {
    struct ranks_task *tasks;
    struct ranks_edge *edges; // by `to`, which never falls
    size_t num_tasks, num_edges, room_tasks, room_edges;
    uint32_t num_ranks;
    bool lacks_memory; // something could not be added
};

// Makes room for one more item. `items` is the address of a pointer.
bool ranks_make_room(void *items, size_t num, size_t *room, size_t item_bytes);

// Returns the task's number, for edges.
uint32_t ranks_world_add_task(struct ranks_world *world, uint32_t rank, double cost_ns,
                              double bytes);
// To the last task.
void ranks_world_add_edge(struct ranks_world *world, uint32_t from);
void ranks_world_finish(struct ranks_world *world);

// ranks_patterns.c: a graph by its name, with settings behind it: "halo:rows=512,steps=4". What
// they have is listed in the help.
struct ranks_pattern {
    const char *name;
    double values[8]; // in the order of the pattern's settings
};
enum exit_status ranks_pattern_read(char *text, struct ranks_pattern *out_pattern);
enum exit_status ranks_pattern_make(const struct ranks_pattern *pattern, uint32_t num_ranks,
                                    struct ranks_world *out_world);

// The same, from nodes with rank= and bytes=.
enum exit_status ranks_file_make(const struct dot_file *file, struct ranks_world *out_world);

#endif

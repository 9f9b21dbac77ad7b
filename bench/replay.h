// SPDX-License-Identifier: Apache-2.0
// What the parts of the replay bench share: shapes, bodies, and players that replay a shape.
#ifndef BRAID_BENCH_REPLAY_H
#define BRAID_BENCH_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { REPLAY_MOST_BEFORE = 32 }; // predecessors of a node

// A DAG: the predecessors of node i are edges[first_edge[i]] up to edges[first_edge[i + 1]], all
// less than i.
struct replay_shape {
    uint32_t num_nodes;
    uint32_t *first_edge; // num_nodes + 1
    uint32_t *edges;
};

extern const char *const replay_shape_names[];
extern const uint32_t replay_num_shapes;
struct replay_shape replay_shape_create(uint32_t kind, uint32_t num_nodes); // about num_nodes
void replay_shape_destroy(struct replay_shape *shape);

// What every node runs: a fixed number of dependent steps, so that a body takes longer, not
// shorter, when its thread is held up. stamps, if given, record the order.
struct replay_body {
    uint64_t num_steps; // 0: an empty body
    uint64_t cost_ns;   // what that takes, for planners
    bool is_apart;      // no step overlaps with what comes before or after the body
    struct replay_stamps *stamps;
};

void replay_run_body(const struct replay_body *body, uint32_t node);
// Measures how many steps take `ns`.
struct replay_body replay_body_create(uint64_t ns);

// Checks that nodes run once a frame and after their predecessors.
struct replay_stamps *replay_stamps_create(const struct replay_shape *shape);
bool replay_stamps_are_right(struct replay_stamps *stamps, uint32_t num_frames);
void replay_stamps_destroy(struct replay_stamps *stamps);

// Something that replays a shape. play runs one frame and returns when it has ended.
struct replay_player {
    const char *name;
    // NULL if it cannot be done here. Shape and body live longer.
    void *(*create)(const struct replay_shape *shape, const struct replay_body *body,
                    uint32_t num_workers);
    void (*play)(void *state);
    void (*destroy)(void *state);
};

extern const struct replay_player replay_braid;
extern const struct replay_player replay_braid_streams;
extern const struct replay_player replay_braid_timed; // keeps the times of its frames
extern const struct replay_player replay_floor;
extern const struct replay_player replay_openmp;
extern const struct replay_player replay_starpu;
extern const struct replay_player replay_tbb;

// replay_clock.c
uint64_t replay_now_ns(void);
uint64_t replay_process_cpu_ns(void); // CPU time of all threads
void replay_sleep_ns(uint64_t ns);
void *replay_allocate(size_t num, size_t bytes); // zeroed; ends the program if there is none

#ifdef __cplusplus
}
#endif

#endif

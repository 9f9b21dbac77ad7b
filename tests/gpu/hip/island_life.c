// SPDX-License-Identifier: Apache-2.0
// The life of an island on a device, in which calls may fail at any place.
#include "gpu/hip/island_life.h"

#include <stdatomic.h>
#include <string.h>

#include "support/check.h"

#define SOURCE "extern \"C\" __global__ void island_part(unsigned *none) {}\n"

static const braid_kernel part = { .name = "island_part", .source = SOURCE };
static atomic_uint num_blocks;

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_part;

void braid_standin_island_part(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    (void)block, (void)shared_bytes, (void)args;
    atomic_fetch_add(&num_blocks, grid[0]);
}

static void take_log(void *user, braid_status status, const char *message)
{
    struct life *life = user;
    (void)status;
    strncat(life->logged, message, sizeof(life->logged) - strlen(life->logged) - 2);
    strcat(life->logged, "\n");
}

// Long nodes side by side, so that each has a lane of its own.
static braid_graph *make_graph(uint32_t num_nodes, braid_node *out_last)
{
    braid_graph *graph;
    void *none = NULL;
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num_nodes; i++) {
        const braid_launch launch = { .node = { .cost_ns = 1000000 },
                                      .kernel = &part,
                                      BRAID_ARGS(BRAID_ARG(none)) };
        check_ok(braid_graph_add_kernel(graph, &launch, out_last));
    }
    return graph;
}

static braid_status run_frame(braid_exec *exec)
{
    braid_status status = braid_exec_launch(exec, NULL);
    return status ? status : braid_exec_wait(exec);
}

void island_life_live(struct life *life, uint32_t num_lanes, bool runs)
{
    const braid_exec_options options = {
        .islands = BRAID_ISLANDS_WHOLE,
        .plan = { .max_lanes = num_lanes, .fixed_lanes = true },
    };
    braid_node last;
    braid_graph *graph = make_graph(num_lanes, &last);
    braid_device *device = NULL;
    braid_exec *exec = NULL;
    atomic_store(&num_blocks, 0);
    braid_log_set(take_log, life);
    braid_status status =
        braid_device_open(&(braid_device_options){ .backend = life->backend }, &device);
    if (!status)
        status = braid_exec_create(device, graph, &options, &exec);
    if (!status)
        status = run_frame(exec);
    if (!status)
        status = braid_exec_set_grid(exec, last, (braid_dim3){ 3, 1, 1 });
    if (!status)
        status = run_frame(exec);
    if (status)
        strcpy(life->returned, braid_error_message());
    life->num_failed = status != BRAID_OK;
    if (life->before_destroying)
        life->before_destroying(life);
    braid_exec_destroy(exec);
    (void)!braid_device_close(device);
    braid_graph_destroy(graph);
    braid_log_set(NULL, NULL);
    if (!status && runs)
        assert_int_equal(atomic_load(&num_blocks), 2 * num_lanes + 2);
}

// SPDX-License-Identifier: Apache-2.0
// Random graphs, and chains, of kernels that look whether what they run after has run, for tests of
// islands.
#include "gpu/island_graph.h"

#include <stdatomic.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/random_choice.h"

#define SOURCE                                                                                     \
    "extern \"C\" __global__ void island_note(unsigned *ran, unsigned node, unsigned long x) {}\n" \
    "extern \"C\" __global__ void island_other(unsigned *ran, unsigned node) { return; }\n"

static const char image[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry island_outsider(.param .u64 a, .param .u32 b)\n"
                            "{ .reg .b64 %g; mov.u64 %g, %gridid; ret; }\n";

const braid_kernel island_note = { .name = "island_note", .source = SOURCE };
const braid_kernel island_other = { .name = "island_other", .source = SOURCE };
const braid_kernel island_outsider = { .name = "island_outsider", .cuda = { .data = image } };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_note, braid_standin_island_other,
    braid_standin_island_outsider;

static uint32_t before[ISLAND_NODES][ISLAND_NODES], num_before[ISLAND_NODES];
static atomic_uint num_wrong;
bool (*island_fails)(unsigned node);

// Right only when all that the node stands behind has run once more often.
void braid_standin_island_note(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    unsigned *ran = *(unsigned **)args[0], node = *(unsigned *)args[1];
    if (island_fails && island_fails(node))
        return;
    for (uint32_t i = 0; i < num_before[node]; i++) {
        if (ran[before[node][i]] != ran[node] + 1)
            atomic_fetch_add(&num_wrong, 1);
    }
    ran[node]++;
}

void braid_standin_island_other(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    braid_standin_island_note(grid, block, shared_bytes, args);
}

void braid_standin_island_outsider(const unsigned grid[3], const unsigned block[3],
                                   unsigned shared_bytes, void **args)
{
    braid_standin_island_note(grid, block, shared_bytes, args);
}

// A node counts in a cell of its own, and reads those of what it runs after.
static uint32_t declare(braid_graph *graph, uint32_t node, braid_resource *cells,
                        braid_access *accesses)
{
    check_ok(braid_graph_add_resource(graph, "counter", &cells[node]));
    accesses[0] = (braid_access){ cells[node], BRAID_READ_WRITE };
    for (uint32_t i = 0; i < num_before[node]; i++)
        accesses[i + 1] = (braid_access){ cells[before[node][i]], BRAID_READ };
    return num_before[node] + 1;
}

void island_graph_make(struct island_graph *made, braid_device *device)
{
    braid_resource cells[ISLAND_NODES];
    struct random random = { made->seed };
    void *ran = own_memory(device, BRAID_MEMORY_DEVICE, ISLAND_NODES * 4);
    memset(ran, 0, ISLAND_NODES * 4); // the stand-in's device memory is the host's
    made->ran = ran;
    made->num_outsiders = 0;
    atomic_store(&num_wrong, 0);
    made->graph = own_graph();
    for (uint32_t i = 0; i < ISLAND_NODES; i++) {
        struct random_choice choice;
        unsigned long unused = i;
        uint32_t most = made->most_before ? made->most_before : 2;
        bool is_outsider = made->has_outsiders && random_below(&random, 8) == 0;
        bool is_other = is_outsider || i % 3 == 0;
        const braid_arg args[] = { BRAID_ARG(ran), BRAID_ARG(i), BRAID_ARG(unused) };
        braid_access accesses[ISLAND_NODES];
        random_choose(&random, &(struct random_shape){ most, most }, made->nodes, i, NULL, &choice);
        num_before[i] = (uint32_t)choice.options.num_after;
        for (uint32_t k = 0; k < num_before[i]; k++)
            before[i][k] = choice.after[k].index;
        uint32_t num_accesses = made->has_accesses ? declare(made->graph, i, cells, accesses) : 0;
        braid_kernel_node launch = {
            .node = { .after = choice.after,
                      .num_after = num_before[i],
                      .accesses = accesses,
                      .num_accesses = num_accesses,
                      .cost_ns = made->cost_ns ? made->cost_ns : 2000 },
            .kernel = is_outsider ? &island_outsider
                      : is_other  ? &island_other
                                  : &island_note,
            .block = { made->threads ? made->threads : 1, 1, 1 },
            .args = args,
            .num_args = is_other ? 2 : 3,
        };
        made->num_outsiders += is_outsider;
        launch.grid.x = made->most_blocks ? 1 + random_below(&random, made->most_blocks) : 1;
        check_ok(braid_graph_add_kernel(made->graph, &launch, &made->nodes[i]));
    }
}

void island_graph_check(const struct island_graph *made, unsigned num_frames)
{
    assert_int_equal(atomic_load(&num_wrong), 0);
    for (uint32_t i = 0; i < ISLAND_NODES; i++)
        assert_int_equal(made->ran[i], num_frames);
}

void island_chain_make(struct island_chain *chain, const braid_kernel *middle)
{
    chain->device = own_device("cuda");
    chain->ran = own_memory(chain->device, BRAID_MEMORY_DEVICE, 256);
    memset(chain->ran, 0, 256);
    chain->other = chain->ran + 32;
    chain->graph = own_graph();
    for (uint32_t i = 0; i < ISLAND_CHAIN; i++) {
        char name[] = "link a";
        name[5] = (char)('a' + i);
        const braid_kernel_node launch = {
            .node = { .name = name,
                      .after = chain->nodes + i - (i > 0),
                      .num_after = i > 0,
                      .cost_ns = 300 },
            .kernel = i == ISLAND_CHAIN / 2 ? middle : &island_other,
            BRAID_ARGS(BRAID_ARG(chain->ran), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(chain->graph, &launch, &chain->nodes[i]));
    }
}

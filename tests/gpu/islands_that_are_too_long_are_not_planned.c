// SPDX-License-Identifier: Apache-2.0
// If the longest path of an island takes about as long as the frame without it, the planner does
// not look for its plan: it makes that of one lane, which has the path. Allocations tell: a search
// makes many.
#include <stdlib.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"

static unsigned num_allocations;

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    num_allocations++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void *resize(void *memory, size_t old_bytes, size_t bytes, size_t alignment, void *user)
{
    (void)old_bytes, (void)alignment, (void)user;
    return realloc(memory, bytes);
}

static void release(void *memory, size_t bytes, size_t alignment, void *user)
{
    (void)bytes, (void)alignment, (void)user;
    free(memory);
}

static const braid_allocator counting = { allocate, resize, release, NULL };

// The allocations of an exec of a graph whose nodes take so long, and whether it is an island.
static unsigned count(uint64_t cost_ns, braid_islands islands, bool *out_is)
{
    struct island_graph made = { .seed = 3, .most_before = 1, .cost_ns = cost_ns };
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .islands = islands };
    braid_exec_info info;
    reset_standin();
    braid_device *device =
        own_device_with(&(braid_device_options){ .backend = "cuda", .allocator = &counting });
    island_graph_make(&made, device);
    num_allocations = 0;
    braid_exec *exec = own_exec(device, made.graph, &options);
    const unsigned num = num_allocations;
    braid_exec_get_info(exec, &info);
    *out_is = info.num_islands;
    finish_standin();
    return num;
}

static void its_longest_path_alone_rules_an_island_out(void **state)
{
    (void)state;
    bool is_short, is_long, never;
    count(2000, BRAID_ISLANDS_AUTO, &is_short);
    const unsigned least = count(200000, BRAID_ISLANDS_NEVER, &never);
    const unsigned num = count(200000, BRAID_ISLANDS_AUTO, &is_long);
    print_message("summary: %u allocations with one search, %u with a look at islands\n", least,
                  num);
    assert_true(is_short);
    assert_false(is_long || never);
    assert_in_range(num, least, 5 * least / 2); // one to compare, one for the exec
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(its_longest_path_alone_rules_an_island_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

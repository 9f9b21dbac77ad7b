// SPDX-License-Identifier: Apache-2.0
// A black box names the only node that runs, however the nodes beside it note that they have ended:
// kernels by themselves, others by a fill.
#include <sched.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/wide_plan.h"

enum { FRAMES = 20, MOST_NODES = 8, SHORT_NS = 1000000 };

#define PTX(body)                                                                                  \
    ".version 7.4\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry work(.param .u64 gate)\n{\n" body "ret;\n}\n"

static const char plain_image[] = PTX("");
// It would hang if the threads that end met the others at the end.
static const char leaving_image[] =
    PTX(".reg .pred %p;\nsetp.eq.u32 %p, %tid.x, 0;\n@%p ret;\nbar.sync 0;\n");

struct gate {
    atomic_bool is_open, is_entered;
};

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_work;

void braid_standin_work(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    struct gate *gate = *(struct gate **)args[0];
    if (!gate)
        return;
    atomic_store(&gate->is_entered, true);
    while (!atomic_load(&gate->is_open))
        sched_yield();
}

static const braid_kernel plain = { .name = "work", .cuda = { .data = plain_image } };
static const braid_kernel leaving = { .name = "work", .cuda = { .data = leaving_image } };

static braid_node add(braid_graph *graph, const char *name, const braid_kernel *kernel,
                      struct gate *gate, const braid_node *after, size_t num_after)
{
    braid_node node;
    const braid_kernel_node launch = {
        .node = { .name = name, .after = after, .num_after = num_after },
        .kernel = kernel,
        BRAID_ARGS(BRAID_ARG(gate)),
    };
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    return node;
}

static void return_at_once(void *user)
{
    (void)user;
}

// Each node of one lane waits for the node before it, and for one of the other lane. There the last
// one is stuck.
static void build(braid_graph *graph, const braid_kernel *kernel, bool by_host, struct gate *gate)
{
    braid_node own, other = add(graph, "other", &plain, NULL, NULL, 0);
    if (by_host)
        check_ok(braid_graph_add_host_call(
            graph, &(braid_host_call){ .node.name = "own", .call = return_at_once }, &own));
    else
        own = add(graph, "own", kernel, NULL, NULL, 0);
    braid_node next = add(graph, "next", kernel, NULL, (braid_node[]){ own, other }, 2);
    braid_node stuck = add(graph, "stuck", &plain, gate, &other, 1);
    add(graph, "last", &plain, NULL, (braid_node[]){ next, stuck }, 2);
}

static void find_only_stuck(braid_exec *exec, struct gate *gate)
{
    braid_running_node nodes[MOST_NODES];
    size_t num = 0;
    while (!atomic_load(&gate->is_entered))
        sched_yield();
    for (int i = 0; i < 200 && num != 1; i++) {
        assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, SHORT_NS), BRAID_TIMEOUT);
        check_ok(braid_exec_get_running(exec, nodes, MOST_NODES, &num));
    }
    atomic_store(&gate->is_open, true);
    check_ok(braid_exec_wait(exec));
    if (num != 1 || strcmp(nodes[0].name, "stuck") != 0)
        fail_msg("%zu nodes run: '%s', '%s'", num, nodes[0].name, num > 1 ? nodes[1].name : "");
}

static void check(const braid_kernel *kernel, bool by_host, braid_exec_mode mode)
{
    struct gate gate = { false, false };
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_GRAPH_THREADS", "4"));
    braid_device *device = own_device("cuda");
    braid_graph *graph = own_graph();
    build(graph, kernel, by_host, &gate);
    const braid_exec_options options = { .mode = mode,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true,
                                         .black_box = true };
    braid_exec *exec = own_exec(device, graph, &options);
    for (int frame = 0; frame < FRAMES; frame++) {
        atomic_store(&gate.is_open, false);
        atomic_store(&gate.is_entered, false);
        check_ok(braid_exec_launch(exec, NULL));
        find_only_stuck(exec, &gate);
    }
    destroy_now(exec);
    finish_standin();
}

static void kernels_note_their_own(void **state)
{
    (void)state;
    check(&plain, false, BRAID_MODE_STREAMS);
    check(&plain, false, BRAID_MODE_GRAPH);
}

static void a_kernel_whose_threads_part_is_left_as_it_is(void **state)
{
    (void)state;
    check(&leaving, false, BRAID_MODE_STREAMS);
    check(&leaving, false, BRAID_MODE_GRAPH);
}

static void a_late_end_hides_none_of_a_later_node(void **state)
{
    (void)state;
    check(&plain, true, BRAID_MODE_STREAMS);
    check(&plain, true, BRAID_MODE_GRAPH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(kernels_note_their_own),
        standin_test(a_kernel_whose_threads_part_is_left_as_it_is),
        standin_test(a_late_end_hides_none_of_a_later_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Kernels with source that follow each other on a lane become one node of the driver graph where
// that pays; everything else stays as it was, and so does every order.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "standin/cuda/cuda_abi.h"
#include "support/check.h"
#include "support/wide_plan.h"

enum { FRAMES = 6 };

static braid_exec_info info_of(const braid_exec *exec)
{
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    return info;
}

static uint32_t num_lanes; // as many as the latest exec had

// Frames of a random graph, with nodes outside and in several lanes.
static braid_exec_info run_random(struct island_graph *made, braid_exec_options options,
                                  unsigned seed)
{
    char text[16];
    reset_standin();
    braid_device *device = own_device("cuda");
    snprintf(text, sizeof(text), "%u", seed);
    assert_true(standin_configure("BRAID_STANDIN_SEED", text));
    island_graph_make(made, device);
    braid_exec *exec = own_exec(device, made->graph, &options);
    check_ok(braid_schedule_verify(braid_exec_get_schedule(exec), made->graph));
    // On the default stream they would not overlap.
    braid_stream *stream = options.frames_in_flight > 1 ? own_stream(device) : NULL;
    for (int frame = 0; frame < FRAMES; frame++)
        check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    island_graph_check(made, FRAMES);
    braid_exec_info info = info_of(exec);
    static char reason[256]; // the exec's own ends with it
    snprintf(reason, sizeof(reason), "%s", info.reason);
    info.reason = reason;
    braid_schedule_info plan;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &plan);
    num_lanes = plan.num_lanes;
    finish_standin();
    return info;
}

// Twenty random graphs with nodes outside.
static void run_many(bool overlap)
{
    uint32_t num_islands = 0, num_inside = 0, num_waits = 0;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct island_graph made = { .seed = seed, .has_outsiders = true, .has_accesses = overlap };
        const braid_exec_options options = { .islands = BRAID_ISLANDS_ALWAYS,
                                             .frames_in_flight = overlap ? 2 + seed % 2 : 0,
                                             .max_lanes = 1 + seed % 3,
                                             .fixed_lanes = true };
        braid_exec_info info = run_random(&made, options, seed);
        assert_true(info.num_island_nodes <= ISLAND_NODES - made.num_outsiders);
        assert_true(info.num_island_nodes >= 2 * info.num_islands);
        assert_false(overlap && info.whole_frames);
        num_islands += info.num_islands;
        num_inside += info.num_island_nodes;
        num_waits += info.num_frame_waits;
    }
    print_message("summary: %u inside %u, %u waits\n", num_inside, num_islands, num_waits);
    assert_true(num_islands > 50);
    assert_int_equal(num_waits > 20, overlap);
}

static void every_order_is_kept_beside_ordinary_nodes(void **state)
{
    (void)state;
    run_many(false);
}

// What a frame awaits of the one before stands around islands, not in them.
static void frames_overlap_round_islands(void **state)
{
    (void)state;
    run_many(true);
}

static braid_exec_info run_chain(uint64_t cost_ns, braid_islands islands, braid_exec_mode mode)
{
    struct island_graph made = { .seed = 1, .cost_ns = cost_ns };
    return run_random(&made,
                      (braid_exec_options){ .mode = mode, .islands = islands, .max_lanes = 1 }, 1);
}

static void islands_are_made_where_they_pay(void **state)
{
    (void)state;
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_AUTO, BRAID_MODE_AUTO).num_islands, 1);
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_AUTO, BRAID_MODE_GRAPH).num_island_nodes,
                     ISLAND_NODES);
    assert_int_equal(run_chain(100000, BRAID_ISLANDS_AUTO, BRAID_MODE_GRAPH).num_islands, 0);
    assert_int_equal(run_chain(100000, BRAID_ISLANDS_ALWAYS, BRAID_MODE_GRAPH).num_islands, 1);
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_NEVER, BRAID_MODE_GRAPH).num_islands, 0);
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_AUTO, BRAID_MODE_STREAMS).num_islands, 0);
}

static void no_rewriting_makes_no_islands(void **state)
{
    (void)state;
    struct island_graph made = { .seed = 1, .cost_ns = 2000 };
    braid_exec_info info = run_random(&made, (braid_exec_options){ .no_rewriting = true }, 1);
    assert_int_equal(info.num_islands + info.num_early_starts + info.num_prefetches, 0);
}

static void no_rewriting_refuses_islands_by_name(void **state)
{
    (void)state;
    braid_device *device = own_device("cuda");
    braid_graph *graph = own_graph();
    braid_exec *exec;
    check_fails(braid_exec_create(
                    device, graph,
                    &(braid_exec_options){ .no_rewriting = true, .islands = BRAID_ISLANDS_WHOLE },
                    &exec),
                BRAID_INVALID_ARGUMENT, "no_rewriting forbids islands, and BRAID_ISLANDS_WHOLE");
    check_fails(braid_exec_create(
                    device, graph,
                    &(braid_exec_options){ .no_rewriting = true, .islands = BRAID_ISLANDS_ALWAYS },
                    &exec),
                BRAID_INVALID_ARGUMENT, "no_rewriting forbids islands, and BRAID_ISLANDS_ALWAYS");
}

// Where nodes do next to nothing, waiting for another lane takes longer than all of them in turn.
static void short_nodes_are_one_lane_of_an_island(void **state)
{
    (void)state;
    for (unsigned is_long = 0; is_long < 2; is_long++) {
        const uint64_t cost_ns = is_long ? 5000 : 1;
        struct island_graph made = { .seed = 3, .most_before = 12, .cost_ns = cost_ns };
        run_random(&made, (braid_exec_options){ 0 }, 1);
        assert_int_equal(num_lanes > 1, is_long);
    }
}

static void a_narrow_graph_is_one_island_where_that_is_shorter(void **state)
{
    (void)state;
    struct island_graph made = { .seed = 3, .most_before = 3 };
    braid_exec_info info = run_random(&made, (braid_exec_options){ 0 }, 1);
    assert_int_equal(info.num_island_nodes, ISLAND_NODES);
    assert_string_equal(info.reason, "graph: one island, which is expected to be shorter");
    info = run_random(&made, (braid_exec_options){ .islands = BRAID_ISLANDS_NEVER }, 1);
    assert_int_equal(info.num_island_nodes, 0);
    info = run_random(&made, (braid_exec_options){ .mode = BRAID_MODE_STREAMS }, 1);
    assert_int_equal(info.num_island_nodes, 0);
    made.has_outsiders = true;
    info = run_random(&made, (braid_exec_options){ 0 }, 1);
    assert_true(info.num_island_nodes <= ISLAND_NODES - made.num_outsiders);
    made = (struct island_graph){ .seed = 3, .most_before = 3, .cost_ns = 200000 };
    info = run_random(&made, (braid_exec_options){ 0 }, 1);
    assert_int_equal(info.num_island_nodes, 0);
}

static void check_text(const braid_schedule *schedule, braid_node node, const char *expected)
{
    char text[200];
    check_ok(braid_schedule_explain(schedule, &node, 1, text, sizeof(text)));
    assert_string_equal(text, expected);
}

// Islands of two calls, too, which are not shorter.
static const braid_exec_options all = { .islands = BRAID_ISLANDS_ALWAYS };

static void the_plan_says_what_is_inside_and_why_not(void **state)
{
    (void)state;
    skip_if_left_out(braid_schedule_explain(NULL, NULL, 0, NULL, 0));
    struct island_chain chain;
    braid_exec *exec;
    braid_placement placement;
    island_chain_make(&chain, &island_outsider);
    check_ok(braid_exec_create(chain.device, chain.graph, &all, &exec));
    const braid_schedule *schedule = braid_exec_get_schedule(exec);
    assert_int_equal(info_of(exec).num_islands, 2);
    check_text(schedule, chain.nodes[1], "in island 0, call 2 of 2, from 'link a' to 'link b'");
    check_text(schedule, chain.nodes[2], "not in an island: it reads '%gridid'");
    check_ok(braid_schedule_get_placement(schedule, chain.nodes[4], &placement));
    assert_int_equal(placement.island, 1);
    check_ok(braid_schedule_get_placement(schedule, chain.nodes[2], &placement));
    assert_int_equal(placement.island, BRAID_NO_ISLAND);
    braid_exec_destroy(exec);
    check_ok(braid_exec_create(chain.device, chain.graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_NEVER }, &exec));
    check_text(braid_exec_get_schedule(exec), chain.nodes[1],
               "not in an island: there are none on what it was planned for");
    braid_exec_destroy(exec);
    check_ok(braid_exec_create(chain.device, chain.graph,
                               &(braid_exec_options){ .no_rewriting = true }, &exec));
    check_text(braid_exec_get_schedule(exec), chain.nodes[1],
               "not in an island: it runs as the program gave it, by no_rewriting");
    assert_string_equal(info_of(exec).reason,
                        "graph: everything in the graph can be replayed by cuda; "
                        "every kernel runs as the program gave it: no_rewriting");
    braid_exec_destroy(exec);
}

// There are islands before it and behind it, and the whole is none.
static void a_function_of_the_programs_own_divides_islands(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_exec *exec;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    reset_standin();
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_int_equal(cuModuleLoadData(&module, island_outsider.cuda.data), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&function, module, "island_outsider"), CUDA_SUCCESS);
    const braid_kernel own = { .name = "island_outsider", .cuda = { .function = function } };
    island_chain_make(&chain, &own);
    check_ok(braid_exec_create(chain.device, chain.graph, &all, &exec));
    assert_int_equal(info_of(exec).num_islands, 2);
    assert_int_equal(info_of(exec).num_island_nodes, ISLAND_CHAIN - 1);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < ISLAND_CHAIN; i++)
        assert_int_equal(chain.ran[i], 1);
    braid_exec_destroy(exec);
    check_fails(braid_exec_create(chain.device, chain.graph,
                                  &(braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE }, &exec),
                BRAID_UNSUPPORTED, "it is the program's own function");
    assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
    assert_int_equal(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

// What a parameter disables is a node of its own, and the plan says why.
static void what_a_parameter_disables_stays_outside(void **state)
{
    (void)state;
    skip_if_left_out(braid_schedule_explain(NULL, NULL, 0, NULL, 0));
    struct island_chain chain;
    braid_parameter steps;
    island_chain_make(&chain, &island_other);
    check_ok(braid_graph_add_parameter(chain.graph, "steps", sizeof(uint32_t), &steps));
    check_ok(braid_graph_use_parameter(
        chain.graph, steps,
        &(braid_parameter_use){ .node = chain.nodes[2], .target = BRAID_TARGET_ENABLED }));
    braid_exec *exec = own_exec(chain.device, chain.graph, &all);
    assert_int_equal(info_of(exec).num_islands, 2);
    check_text(braid_exec_get_schedule(exec), chain.nodes[2],
               "not in an island: a parameter changes its grid or disables it; "
               "changed by steps: enabled");
    for (uint32_t frame = 0; frame < 6; frame++) {
        check_ok(braid_exec_set_parameter(exec, steps, &(uint32_t){ frame % 3 == 0 }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < ISLAND_CHAIN; i++)
        assert_int_equal(chain.ran[i], i == 2 ? 2 : 6);
}

static void a_frame_in_flight_keeps_its_arguments(void **state)
{
    (void)state;
    struct island_chain chain;
    island_chain_make(&chain, &island_other);
    braid_exec *exec = own_exec(chain.device, chain.graph, NULL);
    assert_int_equal(info_of(exec).num_island_nodes, ISLAND_CHAIN);
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "2000"));
    for (int frame = 0; frame < 3; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    long before = standin_calls("cuGraphExecKernelNodeSetParams");
    for (uint32_t i = 0; i < ISLAND_CHAIN; i++)
        check_ok(braid_exec_set_arg(exec, chain.nodes[i], 0, BRAID_ARG(chain.other)));
    check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(standin_calls("cuGraphExecKernelNodeSetParams"), before + 1);
    check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(standin_calls("cuGraphExecKernelNodeSetParams"), before + 1);
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < ISLAND_CHAIN; i++) {
        assert_int_equal(chain.ran[i], 3);
        assert_int_equal(chain.other[i], 2);
    }
}

static void in_streams_mode_they_are_refused(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_exec *exec;
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .islands = BRAID_ISLANDS_ALWAYS };
    island_chain_make(&chain, &island_other);
    check_fails(braid_exec_create(chain.device, chain.graph, &options, &exec), BRAID_UNSUPPORTED,
                "cuda:0 has no islands in streams mode");
}

// Arguments that could not be handed over stand for the next launch.
static void a_launch_that_fails_forgets_no_argument(void **state)
{
    (void)state;
    struct island_chain chain;
    island_chain_make(&chain, &island_other);
    braid_exec *exec = own_exec(chain.device, chain.graph, NULL);
    check_ok(braid_exec_set_arg(exec, chain.nodes[3], 0, BRAID_ARG(chain.other)));
    fail_calls("cuGraphExecKernelNodeSetParams:1=2");
    check_fails(braid_exec_launch(exec, NULL), BRAID_NO_MEMORY, "'link a'");
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(chain.ran[0], 1);
    assert_int_equal(chain.ran[3], 0);
    assert_int_equal(chain.other[3], 1);
}

static void a_given_schedule_keeps_its_lanes(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_schedule *schedule;
    braid_schedule_info given, used;
    island_chain_make(&chain, &island_other);
    check_ok(braid_schedule_create(chain.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &schedule));
    braid_exec *exec =
        own_exec(chain.device, chain.graph, &(braid_exec_options){ .schedule = schedule });
    braid_schedule_get_info(schedule, &given);
    braid_schedule_get_info(braid_exec_get_schedule(exec), &used);
    assert_int_equal(given.num_islands, 0);
    assert_int_equal(used.num_islands, 1);
    assert_int_equal(used.num_lanes, given.num_lanes);
    braid_schedule_destroy(schedule);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(chain.ran[ISLAND_CHAIN - 1], 1);
}

// What only the compiler sees leaves the nodes as they were, unless islands were asked for.
static void what_cannot_be_compiled_stays_outside(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_exec *plain, *exec;
    braid_exec_options options = { .islands = BRAID_ISLANDS_NEVER };
    island_chain_make(&chain, &island_other);
    check_ok(braid_exec_create(chain.device, chain.graph, &options, &plain)); // loads the kernels
    assert_int_equal(setenv("BRAID_STANDIN_NVRTC_FAIL", "nvrtcCompileProgram=6", 1), 0);
    options.islands = BRAID_ISLANDS_ALWAYS;
    check_fails(braid_exec_create(chain.device, chain.graph, &options, &exec), BRAID_UNSUPPORTED,
                "an island cannot be compiled");
    check_ok(braid_exec_create(chain.device, chain.graph, NULL, &exec));
    assert_int_equal(unsetenv("BRAID_STANDIN_NVRTC_FAIL"), 0);
    assert_int_equal(info_of(exec).num_islands, 0);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(chain.ran[ISLAND_CHAIN - 1], 1);
    braid_exec_destroy(exec);
    braid_exec_destroy(plain);
}

static atomic_bool may_trap;
static unsigned trap_at;

static bool trap(unsigned node)
{
    while (node == trap_at && !atomic_load(&may_trap))
        sched_yield();
    if (node == trap_at)
        standin_trap(719);
    return node == trap_at;
}

static void check_fault(const char *expected, uint32_t num_in_flight)
{
    struct island_chain chain;
    braid_exec_options options = all;
    options.frames_in_flight = num_in_flight;
    island_chain_make(&chain, &island_outsider);
    braid_exec *exec = own_exec(chain.device, chain.graph, &options);
    check_ok(braid_exec_launch_many(exec, NULL, 3, NULL, 0));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(chain.ran[ISLAND_CHAIN - 1], 3);
    atomic_store(&may_trap, false);
    island_fails = trap;
    check_ok(braid_exec_launch(exec, NULL));
    atomic_store(&may_trap, true);
    check_fails(braid_exec_wait(exec), BRAID_DEVICE_ERROR, expected);
    check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, expected);
    island_fails = NULL;
    standin_forget_faults();
}

// The running nodes of any frame in flight are named. What has ended is not named, and nothing
// where the fault is outside.
static void after_a_fault_the_running_nodes_are_named(void **state)
{
    (void)state;
    static const char *const expected[ISLAND_CHAIN] = {
        [1] = "; in its islands these nodes were running: 1 'link b' (island 0)",
        [2] = "; no node of its islands was running",
        [4] = "; in its islands these nodes were running: 4 'link e' (island 1)",
    };
    for (trap_at = 0; trap_at < ISLAND_CHAIN; trap_at++)
        if (expected[trap_at])
            check_fault(expected[trap_at], 1 + trap_at % 2);
    trap_at = 1;
    assert_int_equal(setenv("BRAID_NOTE_NODES", "0", 1), 0);
    check_fault("; its islands of 4 calls may have been running", 1);
    assert_int_equal(unsetenv("BRAID_NOTE_NODES"), 0);
}

// A whole life with an island; false where nothing failed.
static bool live_and_fail(const char *function, int nth)
{
    struct island_chain chain;
    braid_exec *exec = NULL;
    island_chain_make(&chain, &island_outsider);
    fail_calls("%s:%d=2", function, nth);
    braid_status status = braid_exec_create(chain.device, chain.graph, &all, &exec);
    if (!status)
        status = braid_exec_set_arg(exec, chain.nodes[0], 0, BRAID_ARG(chain.other));
    if (!status)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    fail_calls(NULL);
    if (!status)
        assert_int_equal(chain.other[0], 1);
    braid_exec_destroy(exec);
    check_ok(braid_exec_create(chain.device, chain.graph, &all, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(info_of(exec).num_islands, 2);
    braid_exec_destroy(exec);
    finish_standin();
    return status != BRAID_OK;
}

// A call that an island makes may fail: what destroys is another test's.
static void any_driver_call_may_fail(void **state)
{
    (void)state;
    static const char *const functions[] = {
        "cuModuleLoadData",   "cuModuleGetFunction",    "cuFuncSetAttribute",
        "cuMemAlloc",         "cuMemcpyAsync",          "cuStreamCreateWithPriority",
        "cuGraphCreate",      "cuStreamSynchronize",    "cuGraphAddKernelNode",
        "cuGraphInstantiate", "cuGraphAddDependencies", "cuGraphExecKernelNodeSetParams",
        "cuGraphLaunch",      "cuEventRecord",          "cuMemHostAlloc",
    };
    int num_failed = 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        bool failed = true;
        for (int nth = 1; failed; nth++) {
            failed = live_and_fail(functions[i], nth);
            num_failed += failed;
        }
    }
    print_message("summary: %d failures told\n", num_failed);
    assert_true(num_failed > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(every_order_is_kept_beside_ordinary_nodes),
        standin_test(frames_overlap_round_islands),
        standin_test(islands_are_made_where_they_pay),
        standin_test(no_rewriting_makes_no_islands),
        standin_test(no_rewriting_refuses_islands_by_name),
        standin_test(short_nodes_are_one_lane_of_an_island),
        standin_test(a_narrow_graph_is_one_island_where_that_is_shorter),
        standin_test(the_plan_says_what_is_inside_and_why_not),
        standin_test(a_function_of_the_programs_own_divides_islands),
        standin_test(what_a_parameter_disables_stays_outside),
        standin_test(a_frame_in_flight_keeps_its_arguments),
        standin_test(in_streams_mode_they_are_refused),
        standin_test(a_launch_that_fails_forgets_no_argument),
        standin_test(a_given_schedule_keeps_its_lanes),
        standin_test(what_cannot_be_compiled_stays_outside),
        standin_test(after_a_fault_the_running_nodes_are_named),
        standin_test(any_driver_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

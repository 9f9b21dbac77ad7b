// SPDX-License-Identifier: Apache-2.0
// Kernels with source that follow each other on a lane become one node of the native graph where
// that pays; everything else stays as it was, and so does every order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"

enum { FRAMES = 6, CHAIN = 5 };

static braid_device *open_device(void)
{
    braid_device *device;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return device;
}

static braid_exec_info info_of(const braid_exec *exec)
{
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    return info;
}

// Frames of a random graph, with nodes outside and in several lanes.
static braid_exec_info run_random(struct island_graph *made, braid_exec_options options,
                                  unsigned seed)
{
    char text[16];
    braid_exec *exec;
    braid_device *device = open_device();
    snprintf(text, sizeof(text), "%u", seed);
    assert_true(standin_configure("BRAID_STANDIN_SEED", text));
    island_graph_make(made, device);
    check_ok(braid_exec_create(device, made->graph, &options, &exec));
    check_ok(braid_schedule_verify(braid_exec_schedule(exec), made->graph));
    braid_stream *stream = NULL;
    if (options.frames > 1) // on the default stream they would not overlap
        check_ok(braid_stream_create(device, NULL, &stream));
    for (int frame = 0; frame < FRAMES; frame++)
        check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    island_graph_check(made, FRAMES);
    braid_exec_info info = info_of(exec);
    braid_exec_destroy(exec);
    braid_stream_destroy(stream);
    island_graph_finish(made, device);
    braid_device_close(device);
    check_nothing_is_left();
    return info;
}

static void every_order_is_kept_beside_ordinary_nodes(void **state)
{
    (void)state;
    uint32_t num_islands = 0, num_inside = 0;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct island_graph made = { .seed = seed, .has_outsiders = true };
        const braid_exec_options options = { .mode = BRAID_MODE_NATIVE,
                                             .islands = BRAID_ISLANDS_ALWAYS,
                                             .plan = { .max_lanes = 1 + seed % 3,
                                                       .fixed_lanes = true } };
        braid_exec_info info = run_random(&made, options, seed);
        assert_true(info.num_island_nodes <= ISLAND_NODES - made.num_outsiders);
        assert_true(info.num_island_nodes >= 2 * info.num_islands);
        num_islands += info.num_islands;
        num_inside += info.num_island_nodes;
    }
    print_message("summary: %u islands of %u nodes in 20 graphs\n", num_islands, num_inside);
    assert_true(num_islands > 40);
}

// What a frame awaits of the one before stands around islands, not in them.
static void frames_overlap_round_islands(void **state)
{
    (void)state;
    uint32_t num_islands = 0, num_waits = 0;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct island_graph made = { .seed = seed, .has_outsiders = true, .has_accesses = true };
        const braid_exec_options options = { .mode = BRAID_MODE_NATIVE,
                                             .islands = BRAID_ISLANDS_ALWAYS,
                                             .frames = 2 + seed % 2,
                                             .plan = { .max_lanes = 1 + seed % 3,
                                                       .fixed_lanes = true } };
        braid_exec_info info = run_random(&made, options, seed);
        assert_false(info.whole_frames);
        num_islands += info.num_islands;
        num_waits += info.num_frame_waits;
    }
    print_message("summary: %u islands, %u waits for frames before\n", num_islands, num_waits);
    assert_true(num_islands > 40);
    assert_true(num_waits > 20);
}

static braid_exec_info run_chain(uint64_t cost_ns, braid_islands islands, braid_exec_mode mode)
{
    struct island_graph made = { .seed = 1, .cost_ns = cost_ns };
    return run_random(
        &made, (braid_exec_options){ .mode = mode, .islands = islands, .plan.max_lanes = 1 }, 1);
}

static void islands_are_made_where_they_pay(void **state)
{
    (void)state;
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_AUTO, BRAID_MODE_AUTO).num_islands, 1);
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_AUTO, BRAID_MODE_NATIVE).num_island_nodes,
                     ISLAND_NODES);
    assert_int_equal(run_chain(100000, BRAID_ISLANDS_AUTO, BRAID_MODE_NATIVE).num_islands, 0);
    assert_int_equal(run_chain(100000, BRAID_ISLANDS_ALWAYS, BRAID_MODE_NATIVE).num_islands, 1);
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_NEVER, BRAID_MODE_NATIVE).num_islands, 0);
    assert_int_equal(run_chain(2000, BRAID_ISLANDS_AUTO, BRAID_MODE_STREAMS).num_islands, 0);
}

// Where nodes do next to nothing, waiting for another lane takes longer than all of them in turn.
static void short_nodes_are_one_lane_of_an_island(void **state)
{
    (void)state;
    braid_device *device;
    braid_exec *exec;
    static const struct {
        uint64_t cost_ns;
        bool is_chain;
    } rows[] = { { 1, true }, { 5000, false } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct island_graph made = { .seed = 3, .most_before = 12, .cost_ns = rows[i].cost_ns };
        braid_schedule_info info;
        reset_standin();
        check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
        island_graph_make(&made, device);
        check_ok(braid_exec_create(device, made.graph, NULL, &exec));
        braid_schedule_get_info(braid_exec_schedule(exec), &info);
        assert_int_equal(info.num_lanes == 1, rows[i].is_chain);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        island_graph_check(&made, 1);
        braid_exec_destroy(exec);
        island_graph_finish(&made, device);
        braid_device_close(device);
    }
}

static void a_narrow_graph_is_one_island_where_that_is_shorter(void **state)
{
    (void)state;
    struct island_graph made = { .seed = 3, .most_before = 3 };
    braid_exec_info info = run_random(&made, (braid_exec_options){ 0 }, 1);
    assert_int_equal(info.num_island_nodes, ISLAND_NODES);
    assert_string_equal(info.reason, "native: one island, which is expected to be shorter");
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

// A chain of kernels that add to a word, of which the one in the middle has no source.
struct chain {
    braid_device *device;
    braid_graph *graph;
    braid_node nodes[CHAIN];
    unsigned *ran, *other;
};

static void make_chain(struct chain *chain, const braid_kernel *middle)
{
    void *memory;
    chain->device = open_device();
    check_ok(braid_memory_allocate(chain->device, BRAID_MEMORY_DEVICE, 256, &memory));
    memset(memory, 0, 256);
    chain->ran = memory;
    chain->other = chain->ran + 32;
    check_ok(braid_graph_create(&chain->graph));
    for (uint32_t i = 0; i < CHAIN; i++) {
        char name[] = "link a";
        name[5] = (char)('a' + i);
        const braid_launch launch = {
            .node = { .name = name,
                      .after = chain->nodes + i - (i > 0),
                      .num_after = i > 0,
                      .cost_ns = 300 },
            .kernel = i == CHAIN / 2 ? middle : &island_other,
            BRAID_ARGS(BRAID_ARG(chain->ran), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(chain->graph, &launch, &chain->nodes[i]));
    }
}

static void finish_chain(struct chain *chain)
{
    braid_graph_destroy(chain->graph);
    braid_memory_free(chain->device, BRAID_MEMORY_DEVICE, chain->ran);
    braid_device_close(chain->device);
    check_nothing_is_left();
}

static void check_text(const braid_schedule *schedule, braid_node node, const char *expected)
{
    char text[200];
    check_ok(braid_schedule_explain_island(schedule, node, text, sizeof(text)));
    assert_string_equal(text, expected);
}

// Islands of two calls, too, which are not shorter.
static const braid_exec_options all = { .islands = BRAID_ISLANDS_ALWAYS };

static void the_plan_says_what_is_inside_and_why_not(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec;
    braid_placement placement;
    make_chain(&chain, &island_outsider);
    check_ok(braid_exec_create(chain.device, chain.graph, &all, &exec));
    const braid_schedule *schedule = braid_exec_schedule(exec);
    assert_int_equal(info_of(exec).num_islands, 2);
    check_text(schedule, chain.nodes[1], "in island 0, call 2 of 2, from 'link a' to 'link b'");
    check_text(schedule, chain.nodes[2], "not in an island: it has no source");
    check_ok(braid_schedule_get_placement(schedule, chain.nodes[4], &placement));
    assert_int_equal(placement.island, 1);
    check_ok(braid_schedule_get_placement(schedule, chain.nodes[2], &placement));
    assert_int_equal(placement.island, BRAID_NO_ISLAND);
    braid_exec_destroy(exec);
    check_ok(braid_exec_create(chain.device, chain.graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_NEVER }, &exec));
    check_text(braid_exec_schedule(exec), chain.nodes[1],
               "not in an island: there are none on what it was planned for");
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

// What a parameter disables is a node of its own, and the plan says why.
static void what_a_parameter_disables_stays_outside(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec = NULL;
    braid_parameter steps;
    make_chain(&chain, &island_other);
    check_ok(braid_graph_add_parameter(chain.graph, "steps", sizeof(uint32_t), &steps));
    check_ok(braid_graph_use_parameter(
        chain.graph, steps,
        &(braid_parameter_use){ .node = chain.nodes[2], .target = BRAID_TARGET_ENABLED }));
    check_ok(braid_exec_create(chain.device, chain.graph, &all, &exec));
    assert_int_equal(info_of(exec).num_islands, 2);
    check_text(braid_exec_schedule(exec), chain.nodes[2],
               "not in an island: a parameter changes its grid or disables it");
    for (uint32_t frame = 0; frame < 6; frame++) {
        const uint32_t enabled = frame % 3 == 0;
        check_ok(braid_exec_set_param(exec, steps, &enabled));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < CHAIN; i++)
        assert_int_equal(chain.ran[i], i == 2 ? 2 : 6);
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

static void a_frame_in_flight_keeps_its_arguments(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec;
    make_chain(&chain, &island_other);
    check_ok(braid_exec_create(chain.device, chain.graph, NULL, &exec));
    assert_int_equal(info_of(exec).num_island_nodes, CHAIN);
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "2000"));
    for (int frame = 0; frame < 3; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    long before = standin_calls("cuGraphExecKernelNodeSetParams");
    for (uint32_t i = 0; i < CHAIN; i++)
        check_ok(braid_exec_set_arg(exec, chain.nodes[i], 0, BRAID_ARG(chain.other)));
    check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(standin_calls("cuGraphExecKernelNodeSetParams"), before + 1);
    check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(standin_calls("cuGraphExecKernelNodeSetParams"), before + 1);
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < CHAIN; i++) {
        assert_int_equal(chain.ran[i], 3);
        assert_int_equal(chain.other[i], 2);
    }
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

// Arguments that could not be handed over stand for the next launch.
static void a_launch_that_fails_forgets_no_argument(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec;
    make_chain(&chain, &island_other);
    check_ok(braid_exec_create(chain.device, chain.graph, NULL, &exec));
    check_ok(braid_exec_set_arg(exec, chain.nodes[3], 0, BRAID_ARG(chain.other)));
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuGraphExecKernelNodeSetParams:1=2"));
    check_fails(braid_exec_launch(exec, NULL), BRAID_NO_MEMORY, "'link a'");
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(chain.ran[0], 1);
    assert_int_equal(chain.ran[3], 0);
    assert_int_equal(chain.other[3], 1);
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

static void a_given_schedule_keeps_its_lanes(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec;
    braid_schedule *schedule;
    braid_schedule_info given, used;
    make_chain(&chain, &island_other);
    check_ok(braid_schedule_create(chain.graph, NULL, &schedule));
    check_ok(braid_exec_create(chain.device, chain.graph,
                               &(braid_exec_options){ .schedule = schedule }, &exec));
    braid_schedule_get_info(schedule, &given);
    braid_schedule_get_info(braid_exec_schedule(exec), &used);
    assert_int_equal(given.num_islands, 0);
    assert_int_equal(used.num_islands, 1);
    assert_int_equal(used.num_lanes, given.num_lanes);
    braid_schedule_destroy(schedule);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(chain.ran[CHAIN - 1], 1);
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

// What only the compiler sees leaves the nodes as they were, unless islands were asked for.
static void what_cannot_be_compiled_stays_outside(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *plain, *exec;
    braid_exec_options options = { .islands = BRAID_ISLANDS_NEVER };
    make_chain(&chain, &island_other);
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
    assert_int_equal(chain.ran[CHAIN - 1], 1);
    braid_exec_destroy(exec);
    braid_exec_destroy(plain);
    finish_chain(&chain);
}

// A whole life with an island; false where nothing failed.
static bool live_and_fail(const char *rule)
{
    struct chain chain;
    braid_exec *exec = NULL;
    make_chain(&chain, &island_outsider);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    braid_status status = braid_exec_create(chain.device, chain.graph, &all, &exec);
    if (!status)
        status = braid_exec_set_arg(exec, chain.nodes[0], 0, BRAID_ARG(chain.other));
    if (!status)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    if (!status)
        assert_int_equal(chain.other[0], 1);
    braid_exec_destroy(exec);
    check_ok(braid_exec_create(chain.device, chain.graph, &all, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(info_of(exec).num_islands, 2);
    braid_exec_destroy(exec);
    finish_chain(&chain);
    return status != BRAID_OK;
}

// Those that an island makes: what destroys is another test's.
static void any_driver_call_may_fail(void **state)
{
    (void)state;
    static const char *const functions[] = {
        "cuModuleLoadData",   "cuModuleGetFunction",    "cuFuncSetAttribute",
        "cuMemAlloc",         "cuMemcpyAsync",          "cuStreamCreateWithPriority",
        "cuGraphCreate",      "cuStreamSynchronize",    "cuGraphAddKernelNode",
        "cuGraphInstantiate", "cuGraphAddDependencies", "cuGraphExecKernelNodeSetParams",
        "cuGraphLaunch",      "cuEventRecord",
    };
    int num_failed = 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        bool failed = true;
        for (int nth = 1; failed; nth++) {
            char rule[64];
            snprintf(rule, sizeof(rule), "%s:%d=2", functions[i], nth);
            failed = live_and_fail(rule);
            num_failed += failed;
        }
    }
    print_message("summary: %d failures told\n", num_failed);
    assert_true(num_failed > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_is_kept_beside_ordinary_nodes),
        cmocka_unit_test(frames_overlap_round_islands),
        cmocka_unit_test(islands_are_made_where_they_pay),
        cmocka_unit_test(short_nodes_are_one_lane_of_an_island),
        cmocka_unit_test(a_narrow_graph_is_one_island_where_that_is_shorter),
        cmocka_unit_test(the_plan_says_what_is_inside_and_why_not),
        cmocka_unit_test(what_a_parameter_disables_stays_outside),
        cmocka_unit_test(a_frame_in_flight_keeps_its_arguments),
        cmocka_unit_test(a_launch_that_fails_forgets_no_argument),
        cmocka_unit_test(a_given_schedule_keeps_its_lanes),
        cmocka_unit_test(what_cannot_be_compiled_stays_outside),
        cmocka_unit_test(any_driver_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

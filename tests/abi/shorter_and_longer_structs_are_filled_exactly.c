// SPDX-License-Identifier: Apache-2.0
// A program that was built with shorter or longer output structs than the library's is never
// overrun: it gets the fields it knows, and zeros for those that the library does not know.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"

// What a library before this one may have declared: the same beginnings, and fewer fields.
struct old_backend_info {
    const char *name;
};
struct old_device_info {
    char name[128];
    const char *backend;
};
struct old_device_stats {
    uint64_t streams_created;
};
struct old_cost_model {
    uint64_t default_cost_ns, node_ns, wait_ns;
};
struct old_exec_info {
    braid_exec_mode mode;
};
struct old_schedule_info {
    uint32_t num_nodes, num_lanes;
};
struct old_placement {
    uint32_t lane;
};
struct old_serialisation {
    uint32_t first, second;
};

struct old_timings {
    uint32_t num_frames, num_lanes;
};
struct old_frame_timing {
    braid_interval launch;
};
struct old_lane_timing {
    uint64_t busy_ns, waiting_ns;
};
struct old_wait_timing {
    uint32_t lane, node;
};
struct old_planned_copy {
    uint32_t node, from, to;
};
struct old_place_model {
    uint32_t num_places;
};

static braid_device *device;
static braid_graph *graph;
static braid_exec *exec, *timed;
static const braid_schedule *schedule;
static braid_schedule *spread; // over two devices
static braid_device_group *group;

// Each fills a struct of `bytes` bytes as the inline function of the header does.
static void get_backend(void *out, size_t bytes)
{
    check_ok(braid_backend_query_sized(braid_num_backends() - 1, out, bytes));
}

static void get_device(void *out, size_t bytes)
{
    braid_device_get_info_sized(device, out, bytes);
}

static void get_stats(void *out, size_t bytes)
{
    braid_device_get_stats_sized(device, out, bytes);
}

static void get_costs(void *out, size_t bytes)
{
    braid_device_get_cost_model_sized(device, BRAID_MODE_STREAMS, out, bytes);
}

static void get_exec(void *out, size_t bytes)
{
    braid_exec_get_info_sized(exec, out, bytes);
}

static void get_schedule(void *out, size_t bytes)
{
    braid_schedule_get_info_sized(schedule, out, bytes);
}

static void get_placement(void *out, size_t bytes)
{
    check_ok(braid_schedule_get_placement_sized(schedule, braid_graph_node(graph, 1), out, bytes));
}

static void get_serialisation(void *out, size_t bytes)
{
    check_ok(braid_schedule_get_serialisation_sized(schedule, 0, out, bytes));
}

static void get_timings(void *out, size_t bytes)
{
    check_ok(braid_exec_get_timings_sized(timed, out, bytes));
}

static void get_frame_timing(void *out, size_t bytes)
{
    check_ok(braid_exec_get_frame_timing_sized(timed, 0, out, bytes));
}

static void get_lane_timing(void *out, size_t bytes)
{
    check_ok(braid_exec_get_lane_timing_sized(timed, 0, out, bytes));
}

static void get_wait_timing(void *out, size_t bytes)
{
    check_ok(braid_exec_get_wait_timing_sized(timed, 0, out, bytes));
}

static void get_copy(void *out, size_t bytes)
{
    check_ok(braid_schedule_get_copy_sized(spread, 0, out, bytes));
}

static void get_places(void *out, size_t bytes)
{
    braid_device_group_get_place_model_sized(group, out, bytes);
}

static const struct output {
    void (*get)(void *out, size_t bytes);
    size_t bytes, old_bytes;
} outputs[] = {
    { get_backend, sizeof(braid_backend_info), sizeof(struct old_backend_info) },
    { get_device, sizeof(braid_device_info), sizeof(struct old_device_info) },
    { get_stats, sizeof(braid_device_stats), sizeof(struct old_device_stats) },
    { get_costs, sizeof(braid_cost_model), sizeof(struct old_cost_model) },
    { get_exec, sizeof(braid_exec_info), sizeof(struct old_exec_info) },
    { get_schedule, sizeof(braid_schedule_info), sizeof(struct old_schedule_info) },
    { get_placement, sizeof(braid_placement), sizeof(struct old_placement) },
    { get_serialisation, sizeof(braid_serialisation), sizeof(struct old_serialisation) },
    { get_timings, sizeof(braid_timings), sizeof(struct old_timings) },
    { get_frame_timing, sizeof(braid_frame_timing), sizeof(struct old_frame_timing) },
    { get_lane_timing, sizeof(braid_lane_timing), sizeof(struct old_lane_timing) },
    { get_wait_timing, sizeof(braid_wait_timing), sizeof(struct old_wait_timing) },
    { get_copy, sizeof(braid_planned_copy), sizeof(struct old_planned_copy) },
    { get_places, sizeof(braid_place_model), sizeof(struct old_place_model) },
};

enum { NUM_OUTPUTS = sizeof(outputs) / sizeof(outputs[0]), MOST_BYTES = 2048, UNTOUCHED = 0xa5 };

// check_ok is for tests only.
static void must(braid_status status)
{
    if (status)
        abort();
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

// Two kernels on two lanes, and one behind both: one wait.
static void make_timed(void)
{
    static const braid_kernel kernel = { .name = "nothing", .cpu = do_nothing };
    braid_graph *fork;
    braid_node ends[2];
    must(braid_graph_create(&fork));
    for (int i = 0; i < 2; i++)
        must(braid_graph_add_kernel(fork, &(braid_launch){ .kernel = &kernel }, &ends[i]));
    const braid_launch behind = { .kernel = &kernel, .node.after = ends, .node.num_after = 2 };
    must(braid_graph_add_kernel(fork, &behind, NULL));
    const braid_exec_options options = { .plan.policy = BRAID_POLICY_MAX_CONCURRENCY,
                                         .profile = 2 };
    must(braid_exec_create(device, fork, &options, &timed));
    must(braid_exec_launch(timed, NULL));
    braid_graph_destroy(fork);
}

// A transient buffer that is written on one device and read on the other: one copy.
static void make_spread(void)
{
    braid_graph *pair;
    braid_resource buffer;
    must(braid_graph_create(&pair));
    must(braid_graph_add_transient(pair, "buffer", 64, 0, &buffer));
    const braid_empty first = { BRAID_ACCESSES({ buffer, BRAID_WRITE }),
                                .node.place = BRAID_PLACE(0) };
    const braid_empty second = { BRAID_ACCESSES({ buffer, BRAID_READ }),
                                 .node.place = BRAID_PLACE(1) };
    must(braid_graph_add_empty(pair, &first, NULL));
    must(braid_graph_add_empty(pair, &second, NULL));
    const braid_place_model two = { .num_places = 2 };
    must(braid_schedule_create(pair, &(braid_schedule_options){ .places = &two }, &spread));
    must(braid_device_group_create(&device, 1, &group));
    braid_graph_destroy(pair);
}

static void make_all(void)
{
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    must(braid_device_open(&options, &device));
    must(braid_graph_create(&graph));
    braid_resource list;
    must(braid_graph_add_resource(graph, "list", &list));
    const braid_empty empty = { BRAID_ACCESSES({ list, BRAID_EXCLUSIVE }) };
    must(braid_graph_add_empty(graph, &empty, NULL));
    must(braid_graph_add_empty(graph, &empty, NULL));
    must(braid_exec_create(device, graph, NULL, &exec));
    schedule = braid_exec_schedule(exec);
    make_timed();
    make_spread();
}

// Fills `bytes` bytes; all behind them must stay as they are.
static void fill(const struct output *output, unsigned char *memory, size_t bytes)
{
    memset(memory, UNTOUCHED, MOST_BYTES);
    output->get(memory, bytes);
    for (size_t i = bytes; i < MOST_BYTES; i++)
        assert_int_equal(memory[i], UNTOUCHED);
}

static void programs_with_shorter_structs_are_not_overrun(void **state)
{
    (void)state;
    unsigned char whole[MOST_BYTES], shorter[MOST_BYTES];
    for (int i = 0; i < NUM_OUTPUTS; i++) {
        assert_true(outputs[i].old_bytes < outputs[i].bytes && outputs[i].bytes < MOST_BYTES);
        fill(&outputs[i], whole, outputs[i].bytes);
        fill(&outputs[i], shorter, outputs[i].old_bytes);
        assert_memory_equal(whole, shorter, outputs[i].old_bytes);
        fill(&outputs[i], shorter, 1);
    }
}

static void programs_with_longer_structs_read_zeros(void **state)
{
    (void)state;
    unsigned char whole[MOST_BYTES], longer[MOST_BYTES];
    static const unsigned char zeros[64];
    for (int i = 0; i < NUM_OUTPUTS; i++) {
        fill(&outputs[i], whole, outputs[i].bytes);
        fill(&outputs[i], longer, outputs[i].bytes + sizeof(zeros));
        assert_memory_equal(whole, longer, outputs[i].bytes);
        assert_memory_equal(longer + outputs[i].bytes, zeros, sizeof(zeros));
    }
}

static void an_old_program_reads_what_it_knows(void **state)
{
    (void)state;
    struct old_schedule_info info;
    get_schedule(&info, sizeof(info));
    assert_int_equal(info.num_nodes, 2);
    struct old_serialisation pair;
    get_serialisation(&pair, sizeof(pair));
    assert_int_equal(pair.first, 0);
    assert_int_equal(pair.second, 1);
    struct old_backend_info backend;
    get_backend(&backend, sizeof(backend));
    assert_string_equal(backend.name, "cpu");
}

int main(void)
{
    make_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_with_shorter_structs_are_not_overrun),
        cmocka_unit_test(programs_with_longer_structs_read_zeros),
        cmocka_unit_test(an_old_program_reads_what_it_knows),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    braid_exec_destroy(timed);
    braid_schedule_destroy(spread);
    braid_device_group_destroy(group);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
// NULL where none is allowed is an error that names the argument, in every public function; those
// without a status answer as for an empty object.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/wide_plan.h"

static void on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void call(void *user)
{
    (void)user;
}

static const braid_kernel kernel = { .name = "kernel", .cpu = on_cpu };

struct objects {
    braid_device *device;
    braid_graph *graph;
    braid_node node;
    braid_schedule *schedule;
    braid_exec *exec;
    braid_event *event;
};

static int make_objects(void **state)
{
    struct objects *all = calloc(1, sizeof(*all));
    const braid_device_options options = { .backend = "cpu", .num_workers = 2 };
    check_ok(braid_device_open(&options, &all->device));
    check_ok(braid_graph_create(&all->graph));
    const braid_kernel_node launch = { .kernel = &kernel };
    check_ok(braid_graph_add_kernel(all->graph, &launch, &all->node));
    check_ok(braid_schedule_create(all->graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &all->schedule));
    check_ok(braid_exec_create(all->device, all->graph, NULL, &all->exec));
    check_ok(braid_event_create(all->device, NULL, &all->event));
    *state = all;
    return 0;
}

static int destroy_objects(void **state)
{
    struct objects *all = *state;
    braid_event_destroy(all->event);
    braid_exec_destroy(all->exec);
    braid_schedule_destroy(all->schedule);
    braid_graph_destroy(all->graph);
    braid_device_close(all->device);
    free(all);
    return 0;
}

#define refuses(call, name) check_fails((call), BRAID_INVALID_ARGUMENT, name " is NULL")

static void devices_refuse_null(void **state)
{
    struct objects *all = *state;
    void *memory;
    braid_resource resource;
    refuses(braid_backend_get_info(NULL, &(braid_backend_info){ 0 }), "name");
    refuses(braid_backend_get_info("cpu", NULL), "out_info");
    assert_null(braid_backend_get_name(SIZE_MAX));
    refuses(braid_backend_get_device(NULL, 0, &(braid_found_device){ 0 }), "backend");
    refuses(braid_backend_get_device("cpu", 0, NULL), "out_device");
    refuses(braid_device_open(NULL, NULL), "out_device");
    refuses(braid_memory_allocate(NULL, BRAID_MEMORY_HOST, 1, &memory), "device");
    refuses(braid_memory_allocate(all->device, BRAID_MEMORY_HOST, 1, NULL), "out_memory");
    refuses(braid_graph_add_device_buffer(NULL, all->device, "new", NULL, 1, &memory, &resource),
            "graph");
    refuses(braid_graph_add_device_buffer(all->graph, NULL, "new", NULL, 1, &memory, &resource),
            "device");
    braid_memory_free(NULL, &memory);
    braid_memory_free(all->device, NULL);
    braid_device_close(NULL);
}

static void groups_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_device *group;
    braid_exec *exec;
    refuses(braid_device_open_group(NULL, 1, &group), "members");
    refuses(braid_device_open_group(&all->device, 1, NULL), "out_group");
    check_ok(braid_device_open_group(&all->device, 1, &group));
    refuses(braid_exec_create(NULL, all->graph, NULL, &exec), "device");
    refuses(braid_exec_create(group, NULL, NULL, &exec), "graph");
    refuses(braid_exec_create(group, all->graph, NULL, NULL), "out_exec");
    check_ok(braid_device_close(group));
}

static void loops_refuse_null(void **state)
{
    struct objects *all = *state;
    uint64_t num;
    refuses(braid_graph_begin_loop(NULL, &(braid_loop){ .times = 1 }, NULL), "graph");
    refuses(braid_graph_begin_loop(all->graph, NULL, NULL), "loop");
    refuses(braid_graph_begin_if(NULL, &(braid_if){ 0 }, NULL), "graph");
    refuses(braid_graph_begin_if(all->graph, NULL, NULL), "branch");
    refuses(braid_graph_else(NULL), "graph");
    refuses(braid_graph_end(NULL), "graph");
    size_t num_running;
    refuses(braid_exec_get_running(NULL, NULL, 0, &num_running), "exec");
    refuses(braid_exec_get_running(all->exec, NULL, 0, NULL), "out_num");
    refuses(braid_exec_get_running(all->exec, NULL, 1, &num_running), "nodes");
    refuses(braid_exec_cancel(NULL), "exec");
    refuses(braid_exec_save_capture(NULL, "file", NULL), "exec");
    refuses(braid_exec_save_capture(all->exec, NULL, NULL), "path");
    void *graph;
    refuses(braid_exec_make_cuda_graph(NULL, &graph), "exec");
    refuses(braid_exec_make_cuda_graph(all->exec, NULL), "out_graph");
    refuses(braid_exec_get_iterations(NULL, all->node, &num), "exec");
    refuses(braid_exec_get_iterations(all->exec, all->node, NULL), "out_num");
}

static void runners_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_runner *runner;
    refuses(braid_runner_create(NULL, all->graph, NULL, &runner), "device");
    refuses(braid_runner_create(all->device, NULL, NULL, &runner), "graph");
    refuses(braid_runner_create(all->device, all->graph, NULL, NULL), "out_runner");
    refuses(braid_runner_launch(NULL, NULL), "runner");
    refuses(braid_runner_wait(NULL), "runner");
    refuses(braid_runner_query(NULL), "runner");
    braid_runner_info info = { .frame_ns = 7 };
    braid_runner_get_info(NULL, &info);
    assert_string_equal(info.way, "");
    assert_int_equal(info.frame_ns, 0);
    assert_null(braid_runner_get_exec(NULL));
    braid_runner_destroy(NULL);
}

static void streams_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_stream *stream, *own = braid_device_get_default_stream(all->device);
    void *memory;
    refuses(braid_stream_create(NULL, NULL, &stream), "device");
    refuses(braid_stream_create(all->device, NULL, NULL), "out_stream");
    refuses(braid_stream_wrap(NULL, NULL, &stream), "device");
    refuses(braid_stream_wrap(all->device, NULL, NULL), "out_stream");
    refuses(braid_stream_wait(NULL), "stream");
    refuses(braid_stream_query(NULL), "stream");
    refuses(braid_stream_copy(NULL, &memory, &stream, 1), "stream");
    refuses(braid_stream_copy(own, NULL, &stream, 1), "to");
    refuses(braid_stream_copy(own, &memory, NULL, 1), "from");
    refuses(braid_stream_fill(NULL, &memory, 0, 1, 1), "stream");
    refuses(braid_stream_fill(own, NULL, 0, 1, 1), "to");
    refuses(braid_stream_host_call(NULL, call, NULL), "stream");
    refuses(braid_stream_host_call(own, NULL, NULL), "call");
    check_fails(braid_stream_wait(NULL), BRAID_INVALID_ARGUMENT,
                "stream is NULL: braid_device_get_default_stream() gives");
    refuses(braid_stream_follow(NULL, NULL), "event");
    assert_null(braid_stream_get_handle(NULL));
    assert_null(braid_device_get_default_stream(NULL));
    braid_stream_destroy(NULL);
}

static void events_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_event *event;
    uint64_t time;
    refuses(braid_event_create(NULL, NULL, &event), "device");
    refuses(braid_event_create(all->device, NULL, NULL), "out_event");
    refuses(braid_event_record(NULL, NULL), "event");
    refuses(braid_event_query(NULL), "event");
    refuses(braid_event_wait(NULL), "event");
    refuses(braid_event_get_elapsed(NULL, all->event, &time), "start");
    refuses(braid_event_get_elapsed(all->event, NULL, &time), "end");
    refuses(braid_event_get_elapsed(all->event, all->event, NULL), "out_ns");
    braid_event_destroy(NULL);
}

static void pools_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_memory_pool *pool;
    braid_memory_pool_info info = { .bytes = 1 };
    refuses(braid_memory_pool_create(NULL, NULL, &pool), "device");
    refuses(braid_memory_pool_create(all->device, NULL, NULL), "out_pool");
    refuses(braid_queue_prefetch(NULL, NULL, NULL), "device");
    refuses(braid_queue_prefetch(all->device, NULL, NULL), "user");
    refuses(braid_queue_prefetch(all->device, NULL, &(braid_prefetch){ .bytes = 1 }), "memory");
    braid_memory_pool_get_info(NULL, &info);
    assert_int_equal(info.bytes, 0);
    braid_memory_pool_destroy(NULL);
}

static void graphs_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_resource resource;
    refuses(braid_graph_create(NULL), "out_graph");
    refuses(braid_graph_add_buffer(NULL, "a", NULL, 1, &resource), "graph");
    refuses(braid_graph_add_buffer(all->graph, NULL, NULL, 1, &resource), "name");
    refuses(braid_graph_add_buffer(all->graph, "a", NULL, 1, NULL), "out_resource");
    refuses(braid_graph_add_range(NULL, (braid_resource){ 0 }, 0, 1, &resource), "graph");
    refuses(braid_graph_add_range(all->graph, (braid_resource){ 0 }, 0, 1, NULL), "out_range");
    refuses(braid_graph_add_resource(NULL, "a", &resource), "graph");
    refuses(braid_graph_add_resource(all->graph, NULL, &resource), "name");
    refuses(braid_graph_add_resource(all->graph, "a", NULL), "out_resource");
    refuses(braid_graph_add_edge(NULL, all->node, all->node), "graph");
    refuses(braid_graph_set_cost(NULL, all->node, 1), "graph");
    refuses(braid_graph_set_home(NULL, (braid_resource){ 0 }, 1), "graph");
    refuses(braid_graph_set_output(NULL, (braid_resource){ 0 }), "graph");
    refuses(braid_graph_save_costs(NULL, all->device, "costs.json"), "graph");
    refuses(braid_graph_save_costs(all->graph, NULL, "costs.json"), "device");
    refuses(braid_graph_save_costs(all->graph, all->device, NULL), "path");
    refuses(braid_graph_load_costs(NULL, all->device, "costs.json"), "graph");
    refuses(braid_graph_load_costs(all->graph, all->device, NULL), "path");
    refuses(braid_graph_write_dot(NULL, stderr), "graph");
    refuses(braid_graph_write_dot(all->graph, NULL), "file");
    assert_int_equal(braid_graph_get_num_nodes(NULL), 0);
    assert_int_equal(braid_graph_get_node(NULL, 0).graph, 0);
    assert_string_equal(braid_graph_get_node_name(NULL, all->node), "");
    braid_graph_destroy(NULL);
}

static void nodes_refuse_null(void **state)
{
    struct objects *all = *state;
    const braid_kernel_node launch = { .kernel = &kernel }, no_kernel = { 0 };
    const braid_copy no_to = { .bytes = 1 };
    const braid_fill no_memory = { .num_values = 1 };
    const braid_host_call no_call = { 0 };
    const braid_queue_call no_queue_call = { 0 };
    refuses(braid_graph_add_kernel(NULL, &launch, NULL), "graph");
    refuses(braid_graph_add_kernel(all->graph, NULL, NULL), "launch");
    refuses(braid_graph_add_kernel(all->graph, &no_kernel, NULL), "kernel");
    refuses(braid_graph_add_copy(NULL, &no_to, NULL), "graph");
    refuses(braid_graph_add_copy(all->graph, NULL, NULL), "copy");
    refuses(braid_graph_add_copy(all->graph, &no_to, NULL), "to");
    refuses(braid_graph_add_fill(NULL, &no_memory, NULL), "graph");
    refuses(braid_graph_add_fill(all->graph, NULL, NULL), "fill");
    refuses(braid_graph_add_fill(all->graph, &no_memory, NULL), "to");
    refuses(braid_graph_add_host_call(NULL, &no_call, NULL), "graph");
    refuses(braid_graph_add_host_call(all->graph, NULL, NULL), "host_call");
    refuses(braid_graph_add_host_call(all->graph, &no_call, NULL), "call");
    refuses(braid_graph_add_queue_call(NULL, &no_queue_call, NULL), "graph");
    refuses(braid_graph_add_queue_call(all->graph, NULL, NULL), "call");
    refuses(braid_graph_add_queue_call(all->graph, &no_queue_call, NULL), "call");
    refuses(braid_graph_add_empty(NULL, &(braid_empty){ 0 }, NULL), "graph");
    refuses(braid_graph_add_empty(all->graph, NULL, NULL), "empty");
    assert_int_equal(braid_graph_get_num_nodes(all->graph), 1);
}

static void parameters_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_resource resource;
    braid_parameter parameter;
    const uint32_t value = 1;
    const braid_parameter_use use = { .node = all->node };
    refuses(braid_graph_add_transient(NULL, "a", 1, 1, &resource), "graph");
    refuses(braid_graph_add_transient(all->graph, NULL, 1, 1, &resource), "name");
    refuses(braid_graph_add_transient(all->graph, "a", 1, 1, NULL), "out_resource");
    refuses(braid_graph_add_scratch(NULL, "a", 1, 1, &resource), "graph");
    refuses(braid_graph_add_scratch(all->graph, NULL, 1, 1, &resource), "name");
    refuses(braid_graph_add_scratch(all->graph, "a", 1, 1, NULL), "out_resource");
    refuses(braid_graph_add_slots(NULL, "a", 1, &resource), "graph");
    refuses(braid_graph_add_slots(all->graph, NULL, 1, &resource), "name");
    refuses(braid_graph_add_slots(all->graph, "a", 1, NULL), "out_resource");
    void *const versions[2] = { &resource, &parameter };
    refuses(braid_graph_add_versioned_buffer(NULL, "a", NULL, 2, 1, &resource), "graph");
    refuses(braid_graph_add_versioned_buffer(all->graph, NULL, NULL, 2, 1, &resource), "name");
    refuses(braid_graph_add_versioned_buffer(all->graph, "a", versions, 2, 1, NULL),
            "out_resource");
    refuses(braid_graph_add_earlier_version(NULL, (braid_resource){ 0 }, 1, &resource), "graph");
    refuses(braid_graph_add_earlier_version(all->graph, (braid_resource){ 0 }, 1, NULL),
            "out_resource");
    refuses(braid_graph_add_parameter(NULL, "a", 4, &parameter), "graph");
    refuses(braid_graph_add_parameter(all->graph, NULL, 4, &parameter), "name");
    refuses(braid_graph_add_parameter(all->graph, "a", 4, NULL), "out_parameter");
    refuses(braid_graph_use_parameter(NULL, (braid_parameter){ 0 }, &use), "graph");
    refuses(braid_graph_use_parameter(all->graph, (braid_parameter){ 0 }, NULL), "use");
    refuses(braid_exec_set_parameter(NULL, (braid_parameter){ 0 }, &value), "exec");
    refuses(braid_exec_set_parameter(all->exec, (braid_parameter){ 0 }, NULL), "value");
}

static void timelines_refuse_null(void **state)
{
    struct objects *all = *state;
    refuses(braid_schedule_write(NULL, BRAID_DRAWING_SVG, NULL, stderr), "schedule");
    refuses(braid_schedule_write(all->schedule, BRAID_DRAWING_SVG, NULL, NULL), "file");
}

static void timings_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_timings timings;
    refuses(braid_exec_get_timings(NULL, &timings), "exec");
    refuses(braid_exec_get_timings(all->exec, NULL), "out_timings");
    refuses(braid_exec_measure(NULL, all->graph, 1), "exec");
    refuses(braid_exec_measure(all->exec, NULL, 1), "graph");
}

static void frames_and_trials_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_exec_options way;
    size_t num;
    assert_int_equal(braid_exec_get_num_launched(NULL), 0);
    refuses(braid_exec_wait_for(NULL, 1, UINT64_MAX), "exec");
    refuses(braid_exec_wait_for(NULL, 1, 0), "exec");
    refuses(braid_exec_wait_for(NULL, BRAID_LAST_FRAME, 1), "exec");
    assert_int_equal(braid_graph_get_digest(NULL), 0);
    refuses(braid_graph_audit(all->graph, NULL, NULL, &num), "device");
    refuses(braid_graph_audit(NULL, all->device, NULL, &num), "graph");
    refuses(braid_graph_audit(all->graph, all->device, NULL, NULL), "out_num_findings");
    refuses(braid_graph_tune(all->graph, NULL, NULL, &way), "device");
    refuses(braid_graph_tune(NULL, all->device, NULL, &way), "graph");
    refuses(braid_graph_tune(all->graph, all->device, NULL, NULL), "out_way");
}

static void what_is_of_no_object_takes_null(void **state)
{
    (void)state;
    braid_log_set(NULL, NULL);
    assert_string_equal(braid_status_get_name((braid_status)-1), "unknown braid_status");
    assert_string_equal(braid_status_get_name(BRAID_WRONG_STATE), "BRAID_WRONG_STATE");
    assert_string_equal(braid_status_get_name(BRAID_IN_USE), "BRAID_IN_USE");
    assert_non_null(braid_error_get_message());
    assert_string_equal(braid_error_get_details(), "");
    assert_non_null(braid_get_version());
}

static void schedules_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_schedule *schedule;
    braid_placement placement;
    char text[8];
    refuses(
        braid_schedule_create(NULL, &(braid_schedule_options){ .costs = &free_costs }, &schedule),
        "graph");
    refuses(
        braid_schedule_create(all->graph, &(braid_schedule_options){ .costs = &free_costs }, NULL),
        "out_schedule");
    refuses(braid_schedule_get_placement(NULL, all->node, &placement), "schedule");
    refuses(braid_schedule_get_placement(all->schedule, all->node, NULL), "out_placement");
    refuses(braid_schedule_explain(NULL, NULL, 0, text, sizeof(text)), "schedule");
    refuses(braid_schedule_explain(all->schedule, NULL, 0, NULL, 1), "out_text");
    refuses(braid_schedule_explain(all->schedule, NULL, 1, text, sizeof(text)), "nodes");
    refuses(braid_schedule_save(NULL, all->graph, "plan"), "schedule");
    refuses(braid_schedule_save(all->schedule, NULL, "plan"), "graph");
    refuses(braid_schedule_save(all->schedule, all->graph, NULL), "path");
    braid_schedule *loaded;
    refuses(braid_schedule_load(NULL, "plan", &loaded), "graph");
    refuses(braid_schedule_load(all->graph, NULL, &loaded), "path");
    refuses(braid_schedule_load(all->graph, "plan", NULL), "out_schedule");
    refuses(braid_schedule_verify(NULL, all->graph), "schedule");
    refuses(braid_schedule_verify(all->schedule, NULL), "graph");
    braid_schedule_destroy(NULL);
}

static void execs_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_exec *exec;
    const braid_arg argument = { &exec, sizeof(exec) };
    refuses(braid_exec_create(NULL, all->graph, NULL, &exec), "device");
    refuses(braid_exec_create(all->device, NULL, NULL, &exec), "graph");
    refuses(braid_exec_create(all->device, all->graph, NULL, NULL), "out_exec");
    refuses(braid_exec_launch(NULL, NULL), "exec");
    refuses(braid_exec_launch_many(NULL, NULL, 2, NULL, 0), "exec");
    refuses(braid_exec_launch_many(all->exec, NULL, 2, NULL, 1), "rows");
    refuses(braid_exec_set_arg(NULL, all->node, 0, argument), "exec");
    refuses(braid_exec_set_args(NULL, all->node, &argument, 1), "exec");
    refuses(braid_exec_set(NULL, all->node, BRAID_TARGET_ENABLED, 0, &(bool){ true }), "exec");
    refuses(braid_exec_set(all->exec, all->node, BRAID_TARGET_ENABLED, 0, NULL), "value");
    refuses(braid_exec_set_scratch(NULL, (braid_resource){ 0 }, 1), "exec");
    refuses(braid_exec_set_args(all->exec, all->node, NULL, 1), "args");
    refuses(braid_exec_wait(NULL), "exec");
    refuses(braid_exec_wait_for(NULL, BRAID_LAST_FRAME, 0), "exec");
    assert_null(braid_exec_get_schedule(NULL));
    braid_exec_destroy(NULL);
}

static void structs_of_nothing_are_zeros(void **state)
{
    struct objects *all = *state;
    braid_device_info device = { .num_units = 7, .name = "name", .streams_live = 7 };
    braid_exec_info exec = { .num_streams = 7 };
    braid_schedule_info schedule = { .num_nodes = 7 };
    braid_device_get_info(NULL, &device);
    braid_exec_get_info(NULL, &exec);
    braid_schedule_get_info(NULL, &schedule);
    assert_string_equal(device.name, "");
    assert_string_equal(device.backend, "");
    assert_int_equal(device.num_units + device.streams_live, 0);
    assert_null(device.costs);
    assert_int_equal(exec.num_streams + schedule.num_nodes, 0);
    braid_device_get_info(all->device, NULL);
    braid_exec_get_info(all->exec, NULL);
    braid_schedule_get_info(all->schedule, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_refuse_null),
        cmocka_unit_test(groups_refuse_null),
        cmocka_unit_test(loops_refuse_null),
        cmocka_unit_test(runners_refuse_null),
        cmocka_unit_test(streams_refuse_null),
        cmocka_unit_test(events_refuse_null),
        cmocka_unit_test(pools_refuse_null),
        cmocka_unit_test(graphs_refuse_null),
        cmocka_unit_test(nodes_refuse_null),
        cmocka_unit_test(parameters_refuse_null),
        cmocka_unit_test(timelines_refuse_null),
        cmocka_unit_test(timings_refuse_null),
        cmocka_unit_test(frames_and_trials_refuse_null),
        cmocka_unit_test(what_is_of_no_object_takes_null),
        cmocka_unit_test(schedules_refuse_null),
        cmocka_unit_test(execs_refuse_null),
        cmocka_unit_test(structs_of_nothing_are_zeros),
    };
    return cmocka_run_group_tests(tests, make_objects, destroy_objects);
}

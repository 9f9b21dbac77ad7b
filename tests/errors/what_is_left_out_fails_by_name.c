// SPDX-License-Identifier: Apache-2.0
// Without add-ons the core links and plays graphs, and their public functions fail by their names.
#include <stdio.h>
#include <string.h>

#include <braid/braid.h>
#include <braid/rank.h>

#include "support/check.h"
#include "support/owner.h"

// The message begins with the function's name.
#define CHECK_LEFT_OUT(call, addon) check_left_out((call), #call, addon)

static void check_left_out(braid_status status, const char *call, const char *addon)
{
    char text[128];
    snprintf(text, sizeof(text), "%.*s: this Braid was built without the add-on '%s'",
             (int)strcspn(call, "("), call, addon);
    assert_int_equal(status, BRAID_UNSUPPORTED);
    assert_string_equal(braid_error_get_message(), text);
}

static void a_function_tells_its_name(void **state)
{
    (void)state;
    braid_graph *graph = own_graph();
    braid_schedule *schedule;
    size_t num;
    uint64_t bytes;
    braid_timings timings;
    braid_exec_options way;
    braid_ranks *ranks;
    braid_communicator *communicator;
    braid_resource resource = { 0 };
    braid_node node = { 0 };
    braid_ranks_info info;
    braid_memory_pool *pool = NULL;
    braid_external *external = NULL;
    braid_memory_pool_info pool_info = { .bytes = 1 };
    CHECK_LEFT_OUT(braid_graph_audit(graph, NULL, NULL, &num), "audit");
    CHECK_LEFT_OUT(braid_exec_save_capture(NULL, "", &bytes), "capture");
    CHECK_LEFT_OUT(braid_exec_make_cuda_graph(NULL, NULL), "export");
    CHECK_LEFT_OUT(braid_external_create(NULL, NULL, &external), "external");
    CHECK_LEFT_OUT(braid_graph_add_external(graph, &(braid_external_node){ .value = 1 }, &node),
                   "external");
    CHECK_LEFT_OUT(braid_exec_set_external(NULL, node, 1), "external");
    CHECK_LEFT_OUT(braid_import_create(NULL, NULL, NULL, NULL), "import");
    CHECK_LEFT_OUT(braid_import_create_recorded(NULL, 0, NULL, NULL), "import");
    CHECK_LEFT_OUT(braid_import_update(NULL, NULL, NULL, NULL), "import");
    CHECK_LEFT_OUT(braid_import_restore(NULL), "import");
    CHECK_LEFT_OUT(braid_import_get_memory_digest(NULL, 0, NULL), "import");
    CHECK_LEFT_OUT(braid_import_write(NULL, BRAID_IMPORT_TEXT, NULL), "import");
    CHECK_LEFT_OUT(braid_record_load(NULL, NULL), "record");
    CHECK_LEFT_OUT(braid_graph_write_dot(graph, stdout), "report");
    CHECK_LEFT_OUT(braid_schedule_explain(NULL, NULL, 0, NULL, 0), "report");
    CHECK_LEFT_OUT(braid_schedule_write(NULL, BRAID_DRAWING_SVG, NULL, stdout), "report");
    CHECK_LEFT_OUT(braid_schedule_save(NULL, graph, ""), "saved");
    CHECK_LEFT_OUT(braid_schedule_load(graph, "", &schedule), "saved");
    CHECK_LEFT_OUT(braid_queue_prefetch(NULL, NULL, NULL), "managed");
    CHECK_LEFT_OUT(braid_memory_pool_create(NULL, NULL, &pool), "pool");
    CHECK_LEFT_OUT(braid_exec_get_timings(NULL, &timings), "tune");
    CHECK_LEFT_OUT(braid_exec_measure(NULL, graph, 1), "tune");
    CHECK_LEFT_OUT(braid_graph_tune(graph, NULL, NULL, &way), "tune");
    CHECK_LEFT_OUT(braid_runner_create(NULL, graph, NULL, NULL), "tune");
    CHECK_LEFT_OUT(braid_runner_launch(NULL, NULL), "tune");
    CHECK_LEFT_OUT(braid_runner_wait(NULL), "tune");
    CHECK_LEFT_OUT(braid_runner_query(NULL), "tune");
    CHECK_LEFT_OUT(braid_graph_load_costs(graph, NULL, ""), "tune");
    CHECK_LEFT_OUT(braid_graph_save_costs(graph, NULL, ""), "tune");
    CHECK_LEFT_OUT(braid_ranks_open(NULL, &ranks), "ranks");
    CHECK_LEFT_OUT(braid_ranks_check(NULL), "ranks");
    CHECK_LEFT_OUT(braid_communicator_create(NULL, "", 0, &communicator), "ranks");
    CHECK_LEFT_OUT(braid_graph_add_communicator(graph, NULL, &resource), "ranks");
    CHECK_LEFT_OUT(braid_graph_add_communication(graph, NULL, &node), "ranks");
    CHECK_LEFT_OUT(braid_graph_add_owned_buffer(graph, resource, 0, "", NULL, 1, &resource),
                   "ranks");
    check_ok(braid_ranks_close(NULL));
    info.num_ranks = 7;
    braid_ranks_get_info(NULL, &info);
    assert_int_equal(info.num_ranks, 0);
    info.num_ranks = 7;
    braid_communicator_get_info(NULL, &info);
    assert_int_equal(info.num_ranks, 0);
    assert_true(braid_graph_takes_part(graph, NULL, 0));
    braid_external_destroy(external);
    braid_memory_pool_destroy(pool);
    braid_memory_pool_get_info(pool, &pool_info);
    assert_int_equal(pool_info.bytes, 0);
}

static void code_declares_nothing(void **state)
{
    (void)state;
    static const braid_kernel kernel = { .name = "idle", .cuda.data = ".version 8.0" };
    braid_graph *graph = own_graph();
    braid_kernel_node launch = { .kernel = &kernel, .code_use = BRAID_CODE_DECLARES };
    check_fails(braid_graph_add_kernel(graph, &launch, NULL), BRAID_UNSUPPORTED,
                "BRAID_CODE_DECLARES: this Braid was built without the add-on 'accesses'");
    assert_int_equal(braid_graph_get_num_nodes(graph), 0);
    launch.code_use = BRAID_CODE_CHECKS;
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
}

static void count(void *user)
{
    ++*(int *)user;
}

static void a_graph_is_played_without_islands(void **state)
{
    (void)state;
    int num_calls = 0;
    braid_device *device = NULL;
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    const braid_host_call call = { .node.name = "count", .call = count, .user = &num_calls };
    check_ok(braid_device_open(&options, &device));
    braid_stream *stream = own_stream(device);
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_host_call(graph, &call, NULL));
    braid_exec *exec = own_exec(device, graph, NULL);
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(num_calls, 1);
    destroy_now(exec);
    destroy_now(stream);
    check_ok(braid_device_close(device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_function_tells_its_name),
        owning_test(code_declares_nothing),
        owning_test(a_graph_is_played_without_islands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

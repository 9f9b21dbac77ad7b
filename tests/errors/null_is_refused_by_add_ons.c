// SPDX-License-Identifier: Apache-2.0
// NULL where none is allowed is an error that names the argument, in functions of add-ons that have
// objects of their own.
#include <stdlib.h>

#include <braid/braid.h>

#include "support/check.h"

struct objects {
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
};

static int make_objects(void **state)
{
    struct objects *all = calloc(1, sizeof(*all));
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    check_ok(braid_device_open(&options, &all->device));
    check_ok(braid_graph_create(&all->graph));
    check_ok(braid_exec_create(all->device, all->graph, NULL, &all->exec));
    *state = all;
    return 0;
}

static int destroy_objects(void **state)
{
    struct objects *all = *state;
    braid_exec_destroy(all->exec);
    braid_graph_destroy(all->graph);
    braid_device_close(all->device);
    free(all);
    return 0;
}

#define refuses(call, name) check_fails((call), BRAID_INVALID_ARGUMENT, name " is NULL")

static void records_refuse_null(void **state)
{
    (void)state;
    braid_record *record;
    refuses(braid_record_load(NULL, &record), "path");
    refuses(braid_record_load("a.braidrec", NULL), "out_record");
    assert_null(braid_record_get_contents(NULL));
    braid_record_destroy(NULL);
    // Nobody records this program.
    assert_false(braid_record_frame_mark());
    assert_int_equal(braid_record_get_digest("", 0), braid_record_get_digest("a", 0));
}

static void imports_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_import *import;
    int graph = 0;
    refuses(braid_import_create(NULL, &graph, NULL, &import), "device");
    refuses(braid_import_create(all->device, NULL, NULL, &import), "captured");
    refuses(braid_import_create(all->device, &graph, NULL, NULL), "out_import");
    const braid_record_contents record = { 0 };
    refuses(braid_import_create_recorded(NULL, 0, NULL, &import), "record");
    refuses(braid_import_create_recorded(&record, 0, NULL, NULL), "out_import");
    const braid_import *some = (const braid_import *)(const void *)&graph;
    refuses(braid_import_update(NULL, &graph, NULL, all->exec), "import");
    refuses(braid_import_update(some, NULL, NULL, all->exec), "captured");
    refuses(braid_import_update(some, &graph, NULL, NULL), "exec");
    refuses(braid_import_restore(NULL), "import");
    refuses(braid_import_get_memory_digest(NULL, 0, NULL), "import");
    refuses(braid_import_write(NULL, BRAID_IMPORT_TEXT, stdout), "import");
    braid_import_info info = { .num_nodes = 7 };
    braid_import_get_info(NULL, &info);
    assert_int_equal(info.num_nodes, 0);
    assert_null(braid_import_get_graph(NULL));
    braid_import_destroy(NULL);
}

static void external_objects_refuse_null(void **state)
{
    struct objects *all = *state;
    const braid_external_options options = { .kind = BRAID_EXTERNAL_EVENTFD };
    const braid_external_node node = { .signals = true };
    braid_external *external;
    refuses(braid_external_create(NULL, &options, &external), "device");
    refuses(braid_external_create(all->device, &options, NULL), "out_external");
    refuses(braid_graph_add_external(NULL, &node, NULL), "graph");
    refuses(braid_graph_add_external(all->graph, &node, NULL), "external");
    refuses(braid_exec_set_external(NULL, (braid_node){ 0 }, 1), "exec");
    braid_external_destroy(NULL);
}

static void ranks_refuse_null(void **state)
{
    struct objects *all = *state;
    braid_communicator *communicator;
    braid_resource resource;
    refuses(braid_ranks_open(NULL, NULL), "out_ranks");
    check_ok(braid_ranks_close(NULL));
    braid_ranks_info info = { 1, 1 };
    braid_ranks_get_info(NULL, &info);
    assert_true(info.rank == 0 && info.num_ranks == 0);
    refuses(braid_ranks_check(NULL), "ranks");
    refuses(braid_communicator_create(NULL, "a", 0, &communicator), "ranks");
    info = (braid_ranks_info){ 1, 1 };
    braid_communicator_get_info(NULL, &info);
    assert_true(info.rank == 0 && info.num_ranks == 0);
    refuses(braid_graph_add_communicator(NULL, NULL, &resource), "graph");
    refuses(braid_graph_add_communicator(all->graph, NULL, &resource), "communicator");
    refuses(braid_graph_add_communication(all->graph, NULL, NULL), "communication");
    const braid_communication none = { 0 };
    refuses(braid_graph_add_communication(NULL, &none, NULL), "the graph");
    const braid_resource owner = { 0 };
    braid_resource owned;
    refuses(braid_graph_add_owned_buffer(NULL, owner, 0, "a", NULL, 8, &owned), "graph");
    refuses(braid_graph_add_owned_buffer(all->graph, owner, 0, NULL, NULL, 8, &owned), "name");
    refuses(braid_graph_add_owned_buffer(all->graph, owner, 0, "a", NULL, 8, NULL), "out_resource");
    assert_true(braid_graph_takes_part(NULL, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_refuse_null),
        cmocka_unit_test(imports_refuse_null),
        cmocka_unit_test(external_objects_refuse_null),
        cmocka_unit_test(ranks_refuse_null),
    };
    return cmocka_run_group_tests(tests, make_objects, destroy_objects);
}

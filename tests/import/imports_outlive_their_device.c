// SPDX-License-Identifier: Apache-2.0
// An import has no memory of its device's allocator, and rests on no device: a device may be closed
// before it, and another one plays its graph.
#include <stdatomic.h>
#include <string.h>

#include "import/captured_world.h"
#include "support/check.h"
#include "support/counted_memory.h"
#include "support/owner.h"

static struct captured_world world;

// The program makes a graph while it is asked for a text.
static const char *give_text(const char *entry, size_t index, void *user)
{
    braid_graph **made = user;
    (void)entry;
    if (!*made)
        check_ok(braid_graph_create(made));
    return index ? NULL : captured_world_text;
}

static void closing_returns_all_memory(void **state)
{
    (void)state;
    braid_device *device, *other = own_device("cuda");
    braid_graph *made = NULL;
    braid_import *import;
    captured_world_make(&world);
    check_ok(braid_device_open(
        &(braid_device_options){ .backend = "cuda", .allocator = &counted_memory }, &device));
    check_ok(braid_import_create(device, world.graph,
                                 &(braid_import_options){ .find_text = give_text, .user = &made },
                                 &import));
    assert_non_null(made);
    assert_true(captured_world_plays_as(&world, device, braid_import_get_graph(import)));
    assert_true(atomic_load(&num_counted) > 0);
    check_ok(braid_device_close(device));
    assert_int_equal(atomic_load(&num_counted), 0);
    assert_true(captured_world_plays_as(&world, other, braid_import_get_graph(import)));
    braid_import_destroy(import);
    braid_graph_destroy(made);
    captured_world_finish(&world);
}

static CUgraph capture_rows(void)
{
    CUgraph graph;
    assert_int_equal(cuStreamBeginCapture_v2(world.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_int_equal(cuMemsetD2D8Async(world.buffers[0], 32, 1, 8, 4, world.streams[0]), 0);
    assert_int_equal(cuStreamEndCapture(world.streams[0], &graph), 0);
    return graph;
}

static void a_cpu_plays_no_rows(void **state)
{
    (void)state;
    braid_device *device = own_device("cuda"), *cpu = own_device("cpu");
    braid_import *import;
    braid_exec *exec;
    captured_world_make(&world);
    CUgraph rows = capture_rows();
    check_ok(braid_import_create(device, rows, NULL, &import));
    check_ok(braid_exec_create(cpu, braid_import_get_graph(import), NULL, &exec));
    check_fails(braid_exec_launch(exec, NULL), BRAID_UNSUPPORTED, "needs a CUDA device, not cpu");
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    assert_int_equal(cuGraphDestroy(rows), 0);
    captured_world_finish(&world);
}

static void a_closed_device_imports_nothing(void **state)
{
    (void)state;
    braid_device *device;
    braid_import *import;
    captured_world_make(&world);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    check_ok(braid_device_close(device));
    check_fails(braid_import_create(device, world.graph, NULL, &import), BRAID_WRONG_STATE,
                "(cuda:0) was closed");
    captured_world_finish(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(closing_returns_all_memory),
        owning_test(a_cpu_plays_no_rows),
        owning_test(a_closed_device_imports_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

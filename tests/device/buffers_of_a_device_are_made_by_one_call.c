// SPDX-License-Identifier: Apache-2.0
// One call allocates memory of a device, fills it and declares it as a buffer. If it fails, nothing
// is allocated, and the graph is as before. The arguments name the backend (cpu, cuda or hip), and
// the driver's function whose first call fails.
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

enum { NUM = 1000, BYTES = NUM * sizeof(uint32_t) };

static const char *backend = "cpu", *failing;

static braid_device *open_device(void)
{
    return own_device_with(
        &(braid_device_options){ .backend = backend, .num_workers = 2, .cache = "off" });
}

static void frames_find_the_content(void **state)
{
    (void)state;
    braid_device *device = open_device();
    braid_graph *graph = own_graph();
    uint32_t content[NUM], *seen = own_memory(device, BRAID_MEMORY_HOST, 2 * BYTES);
    void *full, *empty;
    braid_resource from, to;
    for (uint32_t i = 0; i < NUM; i++)
        content[i] = 3 * i;
    check_ok(braid_graph_add_device_buffer(graph, device, "full", content, BYTES, &full, &from));
    memset(content, 0xff, BYTES); // the program's own again
    check_ok(braid_graph_add_device_buffer(graph, device, "empty", NULL, BYTES, &empty, &to));
    assert_int_not_equal(from.index, to.index);
    braid_node across;
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ .to_resource = to,
                       .from_resource = from,
                       .bytes = BYTES,
                       BRAID_ACCESSES({ from, BRAID_READ }, { to, BRAID_WRITE }) },
        &across));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){
            .to = seen, .from = empty, .bytes = BYTES, BRAID_ACCESSES({ to, BRAID_READ }) },
        NULL));
    braid_exec *exec = own_exec(device, graph, NULL);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < NUM; i++)
        assert_int_equal(seen[i], 3 * i);
    destroy_now(exec);
    check_fails(braid_device_close(device), BRAID_IN_USE, "3 allocations");
    braid_memory_free(device, full);
    braid_memory_free(device, empty);
}

// All that a failed call could leave behind.
struct before {
    braid_device *device;
    braid_graph *graph;
    uint32_t next; // the index that the next resource gets
};

static struct before look(void)
{
    struct before before = { open_device(), own_graph(), 0 };
    braid_resource list;
    check_ok(braid_graph_add_resource(before.graph, "list", &list));
    before.next = list.index + 1;
    return before;
}

static void check_unchanged(const struct before *before)
{
    braid_resource list;
    check_ok(braid_graph_add_resource(before->graph, "next", &list));
    assert_int_equal(list.index, before->next);
    check_ok(braid_stream_wait(braid_device_get_default_stream(before->device)));
    destroy_now(before->device); // which checks that no allocation is left
}

#define fails(expected, text, ...)                                                                 \
    check_fails(braid_graph_add_device_buffer(__VA_ARGS__), (expected), (text))

static void bad_arguments_change_nothing(void **state)
{
    (void)state;
    const struct before b = look();
    braid_device *group;
    static const uint32_t content[2];
    void *memory = &group;
    braid_resource out = { 77, 77 };
    check_ok(braid_device_open_group(&b.device, 1, &group));
    const braid_status bad = BRAID_INVALID_ARGUMENT;
    fails(bad, "graph is NULL", NULL, b.device, "new", content, 8, &memory, &out);
    fails(bad, "device is NULL", b.graph, NULL, "new", content, 8, &memory, &out);
    fails(bad, "name is NULL", b.graph, b.device, NULL, content, 8, &memory, &out);
    fails(bad, "out_memory is NULL", b.graph, b.device, "new", content, 8, NULL, &out);
    fails(bad, "out_resource is NULL", b.graph, b.device, "new", content, 8, &memory, NULL);
    fails(bad, "a resource needs a name", b.graph, b.device, "", content, 8, &memory, &out);
    fails(bad, "buffer 'new': its size is 0", b.graph, b.device, "new", content, 0, &memory, &out);
    fails(bad, "is a group", b.graph, group, "new", content, 8, &memory, &out);
    fails(BRAID_NO_MEMORY, "", b.graph, b.device, "new", NULL, UINT64_C(1) << 56, &memory, &out);
    assert_ptr_equal(memory, &group);
    assert_int_equal(out.index, 77);
    check_ok(braid_device_close(group));
    check_unchanged(&b);
}

static void a_closed_device_is_refused(void **state)
{
    (void)state;
    braid_device *device;
    void *memory;
    braid_resource out;
    check_ok(braid_device_open(&(braid_device_options){ .backend = backend }, &device));
    check_ok(braid_device_close(device));
    fails(BRAID_WRONG_STATE, "was closed", own_graph(), device, "new", NULL, 8, &memory, &out);
}

static struct calling {
    braid_device *device;
    braid_graph *graph;
    braid_status status;
} calling;

static void call_inside(void *user)
{
    (void)user;
    static const uint32_t content[2];
    void *memory;
    braid_resource out;
    calling.status = braid_graph_add_device_buffer(calling.graph, calling.device, "new", content, 8,
                                                   &memory, &out);
}

static void a_host_call_is_refused(void **state)
{
    (void)state;
    const struct before before = look();
    braid_stream *stream = braid_device_get_default_stream(before.device);
    calling = (struct calling){ before.device, before.graph, BRAID_OK };
    check_ok(braid_stream_host_call(stream, call_inside, NULL));
    check_ok(braid_stream_wait(stream));
    assert_int_equal(calling.status, BRAID_WRONG_STATE);
    check_unchanged(&before);
}

static void a_failed_call_of_the_driver_leaves_nothing(void **state)
{
    (void)state;
    const struct before before = look();
    static const uint32_t content[2] = { 1, 2 };
    void *memory = &calling;
    braid_resource out = { 77, 77 };
    check_fails(braid_graph_add_device_buffer(before.graph, before.device, "new", content, 8,
                                              &memory, &out),
                BRAID_DEVICE_ERROR, failing);
    assert_ptr_equal(memory, &calling);
    assert_int_equal(out.index, 77);
    check_unchanged(&before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        owning_test(frames_find_the_content),
        owning_test(bad_arguments_change_nothing),
        owning_test(a_closed_device_is_refused),
        owning_test(a_host_call_is_refused),
    };
    const struct CMUnitTest failing_tests[] = {
        owning_test(a_failed_call_of_the_driver_leaves_nothing),
    };
    backend = argc > 1 ? argv[1] : backend;
    failing = argc > 2 ? argv[2] : NULL;
    return failing ? cmocka_run_group_tests(failing_tests, NULL, NULL)
                   : cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// From CUDA 12.8 on one node of the driver's graph has both arms of a branch. Before, each arm has
// a node, and an arm that overwrites the condition does not begin the other.
#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { CONDITION, FIRST, SECOND, NUM_WORDS };

static void fill(braid_graph *graph, braid_resource to, uint32_t value)
{
    const braid_access writes = { to, BRAID_WRITE };
    const braid_fill node = { .node = { .accesses = &writes, .num_accesses = 1 },
                              .to_resource = to,
                              .value = value,
                              .value_bytes = 4,
                              .num_values = 1 };
    check_ok(braid_graph_add_fill(graph, &node, NULL));
}

static braid_exec *make(braid_device *device, braid_exec_mode mode, uint32_t *words,
                        uint32_t condition)
{
    braid_resource resources[NUM_WORDS];
    braid_graph *graph = own_graph();
    for (int i = 0; i < NUM_WORDS; i++) {
        check_ok(braid_graph_add_buffer(graph, "word", words + i, 4, &resources[i]));
        fill(graph, resources[i], i == CONDITION ? condition : 0);
    }
    check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = resources[CONDITION] }, NULL));
    fill(graph, resources[CONDITION], 0);
    fill(graph, resources[FIRST], 1);
    check_ok(braid_graph_else(graph));
    fill(graph, resources[CONDITION], 1);
    fill(graph, resources[SECOND], 1);
    check_ok(braid_graph_end(graph));
    const braid_exec_options options = { .mode = mode, .islands = BRAID_ISLANDS_NEVER };
    return own_exec(device, graph, &options);
}

static void check_branch(int version, braid_exec_mode mode, long num_nodes)
{
    void *words, *read;
    reset_standin();
    braid_device *device = own_device("cuda");
    gpu_from(device->backend)->version = version;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 4 * NUM_WORDS, &words));
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_HOST, 4 * NUM_WORDS, &read));
    for (uint32_t condition = 0; condition < 2; condition++) {
        long before = standin_calls("cuGraphAddNode_v2");
        braid_exec *exec = make(device, mode, words, condition);
        assert_int_equal(standin_calls("cuGraphAddNode_v2"), before + num_nodes);
        for (int frame = 0; frame < 3; frame++)
            check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_ok(
            braid_stream_copy(braid_device_get_default_stream(device), read, words, 4 * NUM_WORDS));
        check_ok(braid_stream_wait(braid_device_get_default_stream(device)));
        assert_int_equal(((const uint32_t *)read)[FIRST], condition);
        assert_int_equal(((const uint32_t *)read)[SECOND], !condition);
        destroy_now(exec);
    }
    braid_memory_free(device, read);
    braid_memory_free(device, words);
    finish_standin();
}

static void from_cuda_12_8_on(void **state)
{
    (void)state;
    check_branch(12080, BRAID_MODE_GRAPH, 1);
    check_branch(12080, BRAID_MODE_STREAMS, 1);
}

static void before_cuda_12_8(void **state)
{
    (void)state;
    check_branch(12070, BRAID_MODE_GRAPH, 2);
    check_branch(12070, BRAID_MODE_STREAMS, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(from_cuda_12_8_on),
        standin_test(before_cuda_12_8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Threads plan one graph, and make execs of it, at once: its nodes are compared with their code,
// and each thread is told the same.
#include <pthread.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

enum { BYTES = 64, MOST_TEXT = 512, NUM_THREADS = 3, NUM_ROUNDS = 20 };

static const char steps[] = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n"
                            ".visible .entry step(\n.param .u64 from,\n.param .u64 to\n)\n{\n"
                            ".reg .b32 %r<2>;\n.reg .b64 %d<3>;\n"
                            "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
                            "ld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;\n"
                            "red.global.add.u32 [count], 1;\nret;\n}\n";
static const char source[] = "extern \"C\" __global__ void compiled(const int *from, int *to)\n"
                             "{ to[0] = from[0]; }\n";
static const braid_kernel step = { .name = "step", .cuda.data = steps },
                          compiled = { .name = "compiled", .source = source };

static char a[BYTES], b[BYTES];
static braid_graph *graph;
static braid_device *devices[2];

static void add(const braid_kernel *kernel, braid_code_use use)
{
    const void *from = a, *to = b;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .kernel = kernel, .code_use = use, BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)) },
        NULL));
}

// cmocka's assertions are for the thread of the test.
static const char *try_once(braid_device *device, bool makes_exec)
{
    char text[MOST_TEXT] = "";
    braid_schedule *schedule;
    braid_exec *exec;
    if (makes_exec) {
        if (braid_exec_create(device, graph, NULL, &exec))
            return "no exec is made";
        braid_exec_destroy(exec);
        return NULL;
    }
    if (braid_schedule_create(graph, &(braid_schedule_options){ .device = device }, &schedule))
        return "nothing is planned";
    const braid_node node = braid_graph_get_node(graph, 0);
    braid_status status = braid_schedule_explain(schedule, &node, 1, text, sizeof(text));
    braid_schedule_destroy(schedule);
    return status                                                       ? "nothing is explained"
           : !strstr(text, "its code never writes 'a', as it declares") ? "a remark is missing"
                                                                        : NULL;
}

static void *run(void *user)
{
    const size_t number = *(const size_t *)user;
    const char *fault = NULL;
    for (int i = 0; i < NUM_ROUNDS && !fault; i++)
        fault = try_once(devices[number % 2], (i + (int)number) % 2);
    return (void *)(uintptr_t)fault;
}

static void each_thread_is_told_the_same(void **state)
{
    (void)state;
    pthread_t threads[NUM_THREADS];
    const size_t numbers[NUM_THREADS] = { 0, 1, 2 };
    braid_resource first, second;
    const void *from = a, *to = b;
    for (int i = 0; i < 2; i++)
        devices[i] = own_device("cuda");
    graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "a", a, BYTES, &first));
    check_ok(braid_graph_add_buffer(graph, "b", b, BYTES, &second));
    check_ok(
        braid_graph_add_kernel(graph,
                               &(braid_kernel_node){ .kernel = &step,
                                                     .code_use = BRAID_CODE_DECLARES,
                                                     BRAID_ACCESSES({ first, BRAID_READ_WRITE }),
                                                     BRAID_ARGS(BRAID_ARG(from), BRAID_ARG(to)) },
                               NULL));
    add(&step, BRAID_CODE_DECLARES);
    add(&compiled, BRAID_CODE_DECLARES);
    for (size_t i = 0; i < NUM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)&numbers[i]), 0);
    const char *fault = NULL;
    for (size_t i = 0; i < NUM_THREADS; i++) {
        void *found;
        assert_int_equal(pthread_join(threads[i], &found), 0);
        fault = found ? found : fault;
    }
    if (fault)
        fail_msg("%s", fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = { owning_test(each_thread_is_told_the_same) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

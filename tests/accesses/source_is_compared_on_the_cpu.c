// SPDX-License-Identifier: Apache-2.0
// An exec on the CPU compares accesses with the source that a kernel has for GPUs, or tells why
// not.
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"

enum { BYTES = 64, MOST_TEXT = 512 };

static char a[BYTES];

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

// What an exec, or only a plan, tells of a node whose kernel has the source.
static void expect(const char *source, bool has_exec, const char *part)
{
    char text[MOST_TEXT];
    const braid_kernel kernel = { .name = "idle", .cpu = do_nothing, .source = source };
    braid_device *device = own_device("cpu");
    braid_graph *graph = own_graph();
    braid_resource resource;
    braid_node node;
    braid_exec *exec;
    braid_schedule *schedule;
    check_ok(braid_graph_add_buffer(graph, "a", a, BYTES, &resource));
    check_ok(braid_graph_add_kernel(
        graph, &(braid_kernel_node){ .kernel = &kernel, BRAID_ARGS(BRAID_IN(resource)) }, &node));
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .device = device }, &schedule));
    check_ok(braid_exec_create(device, graph, NULL, &exec));
    check_ok(braid_schedule_explain(has_exec ? braid_exec_get_schedule(exec) : schedule, &node, 1,
                                    text, sizeof(text)));
    if (!strstr(text, part))
        fail_msg("'%s' has no '%s'", text, part);
    braid_schedule_destroy(schedule);
    braid_exec_destroy(exec);
    destroy_now(graph);
}

#define IDLE "extern \"C\" __global__ void idle(const int *from) {}\n"

// The compiler is the stand-in's, whose kernels touch nothing.
static void an_exec_compares_source(void **state)
{
    (void)state;
    expect(IDLE, true, "; its code never reads 'a', as it declares");
}

static void a_plan_compiles_nothing(void **state)
{
    (void)state;
    expect(IDLE, false, "not compared with its code: its source was not compiled for CUDA");
}

static void source_that_has_no_such_kernel_is_not_compared(void **state)
{
    (void)state;
    expect("void other() {}", true, "not compared with its code: it has no kernel of the name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(an_exec_compares_source),
        owning_test(a_plan_compiles_nothing),
        owning_test(source_that_has_no_such_kernel_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

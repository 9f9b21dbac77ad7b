// SPDX-License-Identifier: Apache-2.0
// An object stays if the driver refuses to destroy it, as in a capture. Then it is the same in the
// record before and behind that call, with all that belongs to it.
#include "record/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { TWICE = 2, OTHER_DEVICE = 1 };

#define TEXT                                                                                       \
    ".version 7.8\n.target sm_90\n.address_size 64\n.global .u32 number;\n"                        \
    ".visible .entry own()\n{\nret;\n}\n"

// All that a context may have.
struct world {
    CUmodule module;
    CUfunction function;
    CUdeviceptr variable, memory;
    CUstream stream;
    CUevent event;
};

typedef bool configure(const char *setting, const char *value);
static configure *set;

// Each refusal is one of the driver that the program gets, and the next call is as before.
#define REFUSE(name, ...)                                                                          \
    do {                                                                                           \
        assert_true(set("BRAID_STANDIN_FAIL", #name ":1=900"));                                    \
        assert_int_equal(name(__VA_ARGS__), 900);                                                  \
        assert_true(set("BRAID_STANDIN_FAIL", NULL));                                              \
    } while (0)

static void open_world(struct world *world)
{
    size_t bytes;
    must(cuModuleLoadData(&world->module, TEXT));
    must(cuModuleGetFunction(&world->function, world->module, "own"));
    must(cuModuleGetGlobal_v2(&world->variable, &bytes, world->module, "number"));
    must(cuMemAlloc_v2(&world->memory, 1000));
    must(cuStreamCreate(&world->stream, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&world->event, CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(world->event, world->stream));
}

static void use(const struct world *world)
{
    must(cuStreamWaitEvent(world->stream, world->event, 0));
    must(cuLaunchKernel(world->function, 1, 1, 1, 1, 1, 1, 0, world->stream, NULL, NULL));
}

static void close_world(const struct world *world)
{
    must(cuStreamSynchronize(world->stream));
    must(cuEventDestroy_v2(world->event));
    must(cuStreamDestroy_v2(world->stream));
    must(cuMemFree_v2(world->memory));
    must(cuModuleUnload(world->module));
}

// ---- each object by itself ----

static void refuse_each(void)
{
    struct world world;
    open_world(&world);
    use(&world);
    REFUSE(cuModuleUnload, world.module);
    REFUSE(cuStreamDestroy_v2, world.stream);
    REFUSE(cuEventDestroy_v2, world.event);
    REFUSE(cuMemFree_v2, world.memory);
    use(&world);
    close_world(&world);
}

// ---- contexts ----

// Returns the context: its times are read when the frame ends.
static CUcontext refuse_context(void)
{
    struct world world;
    CUcontext context;
    must(cuCtxCreate_v2(&context, 0, 0));
    open_world(&world);
    use(&world);
    REFUSE(cuCtxDestroy_v2, context);
    use(&world);
    close_world(&world);
    must(cuCtxSetCurrent(program.context));
    return context;
}

// The refused release does not count: the next one ends the context.
static void refuse_primary(void)
{
    struct world world;
    CUcontext context;
    must(cuDevicePrimaryCtxRetain(&context, OTHER_DEVICE));
    must(cuCtxSetCurrent(context));
    open_world(&world);
    use(&world);
    REFUSE(cuDevicePrimaryCtxRelease_v2, OTHER_DEVICE);
    REFUSE(cuDevicePrimaryCtxReset_v2, OTHER_DEVICE);
    use(&world);
    must(cuStreamSynchronize(world.stream));
    must(cuDevicePrimaryCtxRelease_v2(OTHER_DEVICE));
    must(cuCtxSetCurrent(program.context));
}

// ---- graphs ----

static void refuse_graphs(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUgraphConditionalHandle handle;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(&handle, graph, program.context, 0,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams parameters = {
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = { .handle = handle, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 1 }
    };
    parameters.conditional.ctx = program.context;
    must(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &parameters));
    REFUSE(cuGraphDestroy, graph);
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    REFUSE(cuGraphExecDestroy, exec);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

// ---- the record ----

// Three worlds, one behind another: each has its own module, stream, event and memory.
static void check_launches(const braid_record_contents *contents)
{
    const braid_record_work *before = NULL;
    uint32_t num = 0, stream = BRAID_RECORD_NONE;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_operation *row = &contents->operations[i];
        if (row->work.kind != BRAID_RECORD_KERNEL)
            continue;
        assert_string_equal(contents->kernels[row->work.kernel].name, "own");
        assert_int_not_equal(contents->kernels[row->work.kernel].module, BRAID_RECORD_NONE);
        if (num % TWICE == 1) {
            assert_int_equal(row->work.kernel, before->kernel);
            assert_int_equal(row->stream, stream);
        }
        // Times are of one context: the last that is there, which the driver refused to destroy.
        assert_int_equal(row->device_end_ns > 0, num / TWICE == 1);
        before = &row->work;
        stream = row->stream;
        num++;
    }
    assert_int_equal(num, 3 * TWICE);
}

// An event has a number until it is destroyed.
static void check_events(const braid_record_contents *contents)
{
    uint32_t num = 0, event = BRAID_RECORD_NONE;
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_work *work = &contents->operations[i].work;
        if (work->kind == BRAID_RECORD_EVENT_RECORD)
            event = work->event;
        if (work->kind != BRAID_RECORD_EVENT_WAIT)
            continue;
        assert_int_equal(work->event, event);
        num++;
    }
    assert_int_equal(num, 3 * TWICE);
}

static void check_memory(const braid_record_contents *contents)
{
    uint32_t num_frees = 0;
    for (uint32_t i = 0; i < contents->num_operations; i++)
        num_frees += contents->operations[i].work.kind == BRAID_RECORD_FREE;
    assert_int_equal(num_frees, 3 * 2); // a variable and memory of each world
    for (uint32_t i = 0; i < contents->num_allocations; i++)
        if (contents->allocations[i].kind == BRAID_RECORD_VARIABLE)
            assert_int_not_equal(contents->allocations[i].module, BRAID_RECORD_NONE);
    uint32_t num_ends = 0;
    for (uint32_t i = 0; i < contents->num_memory; i++)
        num_ends += contents->memory[i].is_of_end;
    assert_int_equal(num_ends, 3 * 2);
}

static void check_graphs(const braid_record_contents *contents)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < contents->num_operations; i++)
        if (contents->operations[i].work.kind == BRAID_RECORD_GRAPH) {
            assert_int_not_equal(contents->operations[i].work.graph, BRAID_RECORD_NONE);
            num++;
        }
    assert_int_equal(num, 1);
    assert_int_equal(contents->num_nodes, 1);
    assert_int_equal(contents->nodes[0].work.kind, BRAID_RECORD_CONDITIONAL);
    assert_int_equal(contents->num_strangers, 0);
}

static void refused_calls_keep_their_objects(void **state)
{
    (void)state;
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    set = (configure *)(uintptr_t)dlsym(driver, "standin_configure");
    assert_non_null(set);
    assert_true(braid_record_frame_mark());
    refuse_each();
    refuse_graphs();
    CUcontext context = refuse_context();
    refuse_primary();
    assert_true(braid_record_frame_mark());
    must(cuCtxDestroy_v2(context));
    must(cuCtxSetCurrent(program.context));
    const braid_record_contents *contents = open_own_record();
    check_launches(contents);
    check_events(contents);
    check_memory(contents);
    check_graphs(contents);
    close_own_record();
    dlclose(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refused_calls_keep_their_objects) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}

// SPDX-License-Identifier: Apache-2.0
// A context that is destroyed takes its modules, streams, events and memory along, and a graph its
// nodes. The driver may give all of their handles to others, which are others in the record too.
#include "record/program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 8, EVENTS = 4, UNSEEN = 4 };

#define TEXT(name)                                                                                 \
    ".version 7.8\n.target sm_90\n.address_size 64\n.global .u32 " name "_number;\n"               \
    ".visible .entry " name "()\n{\nret;\n}\n"

static const char *const names[] = { "odd", "even" };
static const char *const variables[] = { "odd_number", "even_number" };
static const char *const texts[] = { TEXT("odd"), TEXT("even") };

// The handles of a round, to count those that come again.
struct handles {
    CUcontext context;
    CUfunction function;
    CUevent event;
};

// Each round does the same, so that its handles come again in the next one.
static struct handles use_context(int round, CUcontext context)
{
    struct handles used = { .context = context };
    CUmodule module;
    CUdeviceptr memory, variable;
    size_t bytes;
    must(cuModuleLoadData(&module, texts[round % 2]));
    must(cuModuleGetFunction(&used.function, module, names[round % 2]));
    must(cuModuleGetGlobal_v2(&variable, &bytes, module, variables[round % 2]));
    must(cuMemAlloc_v2(&memory, 1000));
    must(cuEventCreate(&used.event, CU_EVENT_DISABLE_TIMING));
    must(cuStreamWaitEvent(NULL, used.event, 0));
    must(cuLaunchKernel(used.function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    must(cuEventRecord(used.event, NULL));
    return used;
}

static void use_created_contexts(void)
{
    struct handles before = { .context = NULL };
    uint32_t num_contexts = 0, num_functions = 0, num_events = 0;
    for (int i = 0; i < ROUNDS; i++) {
        CUcontext context;
        must(cuCtxCreate_v2(&context, 0, 0));
        const struct handles now = use_context(i, context);
        num_contexts += now.context == before.context;
        num_functions += now.function == before.function;
        num_events += now.event == before.event;
        before = now;
        must((i % 4 == 1 ? cuCtxDetach : cuCtxDestroy_v2)(context));
    }
    assert_int_equal(num_contexts, ROUNDS - 1);
    assert_int_equal(num_functions, ROUNDS - 1);
    assert_true(num_events > 0); // the recorder makes events, too
}

// The last release ends the primary context, and a reset ends all that it has.
static void use_primary_contexts(void)
{
    CUcontext context, again;
    for (int i = 0; i < ROUNDS; i++) {
        must(cuDevicePrimaryCtxRetain(&context, 1));
        must(cuDevicePrimaryCtxRetain(&again, 1));
        must(cuCtxSetCurrent(context));
        const CUfunction function = use_context(i, context).function;
        must(cuDevicePrimaryCtxRelease_v2(1));
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        if (i % 2)
            must(cuDevicePrimaryCtxReset_v2(1));
        must(cuDevicePrimaryCtxRelease_v2(1));
    }
}

static void refuse(CUcontext primary)
{
    assert_int_not_equal(cuCtxDestroy_v2(primary), CUDA_SUCCESS);
}

// A call that the recorder does not see.
static void *find_unseen(const char *name)
{
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    void *call = dlsym(driver, name);
    assert_non_null(call);
    dlclose(driver);
    return call;
}

static CUmodule launch_unseen(int number)
{
    typedef CUresult load_data(CUmodule *, const void *);
    typedef CUresult get_function(CUfunction *, CUmodule, const char *);
    static CUfunction before;
    CUmodule module;
    CUfunction function;
    must(((load_data *)(uintptr_t)find_unseen("cuModuleLoadData"))(&module, texts[number % 2]));
    must(((get_function *)(uintptr_t)find_unseen("cuModuleGetFunction"))(&function, module,
                                                                         names[number % 2]));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_true(number == 0 || function == before);
    before = function;
    return module;
}

// Modules that a runtime loads by ways of its own. They go by themselves, or with a context.
static void use_unseen_modules(void)
{
    CUcontext context;
    for (int i = 0; i < UNSEEN; i++) {
        must(cuCtxCreate_v2(&context, 0, 0));
        const CUmodule module = launch_unseen(i);
        if (i < UNSEEN / 2)
            must(cuModuleUnload(module));
        if (i < UNSEEN / 2)
            must(cuModuleUnload(launch_unseen(++i)));
        must(cuCtxDestroy_v2(context));
    }
}

// The kernels of a library outlive contexts, and their functions do not.
static void use_library(void)
{
    CUcontext context;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    must(cuLibraryLoadData(&library, TEXT("of_library"), NULL, NULL, 0, NULL, NULL, 0));
    must(cuLibraryGetKernel(&kernel, library, "of_library"));
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuCtxDestroy_v2(context));
    must(cuCtxSetCurrent(program.context));
    must(cuKernelGetFunction(&function, kernel));
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    must(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    must(cuLibraryUnload(library));
}

// Graphs with a conditional node, the second of which the recorder does not see made.
static CUgraph make_branch(bool is_seen, CUgraphConditionalNodeType kind, CUgraphNode *out_node)
{
    typedef CUresult add_node(CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
                              size_t, CUgraphNodeParams *);
    add_node *unseen = (add_node *)(uintptr_t)find_unseen("cuGraphAddNode_v2");
    CUgraph graph;
    CUgraphConditionalHandle handle;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(&handle, graph, program.context, 0,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams parameters = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                     .conditional = { .handle = handle, .type = kind, .size = 1 } };
    parameters.conditional.ctx = program.context;
    must((is_seen ? cuGraphAddNode_v2 : unseen)(out_node, graph, NULL, NULL, 0, &parameters));
    return graph;
}

static void use_graphs(void)
{
    CUgraphNode first, second;
    CUgraphExec exec;
    must(cuGraphDestroy(make_branch(true, CU_GRAPH_COND_TYPE_IF, &first)));
    CUgraph graph = make_branch(false, CU_GRAPH_COND_TYPE_WHILE, &second);
    assert_ptr_equal(first, second);
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

// ---- a context that goes while a mark waits for the device ----

static pthread_barrier_t waits, is_destroyed; // two threads meet there
static CUcontext late;
static CUevent events[EVENTS];

// The driver gives the handles of the recorder's events to those of the program.
static void *destroy_late(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&waits);
    must(cuCtxDestroy_v2(late));
    must(cuCtxSetCurrent(program.context));
    for (int i = 0; i < EVENTS; i++)
        must(cuEventCreate(&events[i], 0));
    pthread_barrier_wait(&is_destroyed);
    return NULL;
}

// The mark waits for this, and then looks at its events.
static void let_destroy(void *unused)
{
    (void)unused;
    usleep(50000);
    pthread_barrier_wait(&waits);
    pthread_barrier_wait(&is_destroyed);
}

static void mark_while_a_context_goes(void)
{
    pthread_t thread;
    CUdeviceptr memory;
    assert_int_equal(pthread_barrier_init(&waits, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&is_destroyed, NULL, 2), 0);
    must(cuCtxCreate_v2(&late, 0, 0));
    must(cuMemAlloc_v2(&memory, 64));
    for (int i = 0; i < EVENTS; i++)
        must(cuMemsetD32Async(memory, 0, 16, NULL));
    must(cuCtxSynchronize());
    must(cuCtxSetCurrent(program.context));
    must(cuLaunchHostFunc(NULL, let_destroy, NULL));
    assert_int_equal(pthread_create(&thread, NULL, destroy_late, NULL), 0);
    assert_true(braid_record_frame_mark());
    pthread_join(thread, NULL);
    for (int i = 0; i < EVENTS; i++)
        must(cuEventDestroy_v2(events[i]));
}

// ---- the record ----

// Each context's null stream is another.
static void check_launch(const braid_record_contents *contents, const braid_record_operation *row,
                         const char **name_on, uint32_t *num, uint32_t *num_unseen)
{
    const braid_record_kernel *kernel = &contents->kernels[row->work.kernel];
    if (strcmp(kernel->name, "nothing") == 0)
        return;
    if (strcmp(kernel->name, "of_library") == 0) {
        assert_int_not_equal(kernel->module, BRAID_RECORD_NONE);
        assert_true(contents->modules[kernel->module].is_library);
        return;
    }
    if (kernel->module == BRAID_RECORD_NONE) {
        assert_string_equal(kernel->name, names[(*num_unseen)++ % 2]);
        return;
    }
    if (name_on[row->stream]) {
        assert_string_equal(name_on[row->stream], kernel->name);
        return;
    }
    name_on[row->stream] = kernel->name;
    assert_string_equal(kernel->name, names[(*num)++ % 2]);
}

static void check(const braid_record_contents *contents)
{
    uint32_t num_launches = 0, num_unseen = 0, num_waits = 0, num_memory = 0, num_variables = 0;
    for (uint32_t i = 1; i < contents->num_streams; i++)
        assert_int_not_equal(contents->streams[i].context, contents->streams[i - 1].context);
    const char **name_on = calloc(contents->num_streams, sizeof(*name_on));
    assert_non_null(name_on);
    for (uint32_t i = 0; i < contents->num_operations; i++) {
        const braid_record_operation *row = &contents->operations[i];
        if (row->work.kind == BRAID_RECORD_KERNEL)
            check_launch(contents, row, name_on, &num_launches, &num_unseen);
        assert_int_not_equal(row->work.kind, BRAID_RECORD_CONDITIONAL);
        if (row->work.kind != BRAID_RECORD_EVENT_WAIT)
            continue;
        assert_int_equal(row->num_befores, 0); // nothing has recorded this event
        num_waits++;
    }
    for (uint32_t i = 0; i < contents->num_allocations; i++) {
        const braid_record_allocation *row = &contents->allocations[i];
        num_memory += row->bytes == 1000;
        num_variables += row->kind == BRAID_RECORD_VARIABLE;
        assert_true(row->freed_at < contents->num_operations);
        assert_int_equal(contents->operations[row->freed_at].work.kind, BRAID_RECORD_FREE);
        assert_int_equal(contents->operations[row->freed_at].work.memory, i);
    }
    for (uint32_t i = 0; i < contents->num_nodes; i++)
        assert_true(contents->nodes[i].work.kind != BRAID_RECORD_CONDITIONAL ||
                    contents->nodes[i].work.condition == BRAID_RECORD_WHILE);
    assert_int_equal(num_launches, 2 * ROUNDS);
    assert_int_equal(num_unseen, UNSEEN);
    assert_int_equal(num_waits, 2 * ROUNDS);
    assert_int_equal(num_memory, 2 * ROUNDS);
    assert_int_equal(num_variables, 2 * ROUNDS + 1);
    assert_int_equal(contents->num_memory, 1); // a variable that goes in the frame
    assert_int_equal(contents->memory[0].digest_behind, 0);
    free((void *)name_on);
}

static void handles_go_with_their_objects(void **state)
{
    CUevent event;
    CUmodule module;
    CUdeviceptr variable;
    size_t bytes;
    (void)state;
    must(cuModuleLoadData(&module, texts[0]));
    must(cuModuleGetGlobal_v2(&variable, &bytes, module, variables[0]));
    assert_true(braid_record_frame_mark());
    must(cuModuleUnload(module));
    use_created_contexts();
    use_unseen_modules();
    use_primary_contexts();
    must(cuCtxSetCurrent(program.context));
    use_library();
    refuse(program.context);
    must(cuCtxSetCurrent(program.context));
    launch_nothing(NULL);
    use_graphs();
    // The recorder destroys its own events alone.
    must(cuEventCreate(&event, 0));
    mark_while_a_context_goes();
    must(cuEventDestroy_v2(event));
    check(open_own_record());
    close_own_record();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(handles_go_with_their_objects) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}

// SPDX-License-Identifier: Apache-2.0
// A recorded loop is run in the process that was recorded, by the word that the program's own
// kernel hands to the driver: each number of iterations leaves the same memory.
#include "record/program.h"

#include <braid/braid.h>
#include <braid/import.h>
#include <string.h>

#include "support/failing_memory.h"

#define SETTER(name, body)                                                                         \
    ".visible .entry " name "(.param .u64 handle, .param .u64 at)\n{\n"                            \
    ".reg .pred %p;\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n.param .b64 h;\n.param .b32 v;\n"         \
    "ld.param.u64 %d0, [handle];\nld.param.u64 %d1, [at];\n" body                                  \
    "st.param.b64 [h], %d0;\nst.param.b32 [v], %r1;\n"                                             \
    "call.uni cudaGraphSetConditional, (h, v);\nret;\n}\n"

// set_behind finds its word behind a pointer in memory, as Quadrants does, set_at as Warp does.
// set_odd hands over another number. point(slot, word) changes such a pointer.
static const char setters_text[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n" //
    SETTER("set_behind", "ld.u64 %d2, [%d1];\nld.u32 %r0, [%d2];\n"
                         "setp.ne.u32 %p, %r0, 0;\nselp.u32 %r1, 1, 0, %p;\n")    //
    SETTER("set_at", "cvta.to.global.u64 %d2, %d1;\nld.global.u32 %r1, [%d2];\n") //
    SETTER("set_odd", "ld.u32 %r0, [%d1];\nadd.u32 %r1, %r0, 0;\n")               //
    ".visible .entry point(.param .u64 slot, .param .u64 word)\n{\n.reg .b64 %d<2>;\n"
    "ld.param.u64 %d0, [slot];\nld.param.u64 %d1, [word];\nst.u64 [%d0], %d1;\nret;\n}\n";

enum { BEHIND, AT, ODD, NO_SETTER };
enum { COUNTER, SUM, OTHER, NUM_WORDS };

// What is odd about a loop or branch.
enum oddity {
    PLAIN,
    ENDS_AT_ONCE,
    TWO_SETTERS,
    OTHER_WORD,
    WRITTEN_BEHIND,
    SLOT_CHANGES,
    LOOP_INSIDE, // a setter stands before it
    BEGINS_ONCE, // none does
    NO_BODY,
};

static const struct shape {
    const char *why; // it cannot run again; NULL: it can
    uint32_t first_value;
    int first, inside; // setters
    enum oddity oddity;
    bool is_branch, has_no_first_value;
} shapes[] = {
    { NULL, 1, NO_SETTER, BEHIND, PLAIN, false, false },
    { NULL, 7, NO_SETTER, AT, PLAIN, false, false },
    { NULL, 1, NO_SETTER, BEHIND, ENDS_AT_ONCE, false, false },
    { NULL, 0, AT, AT, PLAIN, false, false },
    { NULL, 0, BEHIND, BEHIND, PLAIN, false, true },
    { NULL, 0, AT, NO_SETTER, PLAIN, true, true },
    { NULL, 1, NO_SETTER, AT, LOOP_INSIDE, false, false },
    { NULL, 0, AT, NO_SETTER, NO_BODY, true, true },
    { "it stands in a loop, of which a launch gives", 1, NO_SETTER, AT, BEGINS_ONCE, false, false },
    { "each launch gives it the same value", 0, NO_SETTER, AT, PLAIN, false, false },
    { "both set its handle in its body", 1, NO_SETTER, AT, TWO_SETTERS, false, false },
    { "sets its handle from another word", 0, AT, AT, OTHER_WORD, false, false },
    { "may write its word behind node", 1, NO_SETTER, AT, WRITTEN_BEHIND, false, false },
    { "from memory that node", 1, NO_SETTER, BEHIND, SLOT_CHANGES, false, false },
    { "kernel 'set_odd' sets a condition, and it does more than", 1, NO_SETTER, ODD, PLAIN, false,
      false },
    { "no setter sets its handle in its body", 0, AT, NO_SETTER, PLAIN, false, true },
};
enum { ENDS_AT_ONCE_SHAPE = 2, NUM_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static CUmodule module;
static CUfunction setters[3], point;
static CUstream stream;
static CUdeviceptr words[NUM_WORDS], slot;
static CUgraphExec executables[NUM_SHAPES];
static braid_device *device;
static const braid_record_contents *record;

// ---- the program ----

static CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, CUfunction function, void **args)
{
    CUgraphNode node;
    const CUDA_KERNEL_NODE_PARAMS parameters = {
        .func = function,
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 1,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = args,
    };
    must(cuGraphAddKernelNode_v2(&node, graph, after ? &after : NULL, after ? 1 : 0, &parameters));
    return node;
}

static CUgraphNode add_number(CUgraph graph, CUgraphNode after, int word, uint32_t number)
{
    void *args[] = { &words[word], &number };
    return add_kernel(graph, after, program.add, args);
}

static CUgraphNode add_zero(CUgraph graph, CUgraphNode after)
{
    CUgraphNode node;
    const CUDA_MEMSET_NODE_PARAMS parameters = {
        .dst = words[COUNTER], .elementSize = 4, .width = 1, .height = 1
    };
    must(cuGraphAddMemsetNode(&node, graph, &after, 1, &parameters, program.context));
    return node;
}

static CUgraphNode add_setter(CUgraph graph, CUgraphNode after, int setter, int word,
                              CUgraphConditionalHandle handle)
{
    void *args[] = { &handle, setter == BEHIND ? &slot : &words[word] };
    return setter == NO_SETTER ? after : add_kernel(graph, after, setters[setter], args);
}

static CUgraphNode add_condition(CUgraph graph, CUgraphNode after, CUgraphConditionalHandle handle,
                                 bool is_branch, CUgraph *out_body)
{
    CUgraphNode node;
    CUgraphNodeParams parameters = {
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = { .handle = handle,
                         .type = is_branch ? CU_GRAPH_COND_TYPE_IF : CU_GRAPH_COND_TYPE_WHILE,
                         .size = 1 },
    };
    parameters.conditional.ctx = program.context;
    must(cuGraphAddNode_v2(&node, graph, &after, NULL, 1, &parameters));
    *out_body = parameters.conditional.phGraph_out[0];
    return node;
}

// It counts the other word down from 2, or 3 the first time, and adds 10 to the sum. A launch gives
// it its first value once, for all iterations of the loop around it.
static CUgraphNode add_inner(CUgraph graph, CUgraphNode after, bool has_setter)
{
    CUgraph body;
    CUgraphConditionalHandle handle;
    must(cuGraphConditionalHandleCreate(&handle, graph, program.context, 1,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT));
    after = add_number(graph, after, OTHER, 2);
    after = add_setter(graph, after, has_setter ? AT : NO_SETTER, OTHER, handle);
    after = add_condition(graph, after, handle, false, &body);
    CUgraphNode node = add_number(body, NULL, SUM, 10);
    node = add_number(body, node, OTHER, UINT32_MAX);
    add_setter(body, node, AT, OTHER, handle);
    return after;
}

// It adds 3 to the sum, and counts down.
static void fill_body(CUgraph body, const struct shape *shape, CUgraphConditionalHandle handle)
{
    const int word = shape->oddity == OTHER_WORD ? OTHER : COUNTER;
    CUgraphNode node = add_number(body, NULL, SUM, 3);
    if (shape->oddity == LOOP_INSIDE || shape->oddity == BEGINS_ONCE)
        node = add_inner(body, node, shape->oddity == LOOP_INSIDE);
    if (shape->oddity == SLOT_CHANGES) {
        void *args[] = { &slot, &words[COUNTER] };
        node = add_kernel(body, node, point, args);
    }
    node = shape->oddity == ENDS_AT_ONCE ? add_zero(body, node)
                                         : add_number(body, node, COUNTER, UINT32_MAX);
    if (shape->oddity == OTHER_WORD)
        node = add_number(body, node, OTHER, UINT32_MAX);
    node = add_number(body, node, OTHER, 0);
    node = add_setter(body, node, shape->inside, word, handle);
    if (shape->oddity == TWO_SETTERS)
        node = add_setter(body, node, shape->inside, word, handle);
    if (shape->oddity == WRITTEN_BEHIND)
        add_number(body, node, COUNTER, 0);
}

static CUgraphExec make_graph(const struct shape *shape)
{
    CUgraph graph, body;
    CUgraphNode node, first;
    CUgraphConditionalHandle handle;
    CUgraphExec executable;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(&handle, graph, program.context, shape->first_value,
                                        shape->has_no_first_value ? 0
                                                                  : CU_GRAPH_COND_ASSIGN_DEFAULT));
    first = add_number(graph, NULL, SUM, 100);
    first = add_setter(graph, first, shape->first, COUNTER, handle);
    node = add_condition(graph, first, handle, shape->is_branch, &body);
    if (shape->oddity != NO_BODY)
        fill_body(body, shape, handle);
    add_number(graph, node, SUM, 1000);
    must(cuGraphInstantiateWithFlags(&executable, graph, 0));
    must(cuGraphDestroy(graph));
    return executable;
}

static void write_words(uint32_t count)
{
    must(cuMemsetD32_v2(words[COUNTER], count, 1)); // on another stream: the host waits
    must(cuMemsetD32_v2(words[SUM], 5, 1));
    must(cuMemsetD32_v2(words[OTHER], 1, 1));
    must(cuMemcpyHtoD_v2(slot, &words[COUNTER], sizeof(words[COUNTER])));
    must(cuCtxSynchronize());
}

// Both launches have the same handle.
static void run_twice(void)
{
    write_words(9);
    assert_true(braid_record_frame_mark());
    for (int i = 0; i < 2; i++)
        must(cuGraphLaunch(executables[ENDS_AT_ONCE_SHAPE], stream));
    must(cuStreamSynchronize(stream));
}

static int run_program(void **state)
{
    open_program(state);
    must(cuModuleLoadData(&module, setters_text));
    must(cuModuleGetFunction(&setters[BEHIND], module, "set_behind"));
    must(cuModuleGetFunction(&setters[AT], module, "set_at"));
    must(cuModuleGetFunction(&setters[ODD], module, "set_odd"));
    must(cuModuleGetFunction(&point, module, "point"));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < NUM_WORDS; i++)
        must(cuMemAlloc_v2(&words[i], 4));
    must(cuMemAlloc_v2(&slot, sizeof(words[0])));
    for (int i = 0; i < NUM_SHAPES; i++)
        executables[i] = make_graph(&shapes[i]);
    for (int i = 0; i < NUM_SHAPES; i++) {
        // A frame that writes the words, and one with the loop. Without a setter it runs no body.
        assert_true(braid_record_frame_mark());
        write_words(shapes[i].inside == NO_SETTER && !shapes[i].is_branch ? 0 : 1);
        assert_true(braid_record_frame_mark());
        must(cuGraphLaunch(executables[i], stream));
        must(cuStreamSynchronize(stream));
    }
    assert_true(braid_record_frame_mark());
    run_twice();
    assert_true(braid_record_frame_mark());
    record = open_own_record();
    assert_int_equal(record->num_frames, 2 * NUM_SHAPES + 2);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    return 0;
}

static int end_program(void **state)
{
    check_ok(braid_device_close(device));
    close_own_record();
    for (int i = 0; i < NUM_SHAPES; i++)
        must(cuGraphExecDestroy(executables[i]));
    for (int i = 0; i < NUM_WORDS; i++)
        must(cuMemFree_v2(words[i]));
    must(cuMemFree_v2(slot));
    must(cuStreamDestroy_v2(stream));
    must(cuModuleUnload(module));
    return close_program(state);
}

// ---- its frames, again ----

static braid_import_options options(void)
{
    return (
        braid_import_options){ .device = device, .is_unwatched = true, .follows_pointers = true };
}

static void read_words(uint32_t *out_words)
{
    for (int i = 0; i < NUM_WORDS; i++)
        must(cuMemcpyDtoH_v2(&out_words[i], words[i], 4));
}

static void play_one(uint32_t shape, braid_exec_mode mode)
{
    const braid_import_options of = options();
    uint32_t expected[NUM_WORDS], found[NUM_WORDS];
    braid_import_info info;
    braid_import *import;
    braid_exec *exec;
    check_ok(braid_import_create_recorded(record, 2 * shape + 1, &of, &import));
    braid_import_get_info(import, &info);
    assert_int_equal(info.num_conditionals, shapes[shape].oddity == LOOP_INSIDE ? 2 : 1);
    assert_int_equal(info.num_unproven, 0);
    assert_true(info.num_kept < info.num_captured);
    check_ok(braid_exec_create(device, braid_import_get_graph(import),
                               &(braid_exec_options){ .mode = mode }, &exec));
    const bool ends = shapes[shape].oddity == ENDS_AT_ONCE; // whatever the word is before
    for (uint32_t count = shapes[shape].first == NO_SETTER && !ends ? 1 : 0; count < 9;
         count += 2) {
        write_words(count);
        must(cuGraphLaunch(executables[shape], stream));
        must(cuStreamSynchronize(stream));
        read_words(expected);
        write_words(count);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        read_words(found);
        assert_memory_equal(found, expected, sizeof(found));
        const uint32_t times = ends ? 1 : shapes[shape].is_branch ? count != 0 : count;
        const uint32_t inner =
            shapes[shape].oddity == LOOP_INSIDE && times ? 10 * (3 + 2 * (times - 1)) : 0;
        const uint32_t each = shapes[shape].oddity == NO_BODY ? 0 : 3;
        assert_int_equal(found[SUM], 5 + 100 + 1000 + each * times + inner);
    }
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

static void loops_run_as_often_as_the_programs_own(void **state)
{
    uint32_t num = 0;
    (void)state;
    for (uint32_t shape = 0; shape < NUM_SHAPES; shape++) {
        if (shapes[shape].why)
            continue;
        play_one(shape, BRAID_MODE_STREAMS);
        play_one(shape, BRAID_MODE_GRAPH);
        num++;
    }
    assert_int_equal(num, 8);
}

static void a_graph_may_be_launched_twice(void **state)
{
    const braid_import_options of = options();
    uint32_t found[NUM_WORDS];
    braid_import *import;
    braid_exec *exec;
    (void)state;
    check_ok(braid_import_create_recorded(record, 2 * NUM_SHAPES + 1, &of, &import));
    check_ok(braid_exec_create(device, braid_import_get_graph(import), NULL, &exec));
    write_words(3);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    read_words(found);
    assert_int_equal(found[COUNTER], 0);
    assert_int_equal(found[SUM], 5 + 2 * (100 + 3 + 1000));
    braid_exec_destroy(exec);
    braid_import_destroy(import);
}

// Without a device all of them can be planned.
static void others_are_refused_by_name(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < NUM_SHAPES; shape++) {
        braid_import_options of = options();
        braid_import *import;
        if (!shapes[shape].why)
            continue;
        check_fails(braid_import_create_recorded(record, 2 * shape + 1, &of, &import),
                    BRAID_UNSUPPORTED, shapes[shape].why);
        of.device = NULL;
        check_ok(braid_import_create_recorded(record, 2 * shape + 1, &of, &import));
        braid_import_destroy(import);
    }
}

// Else nobody looks for writers of the pointer.
static void words_behind_pointers_need_them_followed(void **state)
{
    braid_import_options of = options();
    braid_import *import;
    (void)state;
    of.follows_pointers = false;
    check_fails(braid_import_create_recorded(record, 1, &of, &import), BRAID_UNSUPPORTED,
                "its word by a pointer in memory, and .follows_pointers is not set");
    check_ok(braid_import_create_recorded(record, 3, &of, &import)); // an argument points to it
    braid_import_destroy(import);
}

// Numbers that only the report has may be left out.
static void any_allocation_may_fail(void **state)
{
    const braid_import_options of = options();
    (void)state;
    for (uint32_t shape = 0; shape < NUM_SHAPES; shape++) {
        const braid_status end = shapes[shape].why ? BRAID_UNSUPPORTED : BRAID_OK;
        bool has_failed = true;
        uint64_t nth = 0;
        while (has_failed) {
            braid_import *import = NULL;
            failing_memory_arm_once(++nth);
            const braid_status status =
                braid_import_create_recorded(record, 2 * shape + 1, &of, &import);
            has_failed = failing_memory_disarm();
            assert_true(status == end || (has_failed && status == BRAID_NO_MEMORY));
            if (status == BRAID_UNSUPPORTED)
                assert_non_null(strstr(braid_error_get_message(), shapes[shape].why));
            braid_import_destroy(import);
        }
        assert_true(nth > 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_run_as_often_as_the_programs_own),
        cmocka_unit_test(a_graph_may_be_launched_twice),
        cmocka_unit_test(others_are_refused_by_name),
        cmocka_unit_test(words_behind_pointers_need_them_followed),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, run_program, end_program);
}

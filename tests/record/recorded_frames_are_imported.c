// SPDX-License-Identifier: Apache-2.0
// A frame of a record is imported without a device: its orders are those that its memory demands,
// and pointers in memory are those that the program's copies wrote.
#include "record/program.h"

#include <braid/import.h>
#include <braid/schedule.h>
#include <string.h>

enum { BUFFERS = 4, BYTES = 256, GRAPH = 5 };

static const char follow_text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry follow(.param .u64 at, .param .u64 to)\n{\n"
    ".reg .b64 %d<3>;\n.reg .b32 %r;\nld.param.u64 %d0, [at];\nld.param.u64 %d1, [to];\n"
    "ld.u64 %d2, [%d0+8];\nld.u32 %r, [%d2];\nst.u32 [%d1], %r;\nret;\n}\n";

static CUmodule module;
static CUfunction follow;
static CUstream stream;
static CUdeviceptr memory[BUFFERS], table;
static CUgraphExec executable;
static const braid_record_contents *record;

static void launch_follow(CUdeviceptr to)
{
    void *arguments[] = { &table, &to };
    must(cuLaunchKernel(follow, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

// Word 1 of the table is a pointer.
static void send_table(CUdeviceptr pointer, uint64_t number)
{
    const uint64_t words[] = { number, pointer };
    must(cuMemcpyHtoD_v2(table, words, sizeof(words)));
}

// ---- the program: one frame for each case ----

static void run_frame(int frame)
{
    send_table(memory[frame == 2 ? 3 : 1], frame == 3 ? 7 : 0);
    if (frame == GRAPH) {
        must(cuGraphLaunch(executable, stream));
        launch_add(stream, memory[2], 1); // behind `follow` of the graph
    } else {
        launch_follow(memory[2]);
        launch_add(stream, frame == 4 ? table + 8 : memory[3], 5);
    }
    must(cuStreamSynchronize(stream));
}

static void make_graph(void)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_follow(memory[2]);
    launch_add(stream, memory[3], 5);
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphInstantiateWithFlags(&executable, graph, 0));
    must(cuGraphDestroy(graph));
}

static int run_program(void **state)
{
    open_program(state);
    must(cuModuleLoadData(&module, follow_text));
    must(cuModuleGetFunction(&follow, module, "follow"));
    must(cuStreamCreate(&stream, 0));
    must(cuMemAlloc_v2(&table, BYTES));
    for (int i = 0; i < BUFFERS; i++)
        must(cuMemAlloc_v2(&memory[i], BYTES));
    make_graph();
    for (int frame = 0; frame <= GRAPH; frame++) {
        assert_true(braid_record_frame_mark());
        run_frame(frame);
    }
    assert_true(braid_record_frame_mark());
    record = open_own_record();
    assert_int_equal(record->num_frames, GRAPH + 1);
    return 0;
}

static int end_program(void **state)
{
    close_own_record();
    must(cuGraphExecDestroy(executable));
    for (int i = 0; i < BUFFERS; i++)
        must(cuMemFree_v2(memory[i]));
    must(cuMemFree_v2(table));
    must(cuStreamDestroy_v2(stream));
    must(cuModuleUnload(module));
    return close_program(state);
}

// ---- its frames ----

static const char *report(const braid_import *import, braid_import_report form)
{
    static char written[16384];
    FILE *file = fmemopen(written, sizeof(written), "w");
    assert_non_null(file);
    check_ok(braid_import_write(import, form, file));
    assert_int_equal(fclose(file), 0);
    return written;
}

static braid_import *import_frame(uint32_t frame, bool follows, braid_import_info *out_info)
{
    const braid_import_options options = { .is_unwatched = true, .follows_pointers = follows };
    braid_import *import;
    check_ok(braid_import_create_recorded(record, frame, &options, &import));
    braid_import_get_info(import, out_info);
    return import;
}

static void expect(uint32_t frame, bool follows, uint32_t num_unproven, uint32_t longest,
                   const char *why)
{
    braid_import_info info;
    braid_import *import = import_frame(frame, follows, &info);
    assert_int_equal(info.num_kernels, 2);
    assert_int_equal(info.num_copies, 1);
    assert_int_equal(info.longest_captured, 3);
    if (info.num_unproven != num_unproven || info.longest_kept != longest)
        fail_msg("%s", report(import, BRAID_IMPORT_TEXT));
    if (why && !strstr(report(import, BRAID_IMPORT_TEXT), why))
        fail_msg("'%s' is not in: %s", why, report(import, BRAID_IMPORT_TEXT));
    braid_import_destroy(import);
}

// The copy, then `follow`; `add` beside both.
static void kernels_go_side_by_side(void **state)
{
    (void)state;
    expect(1, true, 0, 2, "words of memory that were read as pointers: 1\n");
    expect(1, false, 1, 3, "an address is loaded from memory");
}

static void changed_pointers_are_followed(void **state)
{
    (void)state;
    expect(2, true, 0, 3, NULL);
}

static void other_words_may_change(void **state)
{
    (void)state;
    expect(3, true, 0, 2, NULL);
}

static void written_pointers_prove_nothing(void **state)
{
    (void)state;
    expect(4, true, 1, 3, "it loads a pointer from memory that node 2 writes");
}

static void graphs_have_their_nodes(void **state)
{
    braid_import_info info;
    (void)state;
    braid_import *import = import_frame(GRAPH, true, &info);
    assert_int_equal(info.num_kernels, 3);
    assert_int_equal(info.longest_captured, 4);
    assert_int_equal(info.longest_kept, 3);
    braid_import_destroy(import);
}

// Two copies of all frames differ in the pointer.
static void a_pointer_that_frames_change_is_none(void **state)
{
    braid_import_info info;
    (void)state;
    braid_import *import = import_frame(BRAID_RECORD_NONE, true, &info);
    assert_int_equal(info.num_copies, GRAPH + 1);
    assert_non_null(strstr(report(import, BRAID_IMPORT_TEXT), "that copies of the frame change"));
    braid_import_destroy(import);
}

static void the_report_tells_of_the_host(void **state)
{
    braid_import_info info;
    (void)state;
    braid_import *import = import_frame(1, true, &info);
    assert_int_equal(info.num_repeats, 1);
    assert_int_equal(info.repeated_bytes, 16);
    assert_true(info.num_waits >= 1);
    assert_true(info.frame_ns >= info.wait_ns);
    assert_int_equal(info.num_constants, 1); // `follow`
    const char *text = report(import, BRAID_IMPORT_TEXT);
    assert_non_null(strstr(text, "recorded frame: "));
    assert_non_null(strstr(text, "copies that send the same bytes again: 1, with 16 bytes\n"));
    assert_non_null(strstr(report(import, BRAID_IMPORT_JSON), "\"repeated_copies\": 1,"));
    braid_import_destroy(import);
    import = import_frame(2, true, &info);
    assert_int_equal(info.num_repeats, 0);
    braid_import_destroy(import);
}

static void the_graph_can_be_planned(void **state)
{
    braid_import_info info;
    braid_schedule *schedule;
    braid_schedule_info planned;
    (void)state;
    braid_import *import = import_frame(1, true, &info);
    const braid_cost_model costs = { .default_cost_ns = 1000 };
    check_ok(braid_schedule_create(braid_import_get_graph(import),
                                   &(braid_schedule_options){ .costs = &costs }, &schedule));
    braid_schedule_get_info(schedule, &planned);
    assert_int_equal(planned.num_nodes, 3);
    assert_int_equal(planned.num_lanes, 2);
    braid_schedule_destroy(schedule);
    braid_import_destroy(import);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    braid_import *import;
    check_fails(braid_import_create_recorded(NULL, 0, NULL, &import), BRAID_INVALID_ARGUMENT,
                "record");
    check_fails(braid_import_create_recorded(record, 0, NULL, NULL), BRAID_INVALID_ARGUMENT,
                "out_import");
    check_fails(braid_import_create_recorded(record, GRAPH + 1, NULL, &import),
                BRAID_INVALID_ARGUMENT, "there is no frame 6: the record has 6");
    check_fails(
        braid_import_create_recorded(record, 0, &(braid_import_options){ .num_texts = 1 }, &import),
        BRAID_INVALID_ARGUMENT, "a list of the options is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_go_side_by_side),
        cmocka_unit_test(changed_pointers_are_followed),
        cmocka_unit_test(other_words_may_change),
        cmocka_unit_test(written_pointers_prove_nothing),
        cmocka_unit_test(graphs_have_their_nodes),
        cmocka_unit_test(a_pointer_that_frames_change_is_none),
        cmocka_unit_test(the_report_tells_of_the_host),
        cmocka_unit_test(the_graph_can_be_planned),
        cmocka_unit_test(mistakes_are_refused),
    };
    return cmocka_run_group_tests(tests, run_program, end_program);
}

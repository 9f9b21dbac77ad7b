// SPDX-License-Identifier: Apache-2.0
// In a driver graph kernels with text write their own times, calls of islands too, and kernels of
// Braid's own stand around the rest.
#include <stdio.h>
#include <string.h>

#include <braid/timings.h>

#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "gpu/cut_off.h"
#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"
#include "support/without_islands.h"

enum { kept = 3 };

struct timed {
    struct frame frame;
    braid_graph *graph;
    braid_node nodes[4];
    braid_exec *exec;
};

// A kernel, a copy behind it, a kernel behind that with much shared memory, and a kernel of its
// own.
static braid_status make_timed(struct timed *timed, const braid_kernel *kernel,
                               braid_exec_mode mode)
{
    *timed = (struct timed){ 0 };
    check_ok(frame_open(&timed->frame, "cuda"));
    check_ok(braid_graph_create(&timed->graph));
    uint32_t *words = timed->frame.words, c = 1;
    uint32_t *to = words, *a = words + 1, *b = words + 2;
    for (int i = 0; i < 3; i++)
        words[i] = 0;
    const braid_kernel_node first = { .kernel = kernel,
                                      .grid = { 3, 1, 1 },
                                      BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(a), BRAID_ARG(b),
                                                 BRAID_ARG(c)) };
    check_ok(braid_graph_add_kernel(timed->graph, &first, &timed->nodes[0]));
    const braid_copy copy = { .node = { .after = timed->nodes, .num_after = 1 },
                              .to = words + 3,
                              .from = words,
                              .bytes = 4 };
    check_ok(braid_graph_add_copy(timed->graph, &copy, &timed->nodes[1]));
    uint32_t *last = words + 4, *copied = words + 3;
    const braid_kernel_node second = { .node = { .after = timed->nodes + 1, .num_after = 1 },
                                       .kernel = kernel,
                                       .shared_bytes = 64 << 10,
                                       BRAID_ARGS(BRAID_ARG(last), BRAID_ARG(copied),
                                                  BRAID_ARG(copied), BRAID_ARG(c)) };
    check_ok(braid_graph_add_kernel(timed->graph, &second, &timed->nodes[2]));
    check_ok(braid_graph_add_empty(
        timed->graph, &(braid_empty){ .node = { .after = timed->nodes + 2, .num_after = 1 } },
        &timed->nodes[3]));
    const braid_exec_options options = { .mode = mode, .frames_kept = kept };
    return braid_exec_create(timed->frame.device, timed->graph, &options, &timed->exec);
}

static void open_timed(struct timed *timed, const braid_kernel *kernel, braid_exec_mode mode)
{
    check_ok(make_timed(timed, kernel, mode));
}

static void close_timed(struct timed *timed)
{
    braid_exec_destroy(timed->exec);
    braid_graph_destroy(timed->graph);
    frame_finish(&timed->frame);
    check_nothing_is_left();
}

static void run_frames(struct timed *timed, int num)
{
    for (int i = 0; i < num; i++)
        check_ok(braid_exec_launch(timed->exec, i % 2 ? timed->frame.stream : NULL));
    check_ok(braid_exec_wait(timed->exec));
}

static void check_timed_by(const struct timed *timed, int node, braid_timed_by expected)
{
    braid_timings timings;
    check_ok(braid_exec_get_timings(timed->exec, &timings));
    assert_int_equal(timings.nodes[timed->nodes[node].index].timed_by, expected);
}

static void check_order(const struct timed *timed)
{
    braid_timings timings;
    check_ok(braid_exec_get_timings(timed->exec, &timings));
    assert_int_equal(timings.frames_kept, kept);
    assert_int_equal(timings.num_nodes, 4);
    for (int frame = 0; frame < kept; frame++) {
        const braid_interval *at = timings.intervals + frame * 4;
        for (int i = 0; i < 3; i++)
            assert_true(at[i].start_ns > 0 && at[i].end_ns >= at[i].start_ns);
        for (int i = 0; i < 2; i++)
            assert_true(at[i + 1].start_ns >= at[i].end_ns);
        if (frame)
            assert_true(at[0].start_ns >= at[2 - 4].end_ns);
    }
}

static void kernels_with_text_are_timed_inside_and_copies_around(void **state)
{
    (void)state;
    struct timed timed;
    open_timed(&timed, &sum_kernel, BRAID_MODE_GRAPH);
    check_timed_by(&timed, 0, BRAID_TIMED_NOT); // no frame was run yet
    run_frames(&timed, kept + 2);
    check_timed_by(&timed, 0, BRAID_TIMED_INSIDE);
    check_timed_by(&timed, 1, BRAID_TIMED_AROUND);
    check_timed_by(&timed, 2, BRAID_TIMED_INSIDE);
    check_timed_by(&timed, 3, BRAID_TIMED_NOT);
    check_order(&timed);
    assert_int_equal(timed.frame.words[4], 3);
    uint32_t c = 10;
    check_ok(braid_exec_set_arg(timed.exec, timed.nodes[2], 3, BRAID_ARG(c)));
    check_ok(braid_exec_launch_many(timed.exec, NULL, 2, NULL, 0));
    check_order(&timed);
    assert_int_equal(timed.frame.words[4], 12);
    close_timed(&timed);
}

static void streams_are_timed_around(void **state)
{
    (void)state;
    struct timed timed;
    open_timed(&timed, &sum_kernel, BRAID_MODE_STREAMS);
    run_frames(&timed, kept);
    for (int i = 0; i < 3; i++)
        check_timed_by(&timed, i, BRAID_TIMED_AROUND);
    close_timed(&timed);
}

static struct {
    int num;
    char last[512];
} told;

static void take_log(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    snprintf(told.last, sizeof(told.last), "%s", message);
    told.num++;
}

// The log tells of a kernel once for all execs while it is loaded.
static void check_told_once_a_load(struct timed *timed)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .frames_kept = kept };
    assert_int_equal(told.num, 1);
    assert_non_null(strstr(told.last, "timed around: kernel 'sum' cannot write its times: threads "
                                      "of it end while others meet at a barrier"));
    braid_exec *other = own_exec(timed->frame.device, timed->graph, &options);
    assert_int_equal(told.num, 1);
    braid_exec_destroy(timed->exec);
    destroy_now(other);
    check_ok(braid_exec_create(timed->frame.device, timed->graph, &options, &timed->exec));
    assert_int_equal(told.num, 2);
}

// PTX in which threads may end before a barrier stays as it is.
static void kernels_that_cannot_are_timed_around(void **state)
{
    (void)state;
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry sum(.param .u64 to, .param .u64 a, .param .u64 b,\n"
                               "                    .param .u32 c)\n"
                               "{\n\t.reg .pred %p1;\n\t@%p1 ret;\n\tbar.sync 0;\n\tret;\n}\n";
    braid_kernel hasty = sum_kernel;
    hasty.cuda.data = text;
    struct timed timed;
    braid_log_set(take_log, NULL);
    open_timed(&timed, &hasty, BRAID_MODE_GRAPH);
    run_frames(&timed, kept);
    check_timed_by(&timed, 0, BRAID_TIMED_AROUND);
    check_order(&timed);
    assert_int_equal(timed.frame.words[4], 3);
    check_told_once_a_load(&timed);
    braid_log_set(NULL, NULL);
    close_timed(&timed);
}

// A call that goes wrong is no kernel that cannot write its times.
static void other_failures_are_failures(void **state)
{
    (void)state;
    struct timed timed;
    long before = standin_calls("cuModuleGetFunction");
    open_timed(&timed, &sum_kernel, BRAID_MODE_GRAPH);
    close_timed(&timed);
    // The last function that is found is the one that writes times.
    fail_calls("cuModuleGetFunction:%ld=999", standin_calls("cuModuleGetFunction") - before);
    check_fails(make_timed(&timed, &sum_kernel, BRAID_MODE_GRAPH), BRAID_DEVICE_ERROR,
                "finding 'sum'");
    reset_standin();
    close_timed(&timed);
}

static bool is_made_with_loads_refused(const char *rule)
{
    struct timed timed = { 0 };
    check_ok(frame_open(&timed.frame, "cuda"));
    check_ok(braid_graph_create(&timed.graph));
    const braid_fill fill = { .to = timed.frame.words, .value_bytes = 4, .num_values = 1 };
    check_ok(braid_graph_add_fill(timed.graph, &fill, &timed.nodes[0]));
    fail_calls(rule);
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .frames_kept = kept };
    braid_status status = braid_exec_create(timed.frame.device, timed.graph, &options, &timed.exec);
    if (status)
        check_fails(status, BRAID_UNSUPPORTED, "keep no times");
    close_timed(&timed);
    reset_standin();
    return !status;
}

static void a_driver_that_takes_no_text_keeps_no_times(void **state)
{
    (void)state;
    assert_false(is_made_with_loads_refused("cuModuleLoadData:1=222"));
    assert_false(is_made_with_loads_refused("cuModuleLoadData:2=222"));
    assert_true(is_made_with_loads_refused("cuModuleLoadData:3=222"));
}

// A whole graph as one island, and stretches of it: each call is timed inside, in the frames of one
// launch too.
static void calls_of_islands_are_timed_inside(void **state)
{
    (void)state;
    skip_without_islands();
    static const braid_islands ways[] = { BRAID_ISLANDS_WHOLE, BRAID_ISLANDS_ALWAYS };
    for (int way = 0; way < 2; way++) {
        reset_standin();
        struct timed timed = { 0 };
        struct island_graph made = { .seed = 5, .most_before = 2 };
        check_ok(frame_open(&timed.frame, "cuda"));
        island_graph_make(&made, timed.frame.device);
        const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                             .islands = ways[way],
                                             .max_lanes = 4,
                                             .fixed_lanes = true,
                                             .frames_kept = kept };
        check_ok(braid_exec_create(timed.frame.device, made.graph, &options, &timed.exec));
        braid_exec_info info;
        braid_exec_get_info(timed.exec, &info);
        assert_true(info.num_island_nodes > 0);
        check_ok(braid_exec_launch_many(timed.exec, NULL, kept + 1, NULL, 0));
        check_ok(braid_exec_wait(timed.exec));
        braid_timings timings;
        check_ok(braid_exec_get_timings(timed.exec, &timings));
        assert_int_equal(timings.frames_kept, kept);
        uint64_t before = 0;
        for (int frame = 0; frame < kept; frame++) {
            uint64_t last = 0;
            const braid_interval *at = timings.intervals + (size_t)frame * timings.num_nodes;
            for (int i = 0; i < ISLAND_NODES; i++) {
                assert_int_equal(timings.nodes[i].timed_by, BRAID_TIMED_INSIDE);
                assert_true(at[i].start_ns > before);
                assert_true(at[i].end_ns >= at[i].start_ns);
                last = at[i].end_ns > last ? at[i].end_ns : last;
            }
            before = last;
        }
        island_graph_check(&made, kept + 1);
        braid_exec_destroy(timed.exec);
        destroy_owned();
        frame_finish(&timed.frame);
        check_nothing_is_left();
    }
}

static void check_parts(const char *changed, const char *const *parts)
{
    const char *at = changed;
    for (; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at)
            fail_msg("'%s' is not where it should be in:\n%s", *parts, changed);
        at += strlen(*parts);
    }
}

static void check_text(const char *text, const char *const *parts)
{
    struct ptx_reason reason;
    char *changed = braid_gpu_ptx_with_stamps(text, &reason);
    assert_non_null(changed);
    check_parts(changed, parts);
    braid_free(changed);
}

static void check_refused(const char *text, const char *expected)
{
    struct ptx_reason reason;
    assert_null(braid_gpu_ptx_with_stamps(text, &reason));
    assert_string_equal(reason.text, expected);
}

#define HEAD ".version 7.0\n.target sm_80\n"
#define MORE ".param .u64 braid_stamps, .param .u32 braid_mask)"
#define BEGIN "%globaltimer", "red.global.max.u64 [%braid_t1], "
#define END "braid_end:", "%globaltimer", "red.global.max.u64 [%braid_t1+8], ", "ret;"

static void texts_keep_what_they_do(void **state)
{
    (void)state;
    check_text(HEAD ".entry a(.param .u64 x)\n.maxntid 32, 1, 1\n{\n\tmov.u32 %r1, 0;\n"
                    "\t@%p1 bra $L_2;\n\tadd.u32 %r1, %r1, 1;\n$L_2:\n\tret;\n}\n",
               (const char *const[]){ "a(.param .u64 x, " MORE "\n.maxntid", BEGIN,
                                      "mov.u32 %r1, 0;\n\t@%p1 bra $L_2;",
                                      "$L_2:\n\tbra braid_end;", END, "}", NULL });
    check_text(
        ".version 6.0\n.target sm_52\n.func f(.param .b32 p) { ret; }\n.entry a() { @%p exit;"
        " ret.uni; }\n.entry b { ret; }",
        (const char *const[]){ ".version 6.2\n", "{ ret; }", "a(" MORE, BEGIN,
                               "@%p bra braid_end; bra braid_end; ", END, "b(" MORE, BEGIN, END,
                               NULL });
}

// As a file that was cut off: the driver says what is wrong with it, and nothing is read beyond.
static void text_that_ends_early_stays_as_wrong_as_it_is(void **state)
{
    (void)state;
    static const char whole[] = HEAD ".entry a(.param .u64 x)\n.maxntid 32, 1, 1\n"
                                     "{ $L_1: bar.sync 0; @%p1 bra $L_1; @%p2 ret; }\n";
    check_cut_off(whole, braid_gpu_ptx_with_stamps);
}

// There are more places to look at than room at first.
static void long_texts_are_looked_at_as_well(void **state)
{
    (void)state;
    enum { num_lines = 200 };
    char text[num_lines * 32 + 100] = HEAD ".entry a() {\n@%p1 ret;\n";
    for (int i = 0; i < num_lines; i++)
        strcat(text, "add.u32 %r1, %r1, 1;\n");
    size_t length = strlen(text);
    strcpy(text + length, "ret;\n}\n");
    check_text(text, (const char *const[]){ BEGIN, END, NULL });
    strcpy(text + length, "bar.sync 0;\nret;\n}\n");
    check_refused(text, "threads of it end while others meet at a barrier");
}

#define BODY(body) HEAD ".entry a(.param .u64 x) {\n" body "}\n"

// Threads of a warp that have left may not wait for each other where others meet at a barrier.
static void texts_whose_threads_part_are_left_alone(void **state)
{
    (void)state;
    static const char parting[] = "threads of it end while others meet at a barrier";
    check_refused(BODY("\t@%p1 ret;\n\tbar.sync 0;\n\tret;\n"), parting);
    check_refused(BODY("\t@%p1 bra $L_9;\n\tbar.sync 0;\n$L_9:\n\tret;\n"), parting);
    check_refused(BODY("$L_1:\n\tbar.sync 0;\n\t@%p1 bra $L_9;\n\t@%p2 bra $L_1;\n$L_9:\n\tret;\n"),
                  parting);
    check_refused(BODY("\t@%p1 ret;\n\tshfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n\tret;\n"),
                  parting);
    check_refused(BODY("\t@%p1 ret;\n\tcall.uni f, (p);\n\tret;\n"), parting);
    check_refused(BODY("$L_1:\n\tbar.sync 0;\n\t@%p1 ret;\n\tbrx.idx %r1, list;\n\tret;\n"),
                  parting); // which may go back
    check_refused(BODY("\t@%p1 ret;\n\tmbarrier.try_wait.b64 %p2, [%r1], %r2;\n\tret;\n"), parting);
    check_refused(BODY("\tsetp.eq.u32 p, %tid.x, 0;\n\t@p ret;\n\tbar.sync 0;\n\tret;\n"),
                  parting); // registers may have any names
    check_refused(BODY("\tmov.u32 t, %tid.x;\n\tsetp.eq.u32 %p1, t, 0;\n\t@%p1 ret;\n"
                       "\tbar.sync 0;\n\tret;\n"),
                  parting);
    check_refused(BODY("\t{\n\tret;\n\t}\n"), "it ends inside a block of its own");
    check_refused(HEAD ".func f() { exit; }\n.entry a() { ret; }", "a function of it ends threads");
    check_refused(HEAD ".extern .func cudaLaunchDeviceV2();\n.entry a() { ret; }",
                  "it launches kernels itself");
    static const char *const changed[] = { BEGIN, END, NULL };
    check_text(BODY("\tbar.sync 0;\n\t@%p1 bra $L_9;\n\tst.u32 [%r1], %r2;\n$L_9:\n\tret;\n"),
               changed);
    check_text(BODY("$L_1:\n\tbar.sync 0;\n\t@%p2 bra $L_1;\n\tret;\n"), changed);
    check_text(BODY("\tld.param.u32 n, [x];\n\tsetp.eq.u32 p, n, 0;\n\t@p ret;\n"
                    "\tbar.sync 0;\n\tret;\n"),
               changed);
    check_text(BODY("\t@%p1 bra $L_5;\n\tbar.sync 0;\n$L_5:\n\tadd.u32 %r1, %r1, 1;\n\tret;\n"),
               changed); // they meet in the program's own code already
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(kernels_with_text_are_timed_inside_and_copies_around),
        standin_test(streams_are_timed_around),
        standin_test(kernels_that_cannot_are_timed_around),
        standin_test(other_failures_are_failures),
        standin_test(a_driver_that_takes_no_text_keeps_no_times),
        standin_test(calls_of_islands_are_timed_inside),
        standin_test(texts_keep_what_they_do),
        standin_test(text_that_ends_early_stays_as_wrong_as_it_is),
        standin_test(long_texts_are_looked_at_as_well),
        standin_test(texts_whose_threads_part_are_left_alone),
    };
    return cmocka_run_group_tests_name("kernels_write_their_times", tests, NULL, NULL);
}

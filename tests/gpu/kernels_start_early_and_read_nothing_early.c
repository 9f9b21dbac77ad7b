// SPDX-License-Identifier: Apache-2.0
// Kernels that Braid has as text are launched while the one before them runs, and wait first.
#include <string.h>

#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_notes.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/host_memory.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { CHAIN = 12, FRAMES = 30, LONG_NS = 5000 };

// What an author wrote who lets the next kernel begin and forgot to wait.
#define HASTY "griddepcontrol.launch_dependents;\n"
#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 a, .param .u32 b)\n{\n" body "ret;\n}\n"
#define PTX(target, body) ".version 7.4\n.target " target "\n.address_size 64\n" body

static const char plain_image[] = PTX("sm_80", ENTRY("follow", ""));
static const char old_image[] = PTX("sm_60", ENTRY("follow", ""));
static const char hasty_image[] = PTX("sm_90", ENTRY("follow", HASTY));
static const char strange_image[] = PTX("sm_90", ENTRY("follow", "\tponder.u32 %r1;\n"));
// It writes its times by no code of its own: threads that end would not meet the others.
static const char parting_image[] =
    PTX("sm_80",
        ENTRY("follow", ".reg .pred %p;\nsetp.eq.u32 %p, %tid.x, 0;\n@%p ret;\nbar.sync 0;\n"));
static const char source[] = "extern \"C\" __global__ void follow(unsigned *at, unsigned i) {}";

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_follow;

// Right only behind kernel i - 1 of the same frame.
void braid_standin_follow(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    unsigned *at = *(unsigned **)args[0], i = *(unsigned *)args[1];
    *at = *at % CHAIN == i ? *at + 1 : 1000000;
}

static const braid_kernel kernels[] = {
    { .name = "follow", .cuda = { .data = plain_image } },
    { .name = "follow", .source = source },
    { .name = "follow", .cuda = { .data = old_image } },
    { .name = "follow", .cuda = { .data = hasty_image } },
    { .name = "follow", .cuda = { .data = hasty_image }, .programmatic = true },
    { .name = "follow", .cuda = { .data = old_image }, .programmatic = true },
    { .name = "follow", .cuda = { .data = strange_image } },
    { .name = "follow", .cuda = { .data = parting_image } },
};
enum { TEXT, SOURCE, OLD_TEXT, OWN_TEXT, HASTY_TEXT, CARELESS_TEXT, STRANGE_TEXT, PARTING_TEXT };

static unsigned iterations = 1; // a loop's around the chain; 1: there is none

struct chain {
    braid_device *device;
    braid_stream *stream;
    unsigned *word;
    braid_exec *exec;
};

static void add_chain(const struct chain *chain, braid_graph *graph, const braid_kernel *kernel,
                      uint64_t cost_ns)
{
    braid_node node = { 0 };
    for (unsigned i = 0; i < CHAIN; i++) {
        const braid_kernel_node launch = {
            .node = { .after = &node, .num_after = i > 0, .cost_ns = cost_ns },
            .kernel = kernel,
            BRAID_ARGS(BRAID_ARG(chain->word), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
    }
}

static struct chain open_chain(int which, uint64_t cost_ns, const braid_exec_options *options)
{
    struct chain chain;
    braid_exec_options without_islands = *options; // inside one nothing is launched
    without_islands.islands = BRAID_ISLANDS_NEVER;
    reset_standin();
    chain.device = own_device("cuda");
    chain.stream = own_stream(chain.device);
    chain.word = own_memory(chain.device, BRAID_MEMORY_DEVICE, sizeof(unsigned));
    *chain.word = 0; // the stand-in's device memory is the host's
    braid_graph *graph = own_graph();
    if (iterations > 1)
        check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = iterations }, NULL));
    add_chain(&chain, graph, &kernels[which], cost_ns);
    if (iterations > 1)
        check_ok(braid_graph_end(graph));
    chain.exec = own_exec(chain.device, graph, &without_islands);
    return chain;
}

static unsigned count_early(const struct chain *chain)
{
    braid_exec_info info;
    braid_exec_get_info(chain->exec, &info);
    return info.num_early_starts;
}

// Runs frames, and returns whether each kernel found the one before it done.
static bool run_in_order(const struct chain *chain)
{
    for (unsigned frame = 0; frame < FRAMES; frame++)
        check_ok(braid_exec_launch(chain->exec, chain->stream));
    check_ok(braid_exec_wait(chain->exec));
    return *chain->word == CHAIN * FRAMES * iterations;
}

static void check_chain(int which, uint64_t cost_ns, braid_exec_options options, unsigned num_early)
{
    struct chain chain = open_chain(which, cost_ns, &options);
    assert_int_equal(count_early(&chain), num_early);
    assert_true(run_in_order(&chain));
    finish_standin();
}

static void text_and_source_start_early(void **state)
{
    (void)state;
    for (int which = TEXT; which <= SOURCE; which++) {
        for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++)
            check_chain(which, LONG_NS, (braid_exec_options){ .mode = (braid_exec_mode)mode },
                        CHAIN - 1);
    }
}

static void bodies_of_loops_start_early(void **state)
{
    (void)state;
    iterations = 3;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++)
        check_chain(TEXT, LONG_NS, (braid_exec_options){ .mode = (braid_exec_mode)mode },
                    CHAIN - 1);
    iterations = 1;
}

// A chain of three kernels as a driver graph, of which the second cannot write its times.
static long count_early_edges(uint32_t profile)
{
    static const char function[] = "cuGraphAddDependencies_v2";
    reset_standin();
    const long before = standin_calls(function);
    braid_device *device = own_device("cuda");
    unsigned *word = own_memory(device, BRAID_MEMORY_DEVICE, sizeof(unsigned));
    *word = 0;
    braid_graph *graph = own_graph();
    braid_node node = { 0 };
    for (unsigned i = 0; i < 3; i++) {
        const braid_kernel_node launch = {
            .node = { .after = &node, .num_after = i > 0, .cost_ns = LONG_NS },
            .kernel = &kernels[i == 1 ? PARTING_TEXT : TEXT],
            BRAID_ARGS(BRAID_ARG(word), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
    }
    braid_exec *exec = own_exec(device, graph,
                                &(braid_exec_options){ .mode = BRAID_MODE_GRAPH,
                                                       .islands = BRAID_ISLANDS_NEVER,
                                                       .frames_kept = profile });
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(*word, 3);
    const long num = standin_calls(function) - before;
    finish_standin();
    return num;
}

static void no_kernel_starts_early_beside_a_stamp(void **state)
{
    (void)state;
    assert_int_equal(count_early_edges(0), 2);
    assert_int_equal(count_early_edges(2), 0);
}

static int num_waiting; // texts that were loaded with a wait

static void watch_module(const char *text)
{
    num_waiting += strstr(text, "griddepcontrol.wait") != NULL;
}

static int count_waiting(braid_exec_options options, unsigned num_early)
{
    num_waiting = 0;
    options.mode = BRAID_MODE_GRAPH;
    standin_watch_modules(watch_module);
    check_chain(TEXT, LONG_NS, options, num_early);
    standin_watch_modules(NULL);
    return num_waiting;
}

static void an_option_turns_it_off(void **state)
{
    (void)state;
    const long before = standin_calls("cuGraphAddDependencies_v2"); // for early starts only
    for (iterations = 1; iterations <= 3; iterations += 2)
        check_chain(TEXT, LONG_NS, (braid_exec_options){ .no_early_start = true }, 0);
    iterations = 1;
    assert_int_equal(standin_calls("cuGraphAddDependencies_v2"), before);
}

// A text that need not wait is loaded as the program gave it.
static void options_leave_kernels_as_they_are(void **state)
{
    (void)state;
    assert_int_equal(count_waiting((braid_exec_options){ .no_prefetch = true }, CHAIN - 1), 1);
    assert_int_equal(count_waiting((braid_exec_options){ .no_early_start = true }, 0), 1);
    assert_int_equal(
        count_waiting((braid_exec_options){ .no_early_start = true, .no_prefetch = true }, 0), 0);
    assert_int_equal(count_waiting((braid_exec_options){ .no_rewriting = true }, 0), 0);
    assert_int_equal(
        count_waiting((braid_exec_options){ .no_rewriting = true, .frames_kept = 2 }, 0), 0);
    check_chain(HASTY_TEXT, LONG_NS, (braid_exec_options){ .no_rewriting = true }, 0);
}

// Execs of one device share no code that only one of them may have.
static void other_execs_change_their_kernels(void **state)
{
    (void)state;
    struct chain chain = open_chain(TEXT, LONG_NS, &(braid_exec_options){ .no_rewriting = true });
    assert_int_equal(count_early(&chain), 0);
    assert_true(run_in_order(&chain));
    braid_graph *graph = own_graph();
    add_chain(&chain, graph, &kernels[TEXT], LONG_NS);
    *chain.word = 0;
    chain.exec =
        own_exec(chain.device, graph, &(braid_exec_options){ .islands = BRAID_ISLANDS_NEVER });
    assert_int_equal(count_early(&chain), CHAIN - 1);
    assert_true(run_in_order(&chain));
    finish_standin();
}

static void other_text_stays_as_it_is(void **state)
{
    (void)state;
    check_chain(OLD_TEXT, LONG_NS, (braid_exec_options){ .mode = BRAID_MODE_GRAPH }, 0);
    check_chain(OWN_TEXT, LONG_NS, (braid_exec_options){ .mode = BRAID_MODE_GRAPH }, 0);
}

// What this file's other cases would see if Braid's kernels did not wait.
static void a_kernel_that_does_not_wait_is_seen(void **state)
{
    (void)state;
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    struct chain chain = open_chain(HASTY_TEXT, LONG_NS, &options);
    assert_int_equal(count_early(&chain), CHAIN - 1);
    assert_false(run_in_order(&chain));
    finish_standin();
}

// The second of two kernels forgot to wait. It overtakes the first one if the driver launches it as
// the first one begins, and not if the driver launches it as the first one ends.
static bool is_overtaken(uint32_t blocks)
{
    struct chain chain = { 0 };
    bool overtaken = false;
    reset_standin();
    chain.device = own_device("cuda");
    chain.word = own_memory(chain.device, BRAID_MEMORY_DEVICE, sizeof(unsigned));
    braid_graph *graph = own_graph();
    braid_node node = { 0 };
    for (unsigned i = 0; i < 2; i++) {
        const braid_kernel_node launch = {
            .node = { .after = &node, .num_after = i },
            .kernel = &kernels[i ? CARELESS_TEXT : TEXT],
            .grid = { blocks, 1, 1 },
            .block = { 256, 1, 1 },
            BRAID_ARGS(BRAID_ARG(chain.word), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
    }
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER };
    chain.exec = own_exec(chain.device, graph, &options);
    assert_int_equal(count_early(&chain), 1);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        *chain.word = 0;
        check_ok(braid_exec_launch(chain.exec, NULL));
        check_ok(braid_exec_wait(chain.exec));
        overtaken |= *chain.word != 2;
    }
    finish_standin();
    return overtaken;
}

// Such a kernel reads its grid before its author's wait.
static void a_programmatic_kernel_that_reads_its_grid_starts_in_order(void **state)
{
    (void)state;
    struct chain chain = { 0 };
    braid_node node;
    braid_resource grid;
    const unsigned number = 0;
    chain.device = own_device("cuda");
    void *memory = own_memory(chain.device, BRAID_MEMORY_DEVICE, 64);
    chain.word = memory;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "grid", memory, 64, &grid));
    const braid_kernel_node first = { .kernel = &kernels[TEXT],
                                      BRAID_ARGS(BRAID_ARG(chain.word), BRAID_ARG(number)),
                                      BRAID_ACCESSES({ grid, BRAID_WRITE }) };
    const braid_kernel_node second = { .kernel = &kernels[HASTY_TEXT],
                                       .grid_from = (const uint32_t *)memory + 1,
                                       BRAID_ARGS(BRAID_ARG(chain.word), BRAID_ARG(number)),
                                       BRAID_ACCESSES({ grid, BRAID_READ_WRITE }) };
    check_ok(braid_graph_add_kernel(graph, &first, &node));
    check_ok(braid_graph_add_kernel(graph, &second, &node));
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        const braid_exec_options options = { .mode = (braid_exec_mode)mode };
        chain.exec = own_exec(chain.device, graph, &options);
        assert_int_equal(count_early(&chain), 0);
        destroy_now(chain.exec);
    }
    finish_standin();
}

static void note(braid_status status, const char *message, void *user)
{
    assert_int_equal(status, BRAID_UNSUPPORTED);
    snprintf(user, 200, "%s", message);
}

static void a_text_with_an_unknown_instruction_is_loaded_as_it_is(void **state)
{
    (void)state;
    char told[200] = "";
    braid_log_set(note, told);
    check_chain(STRANGE_TEXT, LONG_NS, (braid_exec_options){ .mode = BRAID_MODE_GRAPH }, 0);
    braid_log_set(NULL, NULL);
    assert_string_equal(told, "kernel 'follow' is loaded as it is: it has the instruction "
                              "'ponder.u32', which Braid does not know");
}

static void a_large_kernel_starts_as_blocks_end(void **state)
{
    (void)state;
    assert_true(is_overtaken(1));
    assert_false(is_overtaken(1000));
}

// A driver whose assembler is too old for the changed text is given the original.
static void a_driver_may_refuse_the_changed_text(void **state)
{
    (void)state;
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH };
    for (int which = TEXT; which <= SOURCE; which++) {
        struct chain chain = { 0 };
        chain.device = own_device("cuda");
        chain.stream = own_stream(chain.device);
        chain.word = own_memory(chain.device, BRAID_MEMORY_DEVICE, sizeof(unsigned));
        *chain.word = 0;
        braid_graph *graph = own_graph();
        add_chain(&chain, graph, &kernels[which], LONG_NS);
        fail_calls("cuModuleLoadData:1=222");
        chain.exec = own_exec(chain.device, graph, &options);
        assert_int_equal(count_early(&chain), 0);
        assert_true(run_in_order(&chain));
        finish_standin();
        reset_standin();
    }
}

static void check_text(const char *text, const char *expected)
{
    struct ptx_reason reason;
    char *changed = braid_gpu_ptx_with_early_start(text, &reason);
    assert_non_null(changed);
    assert_string_equal(reason.text, "");
    assert_string_equal(changed, expected);
    braid_free(changed);
}

static void check_refused(const char *text, const char *expected)
{
    struct ptx_reason reason;
    assert_null(braid_gpu_ptx_with_early_start(text, &reason));
    assert_string_equal(reason.text, expected);
}

// The place behind all parts, which follow each other in the text.
static const char *find_parts(const char *at, const char *const *parts)
{
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        if (!found)
            fail_msg("'%s' is not where it should be in:\n%s", *parts, at);
        at = found + strlen(*parts);
    }
    return at;
}

static void check_decision(char *changed, const char *const *decides, const char *begins)
{
    struct ptx_reason reason;
    assert_non_null(changed);
    char *early = braid_gpu_ptx_with_early_start(changed, &reason);
    assert_non_null(early);
    const char *const then[] = { "griddepcontrol.wait;", begins, NULL };
    const char *at = early;
    for (int entry = 0; entry < 2; entry++) {
        at = find_parts(at, (const char *const[]){ entry ? "b(" : "a(", NULL });
        at = find_parts(at, decides);
        at = find_parts(at, then);
    }
    find_parts(at, (const char *const[]){ "mov.u32 %r1, %smid;", NULL });
    size_t num = 0;
    for (at = early; (at = strstr(at, "griddepcontrol.wait;")); at++)
        num++;
    assert_int_equal(num, 2);
    braid_free(early);
    braid_free(changed);
}

// All that decides which threads write is done by then.
static void kernels_that_write_wait_between_deciding_and_writing(void **state)
{
    (void)state;
    static const char text[] = ".version 7.0\n.target sm_80\n.entry a(.param .u64 x) { ret; }\n"
                               ".entry b() { mov.u32 %r1, %smid; ret; }";
    static const char *const timed[] = { "setp.ne.u32 %braid_p", "%smid", "mad.wide", NULL };
    static const char *const noting[] = { "setp.ne.u32 %braid_p", "mov.b64 %braid_t1",
                                          "@!%braid_p pmevent 15;", NULL };
    struct ptx_reason reason;
    check_decision(braid_gpu_ptx_with_stamps(text, &reason), timed, "%globaltimer");
    check_decision(braid_gpu_ptx_with_notes(text, &reason), noting, "st.volatile.global.u64");
}

#define FIRST "\n\tgriddepcontrol.wait;\n"

static void every_entry_of_the_text_is_changed_and_nothing_else(void **state)
{
    (void)state;
    check_text("// .entry x { }\n.version 8.0\n.target sm_90a\n"
               ".func f(.param .b32 p) { ret; }\n/* { */ .entry a /* ( */ (.param .u64 x)\n"
               ".maxntid 32, 1, 1\n{ // {\n\t{ ret; }\n}\n.entry b{ret;}",
               "// .entry x { }\n.version 8.0\n.target sm_90a\n"
               ".func f(.param .b32 p) { ret; }\n/* { */ .entry a /* ( */ (.param .u64 x)\n"
               ".maxntid 32, 1, 1\n{" FIRST " // {\n\t{ ret; }\n}\n.entry b{" FIRST "ret;}");
    check_text(".version 6.4\n.target sm_75, debug\n.entry a(){ret;}",
               ".version 7.8\n.target sm_90, debug\n.entry a(){" FIRST "ret;}");
    check_text(".version 7.8 .target sm_120 .entry a;", ".version 7.8 .target sm_120 .entry a;");
}

static void text_that_must_stay_is_told(void **state)
{
    (void)state;
    check_refused(PTX("sm_52", ENTRY("a", "")), "it is for a device before sm_70");
    check_refused(hasty_image, "it uses griddepcontrol itself");
    check_refused(PTX("sm_90", ENTRY("a", "barrier.cluster.arrive;")), "it uses clusters");
    check_refused(PTX("sm_90", ".entry a() .reqnctapercluster 2 { ret; }"), "it uses clusters");
    check_refused(PTX("texmode_unified", ENTRY("a", "")), "its target is not of the form sm_N");
    assert_true(braid_ptx_is_text("  // PTX\n.version 7.0"));
    assert_false(braid_ptx_is_text("\177ELF"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(text_and_source_start_early),
        standin_test(bodies_of_loops_start_early),
        standin_test(no_kernel_starts_early_beside_a_stamp),
        standin_test(an_option_turns_it_off),
        standin_test(options_leave_kernels_as_they_are),
        standin_test(other_execs_change_their_kernels),
        standin_test(other_text_stays_as_it_is),
        standin_test(a_kernel_that_does_not_wait_is_seen),
        standin_test(a_programmatic_kernel_that_reads_its_grid_starts_in_order),
        standin_test(a_text_with_an_unknown_instruction_is_loaded_as_it_is),
        standin_test(a_large_kernel_starts_as_blocks_end),
        standin_test(a_driver_may_refuse_the_changed_text),
        standin_test(kernels_that_write_wait_between_deciding_and_writing),
        standin_test(every_entry_of_the_text_is_changed_and_nothing_else),
        standin_test(text_that_must_stay_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

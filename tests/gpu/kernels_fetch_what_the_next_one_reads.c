// SPDX-License-Identifier: Apache-2.0
// In a driver graph a kernel fetches inputs of the next kernel, if nobody writes them. The kernels
// run as PTX on the stand-in.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum {
    CHAIN = 4,
    BLOCKS = 2,
    FRAMES = 5,
    KIB = 1024,
    BLOCK_BYTES = 24 * KIB,
    BYTES = BLOCKS * BLOCK_BYTES
};

// out[0] = in[0] + weights[0], by one thread.
#define BODY                                                                                       \
    ".reg .b64 %r<3>;\n.reg .b32 %v<3>;\n"                                                         \
    "ld.param.u64 %r0, [weights];\nld.param.u64 %r1, [in];\nld.param.u64 %r2, [out];\n"            \
    "ld.global.u32 %v0, [%r0];\nld.global.u32 %v1, [%r1];\nadd.u32 %v2, %v0, %v1;\n"               \
    "st.global.u32 [%r2], %v2;\n"
#define PTX(body)                                                                                  \
    ".version 7.4\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry add(.param .u64 weights, .param .u64 in, .param .u64 out)\n{\n" body          \
    "ret;\n}\n"

static const char plain_image[] = PTX(BODY);
static const char leaving_image[] =
    PTX(".reg .pred %p;\n.reg .b32 %t;\nmov.u32 %t, %tid.x;\nsetp.ne.u32 %p, %t, 0;\n@%p ret;\n"
        "bar.sync 0;\n" BODY);
static const char waiting_image[] = PTX("griddepcontrol.wait;\n" BODY);
static const braid_kernel plain = { .name = "add", .cuda = { .data = plain_image } };
static const braid_kernel leaving = { .name = "add", .cuda = { .data = leaving_image } };
static const braid_kernel waiting = { .name = "add", .cuda = { .data = waiting_image } };

struct fixture {
    braid_device *device;
    braid_graph *graph;
    char *weights, *other; // all nodes' weights, and as many other bytes
    uint32_t *words;
    uint64_t bytes; // the weights of a node have so many
    braid_resource all, parts[CHAIN], vectors[CHAIN + 1];
    braid_node nodes[CHAIN];
    braid_exec *exec;
    long seen; // how much of it was fetched
};

static void *allocate(const struct fixture *fixture, uint64_t bytes)
{
    void *memory = own_memory(fixture->device, BRAID_MEMORY_DEVICE, bytes);
    memset(memory, 0, bytes); // the stand-in's device memory is the host's
    return memory;
}

static void open_fixture(struct fixture *fixture, const braid_kernel *kernel, uint64_t bytes,
                         uint32_t blocks)
{
    *fixture = (struct fixture){ .bytes = bytes };
    reset_standin();
    assert_true(standin_configure("BRAID_STANDIN_PTX", "1"));
    fixture->device = own_device("cuda");
    fixture->graph = own_graph();
    fixture->weights = allocate(fixture, CHAIN * bytes);
    fixture->other = allocate(fixture, CHAIN * bytes);
    fixture->words = allocate(fixture, (CHAIN + 1) * sizeof(uint32_t));
    check_ok(braid_graph_add_buffer(fixture->graph, "weights", fixture->weights, CHAIN * bytes,
                                    &fixture->all));
    for (uint32_t i = 0; i <= CHAIN; i++)
        check_ok(braid_graph_add_buffer(fixture->graph, "vector", fixture->words + i, 4,
                                        &fixture->vectors[i]));
    for (uint32_t i = 0; i < CHAIN; i++) {
        char *weights = fixture->weights + i * bytes;
        uint32_t *in = fixture->words + i, *out = in + 1;
        check_ok(braid_graph_add_range(fixture->graph, fixture->all, i * bytes, bytes,
                                       &fixture->parts[i]));
        const braid_kernel_node launch = {
            .kernel = kernel,
            .grid = { blocks, 1, 1 },
            .block = { 32, 1, 1 },
            BRAID_ARGS(BRAID_ARG(weights), BRAID_ARG(in), BRAID_ARG(out)),
            BRAID_ACCESSES({ fixture->parts[i], BRAID_READ }, { fixture->vectors[i], BRAID_READ },
                           { fixture->vectors[i + 1], BRAID_WRITE }),
        };
        check_ok(braid_graph_add_kernel(fixture->graph, &launch, &fixture->nodes[i]));
    }
}

// Returns how many kernels fetch.
static uint32_t make(struct fixture *fixture, braid_exec_options options)
{
    braid_exec_info info;
    options.islands = BRAID_ISLANDS_NEVER;
    fixture->exec = own_exec(fixture->device, fixture->graph, &options);
    braid_exec_get_info(fixture->exec, &info);
    fixture->seen = standin_fetched();
    return info.num_prefetches;
}

static long run(struct fixture *fixture)
{
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(fixture->exec, NULL));
    check_ok(braid_exec_wait(fixture->exec));
    long before = fixture->seen;
    fixture->seen = standin_fetched();
    assert_int_equal((fixture->seen - before) % FRAMES, 0);
    return (fixture->seen - before) / FRAMES;
}

static void check_fetched(const braid_kernel *kernel, uint64_t bytes, uint32_t blocks,
                          braid_exec_options options, long expected)
{
    struct fixture fixture;
    open_fixture(&fixture, kernel, bytes, blocks);
    uint32_t num = make(&fixture, options);
    assert_int_equal(num, expected ? CHAIN - 1 : 0);
    for (uint32_t i = 0; i < CHAIN; i++)
        *(uint32_t *)(void *)(fixture.weights + i * bytes) = i + 1;
    assert_int_equal(run(&fixture), num * expected);
    assert_int_equal(fixture.words[CHAIN], CHAIN * (CHAIN + 1) / 2);
    finish_standin();
}

static void check_explained(const struct fixture *fixture, uint32_t node, const char *expected)
{
    char text[256];
    check_ok(braid_schedule_explain(braid_exec_get_schedule(fixture->exec), &fixture->nodes[node],
                                    1, text, sizeof(text)));
    const char *found = strstr(text, "; fetches");
    assert_string_equal(found ? found : "", expected);
}

static void explain_says_what_is_fetched(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, &plain, BYTES, BLOCKS);
    make(&fixture, (braid_exec_options){ .mode = BRAID_MODE_GRAPH });
    check_explained(&fixture, 1, "; fetches 49152 bytes of weights[98304, 147456) for 'add'");
    check_explained(&fixture, CHAIN - 1, "");
    check_ok(
        braid_graph_add_fill(fixture.graph,
                             &(braid_fill){ .to_resource = fixture.parts[2],
                                            .value_bytes = 4,
                                            .num_values = 4,
                                            .node.name = "change",
                                            BRAID_ACCESSES({ fixture.parts[2], BRAID_WRITE }) },
                             NULL));
    destroy_now(fixture.exec);
    make(&fixture, (braid_exec_options){ .mode = BRAID_MODE_GRAPH });
    check_explained(&fixture, 0, "; fetches 49152 bytes of weights[49152, 98304) for 'add'");
    check_explained(&fixture, 1,
                    "; fetches nothing of weights[98304, 147456) for 'add': "
                    "'change' writes there");
    finish_standin();
}

// A kernel that notes its begin is changed already.
static void explain_tells_of_kernels_that_keep_their_code(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, &plain, BYTES, BLOCKS);
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .black_box = true };
    assert_int_equal(make(&fixture, options), 0);
    check_explained(&fixture, 0,
                    "; fetches nothing of weights[49152, 98304) for 'add': 'add' keeps its code");
    assert_int_equal(run(&fixture), 0);
    finish_standin();
}

// Braid changes no kernel that waits itself.
static void explain_tells_of_kernels_that_do_not_start_early(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, &waiting, BYTES, BLOCKS);
    assert_int_equal(make(&fixture, (braid_exec_options){ .mode = BRAID_MODE_GRAPH }), 0);
    check_explained(&fixture, 0,
                    "; fetches nothing of weights[49152, 98304) for 'add': "
                    "'add' cannot start early");
    check_explained(&fixture, CHAIN - 1, "");
    finish_standin();
}

static void kernels_of_a_graph_fetch(void **state)
{
    (void)state;
    const braid_exec_options graph = { .mode = BRAID_MODE_GRAPH },
                             three = { .frames_in_flight = 3 };
    const braid_exec_options timed = { .mode = BRAID_MODE_GRAPH, .frames_kept = 2 };
    check_fetched(&plain, BYTES, BLOCKS, graph, BYTES);
    check_fetched(&plain, BYTES, BLOCKS, timed, BYTES);
    check_fetched(&plain, BYTES, BLOCKS, three, BYTES);
    check_fetched(&plain, BYTES, BLOCKS, (braid_exec_options){ .no_early_start = true }, BYTES);
    check_fetched(&plain, 8192 * KIB, 16, graph, 8192 * KIB);
    check_fetched(&plain, 8192 * KIB + 128, 16, graph, 2048 * KIB); // a part of a larger one
}

static void some_kernels_do_not(void **state)
{
    (void)state;
    const braid_exec_options graph = { .mode = BRAID_MODE_GRAPH };
    check_fetched(&plain, BYTES, BLOCKS, (braid_exec_options){ .mode = BRAID_MODE_STREAMS }, 0);
    check_fetched(&plain, BYTES, BLOCKS, (braid_exec_options){ .no_prefetch = true }, 0);
    check_fetched(&plain, BYTES, BLOCKS, (braid_exec_options){ .no_rewriting = true }, 0);
    check_fetched(&plain, BYTES, BLOCKS + 1, graph, 0); // a block reads less
    check_fetched(&leaving, BYTES, BLOCKS, graph, 0);
}

// Wherever the input begins and ends, less than a line of it for each block is left.
static void inputs_are_fetched_whole(void **state)
{
    (void)state;
    enum { LINE = 128 };
    for (uint64_t more = 0; more < LINE; more += 48) {
        struct fixture fixture;
        open_fixture(&fixture, &plain, BYTES + more, BLOCKS);
        assert_int_equal(make(&fixture, (braid_exec_options){ .mode = BRAID_MODE_GRAPH }), 3);
        long fetched = run(&fixture);
        assert_true(fetched <= (long)(3 * (BYTES + more)));
        assert_true(fetched > (long)(3 * (BYTES + more - (BLOCKS + 2) * LINE)));
        finish_standin();
    }
}

// A node that writes the last bytes of one part, in another branch of the graph.
static void what_a_node_writes_is_not_fetched(void **state)
{
    (void)state;
    struct fixture fixture;
    braid_resource last;
    open_fixture(&fixture, &plain, BYTES, BLOCKS);
    check_ok(braid_graph_add_range(fixture.graph, fixture.all, 3 * BYTES - 16, 16, &last));
    const braid_fill fill = { .to_resource = last,
                              .value_bytes = 4,
                              .num_values = 4,
                              BRAID_ACCESSES({ last, BRAID_WRITE }) };
    check_ok(braid_graph_add_fill(fixture.graph, &fill, NULL));
    assert_int_equal(make(&fixture, (braid_exec_options){ .frames_in_flight = 2 }), CHAIN - 2);
    assert_int_equal(run(&fixture), (CHAIN - 2) * BYTES);
    finish_standin();
}

static void do_nothing(void *user)
{
    (void)user;
}

static void a_node_without_accesses_may_write_anything(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, &plain, BYTES, BLOCKS);
    check_ok(
        braid_graph_add_host_call(fixture.graph, &(braid_host_call){ .call = do_nothing }, NULL));
    assert_int_equal(make(&fixture, (braid_exec_options){ 0 }), 0);
    assert_int_equal(run(&fixture), 0);
    finish_standin();
}

// Braid declares its scratch, which tells nothing about its other accesses.
static void neither_does_its_scratch_tell(void **state)
{
    (void)state;
    struct fixture fixture;
    braid_resource scratch;
    open_fixture(&fixture, &plain, BYTES, BLOCKS);
    check_ok(braid_graph_add_scratch(fixture.graph, "scratch", 64, 0, &scratch));
    const braid_kernel_node launch = {
        .kernel = &plain,
        BRAID_ARGS(braid_resource_address(&scratch), braid_resource_address(&scratch),
                   braid_resource_address(&scratch)),
    };
    check_ok(braid_graph_add_kernel(fixture.graph, &launch, NULL));
    assert_int_equal(make(&fixture, (braid_exec_options){ 0 }), 0);
    finish_standin();
}

static void set(struct fixture *fixture, int node, char *weights)
{
    check_ok(braid_exec_set_arg(fixture->exec, fixture->nodes[node], 0, BRAID_ARG(weights)));
}

// Another address, of which Braid does not know how much is there, and the old one again.
static void an_argument_that_is_set_is_not_fetched(void **state)
{
    (void)state;
    const braid_exec_options options[] = { { 0 }, { .frames_in_flight = 3 }, { .frames_kept = 2 } };
    for (int i = 0; i < 3; i++) {
        struct fixture fixture;
        open_fixture(&fixture, &plain, BYTES, BLOCKS);
        make(&fixture, options[i]);
        char *old = fixture.weights + 2 * BYTES;
        assert_int_equal(run(&fixture), 3 * BYTES);
        set(&fixture, 2, fixture.other);
        assert_int_equal(run(&fixture), 2 * BYTES);
        set(&fixture, 2, old);
        assert_int_equal(run(&fixture), 3 * BYTES);
        set(&fixture, 0, fixture.other); // nobody's next
        assert_int_equal(run(&fixture), 3 * BYTES);
        finish_standin();
    }
}

// The program may free the inputs of a disabled node.
static void inputs_of_a_disabled_node_are_not_fetched(void **state)
{
    (void)state;
    for (uint32_t frames = 1; frames <= 3; frames += 2) {
        struct fixture fixture;
        open_fixture(&fixture, &plain, BYTES, BLOCKS);
        make(&fixture,
             (braid_exec_options){ .mode = BRAID_MODE_GRAPH, .frames_in_flight = frames });
        const braid_node last = fixture.nodes[CHAIN - 1];
        const uint32_t one = 1, none = 0;
        assert_int_equal(run(&fixture), 3 * BYTES);
        check_ok(braid_exec_set(fixture.exec, last, BRAID_TARGET_ENABLED, 0, &none));
        assert_int_equal(run(&fixture), 2 * BYTES);
        check_ok(braid_exec_set(fixture.exec, last, BRAID_TARGET_ENABLED, 0, &one));
        assert_int_equal(run(&fixture), 3 * BYTES);
        check_ok(braid_exec_set(fixture.exec, last, BRAID_TARGET_GRID_X, 0, &none));
        assert_int_equal(run(&fixture), 2 * BYTES);
        finish_standin();
    }
}

// A node rests while only disabled nodes need its results.
static void inputs_of_a_node_that_rests_are_not_fetched(void **state)
{
    (void)state;
    struct fixture fixture;
    braid_parameter enabled;
    const uint32_t none = 0;
    open_fixture(&fixture, &plain, BYTES, BLOCKS);
    check_ok(braid_graph_set_output(fixture.graph, fixture.vectors[CHAIN - 2]));
    check_ok(braid_graph_set_output(fixture.graph, fixture.vectors[CHAIN]));
    check_ok(braid_graph_add_parameter(fixture.graph, "enabled", sizeof(none), &enabled));
    check_ok(braid_graph_use_parameter(fixture.graph, enabled,
                                       &(braid_parameter_use){ .node = fixture.nodes[CHAIN - 1],
                                                               .target = BRAID_TARGET_ENABLED }));
    make(&fixture, (braid_exec_options){ .mode = BRAID_MODE_GRAPH });
    assert_int_equal(run(&fixture), 3 * BYTES);
    check_ok(braid_exec_set_parameter(fixture.exec, enabled, &none));
    assert_int_equal(run(&fixture), BYTES);
    finish_standin();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(explain_says_what_is_fetched),
        standin_test(explain_tells_of_kernels_that_keep_their_code),
        standin_test(explain_tells_of_kernels_that_do_not_start_early),
        standin_test(kernels_of_a_graph_fetch),
        standin_test(some_kernels_do_not),
        standin_test(inputs_are_fetched_whole),
        standin_test(what_a_node_writes_is_not_fetched),
        standin_test(a_node_without_accesses_may_write_anything),
        standin_test(neither_does_its_scratch_tell),
        standin_test(an_argument_that_is_set_is_not_fetched),
        standin_test(inputs_of_a_disabled_node_are_not_fetched),
        standin_test(inputs_of_a_node_that_rests_are_not_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

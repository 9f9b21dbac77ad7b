// SPDX-License-Identifier: Apache-2.0
// Random plans, launched into a capture of the program's, write the bytes of plain launches: each
// replay with the values of the captured launch, each launch between with its own.
// BRAID_TEST_SEED=N runs one graph, BRAID_TEST_CAPTURES=N the first N.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "contract/contract.h"
#include "contract/counting.h"
#include "contract/groups.h"
#include "contract/random_graph.h"

enum { NUM_FRAMES = 5, NUM_GRAPHS = 60, RELAXED = 2, NUM_CAPTURE_MODES = 3, NON_BLOCKING = 1 };

// ---- the driver ----

static struct {
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*create)(void **stream, unsigned flags);
    int (*destroy)(void *stream);
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*instantiate)(void **executable, void *graph, unsigned long long flags);
    int (*launch)(void *executable, void *stream);
    int (*destroy_executable)(void *executable);
    int (*destroy_graph)(void *graph);
} driver;

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof(symbol));
}

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    find(library, "cuDevicePrimaryCtxRetain", &driver.retain);
    find(library, "cuDevicePrimaryCtxRelease_v2", &driver.release);
    find(library, "cuCtxSetCurrent", &driver.set_current);
    find(library, "cuStreamCreate", &driver.create);
    find(library, "cuStreamDestroy_v2", &driver.destroy);
    find(library, "cuStreamBeginCapture_v2", &driver.begin);
    find(library, "cuStreamEndCapture", &driver.end);
    find(library, "cuGraphInstantiateWithFlags", &driver.instantiate);
    find(library, "cuGraphLaunch", &driver.launch);
    find(library, "cuGraphExecDestroy", &driver.destroy_executable);
    find(library, "cuGraphDestroy", &driver.destroy_graph);
    dlclose(library);
}

static void must(int result)
{
    assert_int_equal(result, 0);
}

// ---- one graph ----

struct result {
    uint64_t cells[random_num_cells];
    uint64_t outputs[random_max_nodes];
};

struct field {
    struct contract *contract;
    struct random_memory memory;
    struct result *results; // in host memory
    uint32_t *staged_words;
    void *handle; // a stream of the program's
    braid_stream *stream;
    struct random_limits limits;
};

static void make_field(struct field *field, struct contract *contract)
{
    const size_t words = sizeof(uint32_t) * random_max_nodes * random_max_words;
    void *context = NULL;
    bool takes_queue_calls =
        contract->mode == BRAID_MODE_GRAPH && contract_islands() != BRAID_ISLANDS_WHOLE;
    *field = (struct field){
        .contract = contract,
        .memory = { .cells = contract_memory(contract, BRAID_MEMORY_DEVICE, sizeof(struct result)),
                    .outputs =
                        contract_memory(contract, BRAID_MEMORY_DEVICE, sizeof(struct result)),
                    .words = contract_memory(contract, BRAID_MEMORY_DEVICE, words),
                    .frame = contract_memory(contract, BRAID_MEMORY_DEVICE, sizeof(uint32_t)) },
        .results = contract_memory(contract, BRAID_MEMORY_HOST, NUM_FRAMES * sizeof(struct result)),
        .staged_words = contract_memory(contract, BRAID_MEMORY_HOST, words),
        .limits = { .queue_calls = takes_queue_calls, .moves = true },
    };
    find_driver();
    must(driver.retain(&context, 0));
    must(driver.set_current(context));
    must(driver.create(&field->handle, NON_BLOCKING));
    check_ok(braid_stream_wrap(contract->device, field->handle, &field->stream));
}

static void finish_field(const struct field *field)
{
    braid_stream_destroy(field->stream);
    must(driver.destroy(field->handle));
    must(driver.set_current(NULL));
    must(driver.release(0));
}

static braid_exec *make_random(struct field *field, struct random_graph *model,
                               struct random *random)
{
    braid_graph *graph = NULL;
    braid_exec *exec = NULL;
    check_ok(braid_graph_create(&graph));
    random_graph_make(model, random, field->limits);
    random_graph_build(model, random, &field->memory, graph);
    braid_exec_options options = { .mode = field->contract->mode,
                                   .max_lanes = UINT32_C(1) << random_below(random, 4),
                                   .fixed_lanes = true,
                                   .islands = contract_islands(),
                                   .frames_kept = contract_profile(),
                                   .black_box = !contract_profile() && random_chance(random, 30),
                                   .frames_in_flight = contract_frames() };
    braid_status status = contract_create_exec(field->contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED) { // a graph without work is no island
        options.islands = BRAID_ISLANDS_AUTO;
        status = contract_create_exec(field->contract, graph, &options, &exec);
    }
    check_ok(status);
    braid_graph_destroy(graph);
    return exec;
}

// The node of which a later launch has another value; NULL: it is of another kind.
static struct random_node *choose_changed(struct random_graph *model, struct random *random)
{
    struct random_node *node = &model->nodes[random_below(random, model->num_nodes)];
    return node->kind == RANDOM_MIX ? node : NULL;
}

static void set_salt(braid_exec *exec, const struct random_node *node, uint64_t salt)
{
    if (node)
        check_ok(braid_exec_set_arg(exec, node->handle, 6, BRAID_ARG(salt)));
}

// The second and the fourth frame are plain launches.
static bool is_replay(uint32_t frame)
{
    return frame % 2 == 0;
}

static void begin_memory(const struct field *field, const struct random_graph *model)
{
    random_graph_words(model, field->staged_words);
    check_ok(braid_stream_copy(field->stream, field->memory.words, field->staged_words,
                               sizeof(uint32_t) * random_max_words * model->num_nodes));
    check_ok(braid_stream_fill(field->stream, field->memory.cells, 0, 1, sizeof(struct result)));
    check_ok(braid_stream_fill(field->stream, field->memory.outputs, 0, 1, sizeof(struct result)));
}

static void run_random_frames(const struct field *field, braid_exec *exec, void *executable)
{
    for (uint32_t frame = 0; frame < NUM_FRAMES; frame++) {
        struct result *result = &field->results[frame];
        check_ok(braid_stream_fill(field->stream, field->memory.frame, frame, 4, 1));
        if (is_replay(frame))
            must(driver.launch(executable, field->handle));
        else
            check_ok(braid_exec_launch(exec, field->stream));
        check_ok(braid_stream_copy(field->stream, result->cells, field->memory.cells,
                                   sizeof(result->cells)));
        check_ok(braid_stream_copy(field->stream, result->outputs, field->memory.outputs,
                                   sizeof(result->outputs)));
    }
    check_ok(braid_stream_wait(field->stream));
}

static void compare(const struct field *field, struct random_graph *model,
                    struct random_node *changed, const uint64_t salts[2], uint64_t seed)
{
    struct result expected = { { 0 }, { 0 } };
    uint32_t frame = 0;
    const struct random_memory memory = { .cells = expected.cells,
                                          .outputs = expected.outputs,
                                          .frame = &frame };
    for (; frame < NUM_FRAMES; frame++) {
        if (changed)
            changed->salt = salts[!is_replay(frame)];
        random_graph_run(model, &memory);
        if (memcmp(&expected, &field->results[frame], sizeof(expected)) != 0)
            fail_msg("frame %u is wrong: run it alone with BRAID_TEST_SEED=%llu", frame,
                     (unsigned long long)seed);
    }
}

// Launches the exec into a capture, which goes on whatever becomes of that.
static braid_status capture(const struct field *field, braid_exec *exec, int mode,
                            void **out_executable)
{
    void *graph = NULL;
    must(driver.begin(field->handle, mode));
    braid_status status = braid_exec_launch(exec, field->stream);
    must(driver.end(field->handle, &graph));
    must(driver.instantiate(out_executable, graph, 0));
    must(driver.destroy_graph(graph));
    return status;
}

static void run_graph(struct field *field, uint64_t seed)
{
    static struct random_graph model;
    struct random random = { seed };
    braid_exec *exec = make_random(field, &model, &random);
    struct random_node *changed = choose_changed(&model, &random);
    const uint64_t salts[] = { random_next(&random), random_next(&random) };
    void *executable = NULL;
    set_salt(exec, changed, salts[0]);
    check_ok(capture(field, exec, (int)(seed % NUM_CAPTURE_MODES), &executable));
    set_salt(exec, changed, salts[1]);
    begin_memory(field, &model);
    run_random_frames(field, exec, executable);
    must(driver.destroy_executable(executable));
    braid_exec_destroy(exec);
    compare(field, &model, changed, salts, seed);
}

static void skip_without_captures(const struct contract *contract)
{
    if (strcmp(contract->backend, "cuda") != 0)
        skip_because("graphs that a program captures are CUDA's");
}

static void random_plans_are_captured(void **state)
{
    const char *seed = getenv("BRAID_TEST_SEED"), *fewer = getenv("BRAID_TEST_CAPTURES");
    const struct contract_part part = contract_part();
    struct contract *contract = *state;
    struct field field;
    skip_without_captures(contract);
    make_field(&field, contract);
    uint64_t num = fewer ? strtoull(fewer, NULL, 10) : NUM_GRAPHS;
    if (seed)
        run_graph(&field, strtoull(seed, NULL, 10));
    for (uint64_t i = part.first; i < num && !seed; i += part.step)
        run_graph(&field, i);
    finish_field(&field);
}

// ---- values ----

// Counted by each node, in memory of the device, and by a host call.
struct counts {
    uint32_t *blocks, *grid, *switched, *kept, *filled;
    uint32_t *called;
    braid_node count, step, fill, keep;
    braid_parameter fills; // whether it does; a driver's graph cannot change that
    braid_resource scratch;
};

enum { NUM_KEPT = 8 };

static void count_call(void *user)
{
    ++*(uint32_t *)user;
}

static braid_exec *make_counting(struct contract *contract, struct counts *counts)
{
    braid_graph *graph = contract_graph(contract);
    const uint32_t value = 1, num = NUM_KEPT;
    const uint64_t no_delay = 0;
    *counts = (struct counts){ .blocks = contract_numbers(contract, 4),
                               .grid = contract_numbers(contract, 3),
                               .switched = contract_numbers(contract, 1),
                               .kept = contract_numbers(contract, NUM_KEPT),
                               .filled = contract_numbers(contract, 1),
                               .called = contract_host_numbers(contract, 1) };
    *counts->called = 0;
    check_ok(braid_graph_add_scratch(graph, "scratch", 4 * NUM_KEPT, 0, &counts->scratch));
    counts->count = add_count_blocks(graph, (braid_node_options){ 0 }, counts->blocks, counts->grid,
                                     (braid_dim3){ 4, 1, 1 });
    counts->step = add_axpy(graph, (braid_node_options){ AFTER(counts->count) }, counts->switched,
                            counts->switched, 1, 1, 1);
    counts->fill =
        add_fill(graph, (braid_node_options){ AFTER(counts->step) }, counts->filled, 3, 1);
    if (contract->mode == BRAID_MODE_STREAMS) {
        const braid_parameter_use use = { .node = counts->fill, .target = BRAID_TARGET_ENABLED };
        check_ok(braid_graph_add_parameter(graph, "fills", sizeof(bool), &counts->fills));
        check_ok(braid_graph_use_parameter(graph, counts->fills, &use));
    }
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { AFTER(counts->fill) },
                              .kernel = &test_keep,
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&counts->scratch),
                                         BRAID_ARG(counts->kept), BRAID_ARG(value), BRAID_ARG(num),
                                         BRAID_ARG(no_delay)) },
        &counts->keep));
    if (contract_islands() != BRAID_ISLANDS_WHOLE) { // it has no calls inside
        braid_node node = add_host(graph, (braid_node_options){ AFTER(counts->keep) }, count_call,
                                   counts->called);
        add_blocking(graph, (braid_node_options){ AFTER(node) }, count_call, counts->called);
    }
    return contract_exec_with(contract, graph,
                              (braid_exec_options){ .frames_in_flight = contract_frames() });
}

static void set(const struct contract *contract, braid_exec *exec, const struct counts *counts,
                bool steps, uint32_t grid, uint32_t filled, uint32_t kept)
{
    if (contract->mode == BRAID_MODE_STREAMS)
        check_ok(braid_exec_set_parameter(exec, counts->fills, &(bool){ true }));
    check_ok(braid_exec_set(exec, counts->step, BRAID_TARGET_ENABLED, 0, &steps));
    check_ok(braid_exec_set(exec, counts->count, BRAID_TARGET_GRID_X, 0, &grid));
    check_ok(braid_exec_set(exec, counts->fill, BRAID_TARGET_VALUE, 0, &filled));
    check_ok(braid_exec_set_arg(exec, counts->keep, 2, BRAID_ARG(kept)));
}

static void check_counts(const struct field *field, const struct counts *counts,
                         const uint32_t blocks[4], uint32_t steps, uint32_t filled, uint32_t kept)
{
    struct contract *contract = field->contract;
    uint32_t now[4], word;
    check_ok(braid_stream_wait(field->stream));
    contract_read(contract, now, counts->blocks, sizeof(now));
    assert_memory_equal(now, blocks, sizeof(now));
    contract_read(contract, &word, counts->switched, sizeof(word));
    assert_int_equal(word, steps);
    contract_read(contract, &word, counts->filled, sizeof(word));
    assert_int_equal(word, filled);
    contract_read(contract, &word, counts->kept + 1, sizeof(word));
    assert_int_equal(word, kept + 1);
}

// Nodes that are disabled as the exec is launched are in no replay; setters, and scratch that
// grows, reach none either.
static void replays_keep_the_values_of_their_launch(void **state)
{
    struct contract *contract = *state;
    struct field field;
    struct counts counts;
    void *executable = NULL;
    skip_without_captures(contract);
    make_field(&field, contract);
    braid_exec *exec = make_counting(contract, &counts);
    set(contract, exec, &counts, false, 2, 30, 70);
    check_ok(capture(&field, exec, RELAXED, &executable));
    set(contract, exec, &counts, true, 3, 40, 80);
    must(driver.launch(executable, field.handle));
    check_counts(&field, &counts, (uint32_t[]){ 1, 1, 0, 0 }, 0, 30, 70);
    check_ok(braid_exec_set_scratch(exec, counts.scratch, 1 << 20));
    check_ok(braid_exec_launch(exec, field.stream));
    check_counts(&field, &counts, (uint32_t[]){ 2, 2, 1, 0 }, 1, 40, 80);
    must(driver.launch(executable, field.handle));
    check_counts(&field, &counts, (uint32_t[]){ 3, 3, 1, 0 }, 1, 30, 70);
    check_ok(braid_exec_launch(exec, field.stream));
    check_counts(&field, &counts, (uint32_t[]){ 4, 4, 2, 0 }, 2, 40, 80);
    assert_int_equal(*counts.called, contract_islands() == BRAID_ISLANDS_WHOLE ? 0 : 8);
    assert_int_equal(braid_exec_get_num_launched(exec), 2);
    must(driver.destroy_executable(executable));
    finish_field(&field);
}

// A loop is captured where it is an island, and is refused by name otherwise.
static void loops_are_captured_as_islands(void **state)
{
    struct contract *contract = *state;
    struct field field;
    void *executable = NULL;
    skip_without_captures(contract);
    make_field(&field, contract);
    struct counting counting = begin_counting(contract, 3);
    begin_loop(counting.graph,
               (braid_loop){ .node.name = "loop", .condition = counting.left, .most = 9 });
    add_body(&counting);
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    braid_exec_info info;
    uint32_t numbers[2];
    braid_exec_get_info(exec, &info);
    braid_status status = capture(&field, exec, RELAXED, &executable);
    if (info.num_islands) {
        check_ok(status);
        for (int i = 0; i < 2; i++) {
            must(driver.launch(executable, field.handle));
            check_ok(braid_stream_wait(field.stream));
            contract_read(contract, numbers, counting.numbers, sizeof(numbers));
            assert_int_equal(numbers[0], 0);
            assert_int_equal(numbers[1], 3);
        }
    } else {
        check_fails(status, BRAID_UNSUPPORTED, "is a loop, which a graph inside another graph");
    }
    check_ok(braid_exec_launch(exec, field.stream));
    check_ok(braid_stream_wait(field.stream));
    must(driver.destroy_executable(executable));
    finish_field(&field);
}

// The standard kernels write no trap. One that copies numbers can: code, nothing, and a payload.
static void traps_of_replays_are_told_by_waits(void **state)
{
    struct contract *contract = *state;
    struct field field;
    void *executable = NULL;
    const uint32_t factor = 1, addend = 0, num = sizeof(braid_trap) / sizeof(uint32_t);
    skip_without_captures(contract);
    make_field(&field, contract);
    uint32_t *from = contract_host_numbers(contract, num);
    braid_graph *graph = contract_graph(contract);
    memset(from, 0, sizeof(braid_trap));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_axpy,
                              .node.name = "trapping",
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(BRAID_TRAP(), BRAID_ARG(from), BRAID_ARG(factor),
                                         BRAID_ARG(addend), BRAID_ARG(num)) },
        NULL));
    braid_exec *exec = contract_exec_with(contract, graph, (braid_exec_options){ 0 });
    check_ok(capture(&field, exec, RELAXED, &executable));
    from[0] = 7;
    must(driver.launch(executable, field.handle));
    check_ok(braid_stream_wait(field.stream));
    check_fails(braid_exec_wait(exec), BRAID_TRAPPED, "'trapping'");
    check_ok(braid_exec_wait(exec));
    must(driver.destroy_executable(executable));
    finish_field(&field);
}

int run_captured_plans(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(random_plans_are_captured),
        contract_test(replays_keep_the_values_of_their_launch),
        contract_test(loops_are_captured_as_islands),
        contract_test(traps_of_replays_are_told_by_waits),
    };
    return contract_run("plans are captured", tests);
}

// SPDX-License-Identifier: Apache-2.0
// Thousands of random graphs, planned in every way, computed on the device and by the host one node
// after the other: the results must be equal to the last bit. BRAID_TEST_SEED=N runs one graph,
// BRAID_TEST_GRAPHS=N the first N.
//
// Where each graph is to be one island, it has what can be inside, and lanes by powers of two: an
// island is compiled, once for each number of them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "contract/random_graph.h"
#include "support/wide_plan.h"

enum { num_graphs = 1500, num_frames = 3 };

// What a frame leaves behind.
struct result {
    uint64_t cells[random_num_cells];
    uint64_t outputs[random_max_nodes];
};

struct field {
    struct random_memory memory; // where the graphs compute
    struct result *results;      // num_frames, in host memory
    uint32_t *staged_words;      // in host memory
    struct random_limits limits;
    uint32_t num_refused;  // graphs that the mode under test cannot run, and streams ran instead
    uint32_t num_fetching; // kernels that fetch inputs of the next one
};

static struct field make_field(struct contract *contract, braid_memory_kind kind)
{
    size_t word_bytes = sizeof(uint32_t) * random_max_nodes * random_max_words;
    return (struct field){
        .memory = { .cells = contract_memory(contract, kind, sizeof(uint64_t) * random_num_cells),
                    .outputs = contract_memory(contract, kind, sizeof(uint64_t) * random_max_nodes),
                    .words = contract_memory(contract, kind, word_bytes),
                    .frame = contract_memory(contract, kind, sizeof(uint32_t)) },
        .results = contract_memory(contract, BRAID_MEMORY_HOST, num_frames * sizeof(struct result)),
        .staged_words = contract_memory(contract, BRAID_MEMORY_HOST, word_bytes),
    };
}

static bool are_islands(void)
{
    return contract_islands() == BRAID_ISLANDS_WHOLE;
}

static uint32_t choose_lanes(struct random *random, uint32_t least, uint32_t most)
{
    uint32_t num = least + random_below(random, most - least + 1), rounded = 1;
    while (rounded < num)
        rounded *= 2;
    return are_islands() ? rounded : num;
}

static braid_schedule_options choose_plan(struct random *random)
{
    switch (random_below(random, 5)) {
    case 0:
        return (braid_schedule_options){ .costs = &free_costs };
    case 1:
        return wide_plan();
    default:
        return (braid_schedule_options){ .costs = &free_costs,
                                         .max_lanes = choose_lanes(random, 1, 8),
                                         .fixed_lanes = true };
    }
}

// Queues everything of one graph on one stream: its words and zeroes, then for each frame the
// frame's number, the launch, and copies of what it left.
static void queue_graph(struct field *field, struct random_graph *model, braid_exec *exec,
                        braid_stream *stream, uint64_t salts[num_frames])
{
    const struct random_memory *memory = &field->memory;
    const uint32_t cell_bytes = sizeof(uint64_t) * random_num_cells;
    const uint32_t output_bytes = sizeof(uint64_t) * random_max_nodes;
    random_graph_words(model, field->staged_words);
    check_ok(braid_stream_copy(stream, memory->words, field->staged_words,
                               sizeof(uint32_t) * random_max_words * model->num_nodes));
    check_ok(braid_stream_fill(stream, memory->cells, 0, 1, cell_bytes));
    check_ok(braid_stream_fill(stream, memory->outputs, 0, 1, output_bytes));
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        struct random_node *node = &model->nodes[salts[frame] % model->num_nodes];
        if (node->kind == RANDOM_MIX)
            check_ok(braid_exec_set_arg(exec, node->handle, 6, BRAID_ARG(salts[frame])));
        check_ok(braid_stream_fill(stream, memory->frame, frame + 1, 4, 1));
        check_ok(braid_exec_launch(exec, stream));
        struct result *result = &field->results[frame];
        check_ok(braid_stream_copy(stream, result->cells, memory->cells, cell_bytes));
        check_ok(braid_stream_copy(stream, result->outputs, memory->outputs, output_bytes));
    }
}

// The first difference from the host's run, as a line; true when there is none.
static bool results_are_right(const struct field *field, struct random_graph *model,
                              const uint64_t salts[num_frames])
{
    struct result expected = { { 0 }, { 0 } };
    uint32_t frame = 0;
    struct random_memory memory = { .cells = expected.cells,
                                    .outputs = expected.outputs,
                                    .frame = &frame };
    for (frame = 1; frame <= num_frames; frame++) {
        struct random_node *node = &model->nodes[salts[frame - 1] % model->num_nodes];
        if (node->kind == RANDOM_MIX)
            node->salt = salts[frame - 1];
        random_graph_run(model, &memory);
        const struct result *result = &field->results[frame - 1];
        for (uint32_t i = 0; i < random_max_nodes; i++)
            if (result->outputs[i] != expected.outputs[i]) {
                print_error("frame %u: node at place %u of %u, kind %d, is wrong\n", frame, i,
                            model->num_nodes, (int)model->nodes[i].kind);
                return false;
            }
        if (memcmp(result->cells, expected.cells, sizeof(expected.cells)) != 0) {
            print_error("frame %u: a cell is wrong\n", frame);
            return false;
        }
    }
    return true;
}

static void run_graph(struct contract *contract, struct field *field, braid_stream *stream,
                      uint64_t seed)
{
    static struct random_graph model;
    struct random random = { seed };
    random_graph_make(&model, &random, field->limits);
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    random_graph_build(&model, &random, &field->memory, graph);
    const braid_schedule_options plan = choose_plan(&random);
    braid_exec_options options = { .mode = contract->mode,
                                   .max_lanes = plan.max_lanes,
                                   .fixed_lanes = plan.fixed_lanes,
                                   .islands = contract_islands(),
                                   .frames_kept = contract_profile(),
                                   .frames_in_flight = contract_frames() };
    braid_exec *exec;
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED && contract->mode == BRAID_MODE_GRAPH) {
        // A few graphs have no node with work.
        if (!strstr(braid_error_get_message(), "there is nothing to put into an island") &&
            field->num_refused++ == 0)
            print_message("on streams instead: %s\n", braid_error_get_message());
        options.mode = BRAID_MODE_STREAMS;
        options.islands = BRAID_ISLANDS_AUTO;
        status = contract_create_exec(contract, graph, &options, &exec);
    }
    check_ok(status);
    braid_graph_destroy(graph);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    field->num_fetching += info.num_prefetches;
    uint64_t salts[num_frames];
    for (uint32_t frame = 0; frame < num_frames; frame++)
        salts[frame] = random_next(&random);
    queue_graph(field, &model, exec, stream, salts);
    check_ok(braid_stream_wait(stream));
    braid_exec_destroy(exec);
    if (!results_are_right(field, &model, salts))
        fail_msg("run it alone with BRAID_TEST_SEED=%llu", (unsigned long long)seed);
}

static void copy_nothing(void *user)
{
    (void)user;
}

static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_OK;
}

// Whether the mode under test takes a graph with such a node.
static bool is_taken(struct contract *contract, bool queue_call)
{
    braid_graph *graph = contract_graph(contract);
    if (queue_call)
        add_queue_call(graph, (braid_node_options){ 0 }, queue_nothing, NULL);
    else
        add_host(graph, (braid_node_options){ 0 }, copy_nothing, NULL);
    const braid_exec_options options = { .mode = contract->mode };
    braid_exec *exec = NULL;
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    braid_exec_destroy(exec);
    if (status == BRAID_UNSUPPORTED)
        print_message("graphs without such nodes: %s\n", braid_error_get_message());
    return status == BRAID_OK;
}

static void run_graphs(struct contract *contract, braid_memory_kind kind, uint64_t first_seed)
{
    struct field field = make_field(contract, kind);
    bool islands = are_islands(), on_host = kind == BRAID_MEMORY_HOST;
    field.limits.host_calls = on_host && !islands && is_taken(contract, false);
    field.limits.queue_calls = !islands && is_taken(contract, true);
    field.limits.moves = !on_host || !islands; // inside islands within the device only
    braid_stream *stream = contract_stream(contract);
    braid_stream *own = braid_device_get_default_stream(contract->device);
    const char *seed = getenv("BRAID_TEST_SEED");
    if (seed) {
        run_graph(contract, &field, stream, strtoull(seed, NULL, 10));
        return;
    }
    const char *fewer = getenv("BRAID_TEST_GRAPHS");
    uint64_t num = fewer ? strtoull(fewer, NULL, 10) : num_graphs;
    const struct contract_part part = contract_part();
    for (uint64_t i = part.first; i < num; i += part.step)
        run_graph(contract, &field, i % 3 ? stream : own, first_seed + i);
    if (field.num_refused)
        print_message("%u of %u graphs ran on streams\n", field.num_refused, (unsigned)num);
    if (field.num_fetching)
        print_message("summary: %u kernels fetch for the next one\n", field.num_fetching);
    if (islands)
        assert_int_equal(field.num_refused, 0);
}

static void random_graphs_in_device_memory_keep_every_order(void **state)
{
    run_graphs(*state, BRAID_MEMORY_DEVICE, 1);
}

static void random_graphs_in_host_memory_keep_every_order(void **state)
{
    run_graphs(*state, BRAID_MEMORY_HOST, 1000001);
}

int run_random_graphs(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(random_graphs_in_device_memory_keep_every_order),
        contract_test(random_graphs_in_host_memory_keep_every_order),
    };
    return contract_run("random graphs keep every order", tests);
}

// SPDX-License-Identifier: Apache-2.0
// A grid that is read from memory: nodes of the same frame write it, and the kernel that reads it
// runs those blocks and sees that grid.
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_frames = 11, most_blocks = 12, num_cells = 64 };

// A parameter goes into three words by a kernel for each, and the grid of a node is read from them.
struct reader {
    uint32_t *words, *counts, *seen;
    braid_graph *graph;
    braid_node count;
    braid_parameter size;
};

static const braid_dim3 largest = { 3, 2, 2 };

static const braid_dim3 sizes[num_frames] = {
    { 1, 1, 1 }, { 3, 2, 2 }, { 0, 1, 1 }, { 2, 1, 2 }, { 9, 9, 9 }, { 1, 2, 1 },
    { 3, 1, 0 }, { 3, 1, 2 }, { 1, 1, 2 }, { 3, 0, 2 }, { 2, 0, 0 },
};

static struct reader make_reader(struct contract *contract)
{
    struct reader reader = { .words = contract_numbers(contract, 3),
                             .counts = contract_numbers(contract, most_blocks),
                             .seen = contract_numbers(contract, 3),
                             .graph = contract_graph(contract) };
    braid_resource words = add_resource(reader.graph, "words");
    braid_resource counts = add_resource(reader.graph, "counts");
    check_ok(braid_graph_add_parameter(reader.graph, "size", sizeof(braid_dim3), &reader.size));
    for (uint32_t i = 0; i < 3; i++) {
        braid_node node =
            add_axpy(reader.graph, (braid_node_options){ USES({ words, BRAID_ACCUMULATE }) },
                     reader.words + i, reader.words + i, 0, 1, 1);
        check_ok(braid_graph_use_parameter(
            reader.graph, reader.size,
            &(braid_parameter_use){ .node = node, .argument = 3, .offset = 4 * i, .bytes = 4 }));
    }
    check_ok(braid_graph_add_kernel(
        reader.graph,
        &(braid_kernel_node){ .node = { USES({ words, BRAID_READ }, { counts, BRAID_READ_WRITE }) },
                              .kernel = &test_count_read_blocks,
                              .grid = largest,
                              .block = { 32, 1, 1 },
                              .grid_from = reader.words,
                              BRAID_ARGS(BRAID_ARG(reader.counts), BRAID_ARG(reader.seen)) },
        &reader.count));
    return reader;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// A y and z that are both 0 mean 1.
static braid_dim3 grid_of(uint32_t frame, braid_dim3 most)
{
    braid_dim3 size = sizes[frame];
    if (!size.y && !size.z)
        size.y = size.z = 1;
    return (braid_dim3){ least(size.x, most.x), least(size.y, most.y), least(size.z, most.z) };
}

static void count(uint32_t *counts, braid_dim3 grid)
{
    for (uint32_t block = 0; block < grid.x * grid.y * grid.z; block++)
        counts[block]++;
}

static void check_counts(struct contract *contract, const struct reader *reader,
                         const uint32_t *expected, braid_dim3 grid)
{
    uint32_t counts[most_blocks], seen[3];
    contract_read(contract, counts, reader->counts, sizeof(counts));
    contract_read(contract, seen, reader->seen, sizeof(seen));
    assert_memory_equal(counts, expected, sizeof(counts));
    assert_memory_equal(seen, &grid, sizeof(seen));
}

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph, uint32_t frames)
{
    const braid_exec_options options = { .mode = contract->mode,
                                         .frames_in_flight = frames,
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true };
    braid_exec *exec = NULL;
    braid_status status = braid_exec_create(contract->device, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED)
        skip_because(braid_error_get_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

// Frames are queued behind a gate, before any of them can tell its grid.
static void check_frames(struct contract *contract, uint32_t frames)
{
    struct reader reader = make_reader(contract);
    braid_exec *exec = make_exec(contract, reader.graph, frames);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    uint32_t expected[most_blocks] = { 0 };
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        count(expected, grid_of(frame, largest));
        check_ok(braid_exec_set_parameter(exec, reader.size, &sizes[frame]));
        check_ok(braid_exec_launch(exec, stream));
    }
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    check_counts(contract, &reader, expected, grid_of(num_frames - 1, largest));
}

static void each_frame_reads_its_own(void **state)
{
    check_frames(*state, 1);
}

static void overlapping_frames_read_their_own(void **state)
{
    check_frames(*state, 3);
}

static void the_largest_grid_can_be_set(void **state)
{
    struct contract *contract = *state;
    struct reader reader = make_reader(contract);
    braid_exec *exec = make_exec(contract, reader.graph, 1);
    uint32_t expected[most_blocks] = { 0 };
    const braid_dim3 most = { 5, 2, 1 };
    check_ok(braid_exec_set_parameter(exec, reader.size, &sizes[4]));
    check_ok(braid_exec_set(exec, reader.count, BRAID_TARGET_GRID, 0, &most));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    count(expected, most);
    check_counts(contract, &reader, expected, most);
    check_ok(braid_exec_set(exec, reader.count, BRAID_TARGET_ENABLED, 0, &(bool){ false }));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    check_counts(contract, &reader, expected, most);
}

// As a sparse loop: its preludes make the list of what it loops over, and its grid of that.
static void preludes_make_the_grid_of_their_loop(void **state)
{
    struct contract *contract = *state;
    uint32_t *mask = contract_numbers(contract, num_cells);
    uint32_t *list = contract_numbers(contract, num_cells + 1);
    uint32_t *counts = contract_numbers(contract, num_cells);
    uint32_t *seen = contract_numbers(contract, 3);
    braid_graph *graph = contract_graph(contract);
    braid_resource cells = add_resource(graph, "mask"), elements = add_resource(graph, "list");
    braid_resource counted = add_resource(graph, "counts"), grid;
    braid_node main;
    check_ok(braid_graph_add_transient(graph, "grid", 12, 0, &grid));
    uint32_t num = num_cells;

    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node = { USES({ grid, BRAID_WRITE }) },
                                                 .to_resource = grid,
                                                 .value = 1,
                                                 .value_bytes = 4,
                                                 .num_values = 3 },
                                  NULL));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ grid, BRAID_READ }, { counted, BRAID_READ_WRITE }) },
                              .kernel = &test_count_read_blocks,
                              .grid = { num_cells, 1, 1 },
                              .block = { 32, 1, 1 },
                              .grid_from_resource = grid,
                              BRAID_ARGS(BRAID_ARG(counts), BRAID_ARG(seen)) },
        &main));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { .prelude_of = main, USES({ elements, BRAID_WRITE }) },
                              .kernel = &test_clear_list,
                              BRAID_ARGS(BRAID_ARG(list)) },
        NULL));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node = { .prelude_of = main,
                      USES({ elements, BRAID_READ_WRITE }, { cells, BRAID_READ }) },
            .kernel = &test_generate_list,
            .grid = { 2, 1, 1 },
            .block = { 32, 1, 1 },
            BRAID_ARGS(BRAID_ARG(list), BRAID_ARG(mask), BRAID_ARG(num)) },
        NULL));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){ .node = { .prelude_of = main,
                                 USES({ elements, BRAID_READ }, { grid, BRAID_READ_WRITE }) },
                       .to_resource = grid,
                       .from = list,
                       .bytes = sizeof(uint32_t) },
        NULL));
    braid_exec *exec = make_exec(contract, graph, 1);
    uint32_t expected[num_cells] = { 0 }, now[num_cells];
    for (uint32_t frame = 0; frame < 5; frame++) {
        uint32_t length = frame * 15;
        for (uint32_t i = 0; i < num_cells; i++)
            now[i] = i >= num_cells - length;
        contract_write(contract, mask, now, sizeof(now));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (uint32_t i = 0; i < length; i++)
            expected[i]++;
        contract_read(contract, now, counts, sizeof(now));
        assert_memory_equal(now, expected, sizeof(now));
    }
}

static void other_uses_are_refused(void **state)
{
    struct contract *contract = *state;
    struct reader reader = make_reader(contract);
    braid_resource small, transient;
    check_ok(braid_graph_add_buffer(reader.graph, "small", reader.words, 8, &small));
    check_ok(braid_graph_add_transient(reader.graph, "transient", 12, 0, &transient));
    braid_kernel_node launch = { .node = { .name = "reads" },
                                 .kernel = &test_count_read_blocks,
                                 BRAID_ARGS(BRAID_ARG(reader.counts), BRAID_ARG(reader.seen)) };
    check_fails(braid_graph_add_kernel(reader.graph, &launch, NULL), BRAID_INVALID_ARGUMENT,
                "use another braid_kernel");
    launch.grid_from_resource = small;
    check_fails(braid_graph_add_kernel(reader.graph, &launch, NULL), BRAID_INVALID_ARGUMENT,
                "end beyond the 8 of 'small'");
    launch.grid_from_resource = transient;
    check_fails(braid_graph_add_kernel(reader.graph, &launch, NULL), BRAID_INVALID_ARGUMENT,
                "declares no access");
    launch.grid_from = reader.words;
    check_fails(braid_graph_add_kernel(reader.graph, &launch, NULL), BRAID_INVALID_ARGUMENT,
                "both given");
    check_fails(braid_graph_use_parameter(
                    reader.graph, reader.size,
                    &(braid_parameter_use){ .node = reader.count, .argument = 2, .bytes = 4 }),
                BRAID_INVALID_ARGUMENT, "no number 2");
    if (strcmp(contract->backend, "cuda") != 0)
        return;
    braid_graph *graph = contract_graph(contract);
    static const char machine_code[] = "\x7f"
                                       "ELF";
    static const braid_kernel binary = { .name = "binary", .cuda = { .data = machine_code } };
    launch = (braid_kernel_node){ .node = { .name = "reads" },
                                  .kernel = &binary,
                                  .grid_from = reader.words };
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    braid_exec *exec = NULL;
    check_fails(braid_exec_create(contract->device, graph, NULL, &exec), BRAID_UNSUPPORTED,
                "it is machine code");
}

// Not the fault of what is added to the source.
static void errors_of_a_source_stay_its_own(void **state)
{
    static const braid_kernel kernel = {
        .name = "wrong",
        .source = "extern \"C\" __global__ void wrong(unknown_type to) { (void)to; }\n"
    };
    struct contract *contract = *state;
    if (strcmp(contract->backend, "cuda") != 0)
        skip_because("this backend adds nothing to source");
    uint32_t *words = contract_numbers(contract, 3);
    braid_graph *graph = contract_graph(contract);
    const braid_kernel_node launch = { .node = { .name = "reads" },
                                       .kernel = &kernel,
                                       .grid_from = words,
                                       BRAID_ARGS(BRAID_ARG(words)) };
    braid_exec *exec = NULL;
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    check_fails(braid_exec_create(contract->device, graph, NULL, &exec), BRAID_DEVICE_ERROR,
                "'reads': compiling kernel 'wrong'");
}

int run_read_grids(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(each_frame_reads_its_own),
        contract_test(overlapping_frames_read_their_own),
        contract_test(the_largest_grid_can_be_set),
        contract_test(preludes_make_the_grid_of_their_loop),
        contract_test(other_uses_are_refused),
        contract_test(errors_of_a_source_stay_its_own),
    };
    return contract_run("grids are read when kernels start", tests);
}

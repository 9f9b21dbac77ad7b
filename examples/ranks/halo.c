// SPDX-License-Identifier: Apache-2.0
// A stencil over several ranks: each has some rows, and two more for the rows of its neighbours.
// The plan computes the inside while those are on their way, since nothing says that it must not.
//
//     mpirun -n 4 halo
//
// Every rank also computes the whole grid alone, and compares its rows bit by bit.
#include <string.h>

#include "../check.h"

enum {
    ROWS = 512,
    COLUMNS = 2048,
    NUM_FRAMES = 10,
    STEPS = 2
}; // two steps a frame: there and back

// Rows of a rank: a halo, the first, the middle, the last, a halo.
enum part { ABOVE, FIRST, MIDDLE, LAST, BELOW, NUM_PARTS };

struct field {
    double *cells; // (rows + 2) * COLUMNS
    braid_resource parts[NUM_PARTS];
};

struct job {
    braid_graph *graph;
    braid_resource world;
    uint32_t rank, num_ranks;
    int first_row, rows; // in the whole grid
    struct field fields[2];
    braid_node middle[STEPS], halos[STEPS][2]; // for the report
};

static double initial(int row, int column)
{
    return (row * 31 + column * 17) % 101 / 101.0;
}

// One cell for each block of the grid; edges of the whole grid stay as they are.
static void smooth_row(double *to, const double *from, int row, int whole_row)
{
    for (int i = 0; i < COLUMNS; i++) {
        const double *cell = from + (size_t)row * COLUMNS + i;
        bool is_edge = i == 0 || i == COLUMNS - 1 || whole_row == 0 || whole_row == ROWS - 1;
        to[(size_t)row * COLUMNS + (size_t)i] =
            is_edge ? *cell
                    : 0.5 * *cell + 0.125 * (cell[-1] + cell[1] + cell[-COLUMNS] + cell[COLUMNS]);
    }
}

struct rows {
    int first, first_of_whole; // here, and in the whole grid
};

// Blocks are rows.
static void smooth_on_cpu(const braid_blocks *blocks, void *const *args)
{
    double *to = *(double *const *)args[0];
    const double *from = *(const double *const *)args[1];
    const struct rows *rows = args[2];
    for (uint64_t i = blocks->begin; i < blocks->end; i++)
        smooth_row(to, from, rows->first + (int)i, rows->first_of_whole + (int)i);
}

static const braid_kernel smooth = { .name = "smooth", .cpu = smooth_on_cpu };

static void make_field(struct job *job, struct field *field, const char *name)
{
    const int rows = job->rows, from[NUM_PARTS + 1] = { 0, 1, 2, rows, rows + 1, rows + 2 };
    const uint64_t row_bytes = COLUMNS * (uint64_t)sizeof(double);
    braid_resource buffer;
    field->cells = check_memory(calloc((size_t)rows + 2, row_bytes));
    CHECK(braid_graph_add_buffer(job->graph, name, field->cells, ((uint64_t)rows + 2) * row_bytes,
                                 &buffer));
    for (int i = 0; i < NUM_PARTS; i++)
        CHECK(braid_graph_add_range(job->graph, buffer, (uint64_t)from[i] * row_bytes,
                                    (uint64_t)(from[i + 1] - from[i]) * row_bytes,
                                    &field->parts[i]));
}

// Our row goes there, and the neighbour's comes.
static void exchange(struct job *job, struct field *field, bool is_below, braid_node *out_halo)
{
    enum part own = is_below ? LAST : FIRST, halo = is_below ? BELOW : ABOVE;
    const braid_communication row = {
        .communicator = job->world,
        .peer = is_below ? job->rank + 1 : job->rank - 1,
        .count = COLUMNS,
        .element = BRAID_ELEMENT_DOUBLE,
    };
    braid_communication send = row, receive = row;
    send.node.name = is_below ? "send down" : "send up";
    send.node.accesses = (braid_access[]){ { field->parts[own], BRAID_READ } };
    send.node.num_accesses = 1;
    send.operation = BRAID_RANK_SEND;
    send.from_resource = field->parts[own];
    send.tag = is_below;
    CHECK(braid_graph_add_communication(job->graph, &send, NULL));
    receive.node.name = is_below ? "from below" : "from above";
    receive.node.accesses = (braid_access[]){ { field->parts[halo], BRAID_WRITE } };
    receive.node.num_accesses = 1;
    receive.operation = BRAID_RANK_RECEIVE;
    receive.to_resource = field->parts[halo];
    receive.tag = !is_below;
    CHECK(braid_graph_add_communication(job->graph, &receive, out_halo));
}

// Computes a part from the same part and what is next to it.
static void add_rows(struct job *job, struct field *to, struct field *from, enum part part,
                     braid_node *out_node)
{
    static const char *const names[] = { "", "first row", "middle", "last row" };
    int row = part == FIRST ? 1 : part == MIDDLE ? 2 : job->rows;
    const struct rows rows = { row, job->first_row + row - 1 };
    CHECK(braid_graph_add_kernel(
        job->graph,
        &(braid_kernel_node){
            .node.name = names[part],
            .kernel = &smooth,
            .grid.x = part == MIDDLE ? (uint32_t)job->rows - 2 : 1,
            BRAID_ARGS(BRAID_ARG(to->cells), BRAID_ARG(from->cells), BRAID_ARG(rows)),
            BRAID_ACCESSES({ to->parts[part], BRAID_WRITE }, { from->parts[part - 1], BRAID_READ },
                           { from->parts[part], BRAID_READ },
                           { from->parts[part + 1], BRAID_READ }) },
        out_node));
}

static void add_step(struct job *job, int step)
{
    struct field *from = &job->fields[step % 2], *to = &job->fields[(step + 1) % 2];
    job->halos[step][0] = job->halos[step][1] = (braid_node){ 0 };
    if (job->rank > 0)
        exchange(job, from, false, &job->halos[step][0]);
    if (job->rank + 1 < job->num_ranks)
        exchange(job, from, true, &job->halos[step][1]);
    add_rows(job, to, from, MIDDLE, &job->middle[step]);
    add_rows(job, to, from, FIRST, NULL);
    add_rows(job, to, from, LAST, NULL);
}

static void fill(const struct job *job)
{
    for (int row = 0; row < job->rows; row++) {
        for (int column = 0; column < COLUMNS; column++)
            job->fields[0].cells[(size_t)(row + 1) * COLUMNS + (size_t)column] =
                initial(job->first_row + row, column);
    }
}

// The whole grid, one step after another, with a row above and below that nobody uses.
static double *compute_alone(void)
{
    double *fields[2];
    for (int i = 0; i < 2; i++)
        fields[i] = check_memory(calloc(ROWS + 2, COLUMNS * sizeof(double)));
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++)
            fields[0][(size_t)(row + 1) * COLUMNS + (size_t)column] = initial(row, column);
    }
    for (int step = 0; step < NUM_FRAMES * STEPS; step++) {
        for (int row = 0; row < ROWS; row++)
            smooth_row(fields[(step + 1) % 2], fields[step % 2], row + 1, row);
    }
    free(fields[1]);
    return fields[0];
}

static bool is_equal(const struct job *job)
{
    double *whole = compute_alone();
    bool equal =
        memcmp(job->fields[0].cells + COLUMNS, whole + (size_t)(job->first_row + 1) * COLUMNS,
               (size_t)job->rows * sizeof(double) * COLUMNS) == 0;
    free(whole);
    return equal;
}

// How much of the time in which rows were on their way the middle was computed, by the intervals
// that the exec has recorded.
static void report(const struct job *job, braid_exec *exec)
{
    braid_timings timings;
    uint64_t on_the_way = 0, both = 0;
    CHECK(braid_exec_get_timings(exec, &timings));
    for (size_t i = 0; i < (size_t)timings.frames_kept * STEPS * 2; i++) {
        const braid_interval *frame = timings.intervals + i / (STEPS * 2) * timings.num_nodes;
        braid_node halo = job->halos[i / 2 % STEPS][i % 2];
        if (!halo.graph)
            continue;
        const braid_interval *middle = &frame[job->middle[i / 2 % STEPS].index];
        uint64_t begin = frame[halo.index - 1].end_ns, end = frame[halo.index].end_ns;
        uint64_t from = begin > middle->start_ns ? begin : middle->start_ns;
        uint64_t to = end < middle->end_ns ? end : middle->end_ns;
        on_the_way += end - begin;
        both += to > from ? to - from : 0;
    }
    if (on_the_way)
        printf(
            "rank %u: rows were on their way for %.0f us a frame, and for %.0f of them the middle "
            "was computed\n",
            job->rank, (double)on_the_way / 1000 / NUM_FRAMES, (double)both / 1000 / NUM_FRAMES);
}

int main(int argc, char **argv)
{
    struct job job = { 0 };
    braid_ranks *ranks;
    braid_communicator *world;
    braid_device *device;
    braid_exec *exec;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_ranks_open(NULL, &ranks));
    CHECK(braid_communicator_create(ranks, "world", 0, &world));
    CHECK(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    CHECK(braid_graph_create(&job.graph));
    CHECK(braid_graph_add_communicator(job.graph, world, &job.world));
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    job.rank = info.rank;
    job.num_ranks = info.num_ranks;
    job.first_row = (int)(ROWS * job.rank / job.num_ranks);
    job.rows = (int)(ROWS * (job.rank + 1) / job.num_ranks) - job.first_row;
    make_field(&job, &job.fields[0], "here");
    make_field(&job, &job.fields[1], "there");
    for (int step = 0; step < STEPS; step++)
        add_step(&job, step);

    CHECK(braid_exec_create(device, job.graph, &(braid_exec_options){ .frames_kept = NUM_FRAMES },
                            &exec));
    if (job.rank == 0)
        write_picture(braid_exec_get_schedule(exec), argc > 1 ? argv[1] : NULL);
    fill(&job);
    for (int frame = 0; frame < NUM_FRAMES; frame++)
        CHECK(braid_exec_launch(exec, NULL));
    CHECK(braid_exec_wait(exec));
    report(&job, exec);
    bool equal = is_equal(&job);
    printf("rank %u of %u: %d rows, %s\n", job.rank, job.num_ranks, job.rows,
           equal ? "as computed alone" : "NOT as computed alone");

    braid_exec_destroy(exec);
    braid_graph_destroy(job.graph);
    free(job.fields[0].cells);
    free(job.fields[1].cells);
    CHECK(braid_device_close(device));
    CHECK(braid_ranks_close(ranks));
    return equal ? EXIT_SUCCESS : EXIT_FAILURE;
}

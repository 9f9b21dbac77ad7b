// SPDX-License-Identifier: Apache-2.0
// Ranks on GPUs of one host: steps of a stencil, of which the edge goes to the other rank while the
// inside is computed, then a sum over all. By Braid, and by hand with NCCL and the same kernels.
//
// ranks_run 2 bench_gpu_ranks, or mpirun -n 2 bench_gpu_ranks. Rank 0 prints a table.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/ranks.h"

static const char source[] = "extern \"C\" __global__ void ranks_work(float *cells, const float "
                             "*other, unsigned num, unsigned "
                             "rounds)\n"
                             "{\n"
                             "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i >= num)\n"
                             "        return;\n"
                             "    float x = cells[i] + 0.25f * other[i % 4096];\n"
                             "    for (unsigned k = 0; k < rounds; k++)\n"
                             "        x = x * 0.999f + 0.001f;\n"
                             "    cells[i] = x;\n"
                             "}\n";

void braid_standin_ranks_work(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args);

// For a stand-in of the driver, over which the bench can be tried.
void braid_standin_ranks_work(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    float *cells = *(float **)args[0];
    (void)grid;
    (void)block;
    (void)shared_bytes;
    cells[0] = cells[0] * 0.5f + 1;
}

const braid_kernel ranks_kernel = { .name = "ranks_work", .source = source };

void ranks_must(braid_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", braid_error_get_message());
    exit(EXIT_FAILURE);
}

static void fill(struct ranks_job *job)
{
    static float host[RANKS_MOST_CELLS];
    for (int k = 0; k < 3; k++) {
        float *memory = k == 0 ? job->inside : k == 1 ? job->edge : job->halo;
        uint32_t num = k == 0 ? job->shape.inside : job->shape.edge;
        for (uint32_t i = 0; i < num; i++)
            host[i] = (float)(i % 100) + (float)job->rank;
        ranks_must(braid_stream_copy(job->stream, memory, host, num * sizeof(float)));
        ranks_must(braid_stream_wait(job->stream));
    }
}

// Mixes all that a frame has written.
static double check(struct ranks_job *job)
{
    static float host[RANKS_MOST_CELLS];
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        uint32_t num = k ? job->shape.edge : job->shape.inside;
        ranks_must(
            braid_stream_copy(job->stream, host, k ? job->edge : job->inside, num * sizeof(float)));
        ranks_must(braid_stream_wait(job->stream));
        for (uint32_t i = 0; i < num; i++)
            sum += host[i] * (double)(i % 7 + 1);
    }
    return sum;
}

static braid_node add_work(struct ranks_job *job, const char *name, float *cells, float *other,
                           uint32_t num, uint32_t rounds, const braid_access *accesses)
{
    braid_node node;
    const braid_arg args[] = { BRAID_ARG(cells), BRAID_ARG(other), BRAID_ARG(num),
                               BRAID_ARG(rounds) };
    ranks_must(
        braid_graph_add_kernel(job->graph,
                               &(braid_kernel_node){ .node = { .name = name,
                                                               .accesses = accesses,
                                                               .num_accesses = 2,
                                                               .cost_ns = 2000 + rounds * 36ull },
                                                     .kernel = &ranks_kernel,
                                                     .grid = { (num + 255) / 256, 1, 1 },
                                                     .block = { 256, 1, 1 },
                                                     .args = args,
                                                     .num_args = 4 },
                               &node));
    return node;
}

static void add_exchange(struct ranks_job *job, const char *name, bool sends)
{
    const braid_access access = { sends ? job->edge_buffer : job->halo_buffer,
                                  sends ? BRAID_READ : BRAID_WRITE };
    ranks_must(braid_graph_add_communication(
        job->graph,
        &(braid_communication){
            .node = { .name = name, .accesses = &access, .num_accesses = 1, .cost_ns = 15000 },
            .operation = sends ? BRAID_RANK_SEND : BRAID_RANK_RECEIVE,
            .communicator = job->resource,
            .from = sends ? job->edge : NULL,
            .to = sends ? NULL : job->halo,
            .count = job->shape.edge,
            .element = BRAID_ELEMENT_FLOAT,
            .peer = (job->rank + (sends ? 1 : job->num - 1)) % job->num },
        sends ? NULL : &job->received[job->num_received++]));
}

static void make_graph(struct ranks_job *job)
{
    const struct ranks_shape *shape = &job->shape;
    braid_resource sum;
    ranks_must(braid_graph_create(&job->graph));
    ranks_must(braid_graph_add_communicator(job->graph, job->world, &job->resource));
    ranks_must(braid_graph_add_buffer(job->graph, "inside", job->inside, shape->inside * 4ull,
                                      &job->inside_buffer));
    ranks_must(braid_graph_add_buffer(job->graph, "edge", job->edge, shape->edge * 4ull,
                                      &job->edge_buffer));
    ranks_must(braid_graph_add_buffer(job->graph, "halo", job->halo, shape->edge * 4ull,
                                      &job->halo_buffer));
    ranks_must(braid_graph_add_buffer(job->graph, "sum", job->sum, 8, &sum));
    job->num_received = 0;
    for (int step = 0; step < RANKS_STEPS; step++) {
        const braid_access edge[] = { { job->edge_buffer, BRAID_READ_WRITE },
                                      { job->halo_buffer, BRAID_READ } };
        const braid_access inside[] = { { job->inside_buffer, BRAID_READ_WRITE },
                                        { job->edge_buffer, BRAID_READ } };
        add_work(job, "edge", job->edge, job->halo, shape->edge, 16, edge);
        add_exchange(job, "to behind", true);
        add_exchange(job, "from before", false);
        job->insides[step] =
            add_work(job, "inside", job->inside, job->edge, shape->inside, shape->rounds, inside);
    }
    const braid_access access = { sum, BRAID_READ_WRITE };
    ranks_must(braid_graph_add_communication(
        job->graph,
        &(braid_communication){ .node = { .name = "sum", .accesses = &access, .num_accesses = 1 },
                                .operation = BRAID_RANK_ALL_REDUCE,
                                .communicator = job->resource,
                                .from = job->sum,
                                .to = job->sum,
                                .count = 1,
                                .element = BRAID_ELEMENT_DOUBLE },
        NULL));
}

// How much of the time in which edges were on their way insides were computed.
static void report_overlap(struct ranks_job *job, braid_exec_mode mode)
{
    enum { FRAMES = 16 };
    braid_exec *exec;
    braid_timings timings;
    uint64_t on_the_way = 0, both = 0;
    ranks_must(braid_exec_create(job->device, job->graph,
                                 &(braid_exec_options){ .mode = mode, .frames_kept = FRAMES },
                                 &exec));
    for (int i = 0; i < FRAMES; i++)
        ranks_must(braid_exec_launch(exec, job->stream));
    ranks_must(braid_exec_wait(exec));
    ranks_must(braid_exec_get_timings(exec, &timings));
    size_t num_frames = timings.frames_kept;
    for (size_t i = 0; i < num_frames * RANKS_STEPS; i++) {
        const braid_interval *frame = timings.intervals + i / RANKS_STEPS * timings.num_nodes;
        const braid_interval *inside = &frame[job->insides[i % RANKS_STEPS].index];
        const braid_interval *post = &frame[job->received[i % RANKS_STEPS].index - 1];
        uint64_t from = post->start_ns > inside->start_ns ? post->start_ns : inside->start_ns;
        uint64_t to = post->end_ns < inside->end_ns ? post->end_ns : inside->end_ns;
        on_the_way += post->end_ns - post->start_ns;
        both += to > from ? to - from : 0;
    }
    printf("rank %u, %s: of %.1f us a step in which edges are on their way, the inside is computed "
           "for %.1f\n",
           job->rank, mode == BRAID_MODE_GRAPH ? "graph" : "streams",
           (double)on_the_way / 1e3 / (double)(num_frames * RANKS_STEPS),
           (double)both / 1e3 / (double)(num_frames * RANKS_STEPS));
    braid_exec_destroy(exec);
}

struct way {
    const char *name;
    void (*launch)(void *user);
    void *user;
    double best, median, sum;
};

struct braid_way {
    struct ranks_job *job;
    braid_exec *exec;
};

static void launch_braid(void *user)
{
    const struct braid_way *way = user;
    ranks_must(braid_exec_launch(way->exec, way->job->stream));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(struct ranks_job *job, const struct way *way, int frames)
{
    double begin = ranks_now_us();
    for (int i = 0; i < frames; i++)
        way->launch(way->user);
    ranks_must(braid_stream_wait(job->stream));
    return (ranks_now_us() - begin) / frames;
}

static void compare(struct ranks_job *job, struct way *ways, int num)
{
    enum { TURNS = 9, FRAMES = 100 };
    double times[8][TURNS];
    for (int w = 0; w < num; w++) {
        fill(job);
        for (int i = 0; i < 3; i++)
            ways[w].launch(ways[w].user);
        ways[w].sum = check(job);
        (void)measure(job, &ways[w], 20);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (int w = 0; w < num; w++)
            times[w][turn] = measure(job, &ways[w], FRAMES);
    for (int w = 0; w < num; w++) {
        qsort(times[w], TURNS, sizeof(double), compare_doubles);
        ways[w].median = times[w][TURNS / 2];
        ways[w].best = times[w][0];
        if (job->rank == 0)
            printf("| %u KiB, inside of %u rounds | %s | %.1f | %.1f | %.3f | %s |\n",
                   job->shape.edge / 256, job->shape.rounds, ways[w].name, ways[w].median,
                   ways[w].best, ways[w].median / ways[0].median,
                   ways[w].sum == ways[0].sum ? "equal" : "DIFFERENT");
    }
}

static void run_shape(struct ranks_job *job, struct ranks_hand *hand)
{
    struct braid_way graph_mode = { job, NULL }, streams = { job, NULL };
    make_graph(job);
    ranks_must(braid_exec_create(job->device, job->graph,
                                 &(braid_exec_options){ .mode = BRAID_MODE_GRAPH },
                                 &graph_mode.exec));
    ranks_must(braid_exec_create(job->device, job->graph,
                                 &(braid_exec_options){ .mode = BRAID_MODE_STREAMS },
                                 &streams.exec));
    ranks_by_hand_capture(hand);
    struct way ways[] = {
        { .name = "by hand, captured", .launch = ranks_by_hand_replay, .user = hand },
        { .name = "Braid, graph", .launch = launch_braid, .user = &graph_mode },
        { .name = "by hand, streams", .launch = ranks_by_hand_queue, .user = hand },
        { .name = "Braid, streams", .launch = launch_braid, .user = &streams },
    };
    compare(job, ways, 4);
    braid_exec_destroy(graph_mode.exec);
    braid_exec_destroy(streams.exec);
    ranks_by_hand_release(hand);
    report_overlap(job, BRAID_MODE_GRAPH);
    report_overlap(job, BRAID_MODE_STREAMS);
    braid_graph_destroy(job->graph);
}

static void *allocate(struct ranks_job *job, uint64_t bytes)
{
    void *memory;
    ranks_must(braid_memory_allocate(job->device, BRAID_MEMORY_DEVICE, bytes, &memory));
    return memory;
}

int main(int argc, char **argv)
{
    static const struct ranks_shape shapes[] = { { 1u << 20, 1u << 16, 2000 },
                                                 { 1u << 20, 1u << 18, 2000 },
                                                 { 1u << 16, 1u << 12, 100 } };
    static struct ranks_job job;
    braid_ranks *ranks;
    uint32_t num_devices = argc > 1 ? (uint32_t)atoi(argv[1]) : 2;
    ranks_must(braid_ranks_open(NULL, &ranks));
    braid_ranks_info info;
    braid_ranks_get_info(ranks, &info);
    job.rank = info.rank;
    job.num = info.num_ranks;
    ranks_must(braid_communicator_create(ranks, "world", 0, &job.world));
    ranks_must(braid_device_open(
        &(braid_device_options){ .backend = "cuda", .ordinal = job.rank % num_devices },
        &job.device));
    ranks_must(braid_stream_create(job.device, NULL, &job.stream));
    job.inside = allocate(&job, RANKS_MOST_CELLS * sizeof(float));
    job.edge = allocate(&job, RANKS_MOST_CELLS * sizeof(float));
    job.halo = allocate(&job, RANKS_MOST_CELLS * sizeof(float));
    job.sum = allocate(&job, 8);
    if (job.rank == 0)
        printf("| edge | way | us a frame of %d steps, median | best | against by hand, captured | "
               "result |\n|---|---|---|---|---|---|\n",
               RANKS_STEPS);
    struct ranks_hand *hand = ranks_by_hand_open(&job);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        job.shape = shapes[i];
        run_shape(&job, hand);
        fflush(stdout);
    }
    ranks_by_hand_close(hand);
    ranks_must(braid_ranks_close(ranks));
    return EXIT_SUCCESS; // the rest goes with the process
}

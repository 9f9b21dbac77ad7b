// SPDX-License-Identifier: Apache-2.0
// What the CPU's cost models stand on: time a node, a wait and a second lane of empty kernels, on
// streams and walked. A plan is written by hand, so that the planner, which uses these figures, has
// no say in it. Two workers; medians and least of many frames, each launched and awaited; the
// players take turns. bench_cpu_costs [FRAMES]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/hand_program.h"

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, braid_error_get_message());                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { NUM_NODES = 1000, NUM_ROUNDS = 10, MOST_STEPS = 3 * NUM_NODES };

enum shape { ONE_LANE, TWO_LANES, TWO_LANES_IN_TURN, NUM_SHAPES };

static struct hand_step steps[2][MOST_STEPS];
static size_t num_steps[2];
static struct backend *backend;

static void add_step(uint32_t lane, braid_step_kind kind, uint32_t index)
{
    steps[lane][num_steps[lane]++] = (struct hand_step){ kind, index };
}

// In turn, each node waits for the one before, on the other lane.
static void fill_lanes(enum shape shape)
{
    num_steps[0] = num_steps[1] = 0;
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        uint32_t lane = shape == ONE_LANE ? 0 : i % 2;
        bool waits = shape == TWO_LANES_IN_TURN;
        if (waits && i)
            add_step(lane, BRAID_STEP_WAIT, i - 1);
        add_step(lane, BRAID_STEP_RUN, i);
        if (waits)
            add_step(lane, BRAID_STEP_RECORD, i);
    }
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static struct hand_program *create(const struct player *player, enum shape shape,
                                   struct backend_kernel *kernel)
{
    static struct backend_task tasks[NUM_NODES];
    for (uint32_t i = 0; i < NUM_NODES; i++)
        tasks[i] = (struct backend_task){
            .kind = WORK_KERNEL,
            .launch = { .kernel = kernel, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } },
        };
    fill_lanes(shape);
    const struct hand_lane lanes[2] = { { steps[0], num_steps[0] }, { steps[1], num_steps[1] } };
    const struct hand_plan plan = { .lanes = lanes,
                                    .num_lanes = shape == ONE_LANE ? 1 : 2,
                                    .num_records = shape == TWO_LANES_IN_TURN ? NUM_NODES : 0,
                                    .tasks = tasks,
                                    .num_tasks = NUM_NODES };
    struct hand_program *program = NULL;
    CHECK(hand_program_create(backend, player, &plan, &program));
    return program;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void run(struct hand_program *program, struct backend_stream *stream, uint64_t *out_ns,
                uint32_t num_frames)
{
    for (uint32_t i = 0; i < num_frames; i++) {
        uint64_t start_ns = now_ns();
        CHECK(hand_program_launch(program, stream));
        CHECK(backend->ops->stream_synchronize(backend, stream));
        out_ns[i] = now_ns() - start_ns;
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

struct frames {
    double median_ns, least_ns;
};

static struct frames sum_up(uint64_t *ns, uint32_t num)
{
    qsort(ns, num, sizeof(*ns), compare);
    return (struct frames){ (double)ns[num / 2], (double)ns[0] };
}

// A frame that has no waits takes as long as its longer lane, and what a second lane costs.
static void print_row(const char *name, const struct frames of[NUM_SHAPES])
{
    const struct frames *one = &of[ONE_LANE], *two = &of[TWO_LANES], *turn = &of[TWO_LANES_IN_TURN];
    printf("| %s | %.1f, %.1f | %.0f, %.0f | %.1f, %.1f |\n", name, one->median_ns / NUM_NODES,
           one->least_ns / NUM_NODES, turn->median_ns / NUM_NODES, turn->least_ns / NUM_NODES,
           (two->median_ns - one->median_ns / 2) / 1e3, (two->least_ns - one->least_ns / 2) / 1e3);
}

int main(int argc, char **argv)
{
    static const struct player *const players[] = { &braid_streams_player, &braid_walker_player };
    static const char *const names[] = { "streams", "graph" };
    uint32_t num_frames = argc > 1 ? (uint32_t)atoi(argv[1]) : 500, round_frames;
    round_frames = num_frames / NUM_ROUNDS ? num_frames / NUM_ROUNDS : 1;
    CHECK(braid_cpu_driver.open(&braid_cpu_driver, &(braid_device_options){ .num_workers = 2 },
                                &backend));
    struct backend_stream *stream;
    struct backend_kernel *kernel;
    CHECK(backend->ops->stream_create(backend, 0, &stream));
    CHECK(backend->ops->kernel_load(backend,
                                    &(braid_kernel){ .name = "nothing", .cpu = do_nothing },
                                    KERNEL_AS_IT_IS, NULL, NULL, 0, &kernel));
    struct hand_program *programs[2][NUM_SHAPES];
    uint64_t *ns[2][NUM_SHAPES];
    for (int i = 0; i < 2 * NUM_SHAPES; i++) {
        programs[i % 2][i / 2] = create(players[i % 2], (enum shape)(i / 2), kernel);
        ns[i % 2][i / 2] = calloc((size_t)round_frames * NUM_ROUNDS, sizeof(uint64_t));
        if (!ns[i % 2][i / 2])
            return EXIT_FAILURE;
    }
    for (uint32_t round = 0; round < NUM_ROUNDS; round++)
        for (int i = 0; i < 2 * NUM_SHAPES; i++)
            run(programs[i % 2][i / 2], stream, ns[i % 2][i / 2] + (size_t)round * round_frames,
                round_frames);
    printf("| median, least | ns a node | ns a wait, in turn | us for a second lane |\n"
           "|---|---:|---:|---:|\n");
    for (int i = 0; i < 2; i++) {
        struct frames of[NUM_SHAPES];
        for (int k = 0; k < NUM_SHAPES; k++) {
            of[k] = sum_up(ns[i][k], round_frames * NUM_ROUNDS);
            free(ns[i][k]);
            hand_program_destroy(programs[i][k]);
        }
        print_row(names[i], of);
    }
    backend->ops->kernel_unload(backend, kernel);
    backend->ops->stream_destroy(backend, stream);
    backend->ops->close(backend);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Kernels of Triton and Numba, by the texts of tests/gpu/ptx, are calls of one island: as a chain,
// and as lanes that wait for each other. On a GPU tests/gpu.sh runs this under compute-sanitizer.
//
// Arguments: the folder with the texts, and perhaps a pattern of the cases.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"

enum {
    LANES = 3,
    NUM = 256, // numbers of a vector
    REVERSED = 64,
    THREADS = 128,
    FRAMES = 2,
    STEPS = 5, // each lane's
    SHARED_BYTES = 16,
    VECTORS = 4,
    MOST_PATH = 300
};

enum { ADD, SOFTMAX, SCALE, REVERSE, NUM_KERNELS };

static braid_kernel kernels[NUM_KERNELS] = {
    [ADD] = { .name = "add" },
    [SOFTMAX] = { .name = "softmax" },
    [SCALE] = { .name = NULL }, // its long name is read from its text
    [REVERSE] = { .name = NULL },
};
static const char *const files[NUM_KERNELS] = { "triton_add_90", "triton_softmax_80",
                                                "numba_scale_80", "numba_reverse_80" };

// A lane's vectors: of each frame, y = 2 (x + y), out = softmax(y) with its first part reversed,
// and z = y + out of the next lane.
enum { X, Y, OUT, Z };

struct work {
    braid_device *device;
    braid_stream *stream;
    braid_graph *graph;
    float *vectors[LANES][VECTORS]; // on the device
    braid_resource resources[LANES][VECTORS];
    float expected[LANES][VECTORS][NUM];
};

static void read_kernel(const char *folder, int which)
{
    enum { MOST = 1 << 16 };
    static const char entry[] = ".visible .entry ";
    char path[MOST_PATH];
    snprintf(path, sizeof(path), "%s/%s.ptx", folder, files[which]);
    FILE *file = fopen(path, "rb");
    char *text = calloc(MOST, 1);
    assert_true(file && text && fread(text, 1, MOST - 1, file) > 0);
    fclose(file);
    kernels[which].cuda.data = text;
    if (kernels[which].name)
        return;
    const char *name = strstr(text, entry);
    assert_non_null(name);
    name += strlen(entry);
    kernels[which].name = strndup(name, strcspn(name, "("));
}

static void open_work(struct work *work)
{
    *work = (struct work){ 0 };
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &work->device));
    check_ok(braid_graph_create(&work->graph));
    check_ok(braid_stream_create(work->device, NULL, &work->stream));
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < VECTORS; i++) {
            void *memory;
            check_ok(braid_memory_allocate(work->device, BRAID_MEMORY_DEVICE, NUM * sizeof(float),
                                           &memory));
            work->vectors[lane][i] = memory;
            check_ok(braid_graph_add_buffer(work->graph, "vector", memory, NUM * sizeof(float),
                                            &work->resources[lane][i]));
        }
    }
}

static void close_work(struct work *work)
{
    braid_graph_destroy(work->graph);
    braid_stream_destroy(work->stream);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < VECTORS; i++)
            braid_memory_free(work->device, work->vectors[lane][i]);
    check_ok(braid_device_close(work->device));
}

static void add_sum(const struct work *work, int lane, int to, int with_lane, int with)
{
    const float *x = work->vectors[with_lane][with], *y = work->vectors[lane][Y];
    const float *out = work->vectors[lane][to];
    const uint32_t num = NUM;
    const void *scratch = NULL; // the kernel uses none
    const braid_access written = { work->resources[lane][to], BRAID_READ_WRITE };
    const braid_kernel_node launch = {
        .kernel = &kernels[ADD],
        .block.x = THREADS,
        BRAID_ARGS(BRAID_ARG(x), BRAID_ARG(y), BRAID_ARG(out), BRAID_ARG(num), BRAID_ARG(scratch),
                   BRAID_ARG(scratch)),
        BRAID_ACCESSES({ work->resources[with_lane][with], BRAID_READ },
                       { work->resources[lane][to == Y ? X : Y], BRAID_READ }, written),
    };
    check_ok(braid_graph_add_kernel(work->graph, &launch, NULL));
}

static void add_softmax(const struct work *work, int lane)
{
    const float *out = work->vectors[lane][OUT], *y = work->vectors[lane][Y];
    const uint32_t num = NUM;
    const void *scratch = NULL;
    const braid_kernel_node launch = {
        .kernel = &kernels[SOFTMAX],
        .block.x = THREADS,
        .shared_bytes = SHARED_BYTES,
        BRAID_ARGS(BRAID_ARG(out), BRAID_ARG(y), BRAID_ARG(num), BRAID_ARG(scratch),
                   BRAID_ARG(scratch)),
        BRAID_ACCESSES({ work->resources[lane][Y], BRAID_READ },
                       { work->resources[lane][OUT], BRAID_WRITE }),
    };
    check_ok(braid_graph_add_kernel(work->graph, &launch, NULL));
}

// Numba gives an array as seven arguments.
static void add_numba(const struct work *work, int which, int lane, int vector)
{
    const float *data = work->vectors[lane][vector], factor = 2;
    const uint64_t none = 0, num = NUM, size = sizeof(float);
    braid_kernel_node launch = {
        .kernel = &kernels[which],
        .grid.x = which == SCALE ? NUM / THREADS : 1,
        .block.x = which == SCALE ? THREADS : REVERSED,
        BRAID_ARGS(BRAID_ARG(none), BRAID_ARG(none), BRAID_ARG(num), BRAID_ARG(size),
                   BRAID_ARG(data), BRAID_ARG(num), BRAID_ARG(size), BRAID_ARG(factor)),
        BRAID_ACCESSES({ work->resources[lane][vector], BRAID_READ_WRITE }),
    };
    launch.num_args -= which == REVERSE;
    check_ok(braid_graph_add_kernel(work->graph, &launch, NULL));
}

static void add_nodes(const struct work *work)
{
    for (int lane = 0; lane < LANES; lane++) {
        add_sum(work, lane, Y, lane, X);
        add_numba(work, SCALE, lane, Y);
        add_softmax(work, lane);
        add_numba(work, REVERSE, lane, OUT);
    }
    for (int lane = 0; lane < LANES; lane++)
        add_sum(work, lane, Z, (lane + 1) % LANES, OUT);
}

static void expect_frame(struct work *work)
{
    for (int lane = 0; lane < LANES; lane++) {
        float(*now)[NUM] = work->expected[lane], sum = 0;
        for (int i = 0; i < NUM; i++) {
            now[Y][i] = 2 * (now[X][i] + now[Y][i]);
            sum += expf(now[Y][i]);
        }
        for (int i = 0; i < NUM; i++)
            now[OUT][i < REVERSED ? REVERSED - 1 - i : i] = expf(now[Y][i]) / sum;
    }
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < NUM; i++)
            work->expected[lane][Z][i] =
                work->expected[lane][Y][i] + work->expected[(lane + 1) % LANES][OUT][i];
}

static void fill(struct work *work)
{
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < VECTORS; i++) {
            for (int k = 0; k < NUM; k++)
                work->expected[lane][i][k] = (float)((k + lane + 3 * i) % 7) / 8;
            check_ok(braid_stream_copy(work->stream, work->vectors[lane][i],
                                       work->expected[lane][i], NUM * sizeof(float)));
        }
    }
    check_ok(braid_stream_wait(work->stream));
}

// The kernel of Numba adds to the first number before or after it writes it.
static void check_results(const struct work *work)
{
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < VECTORS; i++) {
            float got[NUM];
            check_ok(braid_stream_copy(work->stream, got, work->vectors[lane][i], sizeof(got)));
            check_ok(braid_stream_wait(work->stream));
            for (int k = 1; k < NUM; k++) {
                float wanted = work->expected[lane][i][k];
                if (!(fabsf(got[k] - wanted) <= 1e-4f * fabsf(wanted)))
                    fail_msg("lane %d, vector %d: number %d is %g, not %g", lane, i, k,
                             (double)got[k], (double)wanted);
            }
        }
    }
}

static void run(uint32_t lanes)
{
    static struct work work;
    open_work(&work);
    add_nodes(&work);
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE,
                                         .max_lanes = lanes,
                                         .fixed_lanes = true };
    braid_exec *exec;
    braid_exec_info info;
    braid_schedule_info plan;
    check_ok(braid_exec_create(work.device, work.graph, &options, &exec));
    braid_exec_get_info(exec, &info);
    braid_schedule_get_info(braid_exec_get_schedule(exec), &plan);
    assert_int_equal(info.num_island_nodes, LANES * STEPS);
    assert_int_equal(plan.num_lanes, lanes);
    fill(&work);
    for (int frame = 0; frame < FRAMES; frame++) {
        check_ok(braid_exec_launch(exec, work.stream));
        expect_frame(&work);
    }
    check_ok(braid_exec_wait(exec));
    check_results(&work);
    braid_exec_destroy(exec);
    close_work(&work);
}

static void a_chain_of_them_is_right(void **state)
{
    (void)state;
    run(1);
}

static void lanes_of_them_are_right(void **state)
{
    (void)state;
    run(LANES);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    for (int i = 0; i < NUM_KERNELS; i++)
        read_kernel(argv[1], i);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_them_is_right),
        cmocka_unit_test(lanes_of_them_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

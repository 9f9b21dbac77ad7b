// SPDX-License-Identifier: Apache-2.0
// The shapes of bench_gpu_launch as islands: each plan as one kernel, on lanes of one block and of
// many, beside the driver graph made by hand and Braid's. Every island is checked as well.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "gpu/bench.h"
#include "islands/gpu_island.h"

enum { FRAMES = 40, CHECKED_FRAMES = 100, NUM_BODIES = 3, MOST_ISLANDS = 12 };

// What a checked node reads: who is before whom, and how often each has run.
struct check {
    const unsigned *first, *before;
    unsigned *stamp, *errors;
};

static const char check_source[] =
    "struct check { const unsigned *first, *before; unsigned *stamp, *errors; };\n"
    "extern \"C\" __global__ void bench_check(const check *all, unsigned node)\n"
    "{\n"
    "    unsigned mine = all->stamp[node];\n"
    "    for (unsigned i = all->first[node] + threadIdx.x; i < all->first[node + 1]; i += 32)\n"
    "        if (all->stamp[all->before[i]] != mine + 1)\n"
    "            atomicAdd(all->errors, 1u);\n"
    "    __syncwarp();\n"
    "    if (threadIdx.x == 0)\n"
    "        all->stamp[node] = mine + 1;\n"
    "}\n";

static const braid_kernel bench_check = { .name = "bench_check", .source = check_source };

// A plan as an island, with what its tasks need.
struct run {
    const struct driver *driver;
    struct gpu_backend *gpu;
    struct gpu_island *island;
    gpu_stream stream;
    struct backend_task *tasks;
    void **args;
    uint32_t *values; // by node: the cycles, or its number
    void *table;      // on the device
    uint32_t num_lanes, num_waits;
};

static void noop(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static braid_schedule *plan_shape(const struct shape *shape, uint64_t ns, uint32_t lanes,
                                  uint64_t wait_ns)
{
    static const braid_kernel any = { .name = "any", .cpu = noop };
    braid_graph *graph;
    must(braid_graph_create(&graph));
    braid_node *nodes = calloc(shape->num_nodes, sizeof(*nodes));
    braid_node *after = calloc(shape->num_nodes, sizeof(*after));
    for (uint32_t i = 0; i < shape->num_nodes; i++) {
        size_t num = 0;
        for (uint32_t e = shape->first[i]; e < shape->first[i + 1]; e++)
            after[num++] = nodes[shape->before[e]];
        const braid_kernel_node launch = {
            .kernel = &any,
            .node = { .after = after, .num_after = num, .cost_ns = ns ? ns : 1 },
        };
        must(braid_graph_add_kernel(graph, &launch, &nodes[i]));
    }
    const braid_schedule_options options = {
        .max_lanes = lanes,
        .fixed_lanes = true,
        .costs = &(braid_cost_model){ .node_ns = 60, .wait_ns = wait_ns },
    };
    braid_schedule *schedule;
    must(braid_schedule_create(graph, &options, &schedule));
    braid_graph_destroy(graph);
    free(nodes);
    free(after);
    return schedule;
}

// The schedule's lanes as calls; a record is published by the call before it.
static struct island_lists make_lists(const braid_schedule *schedule, struct backend_task *tasks)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    struct island_lists lists = { .num_lanes = info.num_lanes };
    lists.calls = calloc(info.num_nodes + 1, sizeof(*lists.calls));
    lists.lane_first = calloc(info.num_lanes + 1, sizeof(*lists.lane_first));
    lists.waits = calloc(info.num_waits + 1, sizeof(*lists.waits));
    uint32_t *number = calloc(info.num_nodes, sizeof(*number));
    uint32_t *lane_of = calloc(info.num_nodes, sizeof(*lane_of));
    uint32_t *published = calloc(info.num_lanes, sizeof(*published));
    for (size_t i = 0; i < info.num_steps; i++) {
        lane_of[steps[i].node] =
            steps[i].kind == BRAID_STEP_RUN ? steps[i].lane : lane_of[steps[i].node];
        if (steps[i].kind == BRAID_STEP_RECORD)
            number[steps[i].node] = ++published[steps[i].lane];
    }
    for (uint32_t lane = 0; lane < info.num_lanes; lane++) {
        uint32_t first_wait = lists.num_waits;
        for (size_t i = 0; i < info.num_steps; i++) {
            if (steps[i].lane != lane)
                continue;
            if (steps[i].kind == BRAID_STEP_WAIT)
                lists.waits[lists.num_waits++] =
                    (struct island_wait){ lane_of[steps[i].node], number[steps[i].node] };
            else if (steps[i].kind == BRAID_STEP_RECORD)
                lists.calls[lists.num_calls - 1].publishes = true;
            else {
                lists.calls[lists.num_calls++] =
                    (struct island_call){ .task = &tasks[steps[i].node],
                                          .first_wait = first_wait,
                                          .num_waits = lists.num_waits - first_wait };
                first_wait = lists.num_waits;
            }
        }
        lists.lane_first[lane + 1] = lists.num_calls;
    }
    free(number);
    free(lane_of);
    free(published);
    return lists;
}

static void make_tasks(struct run *run, const struct shape *shape, struct backend_kernel *kernel,
                       const uint32_t *arg_bytes, uint32_t num_args, uint32_t cycles)
{
    run->tasks = calloc(shape->num_nodes, sizeof(*run->tasks));
    run->args = calloc(2 * (size_t)shape->num_nodes, sizeof(*run->args));
    run->values = calloc(shape->num_nodes, sizeof(*run->values));
    for (uint32_t i = 0; i < shape->num_nodes; i++) {
        run->values[i] = num_args == 1 ? cycles : i;
        run->args[2 * i] = num_args == 1 ? (void *)&run->values[i] : (void *)&run->table;
        run->args[2 * i + 1] = &run->values[i];
        run->tasks[i] = (struct backend_task){
            .kind = WORK_KERNEL,
            .name = "spin",
            .node = i,
            .launch = { .kernel = kernel,
                        .grid = { 1, 1, 1 },
                        .block = { 32, 1, 1 },
                        .num_args = num_args,
                        .args = run->args + 2 * (size_t)i,
                        .arg_bytes = arg_bytes },
        };
    }
}

static void launch_frames(struct run *run, uint32_t num_frames)
{
    bool copied = false;
    const void *slot;
    braid_gpu_island_begin(run->gpu, run->island, run->stream, num_frames, 0, &copied);
    gpu_result result =
        braid_gpu_launch(run->gpu, run->stream, braid_gpu_island_launch(run->island), &slot);
    must_call(result, "cuLaunchKernelEx");
}

static void launch_island(void *user)
{
    launch_frames(user, 1);
}

static void wait_island(void *user)
{
    struct run *run = user;
    must_call(run->gpu->api->stream_synchronize(run->stream), "cuStreamSynchronize");
}

static bool open_island(struct run *run, const struct shape *shape, uint64_t ns, uint32_t lanes,
                        uint64_t wait_ns)
{
    braid_schedule *schedule = plan_shape(shape, ns, lanes, wait_ns);
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    run->num_lanes = info.num_lanes;
    run->num_waits = (uint32_t)info.num_waits;
    struct island_lists lists = make_lists(schedule, run->tasks);
    braid_schedule_destroy(schedule);
    must_call(run->gpu->api->stream_create(&run->stream, GPU_STREAM_NON_BLOCKING, 0),
              "cuStreamCreateWithPriority");
    if (braid_gpu_island_create(run->gpu, &lists, &run->island) == BRAID_OK)
        return true;
    printf("%s: %s\n", shape->name, braid_error_get_message());
    return false;
}

static void close_island(struct run *run)
{
    braid_gpu_island_destroy(run->gpu, run->island);
    run->gpu->api->stream_destroy(run->stream);
    free(run->tasks);
    free(run->args);
    free(run->values);
}

static void *upload(const struct run *run, const void *from, size_t bytes)
{
    void *to;
    must(braid_gpu_allocate(&run->gpu->base, BRAID_MEMORY_DEVICE, bytes, &to));
    must_call(run->gpu->api->copy(to, from, bytes, NULL), "cuMemcpyAsync");
    must_call(run->gpu->api->stream_synchronize(NULL), "cuStreamSynchronize");
    return to;
}

// How often a node ran before one of its predecessors had, or not at all, in many frames.
static unsigned count_errors(const struct driver *driver, const struct shape *shape, uint64_t ns,
                             uint32_t lanes, uint64_t wait_ns)
{
    static const uint32_t arg_bytes[] = { sizeof(void *), sizeof(uint32_t) };
    struct run run = { .driver = driver, .gpu = gpu_from(driver->backend) };
    struct backend_kernel *kernel;
    must(driver->backend->ops->kernel_load(driver->backend, &bench_check, KERNEL_AS_IT_IS, NULL,
                                           arg_bytes, 2, &kernel));
    unsigned *zeros = calloc(shape->num_nodes + 1, sizeof(*zeros));
    const struct check check = {
        .first = upload(&run, shape->first, (shape->num_nodes + 1) * sizeof(uint32_t)),
        .before = upload(&run, shape->before, (shape->first[shape->num_nodes] + 1) * 4),
        .stamp = upload(&run, zeros, (shape->num_nodes + 1) * sizeof(*zeros)),
        .errors = upload(&run, zeros, sizeof(*zeros)),
    };
    run.table = upload(&run, &check, sizeof(check));
    make_tasks(&run, shape, kernel, arg_bytes, 2, 0);
    unsigned errors = ~0u;
    if (open_island(&run, shape, ns, lanes, wait_ns)) {
        for (int i = 0; i < CHECKED_FRAMES; i++)
            launch_island(&run);
        launch_frames(&run, CHECKED_FRAMES);
        wait_island(&run);
        must_call(run.gpu->api->copy(&errors, check.errors, sizeof(errors), NULL), "cuMemcpy");
        must_call(run.gpu->api->copy(zeros, check.stamp, shape->num_nodes * 4, NULL), "cuMemcpy");
        must_call(run.gpu->api->stream_synchronize(NULL), "cuStreamSynchronize");
        for (uint32_t i = 0; i < shape->num_nodes; i++)
            errors += zeros[i] != 2 * CHECKED_FRAMES;
    }
    close_island(&run);
    driver->backend->ops->kernel_unload(driver->backend, kernel);
    free(zeros);
    return errors;
}

// A block has 32 warps; beyond, lanes are spread over blocks, whose waits are dearer.
static const struct {
    uint32_t lanes;
    uint64_t wait_ns;
} choices[] = { { 1, 100 },  { 2, 100 },  { 4, 100 },   { 8, 100 },  { 16, 100 },
                { 32, 100 }, { 64, 800 }, { 128, 800 }, { 256, 800 } };
enum { NUM_CHOICES = sizeof(choices) / sizeof(choices[0]) };

struct cell {
    const struct driver *driver;
    braid_device *device;
    const struct shape *shape;
    const struct body *body;
};

static double measure_choice(const struct cell *cell, const struct system *by_hand,
                             const struct system *graph_mode, uint32_t choice)
{
    static const uint32_t arg_bytes[] = { sizeof(uint32_t) };
    struct run run = { .driver = cell->driver, .gpu = gpu_from(cell->driver->backend) };
    uint32_t lanes = choices[choice].lanes;
    uint64_t wait_ns = choices[choice].wait_ns, ns = cell->body->ns;
    make_tasks(&run, cell->shape, cell->driver->kernel, arg_bytes, 1, cell->body->cycles);
    double ratio = 1e9;
    double start = now_us();
    if (open_island(&run, cell->shape, ns, lanes, wait_ns)) {
        double build = now_us() - start;
        unsigned errors = count_errors(cell->driver, cell->shape, ns, lanes, wait_ns);
        struct system systems[3] = { *by_hand, *graph_mode };
        systems[2] = (struct system){ .launch = launch_island, .wait = wait_island, .user = &run };
        struct timing timings[3];
        measure(systems, 3, FRAMES, timings);
        ratio = timings[2].total_us / timings[0].total_us;
        printf("%s,%s,island,%u,%u,%.1f,%.1f,%.3f,%u,%.1f\n", cell->body->name, cell->shape->name,
               run.num_lanes, run.num_waits, timings[2].total_us, timings[2].host_us, ratio, errors,
               build / 1000);
        if (choice == 0)
            printf("%s,%s,by hand,,,%.1f,%.1f,1,,\n%s,%s,braid graph,,,%.1f,%.1f,%.3f,,\n",
                   cell->body->name, cell->shape->name, timings[0].total_us, timings[0].host_us,
                   cell->body->name, cell->shape->name, timings[1].total_us, timings[1].host_us,
                   timings[1].total_us / timings[0].total_us);
    }
    close_island(&run);
    return ratio;
}

static double measure_cell(const struct cell *cell)
{
    struct system by_hand, graph_mode;
    struct by_hand *hand =
        by_hand_as_graph(cell->driver, cell->shape, cell->body->cycles, &by_hand);
    struct with_braid *braid =
        braid_run_shape(cell->device, cell->shape, cell->body, BRAID_MODE_GRAPH, 0, &graph_mode);
    double best = 1e9;
    for (uint32_t i = 0; i < NUM_CHOICES; i++) {
        double ratio = measure_choice(cell, &by_hand, &graph_mode, i);
        best = ratio < best ? ratio : best;
    }
    braid_finish_shape(braid);
    by_hand_finish(hand);
    return best;
}

int main(void)
{
    struct body bodies[NUM_BODIES] = {
        { .name = "empty", .ns = 0 },
        { .name = "2 us", .ns = 2000 },
        { .name = "10 us", .ns = 10000 },
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct driver driver = open_driver();
    braid_device *device;
    must(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    printf("body,shape,system,lanes,waits,total us,host us,over by hand,errors,build ms\n");
    for (uint32_t b = 0; b < NUM_BODIES; b++) {
        bodies[b].cycles = bodies[b].ns ? cycles_of(device, bodies[b].ns) : 0;
        for (uint32_t i = 0; i < NUM_SHAPES; i++) {
            struct shape shape = make_shape(i);
            const struct cell cell = { &driver, device, &shape, &bodies[b] };
            printf("summary: %s %s: best island %.3f of the graph by hand\n", bodies[b].name,
                   shape.name, measure_cell(&cell));
            free_shape(&shape);
        }
    }
    braid_device_close(device);
    close_driver(&driver);
    return 0;
}

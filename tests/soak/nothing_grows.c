// SPDX-License-Identifier: Apache-2.0
// Many frames, one after another and three in flight: what the process holds at the end is what it
// held when warm. BRAID_SOAK_FRAMES=N runs N frames (2,000 otherwise); `./run soak` runs 200,000 in
// each mode.
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/clock.h"
#include "support/kernels.h"
#include "support/sanitizers.h"

enum { WIDTH = 4, DEPTH = 4, NUM_IN_FLIGHT = 8, DEFAULT_FRAMES = 2000 };
// What a sanitizer keeps of freed memory is its own business.
#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
enum { WATCHES_MEMORY = 0 };
#else
enum { WATCHES_MEMORY = 1 };
#endif
// The heap and the process may round up, and move to another core's pool; a leak of a byte a frame
// would be more.
enum { HEAP_SLACK = 64 * 1024, PROCESS_SLACK = 2 * 1024 * 1024 };

struct held {
    uint64_t heap, process, descriptors, threads;
    braid_device_info stats;
};

static uint64_t count_entries(const char *folder)
{
    DIR *open = opendir(folder);
    assert_non_null(open);
    uint64_t num = 0;
    while (readdir(open))
        num++;
    closedir(open);
    return num - 2; // . and ..
}

static uint64_t read_process_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size, resident;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct held measure(const braid_device *device)
{
    struct mallinfo2 heap = mallinfo2();
    struct held held = { .heap = heap.uordblks + heap.hblkhd,
                         .process = read_process_bytes(),
                         .descriptors = count_entries("/proc/self/fd"),
                         .threads = count_entries("/proc/self/task") };
    braid_device_get_info(device, &held.stats);
    return held;
}

struct frame {
    braid_device *device;
    braid_exec *exec;
    braid_stream *stream;
    braid_node changing;
    braid_parameter value;
    uint32_t *data;
    uint32_t num_calls, num_ended;
};

static void count_call(void *user)
{
    ++*(uint32_t *)user;
}

static void count_end(uint64_t number, void *user)
{
    (void)number;
    ++*(uint32_t *)user;
}

// A parameter by way of scratch, a transient buffer and a version, so that frames have memory of
// their own, and find that of others.
static void add_keeper(struct frame *frame, braid_graph *graph)
{
    braid_resource scratch, transient, version, result;
    uint32_t *to = frame->data + WIDTH + 2, value = 7, num = 1;
    uint64_t ns = 0;
    braid_node keep;
    check_ok(braid_graph_add_scratch(graph, "scratch", 4, 0, &scratch));
    check_ok(braid_graph_add_transient(graph, "transient", 4, 0, &transient));
    check_ok(braid_graph_add_versioned_buffer(graph, "version", NULL, 2, 4, &version));
    check_ok(braid_graph_add_buffer(graph, "result", to, 4, &result));
    check_ok(braid_graph_add_parameter(graph, "value", sizeof(value), &frame->value));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_keep,
                              BRAID_ACCESSES({ transient, BRAID_WRITE }),
                              BRAID_ARGS(braid_resource_address(&scratch),
                                         braid_resource_address(&transient), BRAID_ARG(value),
                                         BRAID_ARG(num), BRAID_ARG(ns)) },
        &keep));
    check_ok(braid_graph_use_parameter(graph, frame->value,
                                       &(braid_parameter_use){ .node = keep, .argument = 2 }));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_axpy,
                              BRAID_ACCESSES({ transient, BRAID_READ }, { version, BRAID_WRITE }),
                              BRAID_ARGS(braid_resource_address(&version),
                                         braid_resource_address(&transient), BRAID_ARG(num),
                                         BRAID_ARG(num), BRAID_ARG(num)) },
        NULL));
    check_ok(braid_graph_add_earlier_version(graph, version, 1, &version));
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_axpy,
                              BRAID_ACCESSES({ version, BRAID_READ }, { result, BRAID_WRITE }),
                              BRAID_ARGS(BRAID_ARG(to), braid_resource_address(&version),
                                         BRAID_ARG(num), BRAID_ARG(num), BRAID_ARG(num)) },
        NULL));
}

static void add_mesh(struct frame *frame, braid_graph *graph)
{
    uint32_t one = 1;
    braid_node above[WIDTH] = { { 0 } };
    braid_resource columns[WIDTH + 3];
    for (uint32_t i = 0; i < WIDTH + 3; i++)
        check_ok(braid_graph_add_resource(graph, "column", &columns[i]));
    for (uint32_t row = 0; row < DEPTH; row++)
        for (uint32_t i = 0; i < WIDTH; i++) {
            uint32_t *to = frame->data + i;
            braid_kernel_node launch = { .node.after = &above[i],
                                         .node.num_after = row ? 1 : 0,
                                         BRAID_ACCESSES({ columns[i], BRAID_READ_WRITE }),
                                         .kernel = &test_axpy,
                                         BRAID_ARGS(BRAID_ARG(to), BRAID_ARG(to), BRAID_ARG(one),
                                                    BRAID_ARG(one), BRAID_ARG(one)) };
            check_ok(braid_graph_add_kernel(graph, &launch, &above[i]));
        }
    frame->changing = above[0];
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ BRAID_AFTER(above[1], above[2]),
                                                 BRAID_ACCESSES({ columns[WIDTH], BRAID_WRITE }),
                                                 .to = frame->data + WIDTH, .value_bytes = 4,
                                                 .num_values = 1 },
                                  NULL));
    check_ok(braid_graph_add_copy(
        graph,
        &(braid_copy){
            BRAID_AFTER(above[3]),
            BRAID_ACCESSES({ columns[3], BRAID_READ }, { columns[WIDTH + 1], BRAID_WRITE }),
            .to = frame->data + WIDTH + 1, .from = frame->data + 3, .bytes = 4 },
        NULL));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ BRAID_AFTER(above[0]),
                            BRAID_ACCESSES({ columns[WIDTH + 2], BRAID_READ_WRITE }),
                            .call = count_call, .user = &frame->num_calls, .blocking = true },
        NULL));
    add_keeper(frame, graph);
}

static void make_frame(struct frame *frame, braid_exec_mode mode, uint32_t depth)
{
    const char *backend = getenv("BRAID_TEST_BACKEND");
    const braid_device_options options = { .backend = backend ? backend : "cpu", .num_workers = 2 };
    braid_graph *graph;
    check_ok(braid_device_open(&options, &frame->device));
    check_ok(braid_stream_create(frame->device, NULL, &frame->stream));
    check_ok(braid_memory_allocate(frame->device, BRAID_MEMORY_HOST, 64, (void **)&frame->data));
    check_ok(braid_graph_create(&graph));
    add_mesh(frame, graph);
    const braid_exec_options exec = { .mode = mode,
                                      .max_lanes = 3,
                                      .fixed_lanes = true,
                                      .frames_in_flight = depth,
                                      .on_frame_end = count_end,
                                      .on_frame_end_user = &frame->num_ended };
    check_ok(braid_exec_create(frame->device, graph, &exec, &frame->exec));
    braid_graph_destroy(graph);
}

static void run_frames(struct frame *frame, uint64_t num)
{
    for (uint64_t i = 0; i < num; i++) {
        uint32_t addend = (uint32_t)i;
        check_ok(braid_exec_set_arg(frame->exec, frame->changing, 3, BRAID_ARG(addend)));
        check_ok(braid_exec_set_parameter(frame->exec, frame->value, &addend));
        check_ok(braid_exec_launch(frame->exec, i % 2 ? frame->stream : NULL));
        if (i % NUM_IN_FLIGHT == NUM_IN_FLIGHT - 1)
            check_ok(braid_exec_wait(frame->exec));
    }
    check_ok(braid_exec_wait(frame->exec));
}

static void print_row(const char *mode, uint32_t depth, uint64_t num, uint64_t ns,
                      const struct held *warm, const struct held *end)
{
    const char *backend = getenv("BRAID_TEST_BACKEND");
    printf("summary: %-4s %-7s %u in flight %7llu frames %6.1f s  heap %+lld B  process %+lld KiB  "
           "descriptors "
           "%+lld  threads %+lld  streams made %+lld  events made %+lld\n",
           backend ? backend : "cpu", mode, depth, (unsigned long long)num, (double)ns / 1e9,
           (long long)(end->heap - warm->heap), (long long)(end->process - warm->process) / 1024,
           (long long)(end->descriptors - warm->descriptors),
           (long long)(end->threads - warm->threads),
           (long long)(end->stats.streams_created - warm->stats.streams_created),
           (long long)(end->stats.events_created - warm->stats.events_created));
}

static void soak(const char *name, braid_exec_mode mode, uint32_t depth)
{
    const char *setting = getenv("BRAID_SOAK_FRAMES");
    uint64_t num = setting ? strtoull(setting, NULL, 10) : DEFAULT_FRAMES;
    struct frame frame = { 0 };
    make_frame(&frame, mode, depth);
    run_frames(&frame, num / 4 + NUM_IN_FLIGHT);
    struct held warm = measure(frame.device);
    uint64_t start = clock_now_ns(), calls = frame.num_calls;
    run_frames(&frame, num);
    struct held end = measure(frame.device);
    print_row(name, depth, num, clock_now_ns() - start, &warm, &end);
    assert_int_equal(frame.num_calls - calls, num);
    assert_int_equal(frame.num_ended, frame.num_calls);
    assert_int_equal(end.descriptors, warm.descriptors);
    assert_int_equal(end.threads, warm.threads);
    assert_memory_equal(&end.stats, &warm.stats, sizeof(end.stats));
    if (WATCHES_MEMORY) {
        assert_true(end.heap <= warm.heap + HEAP_SLACK);
        assert_true(end.process <= warm.process + PROCESS_SLACK);
    }
    braid_exec_destroy(frame.exec);
    braid_memory_free(frame.device, frame.data);
    braid_stream_destroy(frame.stream);
    braid_device_close(frame.device);
}

static void on_streams(void **state)
{
    (void)state;
    for (uint32_t depth = 1; depth <= 3; depth += 2)
        soak("streams", BRAID_MODE_STREAMS, depth);
}

static void in_graph_replay(void **state)
{
    (void)state;
    for (uint32_t depth = 1; depth <= 3; depth += 2)
        soak("graph", BRAID_MODE_GRAPH, depth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(in_graph_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

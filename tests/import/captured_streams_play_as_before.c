// SPDX-License-Identifier: Apache-2.0
// Random streams of random kernels, captured and imported, write the bytes that the captured graph
// writes, on any lanes.
//
// BRAID_TEST_CAPTURES is how many are tried, and BRAID_TEST_SEED the seed of the first.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "accesses/random_kernel.h"
#include "cuda_abi.h"
#include "support/check.h"
#include "support/sanitizers.h"

#ifdef UNDER_TSAN
enum { SEES_RACES = true }; // also where random streams race
#else
enum { SEES_RACES = false };
#endif

enum {
    BUFFERS = 7,
    TABLE = 6, // no kernel that is proven uses it
    ALLOCATIONS = 3,
    ALL_BYTES = BUFFERS * KERNEL_BUFFER_BYTES,
    RESULT_BYTES = ALL_BYTES + sizeof(uint32_t), // and how often the host was called
    KERNELS = 4,
    STREAMS = 3,
    MOST_STEPS = 16,
    TEXT_BYTES = 1 << 15,
    FRAMES = 2
};

struct world {
    braid_device *device;
    braid_stream *stream;
    CUstream streams[STREAMS];
    CUevent event;
};
static struct world world;

struct trial {
    char texts[KERNELS][TEXT_BYTES];
    const char *given[KERNELS];
    size_t num_given;
    CUmodule modules[KERNELS];
    CUfunction functions[KERNELS];
    uint32_t num_streams;
    CUdeviceptr allocations[ALLOCATIONS]; // 0: it is none now
    uint32_t shift, map[TABLE];           // what a later capture has other than the first
    CUgraph graph;
};

static uint64_t seed_now, num_compared, num_unproven, num_removed, num_allocations, num_races,
    num_updated, num_update_refused, num_reloadable, num_early;

static void must(CUresult result)
{
    if (result)
        fail_msg("seed %llu: the driver returns %d", (unsigned long long)seed_now, (int)result);
}

static uint64_t count_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

static unsigned char *buffers[BUFFERS]; // memory of the device
static uint32_t num_called;

static void reset_memory(uint64_t seed)
{
    struct random random = { seed };
    uint64_t content[KERNEL_BUFFER_BYTES / sizeof(uint64_t)];
    for (uint32_t i = 0; i < BUFFERS; i++) {
        for (size_t k = 0; k < sizeof(content) / sizeof(content[0]); k++)
            content[k] = random_next(&random);
        for (uint32_t k = 0; k < KERNEL_BUFFERS && i == TABLE; k++)
            content[KERNEL_FIRST / sizeof(uint64_t) + k] = (uintptr_t)(buffers[k] + KERNEL_FIRST);
        must(cuMemcpyHtoD_v2((uintptr_t)buffers[i], content, sizeof(content)));
    }
    num_called = 0;
}

static void copy_memory(unsigned char *to)
{
    for (uint32_t i = 0; i < BUFFERS; i++)
        must(cuMemcpyDtoH_v2(to + (size_t)KERNEL_BUFFER_BYTES * i, (uintptr_t)buffers[i],
                             KERNEL_BUFFER_BYTES));
    memcpy(to + ALL_BYTES, &num_called, sizeof(num_called));
}

// ---- random streams ----

// Each kernel has a name of its own. None compares addresses: allocations of a graph and transient
// buffers have others.
static void make_kernel(struct random *random, struct trial *trial, int index)
{
    char *text = trial->texts[index], name[] = "k0";
    do
        random_kernel_write(random, 1, text, TEXT_BYTES - 1);
    while (strstr(text, "max.u64") || strstr(text, "min.u64"));
    char *entry = strstr(text, ".entry k(");
    assert_non_null(entry);
    entry += strlen(".entry k");
    memmove(entry + 1, entry, strlen(entry) + 1);
    *entry = name[1] = (char)('0' + index);
    must(cuModuleLoadData(&trial->modules[index], trial->texts[index]));
    must(cuModuleGetFunction(&trial->functions[index], trial->modules[index], name));
    if (!random_chance(random, 10))
        trial->given[trial->num_given++] = trial->texts[index];
}

// An allocation of the graph, or a buffer.
static uint64_t choose_pointer(struct random *random, const struct trial *trial)
{
    const CUdeviceptr allocation = trial->allocations[random_below(random, ALLOCATIONS)];
    if (allocation && random_chance(random, 50))
        return allocation + KERNEL_FIRST;
    return (uintptr_t)(buffers[trial->map[random_below(random, TABLE)]] + KERNEL_FIRST);
}

static void launch(struct random *random, struct trial *trial, CUstream stream)
{
    uint64_t own[KERNEL_POINTERS], pointer;
    unsigned char all[KERNEL_STRUCT_BYTES] = { 0 };
    uint32_t number = random_below(random, 8) ^ trial->shift;
    memcpy(all, &number, sizeof(number));
    for (int i = 0; i < 3; i++) {
        own[i] = choose_pointer(random, trial);
        pointer =
            i == 2 ? (uintptr_t)(buffers[TABLE] + KERNEL_FIRST) : choose_pointer(random, trial);
        memcpy(all + kernel_struct_places[i], &pointer, sizeof(pointer));
    }
    void *args[] = { &own[0], &own[1], &own[2], all, &number };
    must(cuLaunchKernel(trial->functions[random_below(random, KERNELS)], 1, 1, 1, 1, 1, 1, 0,
                        stream, args, NULL));
}

static void fill(struct random *random, const struct trial *trial, CUstream stream)
{
    const CUdeviceptr to = choose_pointer(random, trial) + 4 * random_below(random, 8);
    switch (random_below(random, 4)) {
    case 0:
        must(cuMemsetD8Async(to, (unsigned char)random_below(random, 256), 64, stream));
        break;
    case 1:
        must(cuMemsetD16Async(to, (unsigned short)random_below(random, 999), 32, stream));
        break;
    default:
        must(cuMemsetD32Async(to, random_below(random, 99) + trial->shift,
                              1 + random_below(random, 64), stream));
    }
}

static void copy(struct random *random, const struct trial *trial, CUstream stream)
{
    const CUdeviceptr from = choose_pointer(random, trial), to = choose_pointer(random, trial);
    const uint32_t bytes = 8 + random_below(random, 256);
    if (to != from)
        must(cuMemcpyDtoDAsync_v2(to, from, bytes, stream));
}

static void copy_rows(struct random *random, CUstream stream)
{
    const uint32_t from = random_below(random, TABLE);
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = (uintptr_t)buffers[from],
        .srcPitch = 64,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = (uintptr_t)buffers[(from + 1) % TABLE],
        .dstPitch = 128,
        .WidthInBytes = 24,
        .Height = 5,
    };
    if (random_chance(random, 50))
        must(cuMemcpy2DAsync_v2(&rows, stream));
    else
        must(cuMemsetD2D16Async((uintptr_t)buffers[from], 64, 7, 16, 9, stream));
}

// Contents of an allocation are nothing that a kernel may read.
static void allocate(struct random *random, struct trial *trial, CUstream stream)
{
    CUdeviceptr *slot = &trial->allocations[random_below(random, ALLOCATIONS)];
    if (*slot) {
        must(cuMemFreeAsync(*slot, stream));
        *slot = 0;
        return;
    }
    must(cuMemAllocAsync(slot, KERNEL_BUFFER_BYTES, stream));
    must(cuMemsetD8Async(*slot, (unsigned char)random_below(random, 256), KERNEL_BUFFER_BYTES,
                         stream));
    num_allocations++;
}

static void call_host(void *user)
{
    ++*(uint32_t *)user;
}

static void wait_for(CUstream stream, CUstream before)
{
    must(cuEventRecord(world.event, before));
    must(cuStreamWaitEvent(stream, world.event, 0));
}

// Allocations are on the first stream, and only there used, unless there is one stream.
static void capture_step(struct random *random, struct trial *trial)
{
    const uint32_t which = random_below(random, trial->num_streams);
    const CUstream stream = world.streams[which];
    const uint32_t chance = random_below(random, 100);
    if (trial->num_streams > 1 && random_chance(random, 40))
        wait_for(stream, world.streams[random_below(random, trial->num_streams)]);
    if (chance < 60)
        launch(random, trial, stream);
    else if (chance < 70)
        fill(random, trial, stream);
    else if (chance < 80)
        copy(random, trial, stream);
    else if (chance < 84)
        copy_rows(random, stream);
    else if (chance < 87)
        must(cuLaunchHostFunc(stream, call_host, &num_called));
    else if (trial->num_streams == 1)
        allocate(random, trial, stream);
}

static void capture(struct random *random, struct trial *trial)
{
    memset(trial->allocations, 0, sizeof(trial->allocations));
    must(cuStreamBeginCapture_v2(world.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    for (uint32_t i = 1; i < trial->num_streams; i++)
        wait_for(world.streams[i], world.streams[0]);
    for (uint32_t i = 2 + random_below(random, MOST_STEPS); i > 0; i--)
        capture_step(random, trial);
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (trial->allocations[i])
            must(cuMemFreeAsync(trial->allocations[i], world.streams[0]));
    }
    for (uint32_t i = 1; i < trial->num_streams; i++)
        wait_for(world.streams[0], world.streams[i]);
    must(cuStreamEndCapture(world.streams[0], &trial->graph));
}

static void make_trial(struct random *random, struct trial *trial)
{
    memset(trial, 0, sizeof(*trial));
    for (int i = 0; i < KERNELS; i++)
        make_kernel(random, trial, i);
    for (uint32_t i = 0; i < TABLE; i++)
        trial->map[i] = i;
    trial->num_streams = random_chance(random, 60) ? 1 : 2 + random_below(random, 2);
}

// Buffers change places. Sometimes two become one, so that nodes may share more than before.
static void make_later(struct random *random, struct trial *trial)
{
    trial->shift = random_below(random, 8);
    for (uint32_t i = 0; i + 1 < TABLE; i++) {
        const uint32_t other = i + random_below(random, TABLE - i), kept = trial->map[i];
        trial->map[i] = trial->map[other];
        trial->map[other] = kept;
    }
    if (random_chance(random, 30))
        trial->map[0] = trial->map[1];
}

static void finish_trial(struct trial *trial)
{
    for (int i = 0; i < KERNELS; i++)
        must(cuModuleUnload(trial->modules[i]));
}

// ---- comparing ----

static void play_captured(const struct trial *trial, unsigned char *out_bytes)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, trial->graph, 0));
    reset_memory(seed_now);
    for (int i = 0; i < FRAMES; i++)
        must(cuGraphLaunch(exec, world.streams[0]));
    must(cuStreamSynchronize(world.streams[0]));
    copy_memory(out_bytes);
    must(cuGraphExecDestroy(exec));
}

static braid_exec *make_exec(struct random *random, braid_import *import)
{
    braid_exec *exec;
    const braid_exec_options options = {
        .mode = random_chance(random, 60) ? BRAID_MODE_AUTO : BRAID_MODE_STREAMS,
        .max_lanes = 1 + random_below(random, 5),
        .frames_in_flight = 1 + random_below(random, 2),
    };
    braid_exec_info info;
    check_ok(braid_exec_create(world.device, braid_import_get_graph(import), &options, &exec));
    braid_exec_get_info(exec, &info);
    num_early += info.num_early_starts;
    return exec;
}

static void play_imported(braid_exec *exec, unsigned char *out_bytes)
{
    reset_memory(seed_now);
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(exec, world.stream));
    check_ok(braid_exec_wait(exec));
    copy_memory(out_bytes);
}

static void compare(const unsigned char *expected, const unsigned char *found)
{
    size_t at = 0;
    while (at < RESULT_BYTES && expected[at] == found[at])
        at++;
    if (at < RESULT_BYTES)
        fail_msg("seed %llu: byte %zu of buffer %zu differs", (unsigned long long)seed_now,
                 at % KERNEL_BUFFER_BYTES, at / KERNEL_BUFFER_BYTES);
}

// The same steps with other numbers and buffers, which an exec of the first capture takes.
static void try_later(struct random random, struct trial *trial, const braid_import *import,
                      braid_exec *exec)
{
    static unsigned char expected[RESULT_BYTES], found[RESULT_BYTES];
    capture(&random, trial);
    const braid_status status = braid_import_update(import, trial->graph, NULL, exec);
    if (!status) {
        play_captured(trial, expected);
        play_imported(exec, found);
        compare(expected, found);
    } else if (status != BRAID_INVALID_ARGUMENT ||
               !strstr(braid_error_get_message(), "import it anew")) {
        fail_msg("seed %llu: %s", (unsigned long long)seed_now, braid_error_get_message());
    }
    num_updated += !status;
    num_update_refused += status != BRAID_OK;
    must(cuGraphDestroy(trial->graph));
}

static void try_one(struct random *random)
{
    static struct trial trial;
    static unsigned char expected[RESULT_BYTES], found[RESULT_BYTES];
    braid_import *import;
    braid_import_info info;
    make_trial(random, &trial);
    const struct random steps = *random;
    capture(random, &trial);
    braid_import_options options = { .texts = trial.given, .num_texts = trial.num_given };
    if (random_chance(random, 50))
        options =
            (braid_import_options){ .reloaded = trial.given, .num_reloaded = trial.num_given };
    check_ok(braid_import_create(world.device, trial.graph, &options, &import));
    braid_import_get_info(import, &info);
    num_reloadable += info.num_reloadable;
    num_unproven += info.num_unproven;
    num_removed += info.num_captured - info.num_kept;
    num_races += info.num_races;
    // Bytes after a race are any, and nobody sees the races of a node that is not proven.
    const bool is_ordered = trial.num_streams == 1 || (!info.num_races && !info.num_unproven);
    if (is_ordered || !SEES_RACES)
        play_captured(&trial, expected);
    must(cuGraphDestroy(trial.graph));
    braid_exec *exec = make_exec(random, import);
    if (is_ordered || !SEES_RACES)
        play_imported(exec, found);
    if (is_ordered)
        compare(expected, found);
    num_compared += is_ordered;
    make_later(random, &trial);
    if (trial.num_streams == 1)
        try_later(steps, &trial, import, exec);
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    finish_trial(&trial);
}

static void open_world(void)
{
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &world.device));
    check_ok(braid_stream_create(world.device, NULL, &world.stream));
    CUcontext context;
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    for (uint32_t i = 0; i < BUFFERS; i++) {
        CUdeviceptr memory;
        must(cuMemAlloc_v2(&memory, KERNEL_BUFFER_BYTES));
        buffers[i] = (unsigned char *)(uintptr_t)memory;
    }
    for (int i = 0; i < STREAMS; i++)
        must(cuStreamCreate(&world.streams[i], CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&world.event, CU_EVENT_DISABLE_TIMING));
}

static void close_world(void)
{
    for (uint32_t i = 0; i < BUFFERS; i++)
        must(cuMemFree_v2((uintptr_t)buffers[i]));
    for (int i = 0; i < STREAMS; i++)
        must(cuStreamDestroy_v2(world.streams[i]));
    must(cuEventDestroy_v2(world.event));
    braid_stream_destroy(world.stream);
    check_ok(braid_device_close(world.device));
    must(cuDevicePrimaryCtxRelease_v2(0));
}

static void imports_write_what_captures_do(void **state)
{
    (void)state;
    const uint64_t num = count_of("BRAID_TEST_CAPTURES", 200),
                   seed = count_of("BRAID_TEST_SEED", 1);
    open_world();
    for (uint64_t i = 0; i < num; i++) {
        struct random random = { seed + i };
        seed_now = seed + i;
        try_one(&random);
    }
    close_world();
    print_message("summary: %llu of %llu captures compared; %llu nodes not proven, %llu orders "
                  "removed, %llu allocations, %llu possible races, %llu functions loaded from "
                  "their text, %llu early starts; %llu later captures taken, %llu refused\n",
                  (unsigned long long)num_compared, (unsigned long long)num,
                  (unsigned long long)num_unproven, (unsigned long long)num_removed,
                  (unsigned long long)num_allocations, (unsigned long long)num_races,
                  (unsigned long long)num_reloadable, (unsigned long long)num_early,
                  (unsigned long long)num_updated, (unsigned long long)num_update_refused);
    assert_true(num_removed > num);
    assert_true(num_early > num / 10);
    assert_true(num_updated > num / 8 && num_update_refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(imports_write_what_captures_do) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

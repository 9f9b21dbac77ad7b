// SPDX-License-Identifier: Apache-2.0
// Random streams of two devices, captured as one graph and imported into a group, write the bytes
// that the captured graph writes.
//
// BRAID_TEST_CAPTURES is how many are tried, and BRAID_TEST_SEED the seed of the first.
#include <stdlib.h>
#include <string.h>

#include "import/random_captures.h"
#include "support/sanitizers.h"

#ifdef UNDER_TSAN
enum { SEES_RACES = true }; // also where random streams race
#else
enum { SEES_RACES = false };
#endif

enum { ALL_BYTES = BUFFERS * KERNEL_BUFFER_BYTES, FRAMES = 2 };

struct result {
    unsigned char bytes[ALL_BYTES];
    uint32_t num_called;
};

static braid_device *members[DEVICES], *group;
static braid_stream *played; // by frames
static uint64_t num_compared, num_removed, num_crossing, num_updated, num_update_refused;

static uint64_t count_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
}

// ---- the world ----

static void open_device(int i)
{
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda", .ordinal = (uint32_t)i },
                               &members[i]));
    must(cuDevicePrimaryCtxRetain(&random_contexts[i], i));
    must(cuCtxSetCurrent(random_contexts[i]));
    must(cuEventCreate(&random_events[i], CU_EVENT_DISABLE_TIMING));
    for (int k = i; k < STREAMS; k += DEVICES)
        must(cuStreamCreate(&random_streams[k], CU_STREAM_NON_BLOCKING));
    for (int k = i; k < BUFFERS; k += DEVICES) {
        CUdeviceptr memory;
        must(cuMemAlloc_v2(&memory, KERNEL_BUFFER_BYTES));
        buffers[k] = (unsigned char *)(uintptr_t)memory;
    }
}

static void close_device(int i)
{
    must(cuCtxSetCurrent(random_contexts[i]));
    for (int k = i; k < BUFFERS; k += DEVICES)
        must(cuMemFree_v2((uintptr_t)buffers[k]));
    for (int k = i; k < STREAMS; k += DEVICES)
        must(cuStreamDestroy_v2(random_streams[k]));
    must(cuEventDestroy_v2(random_events[i]));
    check_ok(braid_device_close(members[i]));
    must(cuDevicePrimaryCtxRelease_v2(i));
}

static void open_world(void)
{
    for (int i = 0; i < DEVICES; i++)
        open_device(i);
    must(cuCtxSetCurrent(random_contexts[0]));
    here.stream = random_streams[0];
    check_ok(braid_device_open_group(members, DEVICES, &group));
    check_ok(braid_stream_create(members[0], NULL, &played));
}

static void close_world(void)
{
    braid_stream_destroy(played);
    check_ok(braid_device_close(group));
    for (int i = 0; i < DEVICES; i++)
        close_device(i);
}

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

static void copy_memory(struct result *to)
{
    for (uint32_t i = 0; i < BUFFERS; i++)
        must(cuMemcpyDtoH_v2(to->bytes + (size_t)KERNEL_BUFFER_BYTES * i, (uintptr_t)buffers[i],
                             KERNEL_BUFFER_BYTES));
    to->num_called = num_called;
}

// ---- comparing ----

static void run_captured(const struct trial *trial, struct result *out_result)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, trial->graph, 0));
    reset_memory(here.seed);
    for (int i = 0; i < FRAMES; i++)
        must(cuGraphLaunch(exec, random_streams[0]));
    must(cuStreamSynchronize(random_streams[0]));
    copy_memory(out_result);
    must(cuGraphExecDestroy(exec));
}

static braid_exec *make_exec(struct random *random, braid_import *import)
{
    static const braid_exec_mode modes[] = { BRAID_MODE_AUTO, BRAID_MODE_STREAMS,
                                             BRAID_MODE_GRAPH };
    const braid_exec_options options = { .mode = modes[random_below(random, 3)],
                                         .max_lanes = 1 + random_below(random, 4),
                                         .frames_in_flight = 1 + random_below(random, 2) };
    braid_exec *exec;
    check_ok(braid_exec_create(group, braid_import_get_graph(import), &options, &exec));
    return exec;
}

static void run_imported(braid_exec *exec, struct result *out_result)
{
    reset_memory(here.seed);
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(exec, played));
    check_ok(braid_exec_wait(exec));
    copy_memory(out_result);
}

static void compare(const struct result *expected, const struct result *found)
{
    size_t at = 0;
    while (at < ALL_BYTES && expected->bytes[at] == found->bytes[at])
        at++;
    if (at < ALL_BYTES)
        fail_msg("seed %llu: byte %zu of buffer %zu differs", (unsigned long long)here.seed,
                 at % KERNEL_BUFFER_BYTES, at / KERNEL_BUFFER_BYTES);
    assert_int_equal(found->num_called, expected->num_called);
}

// The same steps with other numbers and buffers, which an exec of the first capture takes.
static void try_later(struct random random, struct trial *trial, const braid_import *import,
                      braid_exec *exec)
{
    static struct result expected, found;
    capture(&random, trial);
    const braid_status status = braid_import_update(import, trial->graph, NULL, exec);
    if (!status) {
        run_captured(trial, &expected);
        run_imported(exec, &found);
        compare(&expected, &found);
    } else if (status != BRAID_INVALID_ARGUMENT ||
               !strstr(braid_error_get_message(), "import it anew")) {
        fail_msg("seed %llu: %s", (unsigned long long)here.seed, braid_error_get_message());
    }
    num_updated += !status;
    num_update_refused += status != BRAID_OK;
    must(cuGraphDestroy(trial->graph));
}

static void note(const braid_exec *exec, const braid_import_info *info)
{
    braid_schedule_info plan;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &plan);
    num_removed += info->num_captured - info->num_kept;
    num_crossing += plan.num_lanes > 1;
}

static void try_one(struct random *random)
{
    static struct trial trial;
    static struct result expected, found;
    braid_import *import;
    braid_import_info info;
    make_trial_of_two(random, &trial);
    const struct random steps = *random;
    capture(random, &trial);
    const braid_import_options options = { .texts = trial.given, .num_texts = trial.num_given };
    check_ok(braid_import_create(group, trial.graph, &options, &import));
    braid_import_get_info(import, &info);
    // Bytes after a race are any, and nobody sees the races of a node that is not proven.
    const bool is_ordered = trial.is_serial || (!info.num_races && !info.num_unproven);
    if (is_ordered || !SEES_RACES)
        run_captured(&trial, &expected);
    must(cuGraphDestroy(trial.graph));
    braid_exec *exec = make_exec(random, import);
    note(exec, &info);
    if (is_ordered || !SEES_RACES)
        run_imported(exec, &found);
    if (is_ordered)
        compare(&expected, &found);
    num_compared += is_ordered;
    make_later(random, &trial);
    if (trial.is_serial)
        try_later(steps, &trial, import, exec);
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    finish_trial(&trial);
}

static void imports_write_what_captures_do(void **state)
{
    (void)state;
    const uint64_t num = count_of("BRAID_TEST_CAPTURES", 200),
                   seed = count_of("BRAID_TEST_SEED", 1);
    open_world();
    for (uint64_t i = 0; i < num; i++) {
        struct random random = { seed + i };
        here.seed = seed + i;
        try_one(&random);
    }
    close_world();
    print_message("summary: %llu of %llu captures compared; %llu orders removed, %llu execs with "
                  "several lanes; %llu later captures taken, %llu refused\n",
                  (unsigned long long)num_compared, (unsigned long long)num,
                  (unsigned long long)num_removed, (unsigned long long)num_crossing,
                  (unsigned long long)num_updated, (unsigned long long)num_update_refused);
    assert_true(num_compared > num / 2 && num_removed > num && num_crossing > num / 2);
    assert_true(num_updated > num / 8 && num_update_refused > 0);
}

int main(void)
{
    int num_devices = 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(imports_write_what_captures_do) };
    must(cuInit(0));
    must(cuDeviceGetCount(&num_devices));
    if (num_devices < DEVICES) {
        puts("one device is here, and two are needed");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

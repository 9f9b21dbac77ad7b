// SPDX-License-Identifier: Apache-2.0
// Random streams of random kernels, captured and imported, write the bytes that the captured graph
// writes, on any lanes.
//
// BRAID_TEST_CAPTURES is how many are tried, and BRAID_TEST_SEED the seed of the first.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/random_captures.h"
#include "support/sanitizers.h"

#ifdef UNDER_TSAN
enum { SEES_RACES = true }; // also where random streams race
#else
enum { SEES_RACES = false };
#endif

enum {
    ALL_BYTES = BUFFERS * KERNEL_BUFFER_BYTES,
    RESULT_BYTES = ALL_BYTES + sizeof(uint32_t), // and how often the host was called
    FRAMES = 2
};

static braid_stream *played; // by frames

static uint64_t num_compared, num_unproven, num_removed, num_races, num_updated, num_update_refused,
    num_reloadable, num_early;

static uint64_t count_of(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : usual;
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

static void copy_memory(unsigned char *to)
{
    for (uint32_t i = 0; i < BUFFERS; i++)
        must(cuMemcpyDtoH_v2(to + (size_t)KERNEL_BUFFER_BYTES * i, (uintptr_t)buffers[i],
                             KERNEL_BUFFER_BYTES));
    memcpy(to + ALL_BYTES, &num_called, sizeof(num_called));
}

// ---- comparing ----

static void run_captured(const struct trial *trial, unsigned char *out_bytes)
{
    CUgraphExec exec;
    here.doing = "the driver runs the captured graph";
    must(cuGraphInstantiateWithFlags(&exec, trial->graph, 0));
    reset_memory(here.seed);
    for (int i = 0; i < FRAMES; i++)
        must(cuGraphLaunch(exec, random_streams[0]));
    must(cuStreamSynchronize(random_streams[0]));
    copy_memory(out_bytes);
    must(cuGraphExecDestroy(exec));
    here.doing = NULL;
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
    check_ok(braid_exec_create(here.device, braid_import_get_graph(import), &options, &exec));
    braid_exec_get_info(exec, &info);
    num_early += info.num_early_starts;
    return exec;
}

static void run_imported(braid_exec *exec, unsigned char *out_bytes)
{
    here.doing = "Braid runs the import";
    reset_memory(here.seed);
    for (int i = 0; i < FRAMES; i++)
        check_ok(braid_exec_launch(exec, played));
    check_ok(braid_exec_wait(exec));
    copy_memory(out_bytes);
    here.doing = NULL;
}

static void compare(const unsigned char *expected, const unsigned char *found)
{
    size_t at = 0;
    while (at < RESULT_BYTES && expected[at] == found[at])
        at++;
    if (at < RESULT_BYTES)
        fail_msg("seed %llu: byte %zu of buffer %zu differs", (unsigned long long)here.seed,
                 at % KERNEL_BUFFER_BYTES, at / KERNEL_BUFFER_BYTES);
}

// The same steps with other numbers and buffers, which an exec of the first capture takes.
static void try_later(struct random random, struct trial *trial, const braid_import *import,
                      braid_exec *exec)
{
    static unsigned char expected[RESULT_BYTES], found[RESULT_BYTES];
    capture(&random, trial);
    const braid_import_options options = conditional_options();
    const braid_status status = braid_import_update(import, trial->graph, &options, exec);
    if (!status) {
        run_captured(trial, expected);
        run_imported(exec, found);
        compare(expected, found);
    } else if (status != BRAID_INVALID_ARGUMENT ||
               !strstr(braid_error_get_message(), "import it anew")) {
        fail_msg("seed %llu: %s", (unsigned long long)here.seed, braid_error_get_message());
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
    braid_import_options options = conditional_options();
    if (random_chance(random, 50)) {
        options.texts = trial.given;
        options.num_texts = trial.num_given;
    } else {
        options.reloaded = trial.given;
        options.num_reloaded = trial.num_given;
    }
    check_ok(braid_import_create(here.device, trial.graph, &options, &import));
    braid_import_get_info(import, &info);
    num_reloadable += info.num_reloadable;
    num_unproven += info.num_unproven;
    num_removed += info.num_captured - info.num_kept;
    num_races += info.num_races;
    // Bytes after a race are any, and nobody sees the races of a node that is not proven.
    const bool is_ordered = trial.num_streams == 1 || (!info.num_races && !info.num_unproven);
    if (is_ordered || !SEES_RACES)
        run_captured(&trial, expected);
    must(cuGraphDestroy(trial.graph));
    braid_exec *exec = make_exec(random, import);
    if (is_ordered || !SEES_RACES)
        run_imported(exec, found);
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
    open_conditionals(NULL);
    check_ok(braid_stream_create(here.device, NULL, &played));
    for (uint32_t i = 0; i < BUFFERS; i++) {
        CUdeviceptr memory;
        must(cuMemAlloc_v2(&memory, KERNEL_BUFFER_BYTES));
        buffers[i] = (unsigned char *)(uintptr_t)memory;
    }
    random_streams[0] = here.stream;
    for (int i = 1; i < STREAMS; i++)
        must(cuStreamCreate(&random_streams[i], CU_STREAM_NON_BLOCKING));
}

static void close_world(void)
{
    for (uint32_t i = 0; i < BUFFERS; i++)
        must(cuMemFree_v2((uintptr_t)buffers[i]));
    for (int i = 1; i < STREAMS; i++)
        must(cuStreamDestroy_v2(random_streams[i]));
    braid_stream_destroy(played);
    close_conditionals(NULL);
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
    print_message("summary: %llu of %llu captures compared; %llu nodes not proven, %llu orders "
                  "removed, %llu allocations, %llu possible races, %llu functions loaded from "
                  "their text, %llu early starts, %llu loops and branches; %llu later captures "
                  "taken, %llu refused\n",
                  (unsigned long long)num_compared, (unsigned long long)num,
                  (unsigned long long)num_unproven, (unsigned long long)num_removed,
                  (unsigned long long)num_allocations, (unsigned long long)num_races,
                  (unsigned long long)num_reloadable, (unsigned long long)num_early,
                  (unsigned long long)num_conditionals, (unsigned long long)num_updated,
                  (unsigned long long)num_update_refused);
    if (num < 100)
        return; // these few may lack something
    assert_true(num_removed > num);
    assert_true(num_early > num / 10 && num_conditionals > num);
    assert_true(num_updated > num / 8 && num_update_refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(imports_write_what_captures_do) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

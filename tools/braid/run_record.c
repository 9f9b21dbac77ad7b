// SPDX-License-Identifier: Apache-2.0
// Runs a recorded frame again in this process, on one lane and as planned. Each frame begins with
// the recorded memory, and its end is compared with that of the program's frame.
//
// Each process has other addresses free. If one of the record is taken, the tool starts again.
#include "run_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>
#include <braid/import.h>
#include <braid/record.h>

#include "clock.h"
#include "output.h"
#include "progress.h"

enum { CHAIN, PLAN, NUM_WAYS, SHOWN = 8, MOST_STARTS = 20 };

static const char *const way_names[] = { "one lane", "plan" };

struct rerun {
    const struct run_arguments *arguments;
    braid_device *device;
    braid_record *record;
    const braid_record_contents *contents;
    braid_import *import;
    braid_exec *execs[NUM_WAYS];
    uint64_t *frames[NUM_WAYS];  // ns
    uint64_t *digests[NUM_WAYS]; // by memory of the record
    bool starts_again;
};

static enum exit_status fail_by_library(const struct rerun *rerun, braid_status status)
{
    return fail(status == BRAID_INVALID_ARGUMENT || status == BRAID_UNSUPPORTED ? EXIT_BAD_FILE
                                                                                : EXIT_FAILED,
                "%s: %s", rerun->arguments->path, braid_error_get_message());
}

// ---- running ----

static braid_status create(struct rerun *rerun)
{
    const braid_record_contents *contents = rerun->contents;
    const braid_import_options options = { .device = rerun->device,
                                           .is_unwatched = true,
                                           .follows_pointers = true,
                                           .makes_memory = true };
    const uint32_t frame = contents->num_frames ? contents->num_frames - 1 : BRAID_RECORD_NONE;
    braid_status status = braid_import_create_recorded(contents, frame, &options, &rerun->import);
    for (int way = 0; way < NUM_WAYS && !status; way++) {
        braid_exec_options of = { .mode = rerun->arguments->mode,
                                  .max_lanes = way == CHAIN ? 1 : rerun->arguments->plan.max_lanes,
                                  .fixed_lanes = way == CHAIN };
        status = braid_exec_create(rerun->device, braid_import_get_graph(rerun->import), &of,
                                   &rerun->execs[way]);
    }
    return status;
}

static braid_status run_frame(struct rerun *rerun, int way, uint64_t frame)
{
    braid_status status = braid_import_restore(rerun->import);
    const uint64_t begin = clock_now_ns();
    if (!status)
        status = braid_exec_launch(rerun->execs[way], NULL);
    if (!status)
        status = braid_exec_wait(rerun->execs[way]);
    rerun->frames[way][frame] = clock_now_ns() - begin;
    for (uint32_t i = 0; i < rerun->contents->num_memory && frame == 0 && !status; i++)
        status = braid_import_get_memory_digest(rerun->import, i, &rerun->digests[way][i]);
    return status;
}

static braid_status run_frames(struct rerun *rerun)
{
    braid_status status = BRAID_OK;
    for (uint64_t i = 0; i < rerun->arguments->num_frames && !status; i++) {
        progress_show("running", i, rerun->arguments->num_frames);
        for (int way = 0; way < NUM_WAYS && !status; way++)
            status = run_frame(rerun, way, i);
    }
    progress_clear();
    return status;
}

// ---- telling ----

static int compare_times(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static double median_us(const struct rerun *rerun, int way)
{
    const uint64_t num = rerun->arguments->num_frames;
    qsort(rerun->frames[way], num, sizeof(uint64_t), compare_times);
    return (double)rerun->frames[way][num / 2] / 1e3;
}

// The host writes such memory without a call.
static bool is_of_host(const struct rerun *rerun, uint32_t memory)
{
    const braid_record_memory_kind kind =
        rerun->contents->allocations[rerun->contents->memory[memory].allocation].kind;
    return kind == BRAID_RECORD_PINNED || kind == BRAID_RECORD_HOST || kind == BRAID_RECORD_MANAGED;
}

// By number of memory: what the frame left there, in the program and here. 0: nobody knows.
static bool is_known(const struct rerun *rerun, int way, uint32_t memory)
{
    return rerun->contents->memory[memory].digest_behind && rerun->digests[way][memory];
}

static bool is_unequal(const struct rerun *rerun, int way, uint32_t memory)
{
    return is_known(rerun, way, memory) &&
           rerun->digests[way][memory] != rerun->contents->memory[memory].digest_behind;
}

// Both ways leave the same there, and the program something else. Its host may write in the frame.
static bool is_written_by_host(const struct rerun *rerun, uint32_t memory)
{
    return is_of_host(rerun, memory) && is_unequal(rerun, CHAIN, memory) &&
           rerun->digests[CHAIN][memory] == rerun->digests[PLAN][memory];
}

static bool is_compared(const struct rerun *rerun, int way, uint32_t memory)
{
    return is_known(rerun, way, memory) && !is_written_by_host(rerun, memory);
}

static bool differs(const struct rerun *rerun, int way, uint32_t memory)
{
    return is_compared(rerun, way, memory) && is_unequal(rerun, way, memory);
}

// The program may have freed memory in the frame, or have ended in it.
static void print_equal(const struct rerun *rerun, int way)
{
    uint32_t num = 0, all = 0;
    for (uint32_t i = 0; i < rerun->contents->num_memory; i++) {
        num += is_compared(rerun, way, i);
        all += !rerun->contents->memory[i].is_of_end;
    }
    if (num == all)
        printf("; all memory ends as in the program\n");
    else if (num == 0)
        printf("; nothing is compared: the record does not tell how memory ends\n");
    else
        printf("; %" PRIu32 " of %" PRIu32 " blocks end as in the program, and the record does "
               "not tell how others end\n",
               num, all);
}

static uint32_t count_differences(const struct rerun *rerun, int way)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < rerun->contents->num_memory; i++)
        num += differs(rerun, way, i);
    return num;
}

static void print_differences(const struct rerun *rerun, int way)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < rerun->contents->num_memory; i++) {
        const braid_record_memory *memory = &rerun->contents->memory[i];
        const braid_record_allocation *of = &rerun->contents->allocations[memory->allocation];
        if (!differs(rerun, way, i) || num++ >= SHOWN)
            continue;
        printf("    %" PRIu64 " bytes at 0x%" PRIx64 "%s%s end otherwise than in the program\n",
               memory->num_bytes, of->address, *of->name ? ", " : "", of->name);
    }
    if (num > SHOWN)
        printf("    and %" PRIu32 " more\n", num - SHOWN);
}

static void print_pinned(const struct rerun *rerun)
{
    braid_import_info info;
    uint32_t num = 0;
    braid_import_get_info(rerun->import, &info);
    for (uint32_t i = 0; i < rerun->contents->num_memory; i++)
        num += is_written_by_host(rerun, i);
    if (info.moved_bytes)
        printf("pinned memory: %" PRIu64 " bytes are memory of the device here, so that their "
               "copies take other times\n",
               info.moved_bytes);
    if (num)
        printf("memory of the host: %" PRIu32 " block%s end%s otherwise than in the program, "
               "whose host may have written there\n",
               num, output_plural(num), num == 1 ? "s" : "");
}

static enum exit_status print_all(const struct rerun *rerun)
{
    const braid_record_contents *contents = rerun->contents;
    uint64_t bytes = 0;
    uint32_t num_blocks = 0;
    bool is_equal = true;
    for (uint32_t i = 0; i < contents->num_memory; i++) {
        num_blocks += !contents->memory[i].is_of_end;
        bytes += contents->memory[i].is_of_end ? 0 : contents->memory[i].num_bytes;
    }
    printf("frame %" PRIu32 " of %" PRIu32 ": %s\n", contents->num_frames - 1, contents->num_frames,
           contents->program);
    printf("memory: %" PRIu32 " block%s with %" PRIu64 " bytes, at the recorded addresses\n",
           num_blocks, output_plural(num_blocks), bytes);
    print_pinned(rerun);
    for (int way = 0; way < NUM_WAYS; way++) {
        const uint32_t num = count_differences(rerun, way);
        braid_schedule_info plan;
        braid_schedule_get_info(braid_exec_get_schedule(rerun->execs[way]), &plan);
        printf("%s: %.1f us, the median of %" PRIu64 " frame%s", way_names[way],
               median_us(rerun, way), rerun->arguments->num_frames,
               output_plural(rerun->arguments->num_frames));
        if (way == PLAN)
            printf(" with %" PRIu32 " lane%s", plan.num_lanes, output_plural(plan.num_lanes));
        if (num)
            printf("; %" PRIu32 " block%s differ%s:\n", num, output_plural(num),
                   num == 1 ? "s" : "");
        else
            print_equal(rerun, way);
        print_differences(rerun, way);
        is_equal = is_equal && !num;
    }
    return is_equal ? EXIT_DONE : EXIT_FAILED;
}

// ---- starting again ----

// How often the tool has started again.
static uint64_t count_starts(void)
{
    const char *text = secure_getenv("BRAID_RUN_STARTS");
    return text ? strtoull(text, NULL, 10) : 0;
}

// Returns only where that fails.
static enum exit_status start_again(char **argv)
{
    char text[32];
    size_t num = 0;
    while (argv[num])
        num++;
    char **command = calloc(num + 2, sizeof(*command)); // with the name of the tool, and NULL
    if (!command)
        return fail(EXIT_FAILED, "out of memory to start again");
    command[0] = "braid";
    memcpy(command + 1, argv, num * sizeof(*command));
    snprintf(text, sizeof(text), "%" PRIu64, count_starts() + 1);
    setenv("BRAID_RUN_STARTS", text, 1);
    execv("/proc/self/exe", command);
    free(command);
    return fail(EXIT_FAILED, "the tool does not start again: %s", strerror(errno));
}

// The library has no status of its own for this.
static bool is_address_taken(braid_status status)
{
    return status == BRAID_UNSUPPORTED &&
           strstr(braid_error_get_message(), "are taken in this process");
}

// ---- all ----

static enum exit_status fail_on_device(struct rerun *rerun, braid_status status)
{
    if (!is_address_taken(status))
        return fail_by_library(rerun, status);
    rerun->starts_again = count_starts() < MOST_STARTS;
    return rerun->starts_again
               ? EXIT_FAILED
               : fail(EXIT_BAD_FILE, "%s: %s; none of %d processes had them free",
                      rerun->arguments->path, braid_error_get_message(), MOST_STARTS + 1);
}

static enum exit_status run_on_device(struct rerun *rerun)
{
    braid_status status = create(rerun);
    if (!status)
        status = run_frames(rerun);
    const enum exit_status result = status ? fail_on_device(rerun, status) : print_all(rerun);
    for (int way = 0; way < NUM_WAYS; way++)
        braid_exec_destroy(rerun->execs[way]);
    braid_import_destroy(rerun->import);
    return result;
}

static enum exit_status check(const struct run_arguments *arguments)
{
    if (arguments->timeline || arguments->trace || arguments->page || arguments->json ||
        arguments->costs || arguments->saved || arguments->saved_to || arguments->tuned ||
        arguments->is_profiled || arguments->num_places > 1)
        return fail(EXIT_BAD_FILE,
                    "%s is a record, which takes only --frames, --lanes, --device "
                    "and --mode",
                    arguments->path);
    return EXIT_DONE;
}

enum exit_status run_record(const struct run_arguments *arguments, char **argv)
{
    struct rerun rerun = { .arguments = arguments };
    const braid_device_options options = { .backend =
                                               arguments->backend ? arguments->backend : "cuda",
                                           .ordinal = arguments->ordinal };
    enum exit_status status = check(arguments);
    if (status != EXIT_DONE)
        return status;
    const braid_status loaded = braid_record_load(arguments->path, &rerun.record);
    if (loaded)
        return fail_by_library(&rerun, loaded);
    rerun.contents = braid_record_get_contents(rerun.record);
    for (int way = 0; way < NUM_WAYS; way++) {
        rerun.frames[way] = calloc(arguments->num_frames, sizeof(uint64_t));
        rerun.digests[way] = calloc((size_t)rerun.contents->num_memory + 1, sizeof(uint64_t));
        if (!rerun.frames[way] || !rerun.digests[way])
            status =
                fail(EXIT_FAILED, "out of memory for %" PRIu64 " frames", arguments->num_frames);
    }
    if (status == EXIT_DONE && braid_device_open(&options, &rerun.device) != BRAID_OK)
        status = fail_in_library();
    if (status == EXIT_DONE) {
        status = run_on_device(&rerun);
        if (braid_device_close(rerun.device) != BRAID_OK && status == EXIT_DONE)
            status = fail_in_library();
    }
    for (int way = 0; way < NUM_WAYS; way++) {
        free(rerun.frames[way]);
        free(rerun.digests[way]);
    }
    braid_record_destroy(rerun.record);
    return rerun.starts_again ? start_again(argv) : status;
}

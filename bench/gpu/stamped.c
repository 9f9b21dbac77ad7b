// SPDX-License-Identifier: Apache-2.0
// Which part of the code for times costs what, and what of it keeps two kernels that fill half of a
// device each from running side by side (docs/profile.md): the text that Braid makes of a spinning
// kernel, and the same with one thing of it left out or changed, in graphs by hand that differ in
// nothing else, all in turns; what the driver tells of each function; and where and when the
// blocks of some ran.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/bench.h"
#include "gpu/stamped.h"

enum { FUNCTION_REGISTERS = 4, FUNCTION_CARVEOUT = 9 }; // of CUfunction_attribute

static const char begin_red[] = "red.global.max.u64 [%braid_t1], %braid_t0;";
static const char end_red[] = "red.global.max.u64 [%braid_t1+8], %braid_t0;";
static const char early[] = "\n\tgriddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;\n";

// A parameter more, and by thread 0 of each block when it began and ended, and where.
static const char log_begin[] =
    "braid_began:\n\t}\n\t.reg .pred %log_p;\n\t.reg .b32 %log_i<2>;\n\t.reg .b64 %log_t<2>;\n"
    "\tmov.u32 %log_i0, %tid.x;\n\tsetp.ne.u32 %log_p, %log_i0, 0;\n"
    "\tmov.u32 %log_i0, %ctaid.x;\n\tld.param.u64 %log_t1, [bench_log];\n"
    "\tmad.wide.u32 %log_t1, %log_i0, 24, %log_t1;\n\tmov.u32 %log_i1, %smid;\n"
    "\tcvt.u64.u32 %log_t0, %log_i1;\n\t@!%log_p st.global.u64 [%log_t1], %log_t0;\n"
    "\tmov.u64 %log_t0, %globaltimer;\n\t@!%log_p st.global.u64 [%log_t1+8], %log_t0;\n";
static const char log_end[] = "\nbraid_end:\n\tmov.u64 %log_t0, %globaltimer;\n"
                              "\t@!%log_p st.global.u64 [%log_t1+16], %log_t0;\n";

// What is read for the stamps stays, and nothing is written.
static const char not_written[] = "add.u64 %braid_t0, %braid_t0, %braid_t1;\n"
                                  "\tsetp.eq.u64 %braid_p, %braid_t0, 0;\n\t@%braid_p trap;";

// Looks at the clock now and then, where bench_spin does all the time: its loop reads a special
// register and nothing else, and so may hold up others on the multiprocessor that read theirs.
static const braid_kernel sleeping = {
    .name = "bench_spin",
    .source = "extern \"C\" __global__ void bench_spin(unsigned cycles)\n"
              "{\n"
              "    long long end = clock64() + cycles;\n"
              "    while (cycles != 0 && clock64() < end)\n"
              "        __nanosleep(200);\n"
              "}\n",
};

#define LOG                                                                                        \
    { ".param .u32 braid_mask)", ".param .u32 braid_mask, .param .u64 bench_log)" },               \
        { "braid_began:\n\t}\n", log_begin },                                                      \
    {                                                                                              \
        "\nbraid_end:\n", log_end                                                                  \
    }

static struct variant variants[] = {
    { .name = "Braid's function without times", .made = MADE_BY_BRAID },
    { .name = "Braid's function with times", .made = MADE_BY_BRAID, .is_timed = true },
    { .name = "without times, a node behind all", .made = MADE_BY_BRAID, .is_joined = true },
    { .name = "with times, a node behind all",
      .made = MADE_BY_BRAID,
      .is_timed = true,
      .is_joined = true },
    { .name = "without times, machine code by NVRTC", .made = MADE_BY_COMPILER },
    { .name = "without times, text as NVRTC gives it",
      .made = MADE_OF_TEXT,
      .edits = { { early, "" } } },
    { .name = "with times, whole", .made = MADE_OF_TEXT, .is_timed = true },
    { .name = "parameters only",
      .is_timed = true,
      .edits = { { begin_red, "" }, { end_red, "" } } },
    { .name = "begin read, not written",
      .is_timed = true,
      .edits = { { begin_red, not_written }, { end_red, "" } } },
    { .name = "end read, not written",
      .is_timed = true,
      .edits = { { begin_red, "" }, { end_red, not_written } } },
    { .name = "both read, not written",
      .is_timed = true,
      .edits = { { begin_red, not_written }, { end_red, not_written } } },
    { .name = "sleeping, without times", .kernel = &sleeping },
    { .name = "sleeping, with times", .is_timed = true, .kernel = &sleeping },
    { .name = "begin only", .is_timed = true, .edits = { { end_red, "" } } },
    { .name = "end only", .is_timed = true, .edits = { { begin_red, "" } } },
    { .name = "end by a store",
      .is_timed = true,
      .edits = { { end_red, "st.global.u64 [%braid_t1+8], %braid_t0;" } } },
    { .name = "both by stores",
      .is_timed = true,
      .edits = { { "red.global.max.u64", "st.global.u64" } } },
    { .name = "end once a block", .is_timed = true, .edits = { { "%laneid", "%tid.x" } } },
    { .name = "cycles instead of %globaltimer",
      .is_timed = true,
      .edits = { { "%globaltimer", "%clock64" } } },
    { .name = "block instead of %smid", .is_timed = true, .edits = { { "%smid", "%ctaid.x" } } },
    { .name = "lane 0 instead of activemask",
      .is_timed = true,
      .edits = { { "activemask.b32 %braid_i0;", "mov.b32 %braid_i0, -1;" } } },
    { .name = "a fence behind the end",
      .is_timed = true,
      .edits = { { "braid_ended:\n\t}", "\tmembar.gl;\nbraid_ended:\n\t}" } } },
    { .name = "without griddepcontrol", .is_timed = true, .edits = { { early, "" } } },
    { .name = "with times, most shared memory", .is_timed = true, .carveout = 100 },
    { .name = "without times, most shared memory", .carveout = 100 },
    { .name = "blocks noted, no times",
      .is_timed = true,
      .is_logged = true,
      .edits = { LOG, { begin_red, "" }, { end_red, "" } } },
    { .name = "blocks noted, end only",
      .is_timed = true,
      .is_logged = true,
      .edits = { LOG, { begin_red, "" } } },
    { .name = "blocks noted, with times", .is_timed = true, .is_logged = true, .edits = { LOG } },
};
enum { NUM_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static struct load loads[] = {
    { .name = "10 us, 528 blocks, two lanes",
      .ns = 10000,
      .num_blocks = 528,
      .num_threads = 256,
      .num_lanes = 2 },
    { .name = "the same on four",
      .ns = 10000,
      .num_blocks = 528,
      .num_threads = 256,
      .num_lanes = 4 },
    { .name = "on one", .ns = 10000, .num_blocks = 528, .num_threads = 256, .num_lanes = 1 },
    { .name = "1 us, one block, four lanes",
      .ns = 1000,
      .num_blocks = 1,
      .num_threads = 32,
      .num_lanes = 4 },
};
enum { NUM_LOADS = sizeof(loads) / sizeof(loads[0]) };

// The launch has a host function on a stand-in, which finds it by this name.
__attribute__((visibility("default"))) void braid_standin_bench_spin(const unsigned grid[3],
                                                                     const unsigned block[3],
                                                                     unsigned shared_bytes,
                                                                     void **args);

void braid_standin_bench_spin(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    (void)grid;
    (void)block;
    (void)shared_bytes;
    (void)args;
}

static void print_attribute(const struct driver *driver, gpu_function function, int attribute)
{
    int value = 0;
    if (driver->api->function_get && !driver->api->function_get(&value, attribute, function))
        printf(" %d |", value);
    else
        printf(" ? |");
}

static void print_functions(const struct driver *driver)
{
    printf("| | registers | local | static shared | most dynamic shared | carve-out | text | code "
           "| threads | blocks of 256 a multiprocessor |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < NUM_VARIANTS; i++) {
        static const int attributes[] = { FUNCTION_REGISTERS, 3, 1, 8, FUNCTION_CARVEOUT, 5, 6, 0 };
        const struct variant *variant = &variants[i];
        printf("| %s |", variant->name);
        if (!variant->function) {
            printf(" the driver does not take it: %d |\n", variant->result);
            continue;
        }
        for (size_t j = 0; j < sizeof(attributes) / sizeof(attributes[0]); j++)
            print_attribute(driver, variant->function, attributes[j]);
        int blocks = -1;
        if (driver->api->function_occupancy)
            (void)driver->api->function_occupancy(&blocks, variant->function, 256, 0);
        printf(" %d |\n", blocks);
    }
}

// All variants frame by frame in turns.
static void measure_load(const struct driver *driver, struct load *load, double *medians)
{
    static double us[NUM_VARIANTS][STAMPED_TURNS];
    for (size_t i = 0; i < NUM_VARIANTS; i++)
        stamped_open(driver, &variants[i], load);
    for (int turn = -2; turn < STAMPED_TURNS; turn++)
        for (size_t i = 0; i < NUM_VARIANTS; i++) {
            double took = variants[i].function ? stamped_run(driver, &variants[i]) : 0;
            if (turn >= 0)
                us[i][turn] = took;
        }
    for (size_t i = 0; i < NUM_VARIANTS; i++) {
        medians[i] = median(us[i], STAMPED_TURNS);
        if (variants[i].is_logged && variants[i].function && load->num_blocks > 1)
            stamped_print_log(driver, &variants[i], load);
        stamped_close(driver, &variants[i]);
    }
}

static void print_times(double medians[NUM_LOADS][NUM_VARIANTS])
{
    printf("\n| us a frame of %d kernels, and of the first row |", STAMPED_NODES);
    for (size_t j = 0; j < NUM_LOADS; j++)
        printf(" %s | |", loads[j].name);
    printf("\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < NUM_VARIANTS; i++) {
        printf("| %s |", variants[i].name);
        for (size_t j = 0; j < NUM_LOADS; j++)
            printf(" %.1f | %.3f |", medians[j][i], medians[j][i] / medians[j][0]);
        printf("\n");
    }
}

int main(void)
{
    static double medians[NUM_LOADS][NUM_VARIANTS];
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_message());
        return 77;
    }
    struct driver driver = open_driver();
    for (size_t j = 0; j < NUM_LOADS; j++)
        loads[j].cycles = cycles_of(device, loads[j].ns);
    for (size_t i = 0; i < NUM_VARIANTS; i++)
        stamped_load(&driver, &variants[i]);
    print_functions(&driver);
    printf("\n| blocks noted | frame | a block, us: least | mean | most | at once on a "
           "multiprocessor: mean | most | multiprocessors |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t j = 0; j < NUM_LOADS; j++)
        measure_load(&driver, &loads[j], medians[j]);
    print_times(medians);
    for (size_t i = 0; i < NUM_VARIANTS; i++)
        stamped_unload(&driver, &variants[i]);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Which part of the code for times costs what (docs/profile.md): the text that Braid makes of
// kernels that do different things, and the same with a part of it left out or moved, in graphs by
// hand that differ in nothing else, all in turns.
#include <stdio.h>
#include <stdlib.h>

#include "gpu/bench.h"
#include "gpu/stamped.h"

#define WAIT "\n\tgriddepcontrol.wait;\n"
#define BEGIN_RED "red.global.max.u64 [%braid_t1], %braid_t0;"
#define END_RED "red.global.max.u64 [%braid_t1+8], %braid_t0;"
#define HEAD "\n\t{\n\t.reg .pred %braid_p;\n\t.reg .b32 %braid_i<2>;\n\t.reg .b64 %braid_t<2>;\n"
#define THREAD_0                                                                                   \
    "mov.u32 %braid_i0, %tid.x;\n\tmov.u32 %braid_i1, %tid.y;\n"                                   \
    "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n\tmov.u32 %braid_i1, %tid.z;\n"                    \
    "\tor.b32 %braid_i0, %braid_i0, %braid_i1;\n"
#define ADDRESS                                                                                    \
    "mov.u32 %braid_i0, %smid;\n\tld.param.u32 %braid_i1, [braid_mask];\n"                         \
    "\tand.b32 %braid_i0, %braid_i0, %braid_i1;\n\tld.param.u64 %braid_t1, [braid_stamps];\n"      \
    "\tmad.wide.u32 %braid_t1, %braid_i0, 128, %braid_t1;"
#define END_DECIDES                                                                                \
    "activemask.b32 %braid_i0;\n\tbrev.b32 %braid_i0, %braid_i0;\n"                                \
    "\tclz.b32 %braid_i0, %braid_i0;\n\tmov.u32 %braid_i1, %laneid;\n"                             \
    "\tsetp.ne.u32 %braid_p, %braid_i0, %braid_i1;\n\t@%braid_p bra braid_ended;\n"

static const struct stamped_code codes[] = {
    { .name = "without times" },
    { .name = "with times", .is_timed = true },
    { .name = "their begin only", .is_timed = true, .edits = { { END_RED, "" } } },
    { .name = "their end only", .is_timed = true, .edits = { { BEGIN_RED, "" } } },
    { .name = "decided behind the wait",
      .is_timed = true,
      .edits = { { WAIT, "" },
                 { HEAD "\tmov.u32 %braid_i0, %tid", WAIT HEAD "\tmov.u32 %braid_i0, %tid" } } },
    { .name = "a plain store for each", // what is left when all else is left out
      .is_timed = true,
      .edits = { { THREAD_0, "mov.u32 %braid_i0, %laneid;\n" },
                 { ADDRESS, "ld.param.u64 %braid_t1, [braid_stamps];" },
                 { END_DECIDES, "" },
                 { "red.global.max.u64", "st.global.u64" } } },
};
enum { NUM_CODES = sizeof(codes) / sizeof(codes[0]) };

#define KERNEL(body) "extern \"C\" __global__ void bench_spin(unsigned cycles)\n{\n" body "}\n"
#define SPINS                                                                                      \
    "    long long end = clock64() + cycles;\n    while (cycles != 0 && clock64() < end)\n"        \
    "        ;\n"

// Looks at the clock now and then, where the others that are busy for some time do nothing else.
static const braid_kernel sleeping = {
    .name = "bench_spin",
    .source = KERNEL("    long long end = clock64() + cycles;\n"
                     "    while (cycles != 0 && clock64() < end)\n"
                     "        __nanosleep(200);\n"),
};

// Reads what all kernels do that know which numbers are theirs, before it spins.
static const braid_kernel placed = {
    .name = "bench_spin",
    .source = KERNEL("    if (threadIdx.x + blockIdx.x == 0xffffffffu)\n        return;\n" SPINS),
};

static const struct {
    const char *name;
    const braid_kernel *kernel;
} kernels[] = {
    { "spins", &bench_spin },
    { "reads its place and spins", &placed },
    { "spins and stores", &bench_store },
    { "sleeps", &sleeping },
    { "follows pointers and stores", &bench_follow },
};
enum { NUM_KERNELS = sizeof(kernels) / sizeof(kernels[0]), NUM_VARIANTS = NUM_KERNELS * NUM_CODES };

static struct variant variants[NUM_VARIANTS]; // kernel by kernel

static struct load loads[] = {
    { "10 us, 528 blocks, two lanes", 10000, 528, 256, 2 },
    { "the same on four", 10000, 528, 256, 4 },
    { "on one", 10000, 528, 256, 1 },
    { "1 us, one block, four lanes", 1000, 1, 32, 4 },
    { "the same, launched early", 1000, 1, 32, 4, .is_early = true },
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

// All variants frame by frame in turns.
static void measure_load(const struct driver *driver, const struct load *load, double *medians)
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
        stamped_close(driver, &variants[i]);
    }
}

static void print_row(size_t i, double medians[NUM_LOADS][NUM_VARIANTS])
{
    const size_t without = i / NUM_CODES * NUM_CODES;
    printf("| %s | %s |", kernels[i / NUM_CODES].name, variants[i].code->name);
    if (!variants[i].function)
        printf(" the driver does not take it: %d |", variants[i].result);
    for (size_t j = 0; j < NUM_LOADS && variants[i].function; j++)
        printf(" %.1f | %.3f |", medians[j][i], medians[j][i] / medians[j][without]);
    printf("\n");
}

static void print_times(double medians[NUM_LOADS][NUM_VARIANTS])
{
    printf("| us a frame of %d kernels, each | and of those without times |", STAMPED_NODES);
    for (size_t j = 0; j < NUM_LOADS; j++)
        printf(" %s | |", loads[j].name);
    printf("\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < NUM_VARIANTS; i++)
        print_row(i, medians);
}

int main(void)
{
    static double medians[NUM_LOADS][NUM_VARIANTS];
    braid_device *device;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    struct driver driver = open_driver();
    for (size_t j = 0; j < NUM_LOADS; j++)
        loads[j].cycles = cycles_of(device, loads[j].ns);
    for (size_t i = 0; i < NUM_VARIANTS; i++) {
        variants[i].kernel = kernels[i / NUM_CODES].kernel;
        variants[i].code = &codes[i % NUM_CODES];
        stamped_load(&driver, &variants[i]);
    }
    for (size_t j = 0; j < NUM_LOADS; j++)
        measure_load(&driver, &loads[j], medians[j]);
    print_times(medians);
    for (size_t i = 0; i < NUM_VARIANTS; i++)
        stamped_unload(&driver, &variants[i]);
    close_driver(&driver);
    braid_device_close(device);
    return 0;
}

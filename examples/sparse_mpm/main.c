// SPDX-License-Identifier: Apache-2.0
// sparse_mpm: water, jelly and snow on sparse grids. The graph of a frame is built once and
// replayed for every frame; the end is compared with a run in plain C.
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "estimate.h"
#include "options.h"
#include "output.h"
#include "report.h"
#include "run.h"
#include "sequential.h"

// When the splash is at its best.
static const uint32_t PICTURE_FRAME = 51;

enum { MAX_RUNS = 12 };

// The first run is the one that was asked for, the second the same on one lane; the others are
// there to compare with. Runs on one backend stand together.
struct program {
    struct mpm_options options;
    struct mpm_scene scene;
    struct mpm_sequential reference;
    braid_device *device, *cpu;                  // the same one where the CPU was asked for
    braid_device *others[MPM_NUM_MATERIALS - 1]; // that materials are dealt out to; not of the CPU
    braid_device *group;                         // NULL: they are not
    uint64_t *costs_ns;                          // by node, on `device`; NULL: estimates
    struct mpm_run runs[MAX_RUNS];
    uint32_t num_runs;
};

static void add_run(struct program *program, const char *backend, const char *what,
                    braid_exec_options options)
{
    char title[64];
    snprintf(title, sizeof(title), "%s, %s", backend, what);
    braid_device *device = strcmp(backend, "cpu") == 0 ? program->cpu : program->device;
    const uint64_t *costs_ns = device == program->device ? program->costs_ns : NULL;
    if (mpm_run_init(&program->runs[program->num_runs], title, device, &program->scene, costs_ns,
                     &options, program->options.num_frames))
        program->num_runs++;
    else if (program->num_runs == 0)
        exit(EXIT_FAILURE); // the run that was asked for
}

static void add_runs(struct program *program)
{
    const struct mpm_options *options = &program->options;
    const char *backend = options->backend;
    braid_exec_options wish = { .mode = options->mode, .islands = options->islands };
    wish.max_lanes = options->max_lanes;
    wish.fixed_lanes = options->max_lanes > 0;
    add_run(program, backend, "planned", wish);
    braid_exec_options other = wish;
    other.max_lanes = 1;
    add_run(program, backend, "one lane", other);
    if (options->mode != BRAID_MODE_STREAMS) {
        other = wish;
        other.mode = BRAID_MODE_STREAMS;
        other.islands = BRAID_ISLANDS_AUTO;
        add_run(program, backend, "streams", other);
    }
    if (program->device == program->cpu)
        return;
    other = (braid_exec_options){ .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_NEVER };
    other.max_lanes = wish.max_lanes;
    other.fixed_lanes = wish.fixed_lanes;
    add_run(program, backend, "driver graph, no islands", other);
    other.max_lanes = BRAID_ALL_LANES;
    other.fixed_lanes = true;
    add_run(program, backend, "driver graph as declared", other);
    other.no_early_start = true;
    add_run(program, backend, "as declared, no early start", other);
    add_run(program, "cpu", "planned", (braid_exec_options){ 0 });
}

// There is one CPU: it is taken several times.
static void list_devices(const struct program *program, braid_device **devices)
{
    devices[0] = program->device;
    for (int i = 1; i < MPM_NUM_MATERIALS; i++)
        devices[i] = program->others[i - 1] ? program->others[i - 1] : program->device;
}

// With its materials on several devices: those that look at each other's cells copy them, or read
// them where they are.
static void add_split_runs(struct program *program)
{
    const struct mpm_options *options = &program->options;
    braid_device *devices[MPM_NUM_MATERIALS];
    list_devices(program, devices);
    for (int shared = 0; shared < 2 && program->group; shared++) {
        for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
            char title[64];
            const braid_exec_options way = { .mode = (braid_exec_mode)mode };
            snprintf(title, sizeof(title), "%u x %s, %s, %s", options->num_devices,
                     options->backend, mode == BRAID_MODE_GRAPH ? "graph" : "streams",
                     shared ? "shared" : "copies");
            program->num_runs +=
                mpm_run_init_split(&program->runs[program->num_runs], title, program->group,
                                   devices, shared, &program->scene, &way, options->num_frames);
        }
    }
}

static void open_group(struct program *program)
{
    uint32_t num = program->options.num_devices;
    braid_device *devices[MPM_NUM_MATERIALS];
    braid_device_options options = { .backend = program->options.backend };
    for (uint32_t i = 1; i < num && program->device != program->cpu; i++) {
        options.ordinal = i;
        CHECK(braid_device_open(&options, &program->others[i - 1]));
    }
    list_devices(program, devices);
    if (num > 1)
        CHECK(braid_device_open_group(devices, num, &program->group));
}

static void open_devices(struct program *program)
{
    braid_device_options options = { .backend = program->options.backend,
                                     .num_workers = program->options.num_workers };
    braid_status status = braid_device_open(&options, &program->device);
    if (status == BRAID_UNAVAILABLE) {
        fprintf(stderr,
                "sparse_mpm: there is no %s device here, so nothing was run (%s).\n"
                "Without --device it runs on the CPU.\n",
                options.backend, braid_error_get_message());
        exit(EXIT_FAILURE);
    }
    CHECK(status);
    program->cpu = program->device;
    if (strcmp(options.backend, "cpu") == 0)
        return;
    options.backend = "cpu";
    CHECK(braid_device_open(&options, &program->cpu));
}

// All runs of a device take turns, frame by frame, so that whatever else the machine does meets all
// of them alike. The reference takes its turn with the CPU's.
static void run_device(struct program *program, const braid_device *device, const char *backend)
{
    const struct mpm_options *options = &program->options;
    uint32_t last_frame = options->num_frames - 1;
    uint32_t picture_frame = PICTURE_FRAME < last_frame ? PICTURE_FRAME : last_frame;
    for (uint32_t frame = 0; frame < options->num_frames; frame++) {
        if (device == program->cpu)
            mpm_sequential_step(&program->reference);
        for (uint32_t i = 0; i < program->num_runs; i++)
            if (program->runs[i].world.device == device)
                mpm_run_step(&program->runs[i]);
        if (device == program->device && frame == picture_frame)
            mpm_output_picture(options->folder, &program->runs[0].world);
        if (!options->quiet)
            mpm_report_progress(backend, frame + 1, options->num_frames);
    }
}

static bool compare_runs(const struct program *program)
{
    bool same = true;
    for (uint32_t i = 0; i < program->num_runs; i++)
        same = mpm_report_difference(&program->runs[i], &program->reference) && same;
    return same;
}

static void finish(struct program *program)
{
    for (uint32_t i = 0; i < program->num_runs; i++)
        mpm_run_finish(&program->runs[i]);
    braid_device_close(program->group);
    for (int i = 0; i < MPM_NUM_MATERIALS - 1; i++)
        braid_device_close(program->others[i]);
    if (program->cpu != program->device)
        braid_device_close(program->cpu);
    braid_device_close(program->device);
    mpm_sequential_finish(&program->reference);
    mpm_scene_finish(&program->scene);
    free(program->costs_ns);
}

int main(int argc, char **argv)
{
    struct program program = { .num_runs = 0 };
    struct mpm_options *options = &program.options;
    if (!mpm_options_parse(argc, argv, options))
        return EXIT_FAILURE;
    mpm_output_make_folder(options->folder);
    mpm_scene_init(&program.scene, options->num_particles);
    mpm_sequential_init(&program.reference, &program.scene, options->num_frames);
    open_devices(&program);
    open_group(&program);
    mpm_report_scene(&program.scene);
    if (strcmp(options->costs, "measured") == 0)
        program.costs_ns = mpm_measure_costs(program.device, &program.scene, options->num_frames);
    else
        puts("costs      are estimates from another machine, and so are the predicted times");
    add_runs(&program);
    add_split_runs(&program);
    mpm_report_plan(&program.runs[0]);
    mpm_output_schedule(options->folder, braid_exec_get_schedule(program.runs[0].exec));
    run_device(&program, program.device, options->backend);
    if (program.cpu != program.device)
        run_device(&program, program.cpu, "cpu");
    bool same = compare_runs(&program);
    mpm_report_times(&program.reference, program.runs, program.num_runs);
    finish(&program);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

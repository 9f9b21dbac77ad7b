// SPDX-License-Identifier: Apache-2.0
// sparse_mpm: water, jelly and snow on sparse grids. The graph of a frame is built once and
// replayed for every frame; the end is compared with a run in plain C.
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "compare.h"
#include "options.h"
#include "output.h"
#include "report.h"
#include "run.h"
#include "sequential.h"

// When the splash is at its best.
static const uint32_t PICTURE_FRAME = 51;

// One way to run the frame. The first one is the main one, the others are there to compare with.
struct variant {
    char title[64];
    const char *backend;
    braid_exec_options options;
};

enum { MAX_VARIANTS = 8 };

struct program {
    struct mpm_options options;
    struct mpm_scene scene;
    struct mpm_sequential reference;
    uint64_t sequential_ns;
    struct variant variants[MAX_VARIANTS];
    struct mpm_result results[MAX_VARIANTS];
    uint32_t num_variants;
    const char *title; // of the variant that runs now
    bool main_variant; // whether it is the first
    bool same;         // whether all states were equal to the reference so far
};

static void add_variant(struct program *program, const char *title, const char *backend,
                        braid_exec_mode mode, braid_schedule_options plan)
{
    struct variant *variant = &program->variants[program->num_variants++];
    *variant = (struct variant){ .backend = backend, .options = { .mode = mode, .plan = plan } };
    snprintf(variant->title, sizeof(variant->title), "%s, %s", backend, title);
}

static void choose_variants(struct program *program)
{
    const struct mpm_options *options = &program->options;
    braid_schedule_options planned = { .max_lanes = options->max_lanes,
                                       .fixed_lanes = options->max_lanes > 0 };
    braid_schedule_options declared = { .policy = BRAID_POLICY_MAX_CONCURRENCY };
    braid_schedule_options one = { .max_lanes = 1 };
    const char *backend = options->backend;
    add_variant(program, "planned", backend, options->mode, planned);
    add_variant(program, "one lane", backend, options->mode, one);
    if (strcmp(backend, "cpu") == 0)
        return;
    add_variant(program, "streams", backend, BRAID_MODE_STREAMS, planned);
    add_variant(program, "native graph as declared", backend, BRAID_MODE_NATIVE, declared);
    add_variant(program, "native graph planned", backend, BRAID_MODE_NATIVE, planned);
    add_variant(program, "planned", "cpu", BRAID_MODE_AUTO, (braid_schedule_options){ 0 });
}

static void run_reference(struct program *program)
{
    uint32_t num_frames = program->options.num_frames;
    uint64_t *times = check_memory(calloc(num_frames, sizeof(*times)));
    mpm_sequential_init(&program->reference, &program->scene);
    for (uint32_t i = 0; i < num_frames; i++) {
        uint64_t start = mpm_now_ns();
        mpm_sequential_frame(&program->reference, mpm_scene_gravity(&program->scene, i));
        times[i] = mpm_now_ns() - start;
        if (!program->options.quiet)
            mpm_report_progress("plain C, no Braid", i + 1, num_frames);
    }
    program->sequential_ns = mpm_median(times, num_frames);
    free(times);
}

static void planned(void *user, const struct mpm_frame *frame, const braid_exec *exec)
{
    struct program *program = user;
    if (!program->main_variant)
        return;
    mpm_report_plan(frame, exec);
    mpm_output_schedule(program->options.folder, braid_exec_schedule(exec));
}

static void advanced(void *user, const struct mpm_world *world, uint32_t frame)
{
    struct program *program = user;
    uint32_t num_frames = program->options.num_frames;
    if (!program->options.quiet)
        mpm_report_progress(program->title, frame + 1, num_frames);
    if (program->main_variant && (frame == PICTURE_FRAME || frame + 1 == num_frames) &&
        frame <= PICTURE_FRAME)
        mpm_output_picture(program->options.folder, world);
}

static void run_variant(struct program *program, uint32_t index)
{
    const struct variant *variant = &program->variants[index];
    struct mpm_result *result = &program->results[index];
    braid_device *device;
    CHECK(braid_device_open(&(braid_device_options){ .backend = variant->backend,
                                                     .num_workers = program->options.num_workers },
                            &device));
    program->title = variant->title;
    program->main_variant = index == 0;
    mpm_run(&(struct mpm_run){ .scene = &program->scene,
                               .device = device,
                               .num_frames = program->options.num_frames,
                               .options = variant->options,
                               .planned = planned,
                               .advanced = advanced,
                               .user = program },
            result);
    braid_device_close(device);
    struct mpm_difference difference =
        mpm_compare(&program->scene, &result->state, &program->reference);
    program->same = mpm_report_difference(variant->title, &difference) && program->same;
    mpm_state_finish(&result->state);
}

static void print_table(const struct program *program)
{
    mpm_report_table_head();
    mpm_report_sequential(program->sequential_ns);
    for (uint32_t i = 0; i < program->num_variants; i++)
        mpm_report_result(program->variants[i].title, &program->results[i], program->sequential_ns);
    printf("\nspeed-up over one lane: %.2fx (%.1f us a frame against %.1f us)\n",
           (double)program->results[1].median_ns / (double)program->results[0].median_ns,
           (double)program->results[0].median_ns / 1e3,
           (double)program->results[1].median_ns / 1e3);
}

int main(int argc, char **argv)
{
    struct program program = { .same = true };
    if (!mpm_options_parse(argc, argv, &program.options))
        return EXIT_FAILURE;
    mpm_output_make_folder(program.options.folder);
    mpm_scene_init(&program.scene, program.options.num_particles);
    mpm_report_scene(&program.scene);
    choose_variants(&program);
    run_reference(&program);
    for (uint32_t i = 0; i < program.num_variants; i++)
        run_variant(&program, i);
    print_table(&program);
    mpm_sequential_finish(&program.reference);
    mpm_scene_finish(&program.scene);
    return program.same ? EXIT_SUCCESS : EXIT_FAILURE;
}

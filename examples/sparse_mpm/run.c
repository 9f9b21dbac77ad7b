// SPDX-License-Identifier: Apache-2.0
// Builds the frame once, and replays it with another gravity every time.
#include "run.h"

#include <stdlib.h>

#include "../check.h"
#include "measure.h"

static void begin(struct mpm_run *run, const char *title, const struct mpm_scene *scene,
                  uint32_t max_frames)
{
    *run = (struct mpm_run){ .scene = scene, .max_frames = max_frames };
    snprintf(run->title, sizeof(run->title), "%s", title);
    run->total_ns = check_memory(calloc(max_frames, sizeof(*run->total_ns)));
    run->host_ns = check_memory(calloc(max_frames, sizeof(*run->host_ns)));
}

static bool is_there(struct mpm_run *run, braid_status status)
{
    if (status == BRAID_UNSUPPORTED) {
        printf("left out: %s: %s\n", run->title, braid_error_get_message());
        mpm_run_finish(run);
        return false;
    }
    CHECK(status);
    return true;
}

bool mpm_run_init(struct mpm_run *run, const char *title, braid_device *device,
                  const struct mpm_scene *scene, const uint64_t *costs_ns,
                  const braid_exec_options *options, uint32_t max_frames)
{
    begin(run, title, scene, max_frames);
    mpm_world_init(&run->world, device, scene);
    mpm_frame_init(&run->frame, &run->world);
    if (costs_ns)
        mpm_frame_set_costs(&run->frame, costs_ns);
    return is_there(run, braid_exec_create(device, run->frame.graph, options, &run->exec));
}

bool mpm_run_init_split(struct mpm_run *run, const char *title, braid_device *group,
                        braid_device *const *devices, bool shared, const struct mpm_scene *scene,
                        const braid_exec_options *options, uint32_t max_frames)
{
    begin(run, title, scene, max_frames);
    braid_device_info info;
    braid_device_get_info(group, &info);
    mpm_world_init_split(&run->world, devices, info.num_members, shared, scene);
    mpm_frame_init(&run->frame, &run->world);
    return is_there(run, braid_exec_create(group, run->frame.graph, options, &run->exec));
}

void mpm_run_finish(struct mpm_run *run)
{
    braid_exec_destroy(run->exec);
    mpm_frame_finish(&run->frame);
    mpm_world_finish(&run->world);
    free(run->total_ns);
    free(run->host_ns);
}

void mpm_run_step(struct mpm_run *run)
{
    uint32_t frame = run->num_frames++;
    uint64_t start = mpm_now_ns();
    mpm_frame_set_gravity(&run->frame, run->exec, mpm_scene_gravity(run->scene, frame));
    CHECK(braid_exec_launch(run->exec, NULL));
    run->host_ns[frame] = mpm_now_ns() - start;
    CHECK(braid_exec_wait(run->exec));
    run->total_ns[frame] = mpm_now_ns() - start;
}

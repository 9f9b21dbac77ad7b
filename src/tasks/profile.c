// SPDX-License-Identifier: Apache-2.0
// Room for the times of frames.
#include "tasks/profile.h"

#include "base/error.h"
#include "base/host_memory.h"
#include "tasks/program_tasks.h"

braid_status braid_profile_create(const struct program *program, uint32_t num_frames,
                                  struct profile *out_profile)
{
    size_t num_ops = program->num_ops;
    struct profile profile = { .room = num_frames, .num_ops = num_ops };
    profile.num_nodes = program->num_bodies ? program->num_nodes : 0;
    if (num_ops <= SIZE_MAX / sizeof(*profile.ops) / (num_frames ? num_frames : 1))
        profile.ops = braid_store_take(&profile.store, num_frames * num_ops, sizeof(*profile.ops));
    profile.tallies = braid_store_take(&profile.store, (size_t)num_frames * profile.num_nodes,
                                       sizeof(*profile.tallies));
    profile.frames = braid_store_take(&profile.store, num_frames, sizeof(*profile.frames));
    profile.timers = braid_store_take(&profile.store, num_ops, sizeof(*profile.timers));
    profile.tally_timers =
        braid_store_take(&profile.store, profile.num_nodes, sizeof(*profile.tally_timers));
    if (profile.store.failed || !profile.ops) {
        braid_profile_finish(&profile);
        return braid_error_no_memory("the times of frames");
    }
    *out_profile = profile;
    return BRAID_OK;
}

void braid_profile_finish(struct profile *profile)
{
    braid_store_finish(&profile->store);
    *profile = (struct profile){ 0 };
}

static struct profile_span find_frame(const struct program *program, const struct profile_span *ops)
{
    struct profile_span frame = { 0 };
    for (size_t i = 0; i < program->num_ops; i++) {
        if (!program_takes_time(program, &program->ops[i]) || !ops[i].end)
            continue;
        if (!frame.begin || ops[i].begin < frame.begin)
            frame.begin = ops[i].begin;
        if (ops[i].end > frame.end)
            frame.end = ops[i].end;
    }
    return frame;
}

braid_status braid_profile_fill_in(const struct program *program, struct profile_span *ops,
                                   struct profile_span *out_frame)
{
    const struct profile_span frame = find_frame(program, ops);
    uint64_t *now = braid_allocate_zeroed(program->num_lanes, sizeof(*now));
    uint64_t *published = braid_allocate_zeroed(program->num_positions, sizeof(*published));
    bool has_room = now && published;
    for (uint32_t i = 0; has_room && i < program->num_lanes; i++)
        now[i] = frame.begin;
    for (size_t i = 0; has_room && i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        struct profile_span *span = &ops[i];
        uint64_t *lane = &now[op->lane];
        if (op->kind == BRAID_STEP_RECORD) {
            published[op->position] = *lane;
            continue;
        }
        if (op->kind == BRAID_STEP_WAIT)
            *span = (struct profile_span){ *lane, published[op->position] > *lane
                                                      ? published[op->position]
                                                      : *lane };
        *lane = span->end > *lane ? span->end : *lane;
    }
    braid_free(now);
    braid_free(published);
    *out_frame = frame;
    return has_room ? BRAID_OK : braid_error_no_memory("the times of frames");
}

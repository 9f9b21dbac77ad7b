// SPDX-License-Identifier: Apache-2.0
// Loops and branches on streams that another player plays: each is a program of its own, launched
// on the lane that enters it.
#include "backends/streams/streams.h"
#include "base/array.h"
#include "base/error.h"

// A program of one lane, which does nothing but enter the loop or branch.
struct played_loop {
    struct program program;
    braid_step op;
    struct program_lane lane;
    uint32_t lane_op;
    struct places places;
    struct playing *playing;
    uint64_t *frames; // numbers of the latest launches, from 1; NULL: nobody asked for times
    uint64_t num_launches;
};

struct streams_played {
    const struct player *player;
    struct played_loop *loops; // by body; that of a second arm plays nothing
    uint32_t num;
    uint32_t *loop_of; // by task: an index of loops; PLAN_NONE: in none
};

static void fill_in(const struct program *program, const struct program *body,
                    struct played_loop *loop)
{
    loop->op = (braid_step){ .kind = BRAID_STEP_LOOP, .node = body->node };
    loop->lane = (struct program_lane){
        .needs_fork = true, .needs_join = true, .has_work = true, .num_ops = 1
    };
    loop->program = (struct program){
        .ops = &loop->op,
        .num_ops = 1,
        .lanes = &loop->lane,
        .num_lanes = 1,
        .lane_ops = &loop->lane_op,
        .kinds = program->kinds,
        .num_nodes = program->num_nodes,
        .region = PLAN_NONE,
        .bodies = (struct program *)(uintptr_t)body,
        .num_bodies = 1 + body->has_else,
        .tasks = program->tasks,
    };
}

static void note_tasks(struct streams_played *played, const struct program *body, uint32_t loop)
{
    played->loop_of[body->node] = loop;
    for (size_t i = 0; i < body->num_ops; i++)
        played->loop_of[body->ops[i].node] = loop;
    for (uint32_t i = 0; i < body->num_bodies; i++)
        note_tasks(played, &body->bodies[i], loop);
}

// All places are the device that the loop is on. NULL: there is one.
static const struct places *fill_places(const struct places *from, braid_device *device,
                                        struct places *places)
{
    if (!from)
        return NULL;
    *places = *from;
    for (uint32_t i = 0; i < from->num; i++) {
        places->devices[i] = device;
        places->reaches[i] = UINT64_MAX;
    }
    return places;
}

static braid_status make_loop(struct streams_played *played, const struct stage *stage,
                              uint32_t index)
{
    struct played_loop *loop = &played->loops[index];
    const struct program *body = &stage->program->bodies[index];
    struct stage own = *stage;
    note_tasks(played, body, body->is_else ? index - 1 : index);
    if (body->is_else)
        return BRAID_OK;
    fill_in(stage->program, body, loop);
    own.player = played->player;
    own.program = &loop->program;
    own.first = NULL; // which is on streams
    own.device = places_device(stage->places, stage->device, program_place(body));
    own.places = fill_places(stage->places, own.device, &loop->places);
    own.beside = index ? played->loops[0].playing : NULL;
    if (stage->num_profiled) {
        loop->frames = braid_allocate_zeroed(stage->num_profiled, sizeof(*loop->frames));
        if (!loop->frames)
            return braid_error_no_memory("the times of frames");
    }
    braid_status status = played->player->check(&own);
    return status ? status : played->player->create(&own, &loop->playing);
}

static braid_status make_loops(struct streams_played *played, const struct stage *stage)
{
    const struct program *program = stage->program;
    braid_status status = BRAID_OK;
    played->player = stage->player->plays_loops_by;
    played->loops = braid_allocate_zeroed(program->num_bodies, sizeof(*played->loops));
    played->loop_of = braid_allocate_zeroed(program->tasks->num, sizeof(*played->loop_of));
    if (!played->loops || !played->loop_of)
        return braid_error_no_memory("the loops of an exec");
    for (uint32_t i = 0; i < program->tasks->num; i++)
        played->loop_of[i] = PLAN_NONE;
    for (played->num = 0; played->num < program->num_bodies && !status; played->num++)
        status = make_loop(played, stage, played->num);
    return status;
}

braid_status braid_streams_played_create(struct streams_playing *streams, const struct stage *stage)
{
    if (!stage->program->num_bodies)
        return BRAID_OK;
    streams->played = calloc(1, sizeof(*streams->played));
    if (!streams->played)
        return braid_error_no_memory("the loops of an exec");
    return make_loops(streams->played, stage);
}

void braid_streams_played_destroy(struct streams_played *played)
{
    if (!played)
        return;
    for (uint32_t i = played->num; i-- > 0;) {
        if (played->loops[i].playing)
            played->player->destroy(played->loops[i].playing);
        free(played->loops[i].frames);
    }
    free(played->loops);
    free(played->loop_of);
    free(played);
}

braid_status braid_streams_played_launch(struct streams_playing *streams, const braid_step *op,
                                         const struct stream_lane *lane)
{
    const struct streams_played *played = streams->played;
    struct played_loop *loop = &played->loops[op->position];
    struct play_result result = { 0 };
    braid_status status = played->player->launch(loop->playing, lane->stream, &result);
    if (loop->frames && (!status || result.queued))
        loop->frames[loop->num_launches++ % streams->times->room] = streams->times->num_frames;
    return status;
}

// NULL: the task is in no loop.
static struct playing *playing_of(const struct playing *playing, uint32_t task)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    uint32_t loop = played ? played->loop_of[task] : PLAN_NONE;
    return loop == PLAN_NONE ? NULL : played->loops[loop].playing;
}

braid_status braid_streams_played_update(struct playing *playing,
                                         const struct backend_task *const *tasks, uint32_t num,
                                         uint32_t frame)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        struct playing *loop = playing_of(playing, tasks[i]->node);
        if (loop)
            status = played->player->update(loop, &tasks[i], 1, frame);
    }
    return status;
}

braid_status braid_streams_played_check_task(const struct playing *playing,
                                             const struct backend_task *task)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    const struct playing *loop = playing_of(playing, task->node);
    return loop ? played->player->check_task(loop, task) : BRAID_OK;
}

// Each loop counts those of its own and of the loops inside, and has 0 of all others.
uint64_t braid_streams_played_num_iterations(const struct playing *playing, uint32_t loop,
                                             enum iterations which)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    uint64_t num = 0;
    for (uint32_t i = 0; i < played->num; i++)
        if (played->loops[i].playing)
            num += played->player->num_iterations(played->loops[i].playing, loop, which);
    return num;
}

// Copies the tallies of one frame.
static void take_tallies(const struct streams_played *played, uint32_t loop,
                         const struct profile *from, uint64_t from_frame, struct profile *to,
                         uint32_t to_frame)
{
    for (size_t i = 0; i < from->num_nodes; i++) {
        if (played->loop_of[i] != loop)
            continue;
        to->tallies[(size_t)to_frame * to->num_nodes + i] =
            from->tallies[from_frame * from->num_nodes + i];
        to->tally_timers[i] = from->tally_timers[i];
    }
}

// The player of the loop has the times of each launch, the latest last. A frame that failed may not
// have come to the loop.
static braid_status read_loop(const struct streams_playing *streams, uint32_t loop,
                              struct profile *profile)
{
    const struct streams_times *times = streams->times;
    const struct streams_played *played = streams->played;
    const struct played_loop *from = &played->loops[loop];
    struct profile own;
    braid_status status = braid_profile_create(&from->program, times->room, &own);
    if (status)
        return status;
    status = played->player->read_times(from->playing, &own);
    uint64_t num = times->num_frames, num_launches = from->num_launches;
    uint32_t left = own.num_frames, to = profile->num_frames;
    for (uint64_t frame = num; frame > 0 && num - frame < times->room && !status; frame--) {
        bool is_whole = times->is_whole[(frame - 1) % times->room];
        bool is_there = left && from->frames[(num_launches - 1) % times->room] == frame;
        to -= is_whole;
        left -= is_there;
        num_launches -= is_there;
        if (is_whole && is_there)
            take_tallies(played, loop, &own, left, profile, to);
    }
    braid_profile_finish(&own);
    return status;
}

braid_status braid_streams_played_read_tallies(const struct streams_playing *streams,
                                               struct profile *profile)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < streams->played->num && !status; i++)
        if (streams->played->loops[i].playing)
            status = read_loop(streams, i, profile);
    return status;
}

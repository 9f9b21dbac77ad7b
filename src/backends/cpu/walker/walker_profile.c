// SPDX-License-Identifier: Apache-2.0
// Times of the walker's frames: where they are kept, and how they are read.
#include "backends/cpu/walker/walker_profile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/host_memory.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// Two readings of both clocks are this far apart at least, so that a slip between reading one and
// the other does not count.
enum { LEAST_APART_NS = 2000000 };

// Whether the processor's counter runs at one rate and is the same on all cores. Of the latter the
// system knows: it offers no "tsc" where it found one to differ.
static bool find_ticks(void)
{
#if defined(__x86_64__)
    enum { STEADY = 1 << 8 };
    const unsigned power_leaf = 0x80000007;
    unsigned a, b, c, d;
    if (!__get_cpuid(power_leaf, &a, &b, &c, &d) || !(d & STEADY))
        return false;
    char names[128] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "r");
    if (!file)
        return false;
    bool found = fgets(names, sizeof(names), file) && strstr(names, "tsc");
    fclose(file);
    return found;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

// The best of several: the thread may be held up between the two.
static struct cpu_moment read_clocks(const struct cpu_profile *profile)
{
    enum { READINGS = 5 };
    struct cpu_moment best = { .slip = UINT64_MAX };
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = cpu_profile_now(profile);
        uint64_t ns = clock_now_ns();
        uint64_t slip = (cpu_profile_now(profile) - before) / 2 + 1;
        if (slip < best.slip)
            best = (struct cpu_moment){ before + slip, ns, slip };
    }
    return best;
}

static bool allocate(struct cpu_profile *profile)
{
    size_t room = profile->room, num_steps = profile->num_steps;
    uint32_t num_lanes = profile->from->num_lanes;
    if (num_steps <= SIZE_MAX / sizeof(*profile->spans) / room)
        profile->spans = braid_allocate_zeroed(room * num_steps, sizeof(*profile->spans));
    profile->tallies =
        braid_allocate_zeroed(profile->num_tallied * num_steps, sizeof(*profile->tallies));
    profile->frames = braid_allocate_zeroed(room, sizeof(*profile->frames));
    profile->clocks =
        braid_allocate_aligned(CPU_LINE_BYTES, (num_lanes + 1) * sizeof(*profile->clocks));
    for (uint32_t i = 0; profile->clocks && i < num_lanes; i++)
        profile->clocks[i] = (struct cpu_lane_clock){ 0 };
    return profile->spans && profile->tallies && profile->frames && profile->clocks;
}

braid_status braid_cpu_profile_create(struct cpu_program *program, const struct program *from,
                                      uint32_t num_frames, size_t num_steps,
                                      const size_t *op_of_step)
{
    struct cpu_profile *profile = braid_allocate_zeroed(1, sizeof(*profile));
    program->profile = profile;
    if (!profile)
        return braid_error_no_memory("the times of frames");
    profile->from = from;
    profile->room = program->around ? 1 : num_frames;
    profile->num_tallied = program->around ? num_frames : 0;
    profile->num_steps = num_steps;
    profile->op_of_step = op_of_step;
    if (!allocate(profile))
        return braid_error_no_memory("the times of frames");
    profile->has_ticks = find_ticks();
    profile->start = read_clocks(profile);
    return BRAID_OK;
}

void braid_cpu_profile_destroy(struct cpu_profile *profile)
{
    if (!profile)
        return;
    braid_free(profile->spans);
    braid_free(profile->tallies);
    braid_free(profile->frames);
    braid_free(profile->clocks);
    braid_free(profile);
}

// Ends the latest frame, whose lanes have all ended.
static void end_frame(struct cpu_profile *profile)
{
    if (!profile->num_frames)
        return;
    struct profile_span *frame = &profile->frames[(profile->num_frames - 1) % profile->room];
    frame->end = frame->begin;
    for (uint32_t i = 0; i < profile->from->num_lanes; i++)
        if (profile->clocks[i].end > frame->end)
            frame->end = profile->clocks[i].end;
}

struct cpu_job *braid_cpu_profile_start(struct cpu_backend *backend, struct cpu_play *play,
                                        struct cpu_patch *patch, struct cpu_job *then)
{
    struct cpu_program *program =
        (struct cpu_program *)(void *)((char *)play - offsetof(struct cpu_program, play));
    struct cpu_profile *profile = program->profile;
    end_frame(profile);
    size_t slot = profile->num_frames++ % profile->room;
    for (uint32_t i = 0; i < profile->from->num_lanes; i++)
        profile->clocks[i] = (struct cpu_lane_clock){
            .spans = &profile->spans[slot * profile->num_steps +
                                     (size_t)(program->lanes[i].steps - program->steps)],
        };
    profile->frames[slot].begin = cpu_profile_now(profile);
    return braid_cpu_program_start(backend, play, patch, then);
}

// Returns the body's tallies in the frame that runs.
static struct profile_tally *tallies_of(const struct cpu_program *body)
{
    const struct cpu_program *whole = body;
    while (whole->around)
        whole = whole->around;
    const struct cpu_profile *profile = body->profile;
    return &profile->tallies[(whole->profile->num_frames - 1) % profile->num_tallied *
                             profile->num_steps];
}

void braid_cpu_profile_tally(struct cpu_program *body)
{
    const struct cpu_profile *profile = body->profile;
    struct profile_tally *tallies = tallies_of(body);
    for (size_t i = 0; i < profile->num_steps; i++)
        profile_tally_add(&tallies[i], profile->spans[i].end - profile->spans[i].begin);
}

void braid_cpu_profile_clear(struct cpu_program *body)
{
    memset(tallies_of(body), 0, body->profile->num_steps * sizeof(struct profile_tally));
}

// From the processor's counter to the clock's nanoseconds, by two moments of both.
static void find_clock(const struct cpu_profile *profile, struct profile_clock *clock)
{
    struct cpu_moment now = read_clocks(profile);
    while (now.ns - profile->start.ns < LEAST_APART_NS) {
        nanosleep(&(struct timespec){ .tv_nsec = LEAST_APART_NS / 2 }, NULL);
        now = read_clocks(profile);
    }
    clock->ticks = profile->start.ticks;
    clock->ns = profile->start.ns;
    clock->ns_a_tick =
        (double)(now.ns - profile->start.ns) / (double)(now.ticks - profile->start.ticks);
    // Between the two moments a time is as far off as the worse of them at most.
    uint64_t slip = now.slip > profile->start.slip ? now.slip : profile->start.slip;
    clock->host =
        (struct clock_pair){ now.ns, now.ns, (uint64_t)((double)slip * clock->ns_a_tick) + 1, 0 };
}

static uint64_t convert_moment(const struct profile_clock *clock, uint64_t ticks)
{
    double since = (double)(int64_t)(ticks - clock->ticks) * clock->ns_a_tick;
    return clock->ns + (uint64_t)(int64_t)since;
}

static struct profile_span convert(const struct profile_clock *clock, struct profile_span span)
{
    return (struct profile_span){ convert_moment(clock, span.begin),
                                  convert_moment(clock, span.end) };
}

static uint64_t convert_length(const struct profile_clock *clock, uint64_t ticks)
{
    return (uint64_t)((double)ticks * clock->ns_a_tick);
}

// By node, of a frame.
static void read_tallies(const struct cpu_program *program, const struct profile_clock *clock,
                         size_t slot, struct profile_tally *to)
{
    const struct cpu_profile *profile = program->profile;
    for (size_t i = 0; i < profile->num_steps && program->around; i++) {
        const struct profile_tally *tally = &profile->tallies[slot * profile->num_steps + i];
        size_t op = profile->op_of_step[i];
        if (op == SIZE_MAX || !program_takes_time(profile->from, &profile->from->ops[op]))
            continue;
        to[profile->from->ops[op].node] = (struct profile_tally){
            .num = tally->num,
            .sum_ns = convert_length(clock, tally->sum_ns),
        };
    }
    for (uint32_t i = 0; i < program->num_bodies; i++)
        read_tallies(program->bodies[i], clock, slot, to);
}

braid_status braid_cpu_profile_read(struct playing *playing, struct profile *out_profile)
{
    struct cpu_program *program = cpu_program_of(playing);
    struct cpu_profile *profile = program->profile;
    end_frame(profile);
    if (out_profile->clock.ns_a_tick == 0.0)
        find_clock(profile, &out_profile->clock);
    const struct profile_clock *clock = &out_profile->clock;
    uint64_t num = profile->num_frames < profile->room ? profile->num_frames : profile->room;
    for (uint64_t i = profile->num_frames - num; i < profile->num_frames; i++) {
        size_t slot = i % profile->room, to = out_profile->num_frames++;
        const struct profile_span *spans = &profile->spans[slot * profile->num_steps];
        struct profile_span *ops = &out_profile->ops[to * out_profile->num_ops];
        out_profile->frames[to] = convert(clock, profile->frames[slot]);
        read_tallies(program, clock, slot, &out_profile->tallies[to * out_profile->num_nodes]);
        for (size_t step = 0; step < profile->num_steps; step++)
            if (profile->op_of_step[step] != SIZE_MAX)
                ops[profile->op_of_step[step]] = convert(clock, spans[step]);
    }
    return BRAID_OK;
}

// The times are by the host's clock already.
braid_status braid_cpu_profile_read_clock(struct playing *playing, struct profile *profile)
{
    (void)playing;
    (void)profile;
    return BRAID_OK;
}

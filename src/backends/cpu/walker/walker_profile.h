// SPDX-License-Identifier: Apache-2.0
// Times of the walker's steps, which a lane's walker writes down as it goes.
#ifndef BRAID_BACKENDS_CPU_WALKER_WALKER_PROFILE_H
#define BRAID_BACKENDS_CPU_WALKER_WALKER_PROFILE_H

#include "backends/cpu/walker/walker.h"
#include "tasks/profile.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

// The end of a step is the start of the next. The clock is read once a step, and again after a
// publication, which may wake others. Another thread may end a step: its lane was parked or taken
// over, or its grid shared. Then `since`, which goes from thread to thread with the lane, says when
// it began.
struct cpu_lane_clock {
    _Alignas(CPU_LINE_BYTES) uint64_t since; // when the step at hand began; 0: nothing is at hand
    const struct cpu_step *step;             // that began then
    struct profile_span *spans;              // the lane's steps, in the frame that runs
    uint64_t end;                            // the lane's, in the frame that runs
};

// A moment by both clocks: that of the ticks, to so many of them.
struct cpu_moment {
    uint64_t ticks, ns, slip;
};

// A body's frames are iterations: it keeps the spans of one, and adds each to the tallies of its
// steps.
struct cpu_profile {
    const struct program *from;
    uint32_t room;                 // frames
    uint32_t num_tallied;          // frames of the whole; 0: this is no body
    struct profile_tally *tallies; // num_tallied * num_steps, in ticks
    bool has_ticks;
    size_t num_steps;
    const size_t *op_of_step;      // SIZE_MAX: of none
    struct profile_span *spans;    // room * num_steps, in ticks
    struct profile_span *frames;   // room
    struct cpu_lane_clock *clocks; // the lanes'
    uint64_t num_frames;           // begun so far
    struct cpu_moment start;
};

// Counted by the processor at a steady rate on all cores where has_ticks, else nanoseconds.
static inline uint64_t cpu_profile_now(const struct cpu_profile *profile)
{
#if defined(__x86_64__)
    if (profile->has_ticks)
        return __rdtsc();
#elif defined(__aarch64__)
    if (profile->has_ticks) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    (void)profile;
    return clock_now_ns();
}

// The step has ended, and began when the one before it did.
static inline void cpu_lane_clock_end(const struct cpu_profile *profile,
                                      struct cpu_lane_clock *clock, const struct cpu_lane *lane,
                                      const struct cpu_step *step)
{
    uint64_t now = cpu_profile_now(profile);
    clock->spans[step - lane->steps] = (struct profile_span){ clock->since, now };
    clock->since = now;
    clock->step = NULL;
}

// The thread begins to walk the lane, or goes on: behind a grid that other threads ended, or at a
// wait that still lasts.
static inline void cpu_lane_clock_resume(const struct cpu_profile *profile,
                                         struct cpu_lane_clock *clock, const struct cpu_lane *lane)
{
    if (!clock->step)
        clock->since = cpu_profile_now(profile);
    else if (clock->step != lane->next)
        cpu_lane_clock_end(profile, clock, lane, clock->step);
}

// A wait is over: it took no time, or began when it was found not to be.
static inline void cpu_lane_clock_end_wait(const struct cpu_profile *profile,
                                           struct cpu_lane_clock *clock,
                                           const struct cpu_lane *lane, const struct cpu_step *step)
{
    if (clock->step)
        cpu_lane_clock_end(profile, clock, lane, step);
    else
        clock->spans[step - lane->steps] = (struct profile_span){ clock->since, clock->since };
}

#endif

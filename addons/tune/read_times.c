// SPDX-License-Identifier: Apache-2.0
// Reads the times of an exec's last frames from its player, in launch order and by the host's
// clock.
#include "exec/exec.h"
#include "exec/exec_times.h"

// Where in the profile the frames are that a slot has handed out: its last ones, the oldest first.
struct slot_frames {
    uint32_t first, end;
};

// The slot of the oldest frame comes first: a player may count from the first times that it reads.
static braid_status read_slots(braid_exec *exec, struct profile *profile, uint64_t oldest,
                               struct slot_frames *slots)
{
    braid_status status = BRAID_OK;
    profile->num_frames = 0;
    profile->clock = (struct profile_clock){ 0 };
    for (uint32_t i = 0; i < exec->frames.num && !status; i++) {
        uint32_t slot = (uint32_t)((oldest + i) % exec->frames.num);
        slots[slot].first = profile->num_frames;
        status = exec->player->read_times(exec->frames.slots[slot].playing, profile);
        slots[slot].end = profile->num_frames;
    }
    return status;
}

// A slot's frames are as many apart as there are slots.
static void put_in_order(const braid_exec *exec, struct exec_times *times, uint64_t oldest,
                         const struct slot_frames *slots)
{
    for (uint64_t frame = oldest; frame < exec->frames.num_launched; frame++) {
        const struct slot_frames *slot = &slots[frame % exec->frames.num];
        uint64_t num_later = (exec->frames.num_launched - 1 - frame) / exec->frames.num;
        if (num_later < slot->end - slot->first) {
            times->numbers[times->num_frames] = frame;
            times->order[times->num_frames++] = slot->end - 1 - (uint32_t)num_later;
        }
    }
}

// Unknown times stay zero.
static void move(struct profile_span *span, const struct clock_pair *host)
{
    if (!span->begin && !span->end)
        return;
    span->begin += host->host_ns - host->device_ns; // whichever is the larger one
    span->end += host->host_ns - host->device_ns;
}

// From the clock of the player's times to the host's.
static braid_status align(braid_exec *exec, struct profile *profile)
{
    if (!profile->num_frames)
        return BRAID_OK;
    braid_status status = exec->player->read_clock(exec->frames.slots[0].playing, profile);
    if (status)
        return status;
    for (size_t i = 0; i < profile->num_frames * profile->num_ops; i++)
        move(&profile->ops[i], &profile->clock.host);
    for (uint32_t i = 0; i < profile->num_frames; i++)
        move(&profile->frames[i], &profile->clock.host);
    return BRAID_OK;
}

braid_status braid_exec_read_times(braid_exec *exec, struct exec_times *times)
{
    struct slot_frames slots[EXEC_MOST_FRAMES];
    uint64_t oldest =
        exec->frames.num_launched > times->room ? exec->frames.num_launched - times->room : 0;
    if (times->num_read == times->num_launches)
        return BRAID_OK;
    braid_status status = braid_exec_await_frames(exec);
    if (status)
        return status;
    times->num_frames = 0;
    status = read_slots(exec, &times->profile, oldest, slots);
    if (!status)
        status = align(exec, &times->profile);
    if (status)
        return status;
    put_in_order(exec, times, oldest, slots);
    times->num_read = times->num_launches;
    return BRAID_OK;
}

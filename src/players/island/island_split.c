// SPDX-License-Identifier: Apache-2.0
// Splitting calls of many blocks over several lanes of an island.
//
// A lane hands out parts by what it publishes anyway right before, or by a call that runs nothing;
// so the numbers that others wait for become larger ones. Helpers wait for their own lane and
// publish each part; only that lane waits for them. So there is no circle that was not there
// before; braid_island_lists_check looks again.
#include "players/island/island_split.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

struct splitting {
    const struct island_lists *from;
    struct island_lists to;
    uint32_t *call_of;
    uint32_t *handed_out;   // per call of `from`: the number behind which its parts may begin
    uint32_t *number_of;    // of a number that a lane publishes: that of now; see place_of
    uint32_t *first_helper; // per lane of `from`, and the end
    uint32_t *helped;       // per lane of `to`: the parts that it has so far
};

// A lane publishes at most one number a call.
static uint32_t *place_of(const struct splitting *splitting, uint32_t lane, uint32_t number)
{
    return &splitting->number_of[splitting->from->lane_first[lane] + number - 1];
}

static uint32_t parts_of(const struct island_call *call)
{
    return call->task && call->task->parts > 1 ? call->task->parts : 1;
}

// How many helpers a lane needs; and what the parts take of lists.
static uint32_t count_helpers(const struct splitting *splitting, uint32_t lane, uint32_t *num_parts)
{
    const struct island_lists *from = splitting->from;
    uint32_t most = 0;
    for (uint32_t i = from->lane_first[lane]; i < from->lane_first[lane + 1]; i++) {
        uint32_t more = parts_of(&from->calls[i]) - 1;
        most = more > most ? more : most;
        *num_parts += more;
    }
    return most;
}

// A lane's numbers as they will be.
static void number_lane(struct splitting *splitting, uint32_t lane)
{
    const struct island_lists *from = splitting->from;
    uint32_t first = from->lane_first[lane], published = 0, old = 0;
    bool told = false; // the call before has published
    for (uint32_t i = first; i < from->lane_first[lane + 1]; i++) {
        const struct island_call *call = &from->calls[i];
        if (parts_of(call) > 1 && (call->num_waits || (i > first && !told)))
            published++;
        if (parts_of(call) > 1)
            splitting->handed_out[i] = published;
        if (call->publishes)
            *place_of(splitting, lane, ++old) = ++published;
        told = call->publishes;
    }
}

static struct island_call *add_call(struct splitting *splitting, const struct backend_task *task)
{
    struct island_lists *to = &splitting->to;
    struct island_call *call = &to->calls[to->num_calls++];
    *call = (struct island_call){ .task = task, .first_wait = to->num_waits };
    return call;
}

static void add_wait(struct splitting *splitting, struct island_call *call, uint32_t lane,
                     uint32_t number)
{
    splitting->to.waits[splitting->to.num_waits++] = (struct island_wait){ lane, number };
    call->num_waits++;
}

static void add_waits_of(struct splitting *splitting, struct island_call *call,
                         const struct island_call *old)
{
    for (uint32_t i = 0; i < old->num_waits; i++) {
        const struct island_wait *wait = &splitting->from->waits[old->first_wait + i];
        add_wait(splitting, call, wait->lane, *place_of(splitting, wait->lane, wait->number));
    }
}

// The call that hands out, if the one before cannot; the first part; and the one that gathers.
static void add_split(struct splitting *splitting, uint32_t lane, uint32_t index)
{
    const struct island_call *old = &splitting->from->calls[index];
    uint32_t num_parts = parts_of(old), helper = splitting->first_helper[lane];
    bool is_first = index == splitting->from->lane_first[lane];
    if (old->num_waits) {
        struct island_call *gate = add_call(splitting, NULL);
        add_waits_of(splitting, gate, old);
        gate->publishes = true;
    } else if (!is_first) {
        splitting->to.calls[splitting->to.num_calls - 1].publishes = true;
    }
    splitting->call_of[old->task->node] = splitting->to.num_calls;
    add_call(splitting, old->task)->num_parts = num_parts;
    struct island_call *gather = add_call(splitting, NULL);
    for (uint32_t part = 1; part < num_parts; part++)
        add_wait(splitting, gather, helper + part - 1, ++splitting->helped[helper + part - 1]);
    gather->publishes = old->publishes;
}

static void add_lane(struct splitting *splitting, uint32_t lane)
{
    const struct island_lists *from = splitting->from;
    for (uint32_t i = from->lane_first[lane]; i < from->lane_first[lane + 1]; i++) {
        const struct island_call *old = &from->calls[i];
        if (parts_of(old) > 1) {
            add_split(splitting, lane, i);
            continue;
        }
        if (old->task)
            splitting->call_of[old->task->node] = splitting->to.num_calls;
        struct island_call *call = add_call(splitting, old->task);
        add_waits_of(splitting, call, old);
        call->publishes = old->publishes;
    }
    splitting->to.lane_first[lane + 1] = splitting->to.num_calls;
}

static void add_helper(struct splitting *splitting, uint32_t lane, uint32_t part)
{
    const struct island_lists *from = splitting->from;
    for (uint32_t i = from->lane_first[lane]; i < from->lane_first[lane + 1]; i++) {
        const struct island_call *old = &from->calls[i];
        if (parts_of(old) <= part)
            continue;
        struct island_call *call = add_call(splitting, old->task);
        call->part = part;
        call->num_parts = parts_of(old);
        call->first_part = splitting->call_of[old->task->node];
        call->publishes = true;
        if (splitting->handed_out[i])
            add_wait(splitting, call, lane, splitting->handed_out[i]);
    }
    uint32_t helper = splitting->first_helper[lane] + part - 1;
    splitting->to.lane_first[helper + 1] = splitting->to.num_calls;
}

static bool allocate(struct splitting *splitting, uint32_t num_parts)
{
    const struct island_lists *from = splitting->from;
    struct island_lists *to = &splitting->to;
    size_t num_calls = (size_t)3 * from->num_calls + num_parts;
    to->num_lanes = splitting->first_helper[from->num_lanes];
    to->timed = from->timed;
    to->calls = braid_allocate_zeroed(num_calls, sizeof(*to->calls));
    to->lane_first = braid_allocate_zeroed((size_t)to->num_lanes + 1, sizeof(*to->lane_first));
    to->waits = braid_allocate_zeroed(from->num_waits + (size_t)2 * num_parts, sizeof(*to->waits));
    splitting->helped = braid_allocate_zeroed(to->num_lanes, sizeof(*splitting->helped));
    splitting->handed_out = braid_allocate_zeroed(from->num_calls, sizeof(uint32_t));
    splitting->number_of = braid_allocate_zeroed(from->num_calls, sizeof(uint32_t));
    return to->calls && to->lane_first && to->waits && splitting->helped && splitting->handed_out &&
           splitting->number_of;
}

static void split(struct splitting *splitting)
{
    uint32_t num_lanes = splitting->from->num_lanes;
    for (uint32_t lane = 0; lane < num_lanes; lane++)
        number_lane(splitting, lane);
    for (uint32_t lane = 0; lane < num_lanes; lane++)
        add_lane(splitting, lane);
    for (uint32_t lane = 0; lane < num_lanes; lane++) {
        uint32_t num = splitting->first_helper[lane + 1] - splitting->first_helper[lane];
        for (uint32_t part = 1; part <= num; part++)
            add_helper(splitting, lane, part);
    }
}

braid_status braid_island_split(struct island_lists *lists, uint32_t *call_of)
{
    struct splitting splitting = { .from = lists, .call_of = call_of };
    uint32_t num_parts = 0, end = lists->num_lanes;
    splitting.first_helper = braid_allocate_zeroed((size_t)lists->num_lanes + 1, sizeof(uint32_t));
    bool done = splitting.first_helper;
    for (uint32_t lane = 0; lane < lists->num_lanes && done; lane++) {
        splitting.first_helper[lane] = end;
        end += count_helpers(&splitting, lane, &num_parts);
    }
    if (done)
        splitting.first_helper[lists->num_lanes] = end;
    done = done && (num_parts == 0 || allocate(&splitting, num_parts));
    if (done && num_parts)
        split(&splitting);
    free(splitting.first_helper);
    free(splitting.handed_out);
    free(splitting.number_of);
    free(splitting.helped);
    if (!done || num_parts)
        braid_island_lists_finish(done ? lists : &splitting.to);
    if (done && num_parts)
        *lists = splitting.to;
    return done ? BRAID_OK : braid_error_no_memory("an island");
}

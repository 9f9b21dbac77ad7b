// SPDX-License-Identifier: Apache-2.0
// Puts units on places, one after another, each where it finds room.
#include "plan/places/place_times.h"

#include "base/error.h"

#define NEVER UINT64_MAX

static bool reset(struct place_times *times)
{
    const struct place_task *task = times->task;
    for (size_t i = 0; i < (size_t)task->num_segments * task->num_places; i++)
        times->since_ns[i] = NEVER;
    for (uint32_t s = 0; s < task->num_segments; s++) {
        if (task->home[s])
            times->since_ns[(size_t)s * task->num_places + task->home[s] - 1] = 0;
    }
    bool done = true;
    for (uint32_t i = 0; i < task->num_places && done; i++)
        done = braid_place_slots_reset(&times->slots[i], task->most);
    return done;
}

braid_status braid_place_times_create(const struct place_task *task, struct place_times *out_times)
{
    struct place_times times = { .task = task };
    struct store *store = &times.store;
    times.end_ns = braid_store_take(store, task->plan->num_units, sizeof(uint64_t));
    times.place_of = braid_store_take(store, task->plan->num_units, 1);
    times.since_ns = braid_store_take(store, ((size_t)task->num_segments + 1) * task->num_places,
                                      sizeof(uint64_t));
    times.slots = braid_store_take(store, task->num_places, sizeof(*times.slots));
    if (store->failed || !reset(&times)) {
        braid_place_times_finish(&times);
        return braid_error_no_memory("the places of a plan");
    }
    *out_times = times;
    return BRAID_OK;
}

void braid_place_times_finish(struct place_times *times)
{
    for (uint32_t i = 0; times->slots && i < times->task->num_places; i++)
        braid_place_slots_finish(&times->slots[i]);
    braid_store_finish(&times->store);
    *times = (struct place_times){ 0 };
}

// Segments that are missing somewhere: since when their sources have them, and how many bytes.
struct missing {
    uint64_t since_ns, bytes;
    uint32_t from;
};

// When they are there, if they are copied at once.
static uint64_t arrival(const struct place_task *task, const struct missing *missing, uint32_t to)
{
    return missing->since_ns + placed_link(&task->model, missing->from, to)->wait_ns +
           braid_place_copy_ns(&task->model, missing->from, to, missing->bytes);
}

// When the segments of a use are at a place; `since` of them becomes that where `times` may change.
static uint64_t find_data(const struct place_times *times, const struct place_use *use,
                          uint32_t place)
{
    const struct place_task *task = times->task;
    struct missing missing = { 0 };
    uint64_t ready = 0;
    for (uint32_t s = use->first; s < use->end; s++) {
        const uint64_t *since = &times->since_ns[(size_t)s * task->num_places];
        uint64_t first = NEVER;
        if (since[place] != NEVER) {
            ready = since[place] > ready ? since[place] : ready;
            continue;
        }
        for (uint32_t p = 0; p < task->num_places; p++) {
            if (since[p] >= first)
                continue;
            first = since[p];
            missing.from = p;
        }
        if (first == NEVER)
            continue; // nobody has written it
        missing.since_ns = first > missing.since_ns ? first : missing.since_ns;
        missing.bytes += task->segment_bytes[s];
    }
    uint64_t copied = missing.bytes ? arrival(task, &missing, place) : 0;
    return copied > ready ? copied : ready;
}

uint64_t braid_place_times_start(const struct place_times *times, uint32_t unit, uint32_t place)
{
    const struct place_task *task = times->task;
    const struct plan_graph *plan = task->plan;
    uint64_t ready = 0;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            uint32_t pred = plan_unit_of(plan, plan->pred_nodes[e]), at = times->place_of[pred];
            uint64_t end = times->end_ns[pred];
            if (at != place)
                end += placed_link(&task->model, at, place)->wait_ns;
            ready = end > ready ? end : ready;
        }
    }
    for (uint32_t i = task->first_use[unit]; i < task->first_use[unit + 1]; i++) {
        uint64_t data = task->uses[i].needs ? find_data(times, &task->uses[i], place) : 0;
        ready = data > ready ? data : ready;
    }
    uint64_t cost = task->cost_ns[(size_t)unit * task->num_places + place];
    return braid_place_slots_find(&times->slots[place], ready, cost, task->share[unit]);
}

// A copy of a segment stays until the segment is written again.
static void note_use(struct place_times *times, const struct place_use *use, uint32_t place,
                     uint64_t end_ns)
{
    uint32_t num_places = times->task->num_places;
    uint64_t data = use->needs ? find_data(times, use, place) : 0;
    for (uint32_t s = use->first; s < use->end; s++) {
        uint64_t *since = &times->since_ns[(size_t)s * num_places];
        for (uint32_t p = 0; p < num_places && use->writes; p++)
            since[p] = NEVER;
        if (use->writes)
            since[place] = end_ns;
        else if (since[place] == NEVER)
            since[place] = data;
    }
}

bool braid_place_times_put(struct place_times *times, uint32_t unit, uint32_t place,
                           uint64_t start_ns)
{
    const struct place_task *task = times->task;
    uint64_t cost = task->cost_ns[(size_t)unit * task->num_places + place];
    uint64_t end = start_ns + cost;
    times->end_ns[unit] = end;
    times->place_of[unit] = (uint8_t)place;
    for (uint32_t i = task->first_use[unit]; i < task->first_use[unit + 1]; i++)
        note_use(times, &task->uses[i], place, end);
    return braid_place_slots_take(&times->slots[place], start_ns, cost, task->share[unit]);
}

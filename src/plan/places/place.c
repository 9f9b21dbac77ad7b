// SPDX-License-Identifier: Apache-2.0
// Makes candidates, plans the graph that each leads to, and takes the one whose plan is shortest.
#include "plan/places/place.h"

#include <string.h>

#include <braid/schedule.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/graph.h"
#include "graph/regions.h"
#include "plan/plan_heap.h"
#include "plan/schedule.h"

struct place_slots {
    struct array levels; // struct slot_level, by time; nothing runs on the last
    uint32_t most;       // units at once
};

// The state while units are put on places.
struct place_times {
    const struct place_task *task;
    uint64_t *end_ns;   // per unit
    uint8_t *place_of;  // per unit
    uint64_t *since_ns; // segment * num_places + place: since when it is there; UINT64_MAX: not
    struct place_slots *slots; // per place
    struct store store;        // holds the arrays
};

// From `at` to the next level so many units run, and take so much of PLAN_WHOLE_DEVICE.
struct slot_level {
    uint64_t at;
    uint32_t num, share;
};

// ---- the occupied times of one place, by levels in order of time: the latest are kept ----

#define MOST_LEVELS 4096 // then the later half is kept: a unit that is early seldom finds room

static struct slot_level *levels_of(const struct place_slots *slots)
{
    return slots->levels.items;
}

// Nothing runs. False: no memory.
static bool place_slots_reset(struct place_slots *slots, uint32_t most)
{
    slots->most = most;
    slots->levels.num = 0;
    return braid_array_put(&slots->levels, &(struct slot_level){ 0 }, sizeof(struct slot_level));
}

// The last level that begins at or before a time; the first where none does.
static size_t find_level(const struct place_slots *slots, uint64_t at)
{
    const struct slot_level *levels = levels_of(slots);
    size_t low = 0, high = slots->levels.num;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (levels[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// A unit that takes all of the device may run where nothing does.
static bool has_room(const struct place_slots *slots, const struct slot_level *level,
                     uint32_t share)
{
    return level->num < slots->most &&
           (level->share == 0 || level->share + share <= PLAN_WHOLE_DEVICE);
}

// The earliest start from `ready_ns` on of a unit that takes cost_ns > 0.
static uint64_t place_slots_find(const struct place_slots *slots, uint64_t ready_ns,
                                 uint64_t cost_ns, uint32_t share)
{
    const struct slot_level *levels = levels_of(slots);
    size_t i = find_level(slots, ready_ns), last = slots->levels.num - 1;
    uint64_t start = ready_ns > levels[0].at ? ready_ns : levels[0].at;
    for (;; i++) {
        if (!has_room(slots, &levels[i], share))
            start = levels[i + 1].at; // the last level has room
        else if (i == last || levels[i + 1].at >= start + cost_ns)
            return start;
    }
}

// Makes a level begin at a time; which one. There is room.
static size_t split(struct place_slots *slots, uint64_t at)
{
    struct slot_level *levels = levels_of(slots);
    size_t i = find_level(slots, at);
    if (levels[i].at == at)
        return i;
    memmove(&levels[i + 2], &levels[i + 1], (slots->levels.num - i - 1) * sizeof(*levels));
    levels[i + 1] = levels[i];
    levels[i + 1].at = at;
    slots->levels.num++;
    return i + 1;
}

static void forget_early(struct place_slots *slots)
{
    struct slot_level *levels = levels_of(slots);
    size_t kept = slots->levels.num / 2;
    memmove(levels, levels + slots->levels.num - kept, kept * sizeof(*levels));
    slots->levels.num = kept;
}

// Occupies the time that was found. False: no memory.
static bool place_slots_take(struct place_slots *slots, uint64_t start_ns, uint64_t cost_ns,
                             uint32_t share)
{
    if (slots->levels.num > MOST_LEVELS)
        forget_early(slots);
    if (!braid_array_reserve(&slots->levels, 2, sizeof(struct slot_level)))
        return false;
    if (start_ns < levels_of(slots)[0].at)
        return true; // found before what is forgotten now
    size_t first = split(slots, start_ns), end = split(slots, start_ns + cost_ns);
    for (size_t i = first; i < end; i++) {
        levels_of(slots)[i].num++;
        levels_of(slots)[i].share += share;
    }
    return true;
}

// ---- a quick estimate of a frame on several places ----

// Puts units on places, one after another, each where it finds room. It finds when a unit could end
// on each place, with the copies that it would need there.

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
        done = place_slots_reset(&times->slots[i], task->most);
    return done;
}

static void place_times_finish(struct place_times *times)
{
    for (uint32_t i = 0; times->slots && i < times->task->num_places; i++)
        braid_array_finish(&times->slots[i].levels);
    braid_store_finish(&times->store);
    *times = (struct place_times){ 0 };
}

// Errors: BRAID_NO_MEMORY.
static braid_status place_times_create(const struct place_task *task, struct place_times *out_times)
{
    struct place_times times = { .task = task };
    struct store *store = &times.store;
    times.end_ns = braid_store_take(store, task->plan->num_units, sizeof(uint64_t));
    times.place_of = braid_store_take(store, task->plan->num_units, 1);
    times.since_ns = braid_store_take(store, ((size_t)task->num_segments + 1) * task->num_places,
                                      sizeof(uint64_t));
    times.slots = braid_store_take(store, task->num_places, sizeof(*times.slots));
    if (store->failed || !reset(&times)) {
        place_times_finish(&times);
        return braid_error_no_memory("the places of a plan");
    }
    *out_times = times;
    return BRAID_OK;
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

// When a unit all of whose predecessors are put could start on a place.
static uint64_t place_times_start(const struct place_times *times, uint32_t unit, uint32_t place)
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
    return place_slots_find(&times->slots[place], ready, cost, task->share[unit]);
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

// Puts it there. False: no memory.
static bool place_times_put(struct place_times *times, uint32_t unit, uint32_t place,
                            uint64_t start_ns)
{
    const struct place_task *task = times->task;
    uint64_t cost = task->cost_ns[(size_t)unit * task->num_places + place];
    uint64_t end = start_ns + cost;
    times->end_ns[unit] = end;
    times->place_of[unit] = (uint8_t)place;
    for (uint32_t i = task->first_use[unit]; i < task->first_use[unit + 1]; i++)
        note_use(times, &task->uses[i], place, end);
    return place_slots_take(&times->slots[place], start_ns, cost, task->share[unit]);
}

// ---- HEFT, with the gaps between units that are placed filled by later ones ----

struct list {
    const struct place_task *task;
    uint64_t mean_wait_ns, mean_latency_ns, mean_mib_ns; // over all pairs of places
    uint64_t *rank;                                      // per unit
};

static void find_means(struct list *list)
{
    const struct place_model *model = &list->task->model;
    uint32_t num = model->num_places;
    uint64_t pairs = (uint64_t)num * (num - 1);
    for (uint32_t from = 0; from < num; from++) {
        for (uint32_t to = 0; to < num; to++) {
            if (from == to)
                continue;
            uint64_t empty = braid_place_copy_ns(model, from, to, 0);
            list->mean_wait_ns += placed_link(model, from, to)->wait_ns / pairs;
            list->mean_latency_ns += empty / pairs;
            list->mean_mib_ns += (braid_place_copy_ns(model, from, to, 1 << 20) - empty) / pairs;
        }
    }
}

static uint64_t mean_flow(const struct list *list, uint64_t bytes)
{
    uint64_t copy = bytes ? list->mean_latency_ns + (bytes >> 10) * list->mean_mib_ns / 1024 : 0;
    return list->mean_wait_ns + copy;
}

static bool is_allowed(const struct place_task *task, uint32_t unit, uint32_t place)
{
    return task->allowed[unit] >> place & 1;
}

static uint64_t cost_of(const struct place_task *task, uint32_t unit, uint32_t place)
{
    return task->cost_ns[(size_t)unit * task->num_places + place];
}

static uint64_t mean_cost(const struct place_task *task, uint32_t unit)
{
    uint64_t sum = 0, num = 0;
    for (uint32_t p = 0; p < task->num_places; p++) {
        if (!is_allowed(task, unit, p))
            continue;
        sum += cost_of(task, unit, p);
        num++;
    }
    return sum / num;
}

// Adds the part of one edge to the rank of the unit that it leads from.
static void rank_pred(struct list *list, uint32_t edge, uint32_t unit)
{
    const struct place_task *task = list->task;
    uint32_t pred = plan_unit_of(task->plan, task->plan->pred_nodes[edge]);
    uint64_t rank = list->rank[unit] + mean_flow(list, task->edge_bytes[edge]);
    list->rank[pred] = rank > list->rank[pred] ? rank : list->rank[pred];
}

// A unit is done with when all behind it are: its nodes stand together in the order.
static void rank_all(struct list *list)
{
    const struct plan_graph *plan = list->task->plan;
    for (uint32_t i = plan->num_nodes; i-- > 0;) {
        uint32_t node = plan_ordered_node(plan, i), unit = plan_unit_of(plan, node);
        if (node != plan_first_member(plan, unit))
            continue;
        list->rank[unit] += mean_cost(list->task, unit);
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++) {
            uint32_t member = plan_unit_member(plan, unit, k);
            for (uint32_t e = plan->pred_first[member]; e < plan->pred_first[member + 1]; e++)
                rank_pred(list, e, unit);
        }
    }
}

static bool list_ready(const struct list *list, struct plan_heap *ready, uint32_t *left,
                       uint32_t *order)
{
    const struct plan_graph *plan = list->task->plan;
    bool done = true;
    for (uint32_t unit = 0; unit < plan->num_units && done; unit++) {
        left[unit] = plan_num_preds(plan, unit);
        if (!left[unit])
            done = plan_heap_push(ready, UINT64_MAX - list->rank[unit], unit);
    }
    for (uint32_t num = 0; done && plan_heap_first(ready);) {
        uint32_t unit = plan_heap_pop(ready).value;
        order[num++] = unit;
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++) {
            uint32_t node = plan_unit_member(plan, unit, k);
            for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1] && done; e++) {
                uint32_t succ = plan_unit_of(plan, plan->succ_nodes[e]);
                if (--left[succ] == 0)
                    done = plan_heap_push(ready, UINT64_MAX - list->rank[succ], succ);
            }
        }
    }
    return done;
}

// Units in the order of HEFT: by the heaviest path ahead. The data along it count at the mean of
// all pairs of places. Every edge goes forward.
static braid_status find_order(const struct place_task *task, uint32_t **out_order)
{
    uint32_t num = task->plan->num_units;
    struct list list = { .task = task, .rank = braid_allocate_zeroed(num, sizeof(uint64_t)) };
    uint32_t *left = braid_allocate_zeroed(num, sizeof(*left));
    uint32_t *order = braid_allocate_zeroed(num, sizeof(*order));
    struct plan_heap ready = { 0 };
    bool done = list.rank && left && order;
    if (done) {
        find_means(&list);
        rank_all(&list);
        done = list_ready(&list, &ready, left, order);
    }
    braid_array_finish(&ready.items);
    braid_free(list.rank);
    braid_free(left);
    if (!done) {
        braid_free(order);
        return braid_error_no_memory("the places of a plan");
    }
    *out_order = order;
    return BRAID_OK;
}

// Where the unit ends first.
static uint32_t choose_place(const struct place_times *times, uint32_t unit, uint64_t *out_start_ns)
{
    const struct place_task *task = times->task;
    uint64_t best_ns = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t p = 0; p < task->num_places; p++) {
        if (!is_allowed(task, unit, p))
            continue;
        uint64_t start = place_times_start(times, unit, p);
        uint64_t ns = start + cost_of(task, unit, p);
        if (ns < best_ns) {
            best_ns = ns;
            best = p;
            *out_start_ns = start;
        }
    }
    return best;
}

// Puts all units on places by HEFT (Topcuoglu, Hariri, Wu 2002). Errors: BRAID_NO_MEMORY.
static braid_status place_list(struct place_times *times)
{
    uint32_t *order = NULL;
    braid_status status = find_order(times->task, &order);
    for (uint32_t i = 0; i < times->task->plan->num_units && !status; i++) {
        uint64_t start_ns = 0;
        uint32_t place = choose_place(times, order[i], &start_ns);
        if (!place_times_put(times, order[i], place, start_ns))
            status = braid_error_no_memory("the places of a plan");
    }
    braid_free(order);
    return status;
}

// ---- candidates ----

// Nodes inside stand behind their region's node.
static void bundle_nodes(const braid_graph *graph, braid_graph *units)
{
    struct graph_node *nodes = units->nodes.items;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        uint32_t main = braid_graph_lift(graph, i, GRAPH_NONE);
        if (main == i)
            continue;
        units->num_bundled += nodes[i].role == GRAPH_MAIN;
        nodes[i].main = main;
        nodes[i].role = GRAPH_EPILOGUE;
    }
}

// Edges inside a region order nothing outside.
static void drop_inner_edges(const braid_graph *graph, braid_graph *units)
{
    struct graph_edge *edges = units->edges.items;
    size_t num = 0;
    for (size_t i = 0; i < units->edges.num; i++) {
        if (braid_graph_lift(graph, edges[i].from, GRAPH_NONE) !=
            braid_graph_lift(graph, edges[i].to, GRAPH_NONE))
            edges[num++] = edges[i];
    }
    units->edges.num = num;
}

static braid_status find_costs(const braid_graph *graph, const struct plan_options *options,
                               braid_graph *units)
{
    struct plan_options alone = *options;
    alone.places = NULL;
    braid_schedule *schedule = NULL;
    braid_status status = braid_schedule_create_plain(graph, &alone, &schedule);
    for (uint32_t i = 0; i < graph->regions.num && !status; i++) {
        uint32_t node = graph_regions(graph)[i].node;
        ((struct graph_node *)units->nodes.items)[node].cost_ns = schedule->cost_ns[node];
    }
    braid_schedule_destroy(schedule);
    return status;
}

// Makes a graph of the same nodes. Each loop or branch of the root is a bundle in it, with all
// nodes inside, and has their expected time. NULL: the graph has none, and serves itself. Errors:
// those of braid_schedule_create.
static braid_status create_units(const braid_graph *graph, const struct plan_options *options,
                                 braid_graph **out_units)
{
    braid_graph *units = NULL;
    *out_units = NULL;
    if (!graph->regions.num)
        return BRAID_OK;
    braid_status status = braid_graph_clone(graph, &units);
    if (!status)
        status = find_costs(graph, options, units); // which checks the graph
    if (status) {
        braid_graph_destroy(units);
        return status;
    }
    bundle_nodes(graph, units);
    drop_inner_edges(graph, units);
    braid_array_finish(&units->regions);
    units->regions = (struct array){ 0 };
    *out_units = units;
    return BRAID_OK;
}

struct placing {
    const braid_graph *graph;
    const struct plan_options *options;
    braid_graph *units;
    struct plan_graph *plan;
    struct place_task task;
    uint8_t *place_of; // per unit, of the candidate at hand
    struct placed *best;
    uint64_t best_ns, one_place_ns;
};

// Plans the candidate at hand, and keeps it if it is the shortest so far.
static braid_status weigh(struct placing *placing, uint64_t *out_ns)
{
    struct placed *placed = NULL;
    braid_schedule *schedule = NULL;
    braid_schedule_info info = { 0 };
    braid_status status = braid_place_build(placing->graph, placing->plan, placing->options->places,
                                            placing->place_of, &placed);
    if (!status)
        status = braid_schedule_create_placed(placed, placing->options, &schedule);
    if (status) {
        braid_placed_release(placed);
        return status;
    }
    braid_schedule_get_info(schedule, &info);
    braid_schedule_destroy(schedule);
    *out_ns = info.makespan_ns;
    if (placing->best && *out_ns >= placing->best_ns) {
        braid_placed_release(placed);
        return BRAID_OK;
    }
    braid_placed_release(placing->best);
    placing->best = placed;
    placing->best_ns = *out_ns;
    return BRAID_OK;
}

// Every unit at one place; those that may not be there where they may. Whether all are there.
static bool put_all_on(struct placing *placing, uint32_t place)
{
    bool all = true;
    for (uint32_t unit = 0; unit < placing->plan->num_units; unit++) {
        uint64_t allowed = placing->task.allowed[unit];
        bool may = allowed >> place & 1;
        placing->place_of[unit] = (uint8_t)(may ? place : (uint32_t)__builtin_ctzll(allowed));
        all = all && may;
    }
    return all;
}

// Places with the same speed, links and memory would have the same plan, so one would be enough.
// The search does not compare places: it weighs each of the first eight.
static braid_status weigh_single_places(struct placing *placing)
{
    enum { MOST_WEIGHED = 8 };
    braid_status status = BRAID_OK;
    uint32_t num =
        placing->task.num_places < MOST_WEIGHED ? placing->task.num_places : MOST_WEIGHED;
    for (uint32_t place = 0; place < num && !status; place++) {
        uint64_t ns = 0;
        bool is_whole = put_all_on(placing, place);
        status = weigh(placing, &ns);
        if (!status && is_whole && (!placing->one_place_ns || ns < placing->one_place_ns))
            placing->one_place_ns = ns;
    }
    return status;
}

static braid_status weigh_listed(struct placing *placing)
{
    uint64_t ns;
    struct place_times times = { 0 };
    braid_status status = place_times_create(&placing->task, &times);
    if (!status)
        status = place_list(&times);
    if (!status) {
        memcpy(placing->place_of, times.place_of, placing->plan->num_units);
        status = weigh(placing, &ns);
    }
    place_times_finish(&times);
    return status;
}

static braid_status begin(struct placing *placing)
{
    braid_status status = create_units(placing->graph, placing->options, &placing->units);
    const braid_graph *units = placing->units ? placing->units : placing->graph;
    if (!status)
        status = braid_plan_graph_check(units);
    if (!status)
        status = braid_plan_graph_create(units, &placing->plan);
    if (!status)
        status = braid_place_task_create(placing->graph, units, placing->plan, placing->options,
                                         &placing->task);
    if (status)
        return status;
    placing->place_of = braid_allocate_zeroed(placing->plan->num_units, 1);
    return placing->place_of ? BRAID_OK : braid_error_no_memory("the places of a plan");
}

braid_status braid_graph_place(const braid_graph *graph, const struct plan_options *options,
                               struct placed **out_placed)
{
    struct placing placing = { .graph = graph, .options = options };
    if (graph->imported_places && graph->imported_places != options->places->num_places)
        return braid_error(BRAID_UNSUPPORTED,
                           "an imported graph runs on the devices of its import");
    braid_status status = begin(&placing);
    if (!status)
        status = weigh_single_places(&placing);
    if (!status)
        status = weigh_listed(&placing);
    braid_place_task_finish(&placing.task);
    braid_plan_graph_release(placing.plan);
    braid_graph_destroy(placing.units);
    braid_free(placing.place_of);
    if (status) {
        braid_placed_release(placing.best);
        return status;
    }
    placing.best->one_place_ns = placing.one_place_ns;
    *out_placed = placing.best;
    return BRAID_OK;
}

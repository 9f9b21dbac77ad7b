// SPDX-License-Identifier: Apache-2.0
// Making schedules: of a graph, or of one whose nodes have places.
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "graph/regions.h"
#include "plan/plan_limit.h"
#include "plan/plan_passes.h"
#include "plan/schedule.h"

// A graph to plan, and the purpose.
struct plan_order {
    const braid_graph *graph;
    struct placed *placed;            // NULL: it is for one place
    const struct plan_inside *inside; // NULL: it is no island
    const struct plan_options *options;
};

// ---- regions ----

// Plans each region as a graph of its own, inner ones first, and puts their programs together. No
// part has the nodes that are left out.

#define MOST_COST_NS (UINT64_MAX >> 8) // a loop's: costs of several still add up

// The nodes directly in a region.
struct part {
    braid_graph graph;         // shares all but nodes, edges, accesses, resources and sequence
    struct place_model places; // if several: the whole's, with the number of its own nodes
    struct array nodes;        // uint32_t: of the whole
    struct array resources;    // uint32_t: those that its nodes access, and their buffers
    braid_schedule *schedule;
};

struct planner {
    const braid_graph *graph;
    const struct plan_order *order;
    struct plan_options options; // for parts
    struct part *parts;          // a region each, and the root last
    uint32_t num_parts;
    uint32_t *index_in;    // by node: in its part
    uint32_t *resource_in; // by resource: in the part that took it last
};

// The region of a part.
static uint32_t region_at(const struct planner *planner, uint32_t index)
{
    return index + 1 < planner->num_parts ? index : GRAPH_NONE;
}

static struct part *part_of(const struct planner *planner, uint32_t region)
{
    return &planner->parts[region == GRAPH_NONE ? planner->num_parts - 1 : region];
}

static const uint32_t *nodes_of(const struct part *part)
{
    return part->nodes.items;
}

static const uint32_t *resources_of(const struct part *part)
{
    return part->resources.items;
}

static void begin_part(const struct planner *planner, struct part *part)
{
    part->graph = *planner->graph;
    if (planner->graph->places) {
        part->places = *planner->graph->places;
        part->places.num_nodes = 0;
        part->graph.places = &part->places;
    }
    part->graph.nodes = part->graph.edges = part->graph.accesses = part->graph.sequence =
        part->graph.regions = part->graph.resources = (struct array){ 0 };
    part->graph.uses = part->graph.addresses = part->graph.given = (struct array){ 0 };
    part->graph.num_left_out = 0;
    part->graph.code = NULL; // whose nodes have other numbers
}

// A main node stands before those of its bundle.
static bool take_node(struct planner *planner, uint32_t index)
{
    const struct graph_node *from = &graph_nodes(planner->graph)[index];
    if (from->is_left_out)
        return true;
    const struct graph_access *accesses = planner->graph->accesses.items;
    struct part *part = part_of(planner, braid_graph_region_of(planner->graph, index));
    uint32_t *slot = braid_array_append(&part->nodes, 1, sizeof(*slot));
    struct graph_node *node = braid_array_append(&part->graph.nodes, 1, sizeof(*node));
    struct graph_access *to = NULL;
    uint32_t first = (uint32_t)part->graph.accesses.num;
    if (from->num_accesses)
        to = braid_array_append(&part->graph.accesses, from->num_accesses, sizeof(*to));
    if (!slot || !node || (from->num_accesses && !to))
        return false;
    if (to)
        memcpy(to, &accesses[from->first_access], from->num_accesses * sizeof(*to));
    planner->index_in[index] = (uint32_t)part->nodes.num - 1;
    part->places.num_nodes += planner->graph->places && index < planner->graph->places->num_nodes;
    *slot = index;
    *node = *from;
    node->first_access = first;
    node->main = planner->index_in[from->main];
    return true;
}

// Explicit edges across the border of a region are edges of its node.
static bool take_edge(struct planner *planner, uint32_t from, uint32_t to)
{
    uint32_t region = braid_graph_meet(planner->graph, &from, &to);
    struct part *part = part_of(planner, region);
    struct graph_edge *edge = braid_array_append(&part->graph.edges, 1, sizeof(*edge));
    if (edge)
        *edge = (struct graph_edge){ planner->index_in[from], planner->index_in[to] };
    return edge;
}

// The main nodes of the root; those of bodies stand as they were added.
static bool take_sequence(struct planner *planner)
{
    const uint32_t *sequence = planner->graph->sequence.items;
    struct array *to = &part_of(planner, GRAPH_NONE)->graph.sequence;
    bool done = true;
    for (size_t i = 0; i < planner->graph->sequence.num && done; i++) {
        if (graph_nodes(planner->graph)[sequence[i]].is_left_out ||
            braid_graph_region_of(planner->graph, sequence[i]) != GRAPH_NONE)
            continue;
        uint32_t *slot = braid_array_append(to, 1, sizeof(*slot));
        if (slot)
            *slot = planner->index_in[sequence[i]];
        done = slot;
    }
    return done;
}

// Gives a resource its number in the part. Those that no node of it uses cost it nothing.
static bool take_resource(struct planner *planner, struct part *part, uint32_t *resource)
{
    uint32_t *number = &planner->resource_in[*resource];
    if (*number >= part->resources.num || resources_of(part)[*number] != *resource) {
        const struct graph_resource *from = graph_resource_at(planner->graph, *resource);
        uint32_t buffer = from->buffer;
        *number = (uint32_t)part->resources.num;
        if (!braid_array_put(&part->resources, resource, sizeof(*resource)) ||
            !braid_array_put(&part->graph.resources, from, sizeof(*from)) ||
            !take_resource(planner, part, &buffer))
            return false;
        ((struct graph_resource *)part->graph.resources.items)[*number].buffer = buffer;
    }
    *resource = *number;
    return true;
}

static bool take_resources(struct planner *planner, struct part *part)
{
    struct graph_access *accesses = part->graph.accesses.items;
    bool done = true;
    for (size_t i = 0; i < part->graph.accesses.num && done; i++)
        done = take_resource(planner, part, &accesses[i].resource);
    return done;
}

static braid_status fill_parts(struct planner *planner)
{
    const braid_graph *graph = planner->graph;
    bool done = true;
    for (uint32_t i = 0; i < planner->num_parts; i++)
        begin_part(planner, &planner->parts[i]);
    for (uint32_t i = 0; i < graph_num_nodes(graph) && done; i++)
        done = take_node(planner, i);
    for (size_t i = 0; i < graph->edges.num && done; i++)
        done = take_edge(planner, graph_edges(graph)[i].from, graph_edges(graph)[i].to);
    done = done && take_sequence(planner);
    for (uint32_t i = 0; i < planner->num_parts && done; i++)
        done = take_resources(planner, &planner->parts[i]);
    return done ? BRAID_OK : braid_error_no_memory("the plan of regions");
}

static uint64_t cost_of_region(const struct planner *planner, uint32_t index)
{
    const struct graph_region *region = &graph_regions(planner->graph)[index];
    const bool is_loop = graph_nodes(planner->graph)[region->node].kind == WORK_LOOP;
    uint64_t expected = region->expected;
    uint64_t once = planner->parts[index].schedule->info.makespan_ns, cost;
    uint64_t between = is_loop ? planner->options.costs.iteration_ns : 0;
    once = between > UINT64_MAX - once ? UINT64_MAX : once + between;
    return __builtin_mul_overflow(expected, once, &cost) || cost > MOST_COST_NS ? MOST_COST_NS
                                                                                : cost;
}

// The cost of a region is known once its bodies are planned: of two arms that of the longer one.
static void set_costs(const struct planner *planner, struct part *part)
{
    struct graph_node *nodes = part->graph.nodes.items;
    for (uint32_t i = 0; i < part->nodes.num; i++) {
        if (!work_has_body((enum work_kind)nodes[i].kind))
            continue;
        uint32_t entered = braid_graph_region_entered(planner->graph, nodes_of(part)[i]);
        uint32_t other = braid_graph_region_else(planner->graph, entered);
        uint64_t cost = cost_of_region(planner, entered);
        uint64_t instead = other == GRAPH_NONE ? 0 : cost_of_region(planner, other);
        nodes[i].cost_ns = cost > instead ? cost : instead;
    }
}

// Plans a graph without regions all of whose nodes stay.
static braid_status schedule_create_whole(const struct plan_order *order,
                                          braid_schedule **out_schedule)
{
    const braid_graph *graph = order->graph;
    struct plan_graph *plan = NULL;
    braid_schedule *schedule = NULL;
    braid_status status = braid_plan_graph_create(graph, &plan);
    if (!status)
        status = braid_schedule_begin(plan, graph->id, graph->version, order->options, &schedule);
    if (!status) {
        schedule->placed = braid_placed_share(order->placed);
        status = braid_plan_passes(schedule, graph, order->inside);
    }
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}

// An island has all nodes of the graph, so its parts have the same room.
static braid_status plan_inside(struct planner *planner, struct part *part,
                                struct plan_order *order)
{
    const struct plan_inside *whole = planner->order->inside;
    struct island_fit *fits = braid_allocate_zeroed(part->nodes.num, sizeof(*fits));
    if (!fits)
        return braid_error_no_memory("the plan of an island");
    for (uint32_t i = 0; i < part->nodes.num; i++)
        fits[i] = whole->fits[nodes_of(part)[i]];
    const struct plan_inside inside = { .fits = fits, .room = whole->room };
    order->inside = &inside;
    braid_status status = schedule_create_whole(order, &part->schedule);
    braid_free(fits);
    return status;
}

static braid_status plan_part(struct planner *planner, uint32_t index)
{
    struct part *part = &planner->parts[index];
    struct plan_order order = { &part->graph, planner->order->placed, NULL, &planner->options };
    set_costs(planner, part);
    return planner->order->inside ? plan_inside(planner, part, &order)
                                  : schedule_create_whole(&order, &part->schedule);
}

static void take_body(const struct planner *planner, uint32_t region, struct program *program)
{
    const struct graph_region *from = &graph_regions(planner->graph)[region];
    struct program *planned = &planner->parts[region].schedule->program;
    struct program *body = &program->bodies[program->num_bodies++];
    *body = *planned;
    *planned = (struct program){ 0 };
    body->region = region;
    body->node = from->node;
    body->most = graph_loop(planner->graph, from->node)->most;
    body->expected = from->expected;
    body->has_condition = from->condition != GRAPH_NONE;
    body->is_else = graph_region_is_else(from);
    body->has_else = braid_graph_region_else(planner->graph, region) != GRAPH_NONE;
}

// Entering a region is an operation.
static void take_bodies(const struct planner *planner, braid_step *op, struct program *program)
{
    if (op->kind != BRAID_STEP_RUN || !work_has_body((enum work_kind)program->kinds[op->node]))
        return;
    uint32_t entered = braid_graph_region_entered(planner->graph, op->node);
    op->kind = BRAID_STEP_LOOP;
    op->position = program->num_bodies;
    take_body(planner, entered, program);
    if (program->bodies[op->position].has_else)
        take_body(planner, braid_graph_region_else(planner->graph, entered), program);
}

// Nodes with a body, or with two.
static size_t count_regions(const struct part *part)
{
    size_t num = 0;
    for (uint32_t i = 0; i < part->nodes.num; i++)
        num += work_has_body((enum work_kind)graph_nodes(&part->graph)[i].kind);
    return num;
}

// Gives nodes the numbers that they have in the whole.
static bool number_nodes(const struct planner *planner, struct part *part, uint8_t *kinds)
{
    struct program *program = &part->schedule->program;
    braid_free(program->kinds);
    program->kinds = kinds;
    program->num_nodes = graph_num_nodes(planner->graph);
    program->bodies = braid_allocate_zeroed(2 * count_regions(part), sizeof(*program->bodies));
    if (!program->bodies)
        return false;
    for (uint32_t i = 0; i < program->num_positions; i++)
        program->positions[i].node = nodes_of(part)[program->positions[i].node];
    for (size_t i = 0; i < program->num_ops; i++) {
        program->ops[i].node = nodes_of(part)[program->ops[i].node];
        take_bodies(planner, &program->ops[i], program);
    }
    return braid_program_list_lanes(program);
}

// Times inside a region count from the start of the frame, as those of all nodes.
static void place_nodes(const struct planner *planner, uint32_t index, braid_schedule *whole)
{
    const struct part *part = &planner->parts[index];
    const struct braid_schedule *from = part->schedule;
    uint32_t region = region_at(planner, index);
    uint64_t begin =
        region == GRAPH_NONE ? 0 : whole->start_ns[graph_regions(planner->graph)[region].node];
    for (uint32_t i = 0; i < part->nodes.num; i++) {
        uint32_t node = nodes_of(part)[i];
        whole->lane_of[node] = from->lane_of[i];
        whole->start_ns[node] = begin + from->start_ns[i];
        whole->cost_ns[node] = from->cost_ns[i];
        whole->unknown[node] = from->unknown ? from->unknown[i] : 0;
    }
}

static bool allocate_whole(struct braid_schedule *whole, const struct part *root)
{
    size_t num = whole->graph->num_nodes;
    whole->lane_of = plan_allocate_zeroed(num, sizeof(uint32_t));
    whole->start_ns = plan_allocate_zeroed(num, sizeof(uint64_t));
    whole->cost_ns = plan_allocate_zeroed(num, sizeof(uint64_t));
    whole->unknown = plan_allocate_zeroed(num, sizeof(*whole->unknown));
    whole->critical = plan_allocate_zeroed(root->schedule->num_critical, sizeof(uint32_t));
    whole->lane_first = plan_allocate_zeroed(root->schedule->info.num_lanes, sizeof(uint32_t));
    whole->lane_nodes = plan_allocate_zeroed(num, sizeof(uint32_t));
    return whole->lane_of && whole->start_ns && whole->cost_ns && whole->unknown &&
           whole->critical && whole->lane_first && whole->lane_nodes;
}

// Names of the part end with it.
static void take_serialisations(const struct part *root, braid_schedule *whole)
{
    whole->serialisations = root->schedule->serialisations;
    root->schedule->serialisations = NULL;
    for (uint32_t i = 0; i < root->schedule->info.num_serialisations; i++) {
        braid_serialisation *pair = &whole->serialisations[i];
        pair->first = nodes_of(root)[pair->first];
        pair->second = nodes_of(root)[pair->second];
        if (!*pair->resource_name)
            continue;
        pair->resource = resources_of(root)[pair->resource];
        pair->resource_name = braid_plan_resource_name(whole->graph, pair->resource);
    }
}

// The schedule of the whole, which tells of the root's lanes and steps as of its own.
static bool fill_whole(struct planner *planner, struct braid_schedule *whole)
{
    struct part *root = &planner->parts[planner->num_parts - 1];
    struct braid_schedule *from = root->schedule;
    uint32_t num = graph_num_nodes(planner->graph);
    uint8_t *kinds = plan_allocate(num, sizeof(*kinds));
    if (!kinds)
        return false;
    bool done = allocate_whole(whole, root);
    for (uint32_t i = 0; i < num; i++)
        kinds[i] = graph_nodes(planner->graph)[i].kind;
    for (uint32_t i = 0; i < planner->num_parts; i++)
        done = number_nodes(planner, &planner->parts[i], kinds) && done;
    whole->program = from->program; // with all bodies
    whole->program.kinds = kinds;
    from->program = (struct program){ 0 };
    for (uint32_t i = 0; i + 1 < planner->num_parts; i++) // the others were handed on
        planner->parts[i].schedule->program.kinds = NULL;
    if (!done)
        return false;
    whole->info = from->info;
    whole->info.num_nodes = num;
    whole->info.num_left_out = planner->graph->num_left_out;
    take_serialisations(root, whole);
    for (uint32_t i = 0; i + 1 < planner->num_parts; i++)
        whole->info.num_guessed += planner->parts[i].schedule->info.num_guessed;
    for (uint32_t i = planner->num_parts; i-- > 0;)
        place_nodes(planner, i, whole);
    for (uint32_t i = 0; i <= from->info.num_lanes; i++)
        whole->lane_first[i] = from->lane_first[i];
    for (uint32_t i = 0; i < root->nodes.num; i++)
        whole->lane_nodes[i] = nodes_of(root)[from->lane_nodes[i]];
    whole->num_critical = from->num_critical;
    for (size_t i = 0; i < from->num_critical; i++)
        whole->critical[i] = nodes_of(root)[from->critical[i]];
    braid_plan_find_limit(whole);
    return true;
}

static braid_status plan_whole(struct planner *planner, braid_schedule **out_schedule)
{
    const struct plan_options *options = planner->order->options;
    struct plan_graph *plan = NULL;
    braid_schedule *whole = NULL;
    const braid_graph *graph = planner->graph;
    braid_status status = braid_plan_graph_create(graph, &plan);
    if (!status)
        status = fill_parts(planner);
    for (uint32_t i = 0; i < planner->num_parts && !status; i++)
        status = plan_part(planner, i);
    if (status) {
        braid_plan_graph_release(plan);
        return status;
    }
    status = braid_schedule_begin(plan, graph->id, graph->version, options, &whole);
    if (!status && !fill_whole(planner, whole)) {
        status = braid_error_no_memory("the plan of regions");
        braid_schedule_destroy(whole);
    }
    if (status)
        return status;
    whole->placed = braid_placed_share(planner->order->placed);
    if (!graph->regions.num && braid_plan_islands)
        status = braid_plan_islands->divide(whole, graph, &options->costs);
    if (status)
        braid_schedule_destroy(whole);
    else
        *out_schedule = whole;
    return status;
}

// The schedule's program has a body for each region. Placements of nodes inside tell the lane of
// the region, and the times of its first run. Errors: of braid_schedule_create.
static braid_status plan_regions(const struct plan_order *order, braid_schedule **out_schedule)
{
    const braid_graph *graph = order->graph;
    struct planner planner = { .graph = graph, .order = order, .options = *order->options };
    uint32_t num = (uint32_t)graph->regions.num + 1;
    planner.options.costs.island_call_ns = 0; // an island is a stretch of the frame's lanes
    planner.parts = braid_allocate_zeroed(num, sizeof(*planner.parts));
    planner.index_in = braid_allocate_zeroed(graph_num_nodes(graph), sizeof(uint32_t));
    planner.resource_in = braid_allocate_zeroed(graph->resources.num, sizeof(uint32_t));
    planner.num_parts = num;
    braid_status status = planner.parts && planner.index_in && planner.resource_in
                              ? plan_whole(&planner, out_schedule)
                              : braid_error_no_memory("the plan of regions");
    for (uint32_t i = 0; planner.parts && i < num; i++) {
        struct part *part = &planner.parts[i];
        braid_schedule_destroy(part->schedule);
        braid_array_finish(&part->graph.nodes);
        braid_array_finish(&part->graph.edges);
        braid_array_finish(&part->graph.accesses);
        braid_array_finish(&part->graph.sequence);
        braid_array_finish(&part->graph.resources);
        braid_array_finish(&part->nodes);
        braid_array_finish(&part->resources);
    }
    braid_free(planner.parts);
    braid_free(planner.index_in);
    braid_free(planner.resource_in);
    return status;
}

// ---- schedules ----

static braid_status create(const struct plan_order *order, braid_schedule **out_schedule)
{
    bool has_parts = order->graph->regions.num || order->graph->num_left_out;
    braid_status status = braid_plan_graph_check(order->graph);
    if (status)
        return status;
    return has_parts ? plan_regions(order, out_schedule)
                     : schedule_create_whole(order, out_schedule);
}

braid_status braid_schedule_create_plain(const braid_graph *graph,
                                         const struct plan_options *options,
                                         braid_schedule **out_schedule)
{
    const struct plan_order order = { .graph = graph, .options = options };
    return create(&order, out_schedule);
}

braid_status braid_schedule_create_inside(const braid_graph *graph,
                                          const struct plan_options *options,
                                          const struct plan_inside *inside,
                                          braid_schedule **out_schedule)
{
    const struct plan_order order = { .graph = graph, .options = options, .inside = inside };
    braid_status status = braid_graph_refuse_regions(graph, "an island");
    return status ? status : create(&order, out_schedule);
}

braid_status braid_schedule_create_placed(struct placed *placed, const struct plan_options *options,
                                          braid_schedule **out_schedule)
{
    const struct plan_order order = { placed->graph, placed, NULL, options };
    return create(&order, out_schedule);
}

// ---- schedules with the lanes, steps and times of another ----

static void *copy(const void *items, size_t num, size_t item_bytes)
{
    void *copied = plan_allocate(num, item_bytes);
    if (copied && num)
        memcpy(copied, items, num * item_bytes);
    return copied;
}

static bool copy_times(struct braid_schedule *schedule, const braid_schedule *from)
{
    const struct plan_division *division = &from->division;
    size_t num = from->info.num_nodes;
    const uint64_t *start_ns = division->island_of ? division->plain_start_ns : from->start_ns;
    const uint64_t *cost_ns = division->island_of ? division->plain_cost_ns : from->cost_ns;
    schedule->start_ns = copy(start_ns, num, sizeof(uint64_t));
    schedule->cost_ns = copy(cost_ns, num, sizeof(uint64_t));
    if (from->unknown)
        schedule->unknown = copy(from->unknown, num, sizeof(*from->unknown));
    schedule->critical = copy(from->critical, from->num_critical, sizeof(uint32_t));
    schedule->num_critical = from->num_critical;
    if (division->island_of)
        schedule->info.makespan_ns = division->plain_makespan_ns;
    return schedule->start_ns && schedule->cost_ns && schedule->critical &&
           (schedule->unknown || !from->unknown);
}

braid_status braid_schedule_undivided(const braid_schedule *from, braid_schedule **out_schedule)
{
    braid_schedule *schedule = NULL;
    braid_status status = braid_schedule_begin(braid_plan_graph_share(from->graph), from->graph_id,
                                               from->graph_version, &from->options, &schedule);
    if (status)
        return status;
    braid_schedule_share_lanes(schedule, from);
    if (from->placed)
        schedule->placed = braid_placed_share(from->placed);
    if (!copy_times(schedule, from))
        status = braid_error_no_memory("a schedule");
    if (status) {
        braid_schedule_destroy(schedule);
    } else {
        braid_plan_find_limit(schedule);
        *out_schedule = schedule;
    }
    return status;
}

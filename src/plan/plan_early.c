// SPDX-License-Identifier: Apache-2.0
// Kernels of a plan that are launched early, or that fetch inputs of the next kernel into the
// cache.
#include "plan/plan_early.h"

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/extents.h"
#include "graph/graph.h"
#include "graph/segments.h"

// ---- early launches ----

// The device runs so many kernels at once, and waiting ones are among them.
enum { MOST_KERNELS = 128, MOST_WAITING = 32 };

// A lane while the steps are walked in issue order.
struct early_lane {
    uint32_t last; // node
    bool followed; // by a record or a wait
    bool begun;
    uint32_t num_waiting; // kernels that may wait on the device at the same time, and
    uint64_t share;       // the room that they and the kernel that runs take
};

struct early_walk {
    const braid_schedule *schedule;
    const braid_graph *graph;
    struct plan_early_node *nodes;
    bool adjacent;
    uint32_t num_lanes;          // that run at once
    uint32_t room, most_waiting; // each lane's
    uint32_t num_early;
};

static bool is_kernel(const struct early_walk *walk, uint32_t node)
{
    return graph_nodes(walk->graph)[node].kind == WORK_KERNEL;
}

// A call that is not the first of its island is not launched at all.
static bool is_inside(const struct early_walk *walk, const struct early_lane *lane, uint32_t node)
{
    const uint32_t *island_of = walk->schedule->division.island_of;
    return island_of && island_of[node] != PLAN_NONE && lane->begun &&
           island_of[lane->last] == island_of[node];
}

static enum plan_early choose_early(const struct early_walk *walk, const struct early_lane *lane,
                                    uint32_t index)
{
    const struct plan_early_node *node = &walk->nodes[index];
    if (!node->can || !lane->begun || !is_kernel(walk, lane->last))
        return PLAN_NOT_EARLY;
    if (walk->nodes[lane->last].tells || lane->num_waiting == walk->most_waiting ||
        lane->share + node->share > walk->room)
        return PLAN_EARLY_AT_END;
    return PLAN_EARLY_AT_BEGIN;
}

// The lane goes on with a node, which begins a new row unless it waits beside the kernels before
// it.
static void go_on(const struct early_walk *walk, struct early_lane *lane, uint32_t index)
{
    const struct plan_early_node *node = &walk->nodes[index];
    bool waits = node->early == PLAN_EARLY_AT_BEGIN;
    lane->num_waiting = waits ? lane->num_waiting + 1 : 0;
    lane->share = waits ? lane->share + node->share : node->share;
    lane->last = index;
    lane->followed = false;
    lane->begun = true;
}

static void walk_step(struct early_walk *walk, struct early_lane *lane, const braid_step *step)
{
    if (step->kind == BRAID_STEP_LOOP) // no kernel starts early behind one
        *lane = (struct early_lane){ 0 };
    lane->followed = lane->followed || step->kind != BRAID_STEP_RUN;
    if (step->kind != BRAID_STEP_RUN)
        return;
    if (is_inside(walk, lane, step->node)) {
        lane->last = step->node;
        return;
    }
    struct plan_early_node *node = &walk->nodes[step->node];
    bool is_apart = walk->adjacent && lane->followed;
    node->early = is_apart ? PLAN_NOT_EARLY : choose_early(walk, lane, step->node);
    node->behind = lane->begun ? lane->last : PLAN_NONE;
    walk->num_early += node->early != PLAN_NOT_EARLY;
    go_on(walk, lane, step->node);
}

// The lanes of a body share the part of the device that the lane has which enters it.
static braid_status walk_program(struct early_walk *outer, const struct program *program)
{
    struct early_walk walk = *outer;
    uint64_t num_lanes = (uint64_t)outer->num_lanes * (program->num_lanes ? program->num_lanes : 1);
    walk.num_lanes = num_lanes < PLAN_EARLY_ROOM ? (uint32_t)num_lanes : PLAN_EARLY_ROOM;
    uint32_t waiting = MOST_KERNELS / 2 / walk.num_lanes;
    walk.room = PLAN_EARLY_ROOM / walk.num_lanes;
    walk.most_waiting = waiting > MOST_WAITING ? MOST_WAITING : waiting ? waiting : 1;
    struct early_lane *lanes =
        braid_allocate_zeroed((size_t)program->num_lanes + 1, sizeof(*lanes));
    if (!lanes)
        return braid_error_no_memory("the early starts of a plan");
    for (size_t i = 0; i < program->num_ops; i++)
        walk_step(&walk, &lanes[program->ops[i].lane], &program->ops[i]);
    braid_free(lanes);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = walk_program(&walk, &program->bodies[i]);
    outer->num_early = walk.num_early;
    return status;
}

braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     bool adjacent, struct plan_early_node *nodes,
                                     uint32_t *out_num_early)
{
    struct early_walk walk = {
        .schedule = schedule,
        .graph = graph,
        .nodes = nodes,
        .adjacent = adjacent,
        .num_lanes = 1,
    };
    braid_status status = walk_program(&walk, &schedule->program);
    if (!status)
        *out_num_early = walk.num_early;
    return status;
}

// ---- fetches ----

enum {
    LEAST_BLOCK_BYTES = 24 << 10, // that a block of the second kernel reads
    MOST_BYTES = 8 << 20,         // a range with no more is fetched whole
    PART_BYTES = 2 << 20,         // the part of a larger range that is fetched
};

struct prefetch_plan {
    const braid_graph *graph;
    struct graph_segments segments;
    uint32_t *writers; // by segment: a node that writes there, or PLAN_NONE
    uint32_t unknown;  // a node that declares no access, or PLAN_NONE
};

static void note_writes(struct prefetch_plan *plan)
{
    plan->unknown = braid_graph_find_undeclared(plan->graph);
    for (uint32_t i = 0; i < plan->segments.num_segments; i++)
        plan->writers[i] = PLAN_NONE;
    for (uint32_t i = 0; i < graph_num_nodes(plan->graph); i++) {
        const struct graph_node *node = &graph_nodes(plan->graph)[i];
        for (uint32_t j = 0; j < node->num_accesses; j++) {
            const struct graph_access *access = graph_access_of(plan->graph, node, j);
            for (uint32_t k = plan->segments.first[access->resource];
                 k < plan->segments.end[access->resource] && access->mode != BRAID_READ; k++)
                plan->writers[k] = i;
        }
    }
}

static uint32_t find_writer(const struct prefetch_plan *plan, uint32_t resource)
{
    uint32_t writer = PLAN_NONE;
    for (uint32_t i = plan->segments.first[resource];
         i < plan->segments.end[resource] && writer == PLAN_NONE; i++)
        writer = plan->writers[i];
    return writer;
}

// NULL: it may change, or is not known.
static const char *address_of(const braid_graph *graph, uint32_t index)
{
    const struct graph_resource *resources = graph->resources.items;
    const struct graph_resource *range = &resources[index], *buffer = &resources[range->buffer];
    return buffer->address ? (const char *)buffer->address + range->offset : NULL;
}

// The number of the argument that is this address, or PLAN_NONE.
static uint32_t find_argument(const braid_graph *graph, const struct graph_kernel *kernel,
                              const char *address)
{
    const uint32_t *sizes = (const uint32_t *)graph->arg_sizes.items + kernel->first_arg;
    const unsigned char *bytes = (const unsigned char *)graph->arg_bytes.items + kernel->arg_offset;
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        if (sizes[i] == sizeof(address) && memcmp(bytes, &address, sizeof(address)) == 0)
            return i;
        bytes += graph_arg_stride(sizes[i]);
    }
    return PLAN_NONE;
}

static uint64_t count_blocks(const struct graph_kernel *kernel)
{
    const uint64_t area = (uint64_t)kernel->grid.x * kernel->grid.y;
    return area > UINT32_MAX ? area : area * kernel->grid.z;
}

// Whether each block of the kernel reads enough of it.
static bool is_worth_it(const struct prefetch_plan *plan, uint32_t node,
                        const struct graph_access *access)
{
    const struct graph_resource *resource = graph_resource_at(plan->graph, access->resource);
    return access->mode == BRAID_READ &&
           resource->bytes / LEAST_BLOCK_BYTES >= count_blocks(graph_kernel_of(plan->graph, node));
}

static struct plan_prefetch judge(const struct prefetch_plan *plan, uint32_t node,
                                  uint32_t resource)
{
    const uint64_t bytes = graph_resource_at(plan->graph, resource)->bytes;
    struct plan_prefetch input = { .node = node, .resource = resource, .culprit = PLAN_NONE };
    input.address = address_of(plan->graph, resource);
    input.argument = find_argument(plan->graph, graph_kernel_of(plan->graph, node), input.address);
    if (plan->unknown != PLAN_NONE) {
        input.culprit = plan->unknown;
        input.why_not = "declares no access";
    } else if ((input.culprit = find_writer(plan, resource)) != PLAN_NONE) {
        input.why_not = "writes there";
    } else if (!input.address) {
        input.why_not = "Braid chooses its address";
    } else if (input.argument == PLAN_NONE) {
        input.why_not = "no argument is its address";
    } else {
        input.bytes = bytes > MOST_BYTES ? PART_BYTES : bytes;
    }
    return input;
}

// The largest that can be fetched; else the largest.
static struct plan_prefetch find_input(const struct prefetch_plan *plan, uint32_t node)
{
    struct plan_prefetch found = { .node = node, .culprit = PLAN_NONE };
    uint64_t most = 0;
    const struct graph_node *graph_node = &graph_nodes(plan->graph)[node];
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        const struct graph_access *access = graph_access_of(plan->graph, graph_node, i);
        if (!is_worth_it(plan, node, access))
            continue;
        uint64_t bytes = graph_resource_at(plan->graph, access->resource)->bytes;
        struct plan_prefetch input = judge(plan, node, access->resource);
        bool is_better = !input.bytes == !found.bytes ? bytes > most : input.bytes > 0;
        if (is_better) {
            found = input;
            most = bytes;
        }
    }
    return found;
}

static bool is_pair(const struct prefetch_plan *plan, uint32_t before, uint32_t node)
{
    const struct graph_node *nodes = graph_nodes(plan->graph);
    return before != PLAN_NONE && nodes[before].kind == WORK_KERNEL &&
           nodes[node].kind == WORK_KERNEL;
}

static void refuse(struct plan_prefetch *input, uint32_t culprit, const char *why_not)
{
    input->bytes = 0;
    input->why_not = why_not;
    input->culprit = culprit;
}

static void choose_fetches(const struct prefetch_plan *plan, const braid_schedule *schedule,
                           const struct plan_early_node *nodes)
{
    const uint32_t *island_of = schedule->division.island_of;
    struct plan_prefetch *prefetches = schedule->prefetches;
    for (uint32_t i = 0; i < graph_num_nodes(plan->graph); i++)
        prefetches[i].before = PLAN_NONE;
    for (uint32_t i = 0; i < graph_num_nodes(plan->graph); i++) {
        uint32_t before = nodes[i].behind;
        if (!is_pair(plan, before, i) ||
            (island_of && (island_of[i] != PLAN_NONE || island_of[before] != PLAN_NONE)))
            continue;
        struct plan_prefetch input = find_input(plan, i);
        input.before = prefetches[before].before;
        if (input.bytes && !nodes[i].early)
            refuse(&input, i, "cannot start early");
        else if (input.bytes && !nodes[before].fetches)
            refuse(&input, before, "keeps its code");
        prefetches[before] = input;
        prefetches[i].before = input.bytes ? before : PLAN_NONE;
    }
}

braid_status braid_plan_choose_prefetch(braid_schedule *schedule, const braid_graph *graph,
                                        const struct plan_early_node *nodes)
{
    struct prefetch_plan plan = { .graph = graph };
    braid_status status = braid_graph_find_segments(graph, &plan.segments);
    if (status)
        return status;
    plan.writers = braid_allocate_zeroed(plan.segments.num_segments, sizeof(*plan.writers));
    schedule->prefetches =
        braid_allocate_zeroed(graph_num_nodes(graph), sizeof(*schedule->prefetches));
    if (plan.writers && schedule->prefetches) {
        note_writes(&plan);
        choose_fetches(&plan, schedule, nodes);
    } else {
        status = braid_error_no_memory("the prefetches of a plan");
    }
    braid_free(plan.writers);
    braid_graph_segments_finish(&plan.segments);
    return status;
}

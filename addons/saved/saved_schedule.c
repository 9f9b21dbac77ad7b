// SPDX-License-Identifier: Apache-2.0
// Saves a schedule to a file, and loads it for an equal graph.
#include <braid/schedule.h>
#include <braid/tune.h>

#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "graph/code.h"
#include "plan/schedule.h"
#include "saved/saved_place.h"

// ---- a schedule as a plan that can be saved ----

struct saving {
    const braid_schedule *schedule;
    struct saved_plan *plan;
    uint32_t *number_of; // by node: its number in its region
    uint32_t *region_of; // by node; PLAN_NONE: it is left out
};

static uint64_t start_of(const braid_schedule *schedule, uint32_t node)
{
    const struct plan_division *division = &schedule->division;
    return division->island_of ? division->plain_start_ns[node] : schedule->start_ns[node];
}

static void list_nodes(const struct saving *saving, const struct program *program, uint32_t index)
{
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program_has_node(&program->ops[i])) {
            saving->region_of[program->ops[i].node] = index;
            saving->plan->regions[index].num_nodes++;
        }
    }
}

// Nodes still have the graph's numbers.
static bool take_nodes(const struct saving *saving, const struct program *program, uint32_t index)
{
    struct saved_region *region = &saving->plan->regions[index];
    bool is_body = program->region != GRAPH_NONE;
    uint64_t begin_ns = is_body ? start_of(saving->schedule, program->node) : 0;
    uint32_t num = 0;
    list_nodes(saving, program, index);
    region->num_lanes = program->num_lanes;
    region->nodes = plan_allocate(region->num_nodes, sizeof(*region->nodes));
    for (size_t i = 0; i < program->num_ops && region->nodes; i++) {
        const braid_step *op = &program->ops[i];
        if (program_has_node(op))
            region->nodes[num++] =
                (struct saved_node){ op->node, op->lane,
                                     start_of(saving->schedule, op->node) - begin_ns };
    }
    return region->nodes;
}

static bool take_program(const struct saving *saving, const struct program *program)
{
    uint32_t last = saving->plan->num_regions - 1;
    bool done = take_nodes(saving, program, program->region == GRAPH_NONE ? last : program->region);
    for (uint32_t i = 0; i < program->num_bodies && done; i++)
        done = take_program(saving, &program->bodies[i]);
    return done;
}

// Nodes of a region are numbered as they stand in the graph.
static bool number_nodes(const struct saving *saving)
{
    struct saved_plan *plan = saving->plan;
    uint32_t *num = braid_allocate_zeroed(plan->num_regions, sizeof(*num));
    for (uint32_t node = 0; node < plan->num_nodes && num; node++)
        if (saving->region_of[node] != PLAN_NONE)
            saving->number_of[node] = num[saving->region_of[node]]++;
    for (uint32_t i = 0; i < plan->num_regions && num; i++)
        for (uint32_t k = 0; k < plan->regions[i].num_nodes; k++)
            plan->regions[i].nodes[k].node = saving->number_of[plan->regions[i].nodes[k].node];
    braid_free(num);
    return num;
}

static bool take_regions(struct saving *saving)
{
    struct saved_plan *plan = saving->plan;
    saving->number_of = plan_allocate(plan->num_nodes, sizeof(*saving->number_of));
    saving->region_of = plan_allocate(plan->num_nodes, sizeof(*saving->region_of));
    plan->regions = braid_allocate_zeroed(plan->num_regions, sizeof(*plan->regions));
    if (!saving->number_of || !saving->region_of || !plan->regions)
        return false;
    memset(saving->region_of, 0xff, plan->num_nodes * sizeof(*saving->region_of));
    return take_program(saving, &saving->schedule->program) && number_nodes(saving);
}

// The pairs behind those that edges tell of.
static bool take_delays(const struct saving *saving, const braid_schedule *again)
{
    struct saved_plan *plan = saving->plan;
    const braid_schedule *schedule = saving->schedule;
    uint32_t first = again->info.num_serialisations;
    uint32_t num = schedule->info.num_serialisations;
    plan->delays = plan_allocate(num, sizeof(*plan->delays));
    for (uint32_t i = first; i < num && plan->delays; i++) {
        const braid_serialisation *pair = &schedule->serialisations[i];
        plan->delays[plan->num_delays++] =
            (struct plan_delay){ saving->number_of[pair->first], saving->number_of[pair->second],
                                 pair->cause };
    }
    return plan->delays;
}

// ---- planning with a plan that is known ----

// Errors: of braid_schedule_create and braid_saved_place. Then, too, there may be a schedule.
static braid_status plan_again(const braid_graph *graph, struct saved_known *known,
                               braid_schedule **out_schedule)
{
    struct plan_options options = known->plan->options;
    known->known.place = braid_saved_place;
    options.known = &known->known;
    braid_status status = graph_check_code(graph, NULL);
    if (!status)
        status = braid_schedule_plan(graph, &options, out_schedule);
    if (status)
        return status;
    (*out_schedule)->options.known = NULL;
    return known->num_placed == known->plan->num_regions ? BRAID_OK
                                                         : braid_saved_refuse_regions(known);
}

static braid_status find_plan(struct saving *saving, const braid_graph *graph)
{
    braid_schedule *again = NULL;
    struct saved_known known = { .path = "the schedule", .is_saving = true, .plan = saving->plan };
    if (!take_regions(saving))
        return braid_error_no_memory("a saved plan");
    braid_status status = plan_again(graph, &known, &again);
    if (!status && !take_delays(saving, again))
        status = braid_error_no_memory("a saved plan");
    braid_schedule_destroy(again);
    return status;
}

static braid_status check_schedule(const braid_schedule *schedule, const braid_graph *graph)
{
    if (schedule->graph_id != graph->id)
        return braid_error_invalid("braid_schedule_save: the schedule is of another graph");
    if (schedule->graph_version != graph->version)
        return braid_error_invalid(
            "braid_schedule_save: the graph changed after the schedule was made");
    if (schedule->placed)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_schedule_save: the schedule is for several places");
    return BRAID_OK;
}

braid_status braid_schedule_save(const braid_schedule *schedule, const braid_graph *graph,
                                 const char *path)
{
    if (!schedule || !graph || !path)
        return braid_error_null("braid_schedule_save", !schedule ? "schedule"
                                                       : !graph  ? "graph"
                                                                 : "path");
    struct saved_plan plan = {
        .num_nodes = graph_num_nodes(graph),
        .num_regions = schedule->program.num_bodies ? (uint32_t)graph->regions.num + 1 : 1,
        .digest = braid_graph_get_digest(graph),
        .options = schedule->options,
    };
    struct saving saving = { .schedule = schedule, .plan = &plan };
    braid_status status = check_schedule(schedule, graph);
    if (!status)
        status = find_plan(&saving, graph);
    if (!status)
        status = braid_saved_write(path, &plan);
    braid_free(saving.number_of);
    braid_free(saving.region_of);
    braid_saved_finish(&plan);
    return status;
}

braid_status braid_schedule_load(const braid_graph *graph, const char *path,
                                 braid_schedule **out_schedule)
{
    if (!graph || !path || !out_schedule)
        return braid_error_null("braid_schedule_load", !graph  ? "graph"
                                                       : !path ? "path"
                                                               : "out_schedule");
    struct saved_plan plan;
    struct saved_known known = { .path = path, .plan = &plan };
    braid_schedule *schedule = NULL;
    braid_status status =
        braid_saved_read(path, graph_num_nodes(graph), braid_graph_get_digest(graph), &plan);
    if (status)
        return status;
    status = plan_again(graph, &known, &schedule);
    braid_saved_finish(&plan);
    if (!status)
        status = braid_schedule_verify(schedule, graph);
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}

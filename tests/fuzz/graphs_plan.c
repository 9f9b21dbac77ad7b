// SPDX-License-Identifier: Apache-2.0
// Plans compared with the order: what has surely ended when each node starts is found by walking
// the steps once, by the law that a wait takes the event's latest record.
#include <string.h>

#include "fuzz/graphs.h"
#include "support/left_out.h"
#include "support/wide_plan.h"

struct walk {
    uint64_t ended[order_max_nodes];  // by lane: nodes that have ended before its next step
    uint64_t events[order_max_nodes]; // by event object: nodes that have ended at its record
    uint64_t before[order_max_nodes]; // by node that has run
    uint32_t lane_of[order_max_nodes];
    uint32_t last_of[order_max_nodes]; // the node that a lane ran last, or num_nodes
    uint64_t run;
};

static uint64_t bit(uint32_t node)
{
    return UINT64_C(1) << node;
}

static void run_node(const struct subject *subject, struct walk *walk, const braid_step *step)
{
    uint32_t node = step->node;
    fuzz_expect(!(walk->run & bit(node)));
    walk->run |= bit(node);
    walk->lane_of[node] = step->lane;
    walk->before[node] = walk->ended[step->lane];
    walk->ended[step->lane] |= bit(node);
    walk->last_of[step->lane] = node;
    fuzz_expect((subject->order.before[node] & ~walk->before[node]) == 0);
}

static void walk_steps(const struct subject *subject, const braid_schedule_info *info,
                       struct walk *walk)
{
    size_t num_waits = 0, num_records = 0;
    const braid_step *steps = info->steps;
    for (size_t i = 0; i < info->num_steps; i++) {
        const braid_step *step = &steps[i];
        fuzz_expect(step->lane < info->num_lanes && step->node < subject->model.num_nodes);
        if (step->kind == BRAID_STEP_RUN) {
            run_node(subject, walk, step);
        } else if (step->kind == BRAID_STEP_RECORD) {
            fuzz_expect(step->position < info->num_records);
            fuzz_expect(walk->ended[step->lane] & bit(step->node));
            walk->events[step->position] = walk->ended[step->lane];
            num_records++;
        } else {
            fuzz_expect(step->position < info->num_records);
            fuzz_expect(walk->events[step->position] & bit(step->node));
            walk->ended[step->lane] |= walk->events[step->position];
            num_waits++;
        }
    }
    uint32_t num = subject->model.num_nodes;
    fuzz_expect(walk->run == (num == 64 ? UINT64_MAX : bit(num) - 1));
    fuzz_expect(num_waits == info->num_waits && num_records == info->num_records);
}

// A bundle runs on one lane, with nothing between.
static void check_bundles(const struct subject *subject, const braid_schedule *schedule)
{
    uint32_t previous[order_max_nodes], num = subject->model.num_nodes;
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    for (uint32_t i = 0; i < num; i++)
        previous[i] = num;
    uint32_t before[order_max_nodes];
    for (size_t i = 0; i < info.num_steps; i++)
        if (steps[i].kind == BRAID_STEP_RUN) {
            before[steps[i].node] = previous[steps[i].lane];
            previous[steps[i].lane] = steps[i].node;
        }
    for (uint32_t i = 1; i < num; i++) {
        uint32_t node = subject->order.sequence[i], earlier = subject->order.sequence[i - 1];
        if (subject->model.nodes[node].main == subject->model.nodes[earlier].main)
            fuzz_expect(before[node] == earlier);
    }
}

static bool has_bundles(const struct subject *subject)
{
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        if (subject->model.nodes[i].role != ORDER_MAIN)
            return true;
    return false;
}

// The fewest waits on these lanes: the pairs across lanes that no third node stands between, in the
// order of the graph and of the lanes together.
static uint64_t count_needed_waits(const struct subject *subject, const struct walk *walk)
{
    uint64_t before[order_max_nodes], waits = 0;
    uint32_t num = subject->model.num_nodes;
    for (uint32_t i = 0; i < num; i++) {
        before[i] = subject->order.before[i];
        for (uint32_t k = 0; k < num; k++)
            if (walk->lane_of[k] == walk->lane_of[i] && walk->before[i] & bit(k))
                before[i] |= bit(k);
    }
    for (uint32_t middle = 0; middle < num; middle++)
        for (uint32_t i = 0; i < num; i++)
            if (before[i] & bit(middle))
                before[i] |= before[middle];
    for (uint32_t to = 0; to < num; to++)
        for (uint32_t from = 0; from < num; from++) {
            bool implied = false;
            for (uint32_t k = 0; k < num && !implied; k++)
                implied = before[to] & bit(k) && before[k] & bit(from);
            waits += before[to] & bit(from) && !implied && walk->lane_of[from] != walk->lane_of[to];
        }
    return waits;
}

static void check_lanes(const struct subject *subject, const braid_schedule_options *options,
                        const braid_schedule_info *info, const struct walk *walk)
{
    if (options->max_lanes)
        fuzz_expect(info->num_lanes <= options->max_lanes);
    if (options->max_lanes != BRAID_ALL_LANES || !options->fixed_lanes)
        return;
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        for (uint32_t k = 0; k < i; k++) {
            uint32_t one = subject->model.nodes[i].main, other = subject->model.nodes[k].main;
            bool ordered = one == other || subject->order.bundles[one] & bit(other) ||
                           subject->order.bundles[other] & bit(one);
            fuzz_expect(ordered || walk->lane_of[i] != walk->lane_of[k]);
        }
}

static void check_times(const struct subject *subject, const braid_schedule *schedule,
                        const braid_schedule_info *info)
{
    braid_placement placements[order_max_nodes];
    for (uint32_t i = 0; i < subject->model.num_nodes; i++) {
        fuzz_expect_status(
            braid_schedule_get_placement(schedule, subject->handles[i], &placements[i]), BRAID_OK);
        fuzz_expect(placements[i].start_ns <= placements[i].end_ns);
        fuzz_expect(placements[i].end_ns <= info->makespan_ns);
        fuzz_expect(placements[i].lane < info->num_lanes);
    }
    for (uint32_t i = 0; i < subject->model.num_nodes; i++)
        for (uint32_t k = 0; k < subject->model.num_nodes; k++)
            if (subject->order.before[i] & bit(k))
                fuzz_expect(placements[k].end_ns <= placements[i].start_ns);
    fuzz_expect(info->bound_ns <= info->makespan_ns);
    fuzz_expect(info->critical_path_ns <= info->bound_ns);
}

static void check_words(const struct subject *subject, const braid_schedule *schedule)
{
    uint32_t num = subject->model.num_nodes;
    char text[80];
    static bool is_told;
    if (is_left_out(braid_schedule_explain(schedule, NULL, 0, text, sizeof(text)))) {
        if (!is_told)
            printf("not tried: %s\n", braid_error_get_message());
        is_told = true;
        return;
    }
    for (uint32_t i = 1; i < num; i += 3) {
        const braid_node pair[] = { subject->handles[i], subject->handles[i / 2] };
        for (size_t num_nodes = 0; num_nodes <= 2; num_nodes++)
            fuzz_expect_status(
                braid_schedule_explain(schedule, pair, num_nodes, text, sizeof(text)), BRAID_OK);
    }
    FILE *nowhere = fopen("/dev/null", "w");
    fuzz_expect(nowhere != NULL);
    fuzz_expect_status(braid_schedule_write(schedule, BRAID_DRAWING_DOT, NULL, nowhere), BRAID_OK);
    fuzz_expect_status(braid_graph_write_dot(subject->graph, nowhere), BRAID_OK);
    fclose(nowhere);
}

static void check_pairs(const struct subject *subject, const braid_schedule_info *info,
                        const struct walk *walk)
{
    for (uint32_t i = 0; i < info->num_serialisations; i++) {
        braid_serialisation pair = info->serialisations[i];
        fuzz_expect(pair.first < subject->model.num_nodes &&
                    pair.second < subject->model.num_nodes);
        fuzz_expect(walk->before[pair.second] & bit(pair.first));
        fuzz_expect(pair.resource_name != NULL);
    }
}

// `exact`: these are times that the plan was made for, and small ones.
static void check_schedule(const struct subject *subject, const braid_schedule *schedule,
                           const braid_schedule_options *options, bool exact)
{
    fuzz_expect_status(braid_schedule_verify(schedule, subject->graph), BRAID_OK);
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    fuzz_expect(info.num_nodes == subject->model.num_nodes);
    fuzz_expect(info.num_lanes <= order_max_nodes && info.num_records <= order_max_nodes);
    static struct walk walk;
    memset(&walk, 0, sizeof(walk));
    walk_steps(subject, &info, &walk);
    check_bundles(subject, schedule);
    check_lanes(subject, options, &info, &walk);
    check_pairs(subject, &info, &walk);
    check_words(subject, schedule);
    if (!has_bundles(subject))
        fuzz_expect(info.num_waits == count_needed_waits(subject, &walk));
    if (exact)
        check_times(subject, schedule, &info);
}

static uint64_t choose_time(struct random *input, bool huge)
{
    uint64_t time = random_byte(input);
    return huge ? time << 56 : time;
}

// Returns whether all times are small.
static bool choose_options(struct random *input, braid_cost_model *costs,
                           braid_schedule_options *out_options)
{
    uint32_t flags = random_byte(input);
    *out_options = (braid_schedule_options){ .costs = costs,
                                             .max_lanes = flags & 16 ? BRAID_ALL_LANES : flags & 7,
                                             .fixed_lanes = flags & 24 };
    *costs = free_costs;
    bool huge = (flags & 192) == 192;
    if (flags & 64)
        *costs = (braid_cost_model){ .default_cost_ns = choose_time(input, huge),
                                     .node_ns = choose_time(input, huge),
                                     .wait_ns = choose_time(input, huge),
                                     .root_ns = choose_time(input, huge),
                                     .max_concurrent = random_below(input, 6),
                                     .host_issues = flags & 1,
                                     .max_threads = choose_time(input, huge),
                                     .issue_ns = choose_time(input, huge),
                                     .issue_wait_ns = choose_time(input, huge) };
    return !huge;
}

braid_schedule *subject_plan(struct subject *subject, struct random *input)
{
    braid_schedule_options options;
    braid_cost_model costs;
    bool exact = choose_options(input, &costs, &options);
    braid_schedule *schedule = NULL;
    order_find(&subject->model, &subject->order);
    braid_status status = braid_schedule_create(subject->graph, &options, &schedule);
    if (order_buffers_overlap(&subject->model)) {
        fuzz_expect_status(status, BRAID_INVALID_ARGUMENT);
        return NULL;
    }
    if (subject->order.cycle == ORDER_NODE_CYCLE) {
        fuzz_expect_status(status, BRAID_CYCLE);
        return NULL;
    }
    if (subject->order.cycle == ORDER_BUNDLE_CYCLE && status == BRAID_CYCLE)
        return NULL;
    if (!exact && status == BRAID_INVALID_ARGUMENT)
        return NULL; // times that do not add up in 63 bits
    fuzz_expect_status(status, BRAID_OK);
    check_schedule(subject, schedule, &options, exact);
    return schedule;
}

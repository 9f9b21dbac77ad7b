// SPDX-License-Identifier: Apache-2.0
// On several devices every node finds what the graph says, in whatever order the plan lets nodes
// run: random graphs are played in random orders over memory of which each device has its own, and
// leave what they leave when nodes run one by one on one device. The verifier finds every copy that
// is left out, comes too late or too early, and says what a plan is wrong in.
#include <stdlib.h>
#include <string.h>

#include "graph/placed.h"
#include "plan/schedule.h"
#include "planner/places_testing.h"
#include "verify/verify.h"

enum { MOST_BYTES = 8, MOST_RESOURCES = 12, MOST_USERS = 14 };

// Up to eight buffers of eight bytes, some with ranges, some transient, on up to four devices.
static braid_graph *random_buffers(struct random *random, uint32_t num_places)
{
    braid_graph *graph = new_graph();
    braid_resource all[MOST_RESOURCES];
    bool is_fresh[MOST_RESOURCES] = { false }; // a transient buffer that nobody wrote yet
    uint32_t num = 1 + random_below(random, 4), num_buffers = num;
    for (uint32_t i = 0; i < num_buffers; i++) {
        is_fresh[i] = random_chance(random, 30);
        all[i] = is_fresh[i]
                     ? add_transient(graph, "transient", MOST_BYTES)
                     : add_home(graph, "home", MOST_BYTES, random_below(random, num_places) + 1);
    }
    for (uint32_t i = 0; i < num_buffers; i++) {
        if (is_fresh[i] || random_chance(random, 40))
            continue;
        uint64_t begin = random_below(random, MOST_BYTES - 1);
        uint64_t bytes = 1 + random_below(random, (uint32_t)(MOST_BYTES - begin));
        check_ok(braid_graph_add_range(graph, all[i], begin, bytes, &all[num++]));
    }
    uint32_t num_users = 2 + random_below(random, MOST_USERS - 1);
    braid_node nodes[MOST_USERS + 1], main = NO_NODE;
    for (uint32_t i = 0; i < num_users; i++) {
        static const braid_access_mode modes[] = { BRAID_READ, BRAID_READ, BRAID_WRITE,
                                                   BRAID_READ_WRITE, BRAID_ACCUMULATE };
        struct user user = { .name = "user", .cost_ns = 1 + random_below(random, 400) };
        user.num = 1 + random_below(random, 3);
        for (uint32_t k = 0; k < user.num; k++) {
            uint32_t which = random_below(random, num);
            user.resources[k] = all[which];
            user.modes[k] = is_fresh[which] ? BRAID_WRITE : modes[random_below(random, 5)];
            is_fresh[which] = false;
            for (uint32_t j = 0; j < k; j++) { // one access to a buffer, so that all is told by it
                if (all[which].index == user.resources[j].index || which >= num_buffers)
                    user.num = k;
            }
        }
        if (!user.num)
            user.num = 1;
        if (main.graph && random_chance(random, 20))
            user.prelude_of = main;
        else if (random_chance(random, 30))
            user.place = random_below(random, num_places) + 1;
        if (i && random_chance(random, 20) && !user.prelude_of.graph)
            user.after = nodes[random_below(random, i)];
        nodes[i] = add_user(graph, &user);
        if (!user.prelude_of.graph)
            main = nodes[i];
    }
    return graph;
}

// What memory has: bytes of each buffer, by the index of its resource.
struct memory {
    uint32_t bytes[1024][MOST_BYTES];
};

static const struct graph_access *accesses_of(const braid_graph *graph, uint32_t node)
{
    return (const struct graph_access *)graph->accesses.items +
           graph_nodes(graph)[node].first_access;
}

// What a node writes depends on itself and on all that it reads; accumulating adds what does not.
static void run_user(const braid_graph *graph, uint32_t node, struct memory *memory)
{
    const struct graph_resource *resources = graph->resources.items;
    const struct graph_access *accesses = accesses_of(graph, node);
    uint32_t num = graph_nodes(graph)[node].num_accesses, hash = node * 2654435761u + 1;
    for (uint32_t i = 0; i < num; i++) {
        const struct graph_resource *part = &resources[accesses[i].resource];
        bool reads = accesses[i].mode == BRAID_READ || accesses[i].mode == BRAID_READ_WRITE;
        for (uint64_t k = 0; k < part->bytes && reads; k++)
            hash = hash * 31 + memory->bytes[part->buffer][part->offset + k];
    }
    for (uint32_t i = 0; i < num; i++) {
        const struct graph_resource *part = &resources[accesses[i].resource];
        for (uint64_t k = 0; k < part->bytes && accesses[i].mode != BRAID_READ; k++) {
            uint32_t *byte = &memory->bytes[part->buffer][part->offset + k];
            *byte = accesses[i].mode == BRAID_ACCUMULATE ? *byte + node * 97 + 13
                                                         : hash + (uint32_t)(part->offset + k);
        }
    }
}

static void run_copy(const braid_graph *graph, uint32_t node, struct memory *memory)
{
    const struct graph_resource *resources = graph->resources.items;
    const struct graph_access *ends = accesses_of(graph, node);
    const struct graph_resource *from = &resources[ends[0].resource];
    const struct graph_resource *to = &resources[ends[1].resource];
    for (uint64_t k = 0; k < from->bytes; k++)
        memory->bytes[to->buffer][to->offset + k] = memory->bytes[from->buffer][from->offset + k];
}

static void fill(const braid_graph *graph, struct memory *memory)
{
    const struct graph_resource *resources = graph->resources.items;
    assert_true(graph->resources.num < 1024);
    memset(memory, 0xee, sizeof(*memory));
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        for (uint32_t k = 0; k < MOST_BYTES && !resources[i].alignment; k++)
            memory->bytes[i][k] = 1000 * i + k;
    }
}

// The next frame finds nothing there.
static void forget_transients(const braid_graph *graph, struct memory *memory)
{
    const struct graph_resource *resources = graph->resources.items;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        if (resources[i].alignment)
            memset(memory->bytes[i], 0xee, sizeof(memory->bytes[i]));
    }
}

static void run_in_order(const braid_graph *graph, struct memory *memory)
{
    struct graph_units units;
    check_ok(braid_graph_find_units(graph, &units));
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++)
        run_user(graph, units.members[i], memory);
    braid_graph_units_finish(&units);
}

// Lanes go on in any order that waits allow.
static void run_at_random(struct random *random, const braid_schedule *schedule,
                          struct memory *memory)
{
    const braid_graph *graph = schedule->placed->graph;
    uint32_t num_nodes = schedule->placed->model.num_nodes;
    size_t num_left = schedule->program.num_ops, next[64] = { 0 };
    bool has_run[512] = { false };
    while (num_left) {
        uint32_t lane = random_below(random, schedule->info.num_lanes);
        size_t i = next[lane];
        while (i < schedule->program.num_ops && schedule->program.ops[i].lane != lane)
            i++;
        next[lane] = i;
        if (i == schedule->program.num_ops)
            continue;
        const braid_step *step = &schedule->program.ops[i];
        if (step->kind == BRAID_STEP_WAIT && !has_run[step->node])
            continue;
        if (step->kind == BRAID_STEP_RUN) {
            if (step->node < num_nodes)
                run_user(graph, step->node, memory);
            else
                run_copy(graph, step->node, memory);
            has_run[step->node] = true;
        }
        next[lane]++;
        num_left--;
    }
}

static void check_homes(const braid_graph *graph, const struct memory *expected,
                        const struct memory *found)
{
    const struct graph_resource *resources = graph->resources.items;
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        if (resources[i].buffer == i && !resources[i].alignment)
            assert_memory_equal(expected->bytes[i], found->bytes[i], sizeof(found->bytes[i]));
    }
}

static void check_every_copy_is_needed(const braid_schedule *schedule, const braid_graph *graph)
{
    struct placed *placed = schedule->placed;
    struct graph_node *nodes = placed->graph->nodes.items;
    for (uint32_t i = 0; i < placed->num_copies; i++) {
        struct graph_node *node = &nodes[placed->copies[i].node];
        const struct graph_node kept = *node;
        node->kind = WORK_EMPTY; // left out
        assert_int_equal(braid_schedule_verify(schedule, graph), BRAID_INTERNAL);
        *node = kept;
        struct graph_access *ends =
            (struct graph_access *)placed->graph->accesses.items + node->first_access;
        const struct graph_access ends_kept[] = { ends[0], ends[1] };
        ends[0] = (struct graph_access){ ends_kept[1].resource, BRAID_READ }; // the other way
        ends[1] = (struct graph_access){ ends_kept[0].resource, BRAID_WRITE };
        assert_int_equal(braid_schedule_verify(schedule, graph), BRAID_INTERNAL);
        ends[0] = ends_kept[0];
        ends[1] = ends_kept[1];
    }
    check_ok(braid_schedule_verify(schedule, graph));
}

// A copy that is told of, but copies a part of what it says, or another place's memory.
static void check_placed_faults(const braid_schedule *schedule, const braid_graph *graph)
{
    struct placed *placed = schedule->placed;
    struct graph_node *nodes = placed->graph->nodes.items;
    for (uint32_t i = 0; i < placed->model.num_nodes; i++) {
        uint8_t kept = nodes[i].place;
        nodes[i].place = kept == 1 ? 2 : 1;
        if (nodes[i].role == GRAPH_MAIN)
            assert_int_equal(braid_schedule_verify(schedule, graph), BRAID_INTERNAL);
        nodes[i].place = kept;
    }
    check_ok(braid_schedule_verify(schedule, graph));
}

// A copy that nobody waits for leaves somebody with what was there before: a node, or the home.
static void check_copies_are_in_time(const braid_schedule *schedule, const braid_graph *graph)
{
    struct placed *placed = schedule->placed;
    for (uint32_t i = 0; i < placed->num_copies; i++) {
        uint32_t copy = placed->copies[i].node;
        size_t kept = find_in_sequence(placed, copy);
        put_in_sequence(placed, copy,
                        placed->copies[i].is_return ? 0 : placed->graph->sequence.num - 1);
        check_fails(braid_verify_placed(placed, graph), BRAID_INTERNAL, "and not that of");
        put_in_sequence(placed, copy, kept);
    }
    check_ok(braid_schedule_verify(schedule, graph));
}

static void random_graphs_leave_what_they_leave_on_one(void **state)
{
    (void)state;
    struct random random = { 20261122 };
    uint32_t num_copies = 0;
    for (int round = 0; round < 150; round++) {
        static struct memory expected, found;
        uint32_t num_places = 2 + random_below(&random, 3);
        braid_graph *graph = random_buffers(&random, num_places);
        braid_schedule *schedule = plan_on_devices(graph, num_places, 1 + (uint32_t)round % 3);
        assert_true(schedule->placed->graph->resources.num < 1024);
        fill(graph, &expected);
        for (int frame = 0; frame < 3; frame++) {
            run_in_order(graph, &expected);
            forget_transients(graph, &expected);
        }
        for (int order = 0; order < 5; order++) {
            fill(graph, &found);
            for (int frame = 0; frame < 3; frame++) {
                run_at_random(&random, schedule, &found);
                forget_transients(schedule->placed->graph, &found);
            }
            check_homes(graph, &expected, &found);
        }
        check_every_copy_is_needed(schedule, graph);
        check_placed_faults(schedule, graph);
        check_copies_are_in_time(schedule, graph);
        num_copies += info_of(schedule).num_copies;
        destroy_now(schedule);
        destroy_now(graph);
    }
    assert_true(num_copies > 250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(random_graphs_leave_what_they_leave_on_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

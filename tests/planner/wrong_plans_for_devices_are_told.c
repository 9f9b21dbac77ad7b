// SPDX-License-Identifier: Apache-2.0
// A plan for several devices that gives a node other memory, or lets it find what was there before,
// is refused, and the message names the node, the memory and the write that it misses.
#include "graph/placed.h"
#include "plan/schedule.h"
#include "planner/places_testing.h"

enum { FIELD_BYTES = 8 };

enum { WRITE, CHANGE, READ, THERE }; // the program's nodes; behind them copies, there and back

static void come_late(struct placed *placed)
{
    put_in_sequence(placed, THERE, placed->graph->sequence.num - 1);
}

static void come_early(struct placed *placed)
{
    put_in_sequence(placed, THERE, 0);
}

static void come_back_early(struct placed *placed)
{
    put_in_sequence(placed, THERE + 1, 0);
    put_in_sequence(placed, READ, 0);
}

static void turn_around(struct placed *placed)
{
    put_in_sequence(placed, CHANGE, 0);
}

static struct graph_node *node_of(struct placed *placed, uint32_t node)
{
    return &((struct graph_node *)placed->graph->nodes.items)[node];
}

static struct graph_access *access_of(struct placed *placed, uint32_t node)
{
    return (struct graph_access *)placed->graph->accesses.items +
           node_of(placed, node)->first_access;
}

static void be_another(struct placed *placed)
{
    node_of(placed, CHANGE)->payload++;
}

static void take_a_hint(struct placed *placed)
{
    node_of(placed, CHANGE)->lane_hint++;
}

static void touch_less(struct placed *placed)
{
    node_of(placed, CHANGE)->num_accesses--;
}

static void touch_others(struct placed *placed)
{
    node_of(placed, CHANGE)->first_access--;
}

static void do_nothing(struct placed *placed)
{
    node_of(placed, CHANGE)->kind = WORK_EMPTY;
}

static void be_nowhere(struct placed *placed)
{
    node_of(placed, READ)->place = 3;
}

static void lose_an_edge(struct placed *placed)
{
    placed->graph->edges.num--;
}

static void join_others(struct placed *placed)
{
    ((struct graph_edge *)placed->graph->edges.items)->to--;
}

static void forget_a_copy(struct placed *placed)
{
    placed->num_copies--;
}

static void mix_up(struct placed *placed)
{
    placed->copies[0].node++;
}

static void copy_less(struct placed *placed)
{
    ((union work *)placed->graph->works.items)[node_of(placed, THERE)->payload].copy.bytes--;
}

static void copy_another_address(struct placed *placed)
{
    struct work_copy *work =
        &((union work *)placed->graph->works.items)[node_of(placed, THERE)->payload].copy;
    work->from = (const char *)work->from + 1;
}

static void touch_twice(struct placed *placed)
{
    node_of(placed, THERE)->num_accesses++;
}

static void write_the_source(struct placed *placed)
{
    access_of(placed, THERE)[0].mode = BRAID_READ_WRITE;
}

static void read_the_replica(struct placed *placed)
{
    access_of(placed, THERE)[1].mode = BRAID_READ_WRITE;
}

static void touch_another_source(struct placed *placed)
{
    access_of(placed, THERE)[0].resource++;
}

static void touch_another_replica(struct placed *placed)
{
    access_of(placed, THERE)[1].resource = access_of(placed, WRITE)->resource;
}

static void run_elsewhere(struct placed *placed)
{
    placed->copies[0].from = 2;
}

static void end_elsewhere(struct placed *placed)
{
    placed->copies[0].to = 1;
}

static void copy_from_elsewhere(struct placed *placed)
{
    placed->copies[0].offset++;
}

static void stand_for_another(struct placed *placed)
{
    placed->copies[1].resource++;
}

static void read_only(struct placed *placed)
{
    access_of(placed, CHANGE)->mode = BRAID_READ;
}

static void give_no_address(struct placed *placed)
{
    placed->graph->addresses.num = 0;
}

static void stay_at_home(struct placed *placed)
{
    access_of(placed, CHANGE)->resource = access_of(placed, WRITE)->resource;
}

static void be_smaller(struct placed *placed)
{
    uint32_t replica = access_of(placed, CHANGE)->resource;
    ((struct graph_resource *)placed->graph->resources.items)[replica].bytes--;
}

// Written on the first device, changed on the second one, read on the first one again.
static braid_graph *there_and_back(void)
{
    braid_graph *graph = new_graph();
    braid_resource field = add_home(graph, "field", FIELD_BYTES, 1);
    add_home(graph, "other", FIELD_BYTES, 1);
    struct user user = { "write", 10, 1, { field }, { BRAID_WRITE }, 1 };
    braid_node write = add_user(graph, &user);
    user = (struct user){ "change", 10, 2, { field }, { BRAID_READ_WRITE }, 1 };
    add_user(graph, &user);
    user = (struct user){ "read", 10, 1, { field }, { BRAID_READ }, 1 };
    user.after = write;
    add_user(graph, &user);
    return graph;
}

static void a_wrong_plan_is_told_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        void (*lie)(struct placed *placed);
        const char *text;
    } lies[] = {
        { come_late, "has node 1 'change' find nothing in 'field" },
        { come_early, "has node 1 'change' find an earlier write in 'field" },
        { come_back_early, "in another order than the graph" },
        { turn_around, "in another order than the graph" },
        { be_another, "makes node 1 'change' another one" },
        { take_a_hint, "makes node 1 'change' another one" },
        { touch_less, "makes node 1 'change' another one" },
        { touch_others, "makes node 1 'change' another one" },
        { do_nothing, "makes node 1 'change' another one" },
        { be_nowhere, "puts node 2 'read' on place 3" },
        { lose_an_edge, "other nodes or edges" },
        { join_others, "other nodes or edges" },
        { forget_a_copy, "other nodes or edges" },
        { mix_up, "copies are in disorder" },
        { copy_less, "differs from its description" },
        { copy_another_address, "differs from its description" },
        { touch_twice, "differs from its description" },
        { write_the_source, "differs from its description" },
        { read_the_replica, "differs from its description" },
        { touch_another_source, "differs from its description" },
        { touch_another_replica, "differs from its description" },
        { run_elsewhere, "differs from its description" },
        { end_elsewhere, "differs from its description" },
        { copy_from_elsewhere, "differs from its description" },
        { stand_for_another, "stand for another one" },
        { read_only, "gives node 1 'change' other memory" },
        { give_no_address, "gives node 1 'change' other memory" },
        { stay_at_home, "gives node 1 'change' other memory" },
        { be_smaller, "gives node 1 'change' other memory" },
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        braid_graph *graph = there_and_back();
        braid_schedule *schedule = plan_on_devices(graph, 2, 1);
        assert_int_equal(info_of(schedule).num_copies, 2);
        lies[i].lie(schedule->placed);
        check_fails(braid_schedule_verify(schedule, graph), BRAID_INTERNAL, lies[i].text);
        destroy_now(schedule);
        destroy_now(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_wrong_plan_is_told_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

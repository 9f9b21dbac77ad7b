// SPDX-License-Identifier: Apache-2.0
// Sparse loops carry the clearing and generating of their element lists as preludes. Loops on
// distinct lists overlap; loops that share a list, or only an ancestor's, do not, and the schedule
// says why.
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_parents = 8, cells_per_parent = 8, num_cells = num_parents * cells_per_parent };

// A list with the resource that stands for it; the caller's memory.
struct list {
    uint32_t *elements;
    braid_resource resource;
};

static struct list make_list(struct contract *contract, braid_graph *graph, const char *name)
{
    return (struct list){ contract_numbers(contract, 1 + num_cells), add_resource(graph, name) };
}

static uint32_t *make_mask(struct contract *contract, uint32_t num, uint32_t every)
{
    uint32_t mask[num_cells] = { 0 };
    for (uint32_t i = 0; i < num; i += every)
        mask[i] = 1;
    uint32_t *copy = contract_numbers(contract, num_cells);
    contract_write(contract, copy, mask, sizeof(mask));
    return copy;
}

static void add_clear(braid_graph *graph, braid_node loop, const char *name, struct list list)
{
    braid_kernel_node launch = { .node = { .name = name, USES({ list.resource, BRAID_WRITE }) },
                                 .kernel = &test_clear_list,
                                 BRAID_ARGS(BRAID_ARG(list.elements)) };
    launch.node.prelude_of = loop;
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
}

static void add_generate(braid_graph *graph, braid_node loop, const char *name, struct list list,
                         const uint32_t *mask, uint32_t num)
{
    braid_kernel_node launch = {
        .node = { .name = name, USES({ list.resource, BRAID_READ_WRITE }) },
        .kernel = &test_generate_list,
        .grid = { 4, 1, 1 },
        .block = { 8, 1, 1 },
        BRAID_ARGS(BRAID_ARG(list.elements), BRAID_ARG(mask), BRAID_ARG(num))
    };
    launch.node.prelude_of = loop;
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
}

static void add_generate_from_parent(braid_graph *graph, braid_node loop, struct list list,
                                     struct list parent, const uint32_t *mask)
{
    uint32_t per_parent = cells_per_parent;
    braid_kernel_node launch = { .node = { .name = "listgen leaf",
                                           USES({ parent.resource, BRAID_READ },
                                                { list.resource, BRAID_READ_WRITE }) },
                                 .kernel = &test_generate_from_parent,
                                 .grid = { 4, 1, 1 },
                                 .block = { 8, 1, 1 },
                                 BRAID_ARGS(BRAID_ARG(list.elements), BRAID_ARG(parent.elements),
                                            BRAID_ARG(mask), BRAID_ARG(per_parent)) };
    launch.node.prelude_of = loop;
    check_ok(braid_graph_add_kernel(graph, &launch, NULL));
}

static braid_node add_loop(braid_graph *graph, braid_node_options options, struct list list,
                           uint32_t *to, uint32_t addend)
{
    const braid_access access = { list.resource, BRAID_READ };
    options.accesses = &access;
    options.num_accesses = 1;
    braid_kernel_node launch = { .node = options,
                                 .kernel = &test_loop_over_list,
                                 .grid = { 4, 1, 1 },
                                 .block = { 8, 1, 1 },
                                 BRAID_ARGS(BRAID_ARG(list.elements), BRAID_ARG(to),
                                            BRAID_ARG(addend)) };
    braid_node node;
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    return node;
}

// Each cell whose mask is set got `addend` once a frame, no other cell got anything.
static void check_cells(struct contract *contract, const uint32_t *to, uint32_t num, uint32_t every,
                        uint32_t expected)
{
    uint32_t seen[num_cells];
    contract_read(contract, seen, to, sizeof(seen));
    for (uint32_t i = 0; i < num_cells; i++)
        assert_int_equal(seen[i], i < num && i % every == 0 ? expected : 0);
}

// One sparse loop over one level, with a handshake in its bundle when asked for.
struct sparse {
    struct list list;
    uint32_t *mask, *to;
    braid_node loop;
};

static struct sparse add_sparse(struct contract *contract, braid_graph *graph, const char *name,
                                struct list list, uint32_t every)
{
    struct sparse sparse = { .list = list,
                             .mask = make_mask(contract, num_cells, every),
                             .to = contract_numbers(contract, num_cells) };
    sparse.loop = add_loop(graph, (braid_node_options){ .name = name }, list, sparse.to, 1);
    add_clear(graph, sparse.loop, "clear_list", list);
    add_generate(graph, sparse.loop, "listgen", list, sparse.mask, num_cells);
    return sparse;
}

static braid_exec *run_frames(struct contract *contract, const braid_graph *graph, uint32_t frames)
{
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 0; frame < frames; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    return exec;
}

static void loops_on_distinct_lists_are_right_and_overlap(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    braid_graph *graph = contract_graph(contract);
    struct sparse p2g = add_sparse(contract, graph, "p2g", make_list(contract, graph, "list:a"), 3);
    struct sparse g2p = add_sparse(contract, graph, "g2p", make_list(contract, graph, "list:b"), 5);
    // The bundles overlap: the epilogue of each meets the other's.
    add_handshake(graph, (braid_node_options){ .epilogue_of = p2g.loop }, flags, met, 0);
    add_handshake(graph, (braid_node_options){ .epilogue_of = g2p.loop }, flags, met, 1);
    braid_exec *exec = run_frames(contract, graph, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(contract_number(contract, met + i), 1);
    check_cells(contract, p2g.to, num_cells, 3, 3);
    check_cells(contract, g2p.to, num_cells, 5, 3);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    assert_int_equal(info.num_serialisations, 0);
}

// Some pair of nodes of the two bundles is reported as serialised by the resource.
static void check_reported(const braid_exec *exec, const char *resource)
{
    const braid_schedule *schedule = braid_exec_get_schedule(exec);
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    assert_true(info.num_serialisations > 0);
    for (size_t i = 0; i < info.num_serialisations; i++) {
        braid_serialisation pair = info.serialisations[i];
        if (pair.cause == BRAID_SERIALISED_BY_RESOURCE && strcmp(pair.resource_name, resource) == 0)
            return;
    }
    fail_msg("no pair is reported as serialised by %s", resource);
}

static void check_explained(const braid_exec *exec, braid_node a, braid_node b,
                            const char *resource)
{
    char text[512];
    const braid_node pair[] = { a, b };
    check_ok(braid_schedule_explain(braid_exec_get_schedule(exec), pair, 2, text, sizeof(text)));
    print_message("%s\n", text);
    assert_non_null(strstr(text, resource));
    assert_non_null(strstr(text, "p2g"));
    assert_non_null(strstr(text, "g2p"));
}

// Both intervals lie in the bundles, behind the preludes, so they are apart if the bundles are.
static void check_apart(struct contract *contract, const uint64_t *intervals)
{
    uint64_t seen[4];
    contract_read(contract, seen, intervals, sizeof(seen));
    assert_true(seen[0] < seen[1] && seen[2] < seen[3]);
    assert_true(seen[1] <= seen[2] || seen[3] <= seen[0]);
}

static void loops_on_one_list_are_right_and_serialised_and_the_schedule_says_why(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    struct list list = make_list(contract, graph, "list:ptr");
    struct sparse p2g = add_sparse(contract, graph, "p2g", list, 3);
    struct sparse g2p = add_sparse(contract, graph, "g2p", list, 5);
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    const braid_access use = { list.resource, BRAID_READ };
    add_busy(graph,
             (braid_node_options){ .epilogue_of = p2g.loop, .accesses = &use, .num_accesses = 1 },
             intervals, 300000);
    // Before the loop of the second, behind its listgen: the list is in use.
    add_busy(graph,
             (braid_node_options){ .prelude_of = g2p.loop, .accesses = &use, .num_accesses = 1 },
             intervals + 2, 300000);
    braid_exec *exec = run_frames(contract, graph, 5);
    check_cells(contract, p2g.to, num_cells, 3, 5);
    check_cells(contract, g2p.to, num_cells, 5, 5);
    check_reported(exec, "list:ptr");
    check_explained(exec, p2g.loop, g2p.loop, "list:ptr");
    check_apart(contract, intervals);
}

// Two levels: the list of each leaf is generated from the list of the parent.
static braid_node add_two_level(struct contract *contract, braid_graph *graph, const char *name,
                                struct list parent, struct list leaf, uint32_t *to)
{
    const uint32_t *parent_mask = make_mask(contract, num_parents, 2);
    const uint32_t *mask = make_mask(contract, num_cells, 4);
    braid_node loop = add_loop(graph, (braid_node_options){ .name = name }, leaf, to, 1);
    add_clear(graph, loop, "clear parent", parent);
    add_generate(graph, loop, "listgen parent", parent, parent_mask, num_parents);
    add_clear(graph, loop, "clear leaf", leaf);
    add_generate_from_parent(graph, loop, leaf, parent, mask);
    return loop;
}

static void check_two_level(struct contract *contract, const uint32_t *to, uint32_t frames)
{
    uint32_t seen[num_cells];
    contract_read(contract, seen, to, sizeof(seen));
    for (uint32_t i = 0; i < num_cells; i++)
        assert_int_equal(seen[i], i / cells_per_parent % 2 == 0 && i % 4 == 0 ? frames : 0);
}

static void loops_over_two_levels_are_right(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *to[2];
    for (int i = 0; i < 2; i++) {
        to[i] = contract_numbers(contract, num_cells);
        add_two_level(contract, graph, "loop", make_list(contract, graph, "list:parent"),
                      make_list(contract, graph, "list:leaf"), to[i]);
    }
    braid_exec *exec = run_frames(contract, graph, 10);
    check_two_level(contract, to[0], 10);
    check_two_level(contract, to[1], 10);
    braid_schedule_info info;
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    assert_int_equal(info.num_serialisations, 0);
}

static void loops_that_share_only_an_ancestor_are_serialised_and_the_schedule_says_why(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    struct list parent = make_list(contract, graph, "list:ancestor");
    uint32_t *to[2] = { contract_numbers(contract, num_cells),
                        contract_numbers(contract, num_cells) };
    braid_node p2g = add_two_level(contract, graph, "p2g", parent,
                                   make_list(contract, graph, "list:left"), to[0]);
    braid_node g2p = add_two_level(contract, graph, "g2p", parent,
                                   make_list(contract, graph, "list:right"), to[1]);
    braid_exec *exec = run_frames(contract, graph, 10);
    check_two_level(contract, to[0], 10);
    check_two_level(contract, to[1], 10);
    check_reported(exec, "list:ancestor");
    check_explained(exec, p2g, g2p, "list:ancestor");
}

// The host never learns a length: what changes is data on the device, and the loop follows.
static void the_loop_follows_a_list_that_changes_in_every_frame(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    struct sparse p2g = add_sparse(contract, graph, "p2g", make_list(contract, graph, "list:a"), 1);
    braid_exec *exec = contract_exec(contract, graph);
    uint32_t expected[num_cells] = { 0 };
    for (uint32_t frame = 0; frame < 8; frame++) {
        uint32_t length = (frame * 29 + 3) % num_cells;
        check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), p2g.mask, 0,
                                   4, num_cells));
        if (length)
            check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), p2g.mask,
                                       1, 4, length));
        check_ok(braid_exec_launch(exec, NULL));
        for (uint32_t i = 0; i < length; i++)
            expected[i]++;
    }
    check_ok(braid_exec_wait(exec));
    uint32_t seen[num_cells];
    contract_read(contract, seen, p2g.to, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(seen));
}

// A task with several consumers is a node with an edge to each, not a prelude of the first.
static void a_count_shared_by_two_branches_comes_before_both(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_numbers(contract, 1), *source = contract_numbers(contract, 1);
    uint32_t *out = contract_numbers(contract, 2);
    braid_graph *graph = contract_graph(contract);
    uint64_t *interval = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    braid_node slow = add_busy(graph, (braid_node_options){ 0 }, interval, 500000);
    braid_node compute =
        add_axpy(graph, (braid_node_options){ AFTER(slow) }, count, source, 3, 1, 1);
    for (uint32_t i = 0; i < 2; i++)
        add_axpy(graph, (braid_node_options){ AFTER(compute) }, out + i, count, 2, i, 1);
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 0; frame < 5; frame++) {
        check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), source, frame,
                                   4, 1));
        check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), count, 0xdead,
                                   4, 1)); // poison
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(contract_number(contract, out + i), (frame * 3 + 1) * 2 + i);
    }
}

// Two branches of (compute a bound) -> (loop up to it): each bound belongs to its own loop.
static void each_branch_uses_the_bound_computed_for_it(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    struct list bounds[2];
    uint32_t *to[2];
    braid_graph *graph = contract_graph(contract);
    for (uint32_t i = 0; i < 2; i++) {
        bounds[i] = make_list(contract, graph, "bound");
        to[i] = contract_numbers(contract, num_cells);
        uint32_t elements[1 + num_cells];
        for (uint32_t k = 0; k < num_cells; k++)
            elements[1 + k] = k;
        elements[0] = 0xdead;
        contract_write(contract, bounds[i].elements, elements, sizeof(elements));
        braid_node loop = add_loop(graph, (braid_node_options){ 0 }, bounds[i], to[i], 1);
        add_fill(
            graph,
            (braid_node_options){ .prelude_of = loop, USES({ bounds[i].resource, BRAID_WRITE }) },
            bounds[i].elements, 10 + 20 * i, 1);
        add_handshake(graph, (braid_node_options){ .epilogue_of = loop }, flags, met, i);
    }
    run_frames(contract, graph, 1);
    for (uint32_t i = 0; i < 2; i++) {
        check_cells(contract, to[i], 10 + 20 * i, 1, 1);
        assert_int_equal(contract_number(contract, met + i), 1);
    }
}

int run_sparse(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(loops_on_distinct_lists_are_right_and_overlap),
        contract_test(loops_on_one_list_are_right_and_serialised_and_the_schedule_says_why),
        contract_test(loops_over_two_levels_are_right),
        contract_test(loops_that_share_only_an_ancestor_are_serialised_and_the_schedule_says_why),
        contract_test(the_loop_follows_a_list_that_changes_in_every_frame),
        contract_test(a_count_shared_by_two_branches_comes_before_both),
        contract_test(each_branch_uses_the_bound_computed_for_it),
    };
    return contract_run("sparse loops take their preludes along", tests);
}

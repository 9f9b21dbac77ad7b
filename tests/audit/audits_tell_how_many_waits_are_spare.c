// SPDX-License-Identifier: Apache-2.0
// An audit tells how many waits a plan loses without declared accesses that were never made: as
// many as the plan of a graph that does not declare them.
//
// Argument: the backend.
#include <string.h>

#include "audit/audit_testing.h"

enum { NUM_BUFFERS = 6, WORDS = 64, MOST_NODES = 10, MOST_OF_NODE = 4 };

#define SPARES_ALL                                                                                 \
    "the plan loses 1 of its 1 wait without the declared accesses that were never made"

static const char *backend = "cpu";

// A node, or the begin (`begins`) or the end of a region. Accesses are by buffer; `spare` has bits
// of those that it declares and does not make.
struct node {
    struct {
        uint32_t buffer;
        braid_access_mode mode;
    } accesses[MOST_OF_NODE];
    uint32_t num, spare;
    enum { A_KERNEL, BEGINS_LOOP, BEGINS_IF, BEGINS_ELSE, ENDS } kind;
};

struct world {
    braid_device *device;
    uint32_t *words;
    struct touch *touches; // the nodes', each with an end
};

static uint32_t *word_of(const struct world *world, uint32_t buffer)
{
    return world->words + (size_t)buffer * WORDS;
}

static void add_kernel(const struct world *world, braid_graph *graph, const braid_resource *buffers,
                       const struct node *node, bool declares_spare, struct touch *touches)
{
    braid_access accesses[MOST_OF_NODE];
    size_t num = 0;
    const struct touch *list = touches;
    for (uint32_t i = 0; i < node->num; i++) {
        const bool is_spare = node->spare >> i & 1;
        const braid_access_mode mode = node->accesses[i].mode;
        if (!is_spare || declares_spare)
            accesses[num++] = (braid_access){ buffers[node->accesses[i].buffer], mode };
        else if (mode == BRAID_READ_WRITE)
            accesses[num++] = (braid_access){ buffers[node->accesses[i].buffer], BRAID_READ };
        if (!is_spare || mode == BRAID_READ_WRITE)
            *touches++ = (struct touch){ mode == BRAID_READ || is_spare ? READS : WRITES,
                                         word_of(world, node->accesses[i].buffer) + 1 };
    }
    *touches = (struct touch){ 0 };
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { .accesses = accesses, .num_accesses = num },
                              .kernel = &touching,
                              .block.x = 1,
                              BRAID_ARGS({ &list, sizeof(list), BRAID_ARG_UNCHECKED_POINTER }) },
        NULL));
}

static braid_graph *make_graph(const struct world *world, const struct node *nodes,
                               bool declares_spare)
{
    braid_graph *graph;
    braid_resource buffers[NUM_BUFFERS];
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_BUFFERS; i++)
        check_ok(braid_graph_add_buffer(graph, "words", word_of(world, i), WORDS * 4, &buffers[i]));
    for (size_t i = 0; i < MOST_NODES; i++) {
        const struct node *node = &nodes[i];
        if (node->kind == BEGINS_LOOP)
            check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = 2 }, NULL));
        else if (node->kind == BEGINS_IF)
            check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = buffers[0] }, NULL));
        else if (node->kind == BEGINS_ELSE)
            check_ok(braid_graph_else(graph));
        else if (node->kind == ENDS)
            check_ok(braid_graph_end(graph));
        else if (node->num)
            add_kernel(world, graph, buffers, node, declares_spare,
                       world->touches + i * (MOST_OF_NODE + 1));
    }
    return graph;
}

static uint64_t count_waits(const struct world *world, const braid_graph *graph)
{
    braid_exec *exec;
    braid_schedule_info info;
    check_ok(braid_exec_create(world->device, graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_NEVER }, &exec));
    braid_schedule_get_info(braid_exec_get_schedule(exec), &info);
    braid_exec_destroy(exec);
    return info.num_waits;
}

// Without regions, or with them in one lane, the info has all waits. At least so many are spare.
static void check(void **state, const struct node *nodes, uint64_t least)
{
    const struct world *world = *state;
    static struct findings findings;
    char text[160];
    braid_graph *graph = make_graph(world, nodes, true), *lean = make_graph(world, nodes, false);
    const uint64_t num = count_waits(world, graph), num_left = count_waits(world, lean);
    const uint64_t num_spare = num > num_left ? num - num_left : 0;
    assert_true(num_spare >= least);
    audit(world->device, graph, &findings);
    assert_true(findings.num >= (num_spare > 0));
    for (size_t i = 0; i + (num_spare > 0) < findings.num; i++)
        assert_true(findings.items[i].told.kind == BRAID_AUDIT_NEVER_READS ||
                    findings.items[i].told.kind == BRAID_AUDIT_NEVER_WRITES);
    if (num_spare) {
        const struct finding *last = &findings.items[findings.num - 1];
        snprintf(text, sizeof(text),
                 "the plan loses %llu of its %llu wait%s without the declared accesses that were "
                 "never made",
                 (unsigned long long)num_spare, (unsigned long long)num, num == 1 ? "" : "s");
        assert_string_equal(last->text, text);
        assert_int_equal(last->told.kind, BRAID_AUDIT_SPARE_WAITS);
        assert_int_equal(last->told.num, num_spare);
        assert_int_equal(last->told.node.graph, 0);
    }
    audit(world->device, lean, &findings);
    assert_int_equal(findings.num, 0);
    braid_graph_destroy(graph);
    braid_graph_destroy(lean);
}
#define CHECK(state, least, ...) check(state, (const struct node[MOST_NODES]){ __VA_ARGS__ }, least)

static const struct node writes_1 = { { { 1, BRAID_WRITE } }, 1 };
static const struct node writes_2 = { { { 2, BRAID_WRITE } }, 1 };
static const struct node reads_2 = { { { 2, BRAID_READ } }, 1 };
static const struct node reads_both = { { { 1, BRAID_READ }, { 2, BRAID_READ } }, 2 };

static void waits_for_reads_that_are_never_made_are_spare(void **state)
{
    struct node reads_one = reads_both;
    CHECK(state, 0, writes_1, writes_2, reads_both);
    reads_one.spare = 1 << 1;
    CHECK(state, 1, writes_1, writes_2, reads_one);
    CHECK(state, 0, writes_1, writes_2, reads_one, reads_both);
}

// A write that is never made may read.
static void waits_for_writes_that_are_never_made_are_spare(void **state)
{
    static const struct node only_reads = { { { 2, BRAID_READ_WRITE }, { 3, BRAID_WRITE } }, 2, 1 };
    static const struct node never_writes = { { { 2, BRAID_WRITE }, { 3, BRAID_WRITE } }, 2, 1 };
    CHECK(state, 1, writes_1, only_reads, reads_both);
    CHECK(state, 1, writes_1, never_writes, reads_both);
    CHECK(state, 0, writes_1, writes_2, only_reads, reads_both);
    CHECK(state, 1, writes_1, writes_2,
          { { { 1, BRAID_READ }, { 2, BRAID_WRITE } }, .num = 2, .spare = 1 << 1 });
    CHECK(state, 0, writes_1, writes_2,
          { { { 1, BRAID_READ }, { 2, BRAID_READ_WRITE } }, .num = 2, .spare = 1 << 1 });
}

static void waits_of_a_region_are_those_of_its_nodes(void **state)
{
    static const struct node loop = { .kind = BEGINS_LOOP }, end = { .kind = ENDS };
    struct node reads_one = reads_both;
    reads_one.spare = 1 << 1;
    CHECK(state, 0, writes_1, writes_2, loop, reads_both, end);
    CHECK(state, 1, writes_1, writes_2, loop, reads_one, end);
    CHECK(state, 1, writes_1, writes_2, loop, loop, reads_one, end, reads_one, end);
    CHECK(state, 0, writes_1, writes_2, loop, reads_one, loop, reads_both, end, end);
    CHECK(state, 1, writes_1, writes_2, loop, reads_2, end, loop, reads_one, end);
    CHECK(state, 1, writes_1, reads_2, loop,
          { { { 1, BRAID_READ }, { 2, BRAID_READ_WRITE } }, .num = 2, .spare = 1 << 1 }, end);
}

// As the condition's, which is 1.
static void a_region_keeps_the_access_to_its_condition(void **state)
{
    static const struct node writes_0 = { { { 0, BRAID_WRITE } }, 1 };
    *word_of(*state, 0) = 1;
    CHECK(state, 0, writes_0, writes_1, { .kind = BEGINS_IF },
          { { { 0, BRAID_READ }, { 1, BRAID_READ } }, .num = 2, .spare = 1 }, { .kind = ENDS });
}

static void waits_in_a_body_count(void **state)
{
    const struct world *world = *state;
    static struct findings findings;
    struct node reads_one = reads_both;
    reads_one.spare = 1 << 1;
    const struct node nodes[MOST_NODES] = {
        { .kind = BEGINS_LOOP }, writes_1, writes_2, reads_one, { .kind = ENDS }
    };
    braid_graph *graph = make_graph(world, nodes, true);
    audit(world->device, graph, &findings);
    assert_int_equal(findings.num, 2);
    assert_string_equal(findings.items[1].text, SPARES_ALL);
    braid_graph_destroy(graph);
}

// What an arm declares that did not run may happen in other frames.
static void arms_that_do_not_run_keep_their_waits(void **state)
{
    static const struct node begin = { .kind = BEGINS_IF }, other = { .kind = BEGINS_ELSE };
    static const struct node end = { .kind = ENDS };
    const struct world *world = *state;
    struct node reads_one = reads_both;
    static struct findings findings;
    reads_one.spare = 1 << 1;
    const struct node nodes[MOST_NODES] = { writes_1, writes_2,  begin, reads_one,
                                            other,    reads_one, end };
    for (uint32_t condition = 0; condition < 2; condition++) {
        *word_of(world, 0) = condition;
        braid_graph *graph = make_graph(world, nodes, true);
        audit(world->device, graph, &findings);
        assert_int_equal(findings.num, 1);
        assert_int_equal(findings.items[0].told.node.index, condition ? 3 : 4);
        braid_graph_destroy(graph);
    }
}

static void read_first(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)**(volatile uint32_t *const *)args[0];
}

// A kernel may be given a pointer, and never access what that points to.
static void pointers_need_no_access(void **state)
{
    const struct world *world = *state;
    static const braid_kernel reads = {
        .name = "given",
        .cpu = read_first,
        .cuda.data = ".version 7.0\n.target sm_70\n.address_size 64\n"
                     ".entry given(.param .u64 first, .param .u64 second)\n{\n.reg .b32 %r;\n"
                     ".reg .b64 %a;\nld.param.u64 %a, [first];\nld.global.u32 %r, [%a];\nret;\n}\n"
    };
    static struct findings findings;
    const struct node nodes[MOST_NODES] = { writes_1, { { { 3, BRAID_WRITE } }, 1 } };
    braid_graph *graph = make_graph(world, nodes, true);
    const uint32_t id = braid_graph_get_node(graph, 0).graph;
    const braid_resource first = { .index = 1, .graph = id }, third = { .index = 3, .graph = id };
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &reads, BRAID_ARGS(BRAID_IN(first), BRAID_IN(third)) },
        NULL));
    audit(world->device, graph, &findings);
    assert_int_equal(findings.num, 2);
    assert_string_equal(findings.items[1].text, SPARES_ALL);
    braid_graph_destroy(graph);
}

static int setup(void **state)
{
    static struct world world;
    void *words, *touches;
    skip_without_audits();
    if (braid_device_open(&(braid_device_options){ .backend = backend }, &world.device))
        skip_because(braid_error_get_message());
    check_ok(braid_memory_allocate(world.device, BRAID_MEMORY_DEVICE, 2 * PAGE, &words));
    check_ok(braid_memory_allocate(world.device, BRAID_MEMORY_HOST, 2 * PAGE, &touches));
    memset(words, 0, PAGE);
    world.words = words;
    world.touches = touches;
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    const struct world *world = *state;
    braid_memory_free(world->device, world->words);
    braid_memory_free(world->device, world->touches);
    check_ok(braid_device_close(world->device));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        backend = argv[1];
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(waits_for_reads_that_are_never_made_are_spare),
        TEST(waits_for_writes_that_are_never_made_are_spare),
        TEST(waits_of_a_region_are_those_of_its_nodes),
        TEST(a_region_keeps_the_access_to_its_condition),
        TEST(waits_in_a_body_count),
        TEST(arms_that_do_not_run_keep_their_waits),
        TEST(pointers_need_no_access),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// If another rank sends a damaged plan, braid_exec_create refuses it and names the rank.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

#include "lying_engine.h"
#include "ranks/two_plans.h"
#include "support/check.h"

static struct lie *lie; // of the engine
static braid_ranks *ranks;
static braid_communicator *world, *other;
static braid_device *device;
static unsigned char *plan; // of rank 1, which is made up
static uint64_t num_bytes;

static void open_as(uint32_t rank)
{
    *lie = (struct lie){ .rank = rank, .num_bytes = num_bytes, .bytes = plan };
    check_ok(braid_ranks_open(NULL, &ranks));
    check_ok(braid_communicator_create(ranks, "world", 0, &world));
    check_ok(braid_communicator_create(ranks, "other", 0, &other));
}

static int begin(void **state)
{
    (void)state;
    plan = plan_make(1, &num_bytes);
    assert_non_null(plan);
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cpu" }, &device));
    open_as(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)braid_ranks_close(ranks); // the ranks may have failed
    check_ok(braid_device_close(device));
    free(plan);
    return 0;
}

// As rank 0, which makes the other half of the plan.
static braid_status create(void)
{
    static double from[PLAN_COUNT], to[PLAN_COUNT];
    braid_graph *graph;
    braid_exec *exec;
    braid_resource resource;
    braid_node sum;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_communicator(graph, other, &resource));
    check_ok(braid_graph_add_communicator(graph, world, &resource));
    braid_communication given = { .node.name = "sum",
                                  .operation = BRAID_RANK_ALL_REDUCE,
                                  .communicator = resource,
                                  .from = from,
                                  .to = to,
                                  .count = PLAN_COUNT,
                                  .element = BRAID_ELEMENT_DOUBLE };
    check_ok(braid_graph_add_communication(graph, &given, &sum));
    given.node = (braid_node_options){ .name = "send", .after = &sum, .num_after = 1 };
    given.operation = BRAID_RANK_SEND;
    given.from = to;
    given.to = NULL;
    given.peer = 1 - lie->rank;
    check_ok(braid_graph_add_communication(graph, &given, NULL));
    braid_status status = braid_exec_create(device, graph, NULL, &exec);
    if (!status)
        braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    return status;
}

static void a_whole_plan_passes(void **state)
{
    (void)state;
    check_ok(create());
}

// Where a number stands in the bytes of the plan.
#define HEADER(field) offsetof(struct rank_plan_header, field)
#define OPERATION(index, field)                                                                    \
    (sizeof(struct rank_plan_header) + (index) * sizeof(struct rank_plan_operation) +              \
     offsetof(struct rank_plan_operation, field))
#define COMMUNICATOR(index, field)                                                                 \
    (OPERATION(PLAN_OPERATIONS, count) + (index) * sizeof(struct rank_plan_communicator) +         \
     offsetof(struct rank_plan_communicator, field))
#define MEMBER(index) (COMMUNICATOR(PLAN_COMMUNICATORS, number) + (index) * sizeof(uint32_t))
#define EDGE(index, field)                                                                         \
    (MEMBER(PLAN_MEMBERS) + (index) * sizeof(struct rank_plan_edge) +                              \
     offsetof(struct rank_plan_edge, field))
#define TEXT EDGE(PLAN_EDGES, from)

static const struct damage {
    size_t at;
    uint32_t value;
    const char *words;
} damages[] = {
    { HEADER(status), BRAID_TIMEOUT + 1, "status 12" },
    { HEADER(engine), RANK_ENGINE_RCCL + 1, "engine 4" },
    { HEADER(num_vertices), UINT32_MAX, "number of nodes 4294967295" },
    { HEADER(num_vertices), 3, "operation 1 has await 3" },
    { HEADER(num_operations), 3, "bytes" },
    { HEADER(num_communicators), UINT32_MAX, "bytes" },
    { HEADER(num_members), UINT32_MAX, "bytes" },
    { HEADER(num_edges), UINT32_MAX, "bytes" },
    { HEADER(num_text), UINT32_MAX, "bytes" },
    { OPERATION(0, operation), 0, "operation 0 has kind 0" },
    { OPERATION(0, operation), BRAID_RANK_REDUCE_SCATTER + 1, "operation 0 has kind 7" },
    { OPERATION(0, number), 9, "operation 0 has communicator 9" },
    { OPERATION(0, peer), 2, "operation 0 has peer 2" },
    { OPERATION(1, peer), UINT32_MAX, "operation 1 has peer 4294967295" },
    { OPERATION(1, post), PLAN_VERTICES, "operation 1 has post 4" },
    { OPERATION(1, await), UINT32_MAX, "operation 1 has await 4294967295" },
    { OPERATION(0, name), UINT32_MAX, "operation 0 has name 4294967295" },
    { COMMUNICATOR(1, number), 0, "communicator 1 has the number 0 of another" },
    { COMMUNICATOR(0, name), 1000, "communicator 0 has name 1000" },
    { COMMUNICATOR(1, first_member), 3, "communicator 1 has end of members 5" },
    { COMMUNICATOR(1, num_members), UINT32_MAX, "communicator 1 has end of members 4294967297" },
    { MEMBER(1), 2, "communicator 0 has member 2" },
    { MEMBER(1), 0, "communicator 0 has member 0" }, // a second time
    { EDGE(0, from), PLAN_VERTICES, "edge 0 has begin 4" },
    { EDGE(2, to), UINT32_MAX, "edge 2 has end 4294967295" },
};

static void each_number_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        const struct damage *damage = &damages[i];
        uint32_t right;
        memcpy(&right, plan + damage->at, sizeof(right));
        memcpy(plan + damage->at, &damage->value, sizeof(damage->value));
        braid_status status = create();
        check_fails(status, BRAID_INVALID_ARGUMENT, "rank 1 sent a damaged plan");
        check_fails(status, BRAID_INVALID_ARGUMENT, damage->words);
        memcpy(plan + damage->at, &right, sizeof(right));
    }
    check_ok(create());
}

static void texts_have_an_end(void **state)
{
    (void)state;
    plan[num_bytes - 1] = 'x';
    check_fails(create(), BRAID_INVALID_ARGUMENT, "rank 1 sent a damaged plan: last byte");
}

// The length of the texts and their end would come to nothing, and the sum to what was sent.
static void a_length_of_texts_cannot_wrap(void **state)
{
    const uint64_t length = UINT64_MAX;
    (void)state;
    memcpy(plan + HEADER(num_text), &length, sizeof(length));
    lie->num_bytes = TEXT;
    check_fails(create(), BRAID_INVALID_ARGUMENT, "rank 1 sent a damaged plan");
}

static void another_version_is_told(void **state)
{
    (void)state;
    lie->num_bytes = sizeof(struct rank_plan_header) - 1;
    check_fails(create(), BRAID_UNSUPPORTED, "rank 1 has another version");
    lie->num_bytes = num_bytes;
    plan[HEADER(magic)]++;
    check_fails(create(), BRAID_UNSUPPORTED, "rank 1 has another version");
}

static void a_plan_has_a_largest_size(void **state)
{
    (void)state;
    lie->num_bytes = UINT64_C(1) << 40;
    check_fails(create(), BRAID_DEVICE_ERROR, "rank 1 sends a plan of 1099511627776 bytes");
}

// Address sanitizer sees reads behind it.
static void a_verdict_has_an_end(void **state)
{
    (void)state;
    check_ok(braid_ranks_close(ranks));
    open_as(1);
    lie->verdict = 'x';
    assert_true(create() != BRAID_OK);
    assert_non_null(strstr(braid_error_message(), "braid_exec_create: xxx"));
}

// So many edges need more memory than tests have, so the functions are asked themselves.
static void sums_of_all_ranks_are_checked(void **state)
{
    struct rank_plan plans[2] = { { .num_vertices = UINT32_MAX }, { .num_vertices = 1 } };
    struct rank_match match = { 0 };
    struct rank_verdict verdict = { 0 };
    uint32_t first_vertex[3] = { 0, 1, 2 };
    bool found;
    (void)state;
    assert_false(braid_rank_match(plans, 2, &match, &verdict));
    assert_int_equal(verdict.status, BRAID_UNSUPPORTED);
    assert_non_null(strstr(verdict.message, "ranks 0 to 1 have 4294967296 nodes"));
    plans[0] = plans[1] = (struct rank_plan){ .num_vertices = 1, .num_edges = UINT32_MAX };
    match = (struct rank_match){ .first_vertex = first_vertex, .num_vertices = 2 };
    assert_false(braid_rank_find_cycle(plans, 2, &match, true, NULL, 0, &found));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    void *engine = dlopen(getenv("BRAID_MPI"), RTLD_NOW);
    lie = engine ? dlsym(engine, LIE_SYMBOL) : NULL;
    if (!lie)
        return EXIT_FAILURE;
    const struct CMUnitTest tests[] = {
        CASE(a_whole_plan_passes),     CASE(each_number_is_checked),
        CASE(texts_have_an_end),       CASE(a_length_of_texts_cannot_wrap),
        CASE(another_version_is_told), CASE(a_plan_has_a_largest_size),
        CASE(a_verdict_has_an_end),    cmocka_unit_test(sums_of_all_ranks_are_checked),
    };
    int num_failed = cmocka_run_group_tests(tests, NULL, NULL);
    fflush(stdout);
    _exit(num_failed ? EXIT_FAILURE : EXIT_SUCCESS); // failed ranks keep memory for their engine
}

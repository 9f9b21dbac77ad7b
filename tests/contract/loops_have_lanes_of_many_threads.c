// SPDX-License-Identifier: Apache-2.0
// The lanes of a loop see each other's numbers, also if a block has room for one lane only.
#include "contract/counting.h"
#include "contract/groups.h"

enum { NUM_WORDS = 4, ITERATIONS = 40, COST_NS = 20000 };

// Words of now, of next, and the condition.
struct ring {
    braid_graph *graph;
    uint32_t *numbers;
    braid_resource words[2 * NUM_WORDS + 1];
};

// to = from * factor + addend, by a block of as many threads as a device has at most.
static void add_wide(const struct ring *ring, uint32_t to, uint32_t from, uint32_t factor,
                     uint32_t addend)
{
    const braid_access accesses[] = { { ring->words[from], BRAID_READ },
                                      { ring->words[to], BRAID_WRITE } };
    uint32_t *to_word = ring->numbers + to, *from_word = ring->numbers + from, num = 1;
    check_ok(braid_graph_add_kernel(
        ring->graph,
        &(braid_kernel_node){
            .node = { .accesses = accesses, .num_accesses = 2, .cost_ns = COST_NS },
            .kernel = &test_axpy,
            .block = { 1024, 1, 1 },
            BRAID_ARGS(BRAID_ARG(to_word), BRAID_ARG(from_word), BRAID_ARG(factor),
                       BRAID_ARG(addend), BRAID_ARG(num)) },
        NULL));
}

// With scopes, the first half runs twice, which changes nothing, and the second one in an arm.
static void add_ring(const struct ring *ring, bool has_scopes)
{
    if (has_scopes)
        begin_loop(ring->graph, (braid_loop){ .times = 2 });
    for (uint32_t i = 0; i < NUM_WORDS; i++)
        add_wide(ring, NUM_WORDS + i, i, 1, i);
    if (has_scopes) {
        check_ok(braid_graph_end(ring->graph));
        begin_branch(ring->graph, ring->words[2 * NUM_WORDS]);
    }
    for (uint32_t i = 0; i < NUM_WORDS; i++)
        add_wide(ring, i, NUM_WORDS + (i + 1) % NUM_WORDS, 3, 1);
    if (has_scopes) {
        check_ok(braid_graph_else(ring->graph));
        for (uint32_t i = 0; i < NUM_WORDS; i++)
            add_wide(ring, i, NUM_WORDS + i, 7, 7);
        check_ok(braid_graph_end(ring->graph));
    }
    add_wide(ring, 2 * NUM_WORDS, 2 * NUM_WORDS, 1, UINT32_MAX);
}

static void check_ring(struct contract *contract, const struct ring *ring, uint32_t iterations)
{
    uint32_t now[NUM_WORDS] = { 0 }, next[NUM_WORDS], seen[NUM_WORDS];
    for (uint32_t n = 0; n < iterations; n++) {
        for (uint32_t i = 0; i < NUM_WORDS; i++)
            next[i] = now[i] + i;
        for (uint32_t i = 0; i < NUM_WORDS; i++)
            now[i] = next[(i + 1) % NUM_WORDS] * 3 + 1;
    }
    contract_read(contract, seen, ring->numbers, sizeof(seen));
    for (uint32_t i = 0; i < NUM_WORDS; i++)
        assert_int_equal(seen[i], now[i]);
}

static void lanes_see_each_other(struct contract *contract, uint32_t iterations, bool tests_first,
                                 bool has_scopes)
{
    struct ring ring = { .graph = contract_graph(contract),
                         .numbers = contract_numbers(contract, 2 * NUM_WORDS + 1) };
    for (uint32_t i = 0; i <= 2 * NUM_WORDS; i++) {
        ring.words[i] = add_word(ring.graph, "word", ring.numbers + i);
        add_start(ring.graph, "start", ring.words[i], ring.numbers + i,
                  i == 2 * NUM_WORDS ? iterations : 0);
    }
    braid_node loop = begin_loop(ring.graph, (braid_loop){ .condition = ring.words[2 * NUM_WORDS],
                                                           .most = 2 * ITERATIONS,
                                                           .tests_first = tests_first });
    add_ring(&ring, has_scopes);
    check_ok(braid_graph_end(ring.graph));
    braid_exec *exec = make_exec(contract, ring.graph);
    for (int frame = 0; frame < num_frames; frame++) {
        uint64_t num;
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_ring(contract, &ring, iterations);
        check_ok(braid_exec_get_iterations(exec, loop, &num));
        assert_int_equal(num, iterations);
    }
}

static void in_many_iterations(void **state)
{
    lanes_see_each_other(*state, ITERATIONS, false, false);
}

static void in_no_iteration(void **state)
{
    lanes_see_each_other(*state, 0, true, true);
}

static void in_one_iteration(void **state)
{
    lanes_see_each_other(*state, 1, true, false);
}

static void in_scopes_inside_others(void **state)
{
    lanes_see_each_other(*state, ITERATIONS, false, true);
}

int run_loop_lanes(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(in_many_iterations),
        contract_test(in_no_iteration),
        contract_test(in_one_iteration),
        contract_test(in_scopes_inside_others),
    };
    return contract_run("loops have lanes of many threads", tests);
}

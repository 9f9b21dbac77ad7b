// SPDX-License-Identifier: Apache-2.0
// Random programs with loops and branches over words of several devices leave what their statements
// do one after the other. BRAID_TEST_SEED=N runs one.
#include <inttypes.h>
#include <stdlib.h>

#include "groups/loop_cases.h"
#include "groups/words.h"
#include "support/check.h"
#include "support/written.h"

enum { NUM_PROGRAMS = 100 };

struct built {
    struct words words;
    braid_node regions[NUM_REGIONS];
    uint32_t depth, place; // where the region or statement at hand is: one names it, for all
};

// At times the planner chooses.
static uint32_t choose_place(const struct built *built, struct random *random)
{
    return random_chance(random, 50) ? BRAID_PLACE(random_below(random, built->words.last + 1)) : 0;
}

static void add_step(struct built *built, const struct statement *it)
{
    struct words *words = &built->words;
    if (it->kind == SCALE)
        words_add_axpy(words, it->to, it->from, it->factor, it->addend, built->place);
    else if (it->kind == ADD)
        words_add_add(words, it->to, it->from, it->other, built->place);
    else if (it->kind == FILL)
        words_add_fill(words, it->to, it->addend, built->place);
    else
        words_add_copy(words, it->to, it->from, built->place);
    if (built->depth)
        built->place = 0;
}

static void add_statement(struct built *built, const struct statement *it)
{
    braid_graph *graph = built->words.graph;
    braid_resource word = built->words.resources[it->to];
    braid_node *region = &built->regions[it->region];
    braid_loop how = it->how;
    if (it->has_condition)
        how.condition = word;
    if (it->kind == LOOP)
        check_ok(braid_graph_begin_loop(graph, &how, region));
    else if (it->kind == IF)
        check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = word }, region));
    else if (it->kind == ELSE)
        check_ok(braid_graph_else(graph));
    else if (it->kind == END)
        check_ok(braid_graph_end(graph));
    else
        add_step(built, it);
    built->depth += it->kind == LOOP || it->kind == IF;
    built->depth -= it->kind == END;
}

static void check_program(const struct built *built, braid_exec *exec,
                          const struct memory *expected, uint64_t seed)
{
    for (uint32_t i = 0; i < NUM_ALL; i++) {
        uint32_t found = words_read(&built->words, i);
        if (found != expected->words[i])
            fail_msg("seed %" PRIu64 ": word %u is %u, not %u", seed, i, found, expected->words[i]);
    }
    for (uint32_t i = 0; i < NUM_REGIONS; i++) {
        uint64_t num = 0;
        if (built->regions[i].graph)
            check_ok(braid_exec_get_iterations(exec, built->regions[i], &num));
        if (num != expected->iterations[i])
            fail_msg("seed %" PRIu64 ": region %u has run %" PRIu64 " times, not %" PRIu64, seed, i,
                     num, expected->iterations[i]);
    }
}

static void run_program(struct field *field, uint64_t seed)
{
    struct random random = { seed };
    struct written written;
    written_make(&written, &random);
    struct memory expected = written_run(&written);
    // The counters of loops are transient in half of the programs.
    uint32_t num_kept = seed % 2 ? NUM_ALL : NUM_WORDS;
    struct built built = { .words = words_begin_some(field, NUM_ALL, WORDS_BY_TURNS, num_kept) };
    for (uint32_t i = num_kept; i < NUM_ALL; i++)
        expected.words[i] = 0;
    for (uint32_t i = 0; i < written.num; i++) {
        if (!built.depth)
            built.place = choose_place(&built, &random);
        add_statement(&built, &written.statements[i]);
    }
    braid_exec *exec = words_make_exec(&built.words);
    if (exec) {
        words_run(&built.words, exec);
        check_program(&built, exec, &expected, seed);
    }
    words_end(&built.words, exec);
}

void random_loops_on_devices_run_as_written(void **state)
{
    const char *seed = getenv("BRAID_TEST_SEED"), *fewer = getenv("BRAID_SWEEP_STEP");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 0;
    for (uint64_t i = first; i < first + (seed ? 1 : fewer ? NUM_PROGRAMS / 5 : NUM_PROGRAMS); i++)
        run_program(*state, i);
}

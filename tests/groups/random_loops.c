// SPDX-License-Identifier: Apache-2.0
// Random programs with loops and branches over words of several devices leave what their statements
// do one after the other. BRAID_TEST_SEED=N runs one.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "groups/loop_cases.h"
#include "groups/words.h"
#include "support/check.h"
#include "support/written.h"

enum { NUM_PROGRAMS = 100 };

struct placed {
    struct words words;
    struct random *random;
    uint32_t place; // where the region or statement at hand is: one names it, for all
};

// At times the planner chooses.
static braid_node add_statement(struct built *built, const struct statement *it, uint32_t depth)
{
    struct placed *placed = built->user;
    struct words *words = &placed->words;
    if (!depth)
        placed->place = random_chance(placed->random, 50)
                            ? random_below(placed->random, words->last + 1) + 1
                            : 0;
    uint32_t place = placed->place;
    if (it->kind == LOOP || it->kind == IF)
        return (braid_node){ 0 };
    if (depth)
        placed->place = 0;
    if (it->kind == SCALE)
        return words_add_axpy(words, it->to, it->from, it->factor, it->addend, place);
    if (it->kind == ADD)
        return words_add_add(words, it->to, it->from, it->other, place);
    if (it->kind == FILL)
        return words_add_fill(words, it->to, it->addend, place);
    return words_add_copy(words, it->to, it->from, place);
}

static void check_program(const struct built *built, const struct words *words, braid_exec *exec,
                          const struct memory *expected, uint64_t seed)
{
    for (uint32_t i = 0; i < NUM_ALL; i++) {
        uint32_t found = words_read(words, i);
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
    struct memory expected;
    // The counters of loops are transient in half of the programs.
    uint32_t num_kept = seed % 2 ? NUM_ALL : NUM_WORDS;
    struct placed placed = { words_begin_some(field, NUM_ALL, WORDS_BY_TURNS, num_kept), &random,
                             0 };
    struct words *words = &placed.words;
    struct built built = { .graph = words->graph, .add = add_statement, .user = &placed };
    memcpy(built.words, words->resources, sizeof(built.words));
    written_build(&written, &built);
    braid_exec *exec = words_make_exec(words);
    for (int turn = 0; turn < 2 && exec; turn++) {
        if (turn == 1)
            written_change_bounds(&written, &random, &built, exec);
        expected = written_run(&written);
        for (uint32_t i = num_kept; i < NUM_ALL; i++)
            expected.words[i] = 0;
        words_run(words, exec);
        check_program(&built, words, exec, &expected, seed);
    }
    words_end(words, exec);
}

void random_loops_on_devices_run_as_written(void **state)
{
    const char *seed = getenv("BRAID_TEST_SEED"), *fewer = getenv("BRAID_SWEEP_STEP");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 0;
    for (uint64_t i = first; i < first + (seed ? 1 : fewer ? NUM_PROGRAMS / 5 : NUM_PROGRAMS); i++)
        run_program(*state, i);
}

// SPDX-License-Identifier: Apache-2.0
// Random programs with loops and branches leave in memory what their statements do one after the
// other: 1,000 of them on the CPU (250 under a sanitizer), and 250 elsewhere. In island mode scopes
// inside others are in their islands. A fifth of them run with times as well, which count all runs
// of each node. Another fifth runs again with other bounds, of which some are 0.
// BRAID_TEST_GRAPHS=N runs a quarter of N elsewhere, BRAID_TEST_SEED=N that of one seed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/counting.h"
#include "contract/groups.h"
#include "support/written.h"

// A word that the node reads and writes has one access, as both.
static uint32_t find_accesses(const struct built *built, const struct statement *it,
                              braid_access *accesses)
{
    const uint32_t reads[2] = { it->from, it->other };
    uint32_t num_reads = it->kind == ADD ? 2 : it->kind != FILL, num = 1;
    accesses[0] = (braid_access){ built->words[it->to], BRAID_WRITE };
    for (uint32_t i = 0; i < num_reads; i++) {
        if (reads[i] == it->to)
            accesses[0].mode = BRAID_READ_WRITE;
        else if (i == 0 || reads[1] != reads[0])
            accesses[num++] = (braid_access){ built->words[reads[i]], BRAID_READ };
    }
    return num;
}

static braid_node add_statement(struct built *built, const struct statement *it, uint32_t depth)
{
    (void)depth;
    uint32_t *words = built->user, *to = words + it->to, *from = words + it->from;
    braid_access accesses[3];
    braid_node_options options = { .accesses = accesses,
                                   .num_accesses = find_accesses(built, it, accesses) };
    if (it->kind == SCALE)
        return add_axpy(built->graph, options, to, from, it->factor, it->addend, 1);
    if (it->kind == ADD)
        return add_add(built->graph, options, to, from, words + it->other, 1);
    if (it->kind == FILL)
        return add_fill(built->graph, options, to, it->addend, 1);
    if (it->kind == COPY)
        return add_copy(built->graph, options, to, from, sizeof(*to));
    return (braid_node){ 0 };
}

static void build(struct contract *contract, const struct written *written, struct built *built)
{
    uint32_t *words = contract_numbers(contract, NUM_ALL);
    *built =
        (struct built){ .graph = contract_graph(contract), .add = add_statement, .user = words };
    for (uint32_t i = 0; i < NUM_ALL; i++) {
        char name[16];
        snprintf(name, sizeof(name), "word %u", i);
        built->words[i] = add_word(built->graph, name, words + i);
    }
    written_build(written, built);
}

static void run_frames_of(braid_exec *exec, uint64_t seed)
{
    braid_status status = BRAID_OK;
    for (int i = 0; i < num_frames && !status; i++)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    if (status)
        fail_msg("seed %" PRIu64 ": %s", seed, braid_error_get_message());
}

static void check_words(struct contract *contract, uint64_t seed, const struct built *built,
                        const struct memory *expected)
{
    for (uint32_t i = 0; i < NUM_ALL; i++) {
        uint32_t found = contract_number(contract, (uint32_t *)built->user + i);
        if (found != expected->words[i])
            print_message("seed %" PRIu64 ": word %u is %u instead of %u\n", seed, i, found,
                          expected->words[i]);
        assert_int_equal(found, expected->words[i]);
    }
}

static bool is_in_island(const braid_exec *exec, braid_node scope)
{
    char text[200];
    check_ok(braid_schedule_explain(braid_exec_get_schedule(exec), &scope, 1, text, sizeof(text)));
    return strncmp(text, "in island", strlen("in island")) == 0;
}

// Loops and branches that are in the island of one around them.
static uint32_t count_nested(const braid_exec *exec, const struct built *built)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < NUM_REGIONS; i++)
        num += built->regions[i].graph && is_in_island(exec, built->regions[i]);
    return num;
}

static void check_runs(braid_exec *exec, uint64_t seed, const struct built *built,
                       const struct memory *expected)
{
    braid_timings timings;
    check_ok(braid_exec_get_timings(exec, &timings));
    assert_int_equal(timings.frames_kept, num_frames);
    for (uint32_t i = 0; i < MOST_STATEMENTS; i++) {
        if (!built->nodes[i].graph)
            continue;
        uint64_t num = timings.nodes[built->nodes[i].index].num_runs;
        uint64_t wanted = num_frames * expected->runs[i];
        if (num != wanted)
            print_message("seed %" PRIu64 ": statement %u ran %" PRIu64 " times, not %" PRIu64 "\n",
                          seed, i, num, wanted);
        assert_int_equal(num, wanted);
    }
}

static void run_with_times(struct contract *contract, uint64_t seed, const struct built *built,
                           const struct memory *expected)
{
    const braid_exec_options options = { .mode = contract->mode,
                                         .islands = islands_of_loops(contract),
                                         .max_lanes = BRAID_ALL_LANES,
                                         .fixed_lanes = true,
                                         .frames_in_flight = contract_frames(),
                                         .frames_kept = num_frames };
    braid_exec *exec;
    check_ok(braid_exec_create(contract->device, built->graph, &options, &exec));
    contract_own_exec(contract, exec);
    run_frames_of(exec, seed);
    check_words(contract, seed, built, expected);
    check_runs(exec, seed, built, expected);
    contract_destroy_exec(contract, exec);
}

// The plan of an exec, loaded from a file.
static void run_saved(struct contract *contract, uint64_t seed, const struct built *built,
                      const struct memory *expected, const braid_exec *from)
{
    braid_schedule *loaded;
    braid_status status =
        contract_load_saved(braid_exec_get_schedule(from), built->graph, built->graph, &loaded);
    if (status == BRAID_UNSUPPORTED) // that is left out
        return;
    check_ok(status);
    const braid_exec_options options = { .mode = contract->mode,
                                         .schedule = loaded,
                                         .frames_in_flight = contract_frames() };
    braid_exec *exec;
    check_ok(braid_exec_create(contract->device, built->graph, &options, &exec));
    braid_schedule_destroy(loaded);
    contract_own_exec(contract, exec);
    run_frames_of(exec, seed);
    check_words(contract, seed, built, expected);
    contract_destroy_exec(contract, exec);
}

static void check_frames(struct contract *contract, uint64_t seed, const struct built *built,
                         const struct memory *expected, braid_exec *exec)
{
    run_frames_of(exec, seed);
    check_words(contract, seed, built, expected);
    for (uint32_t i = 0; i < NUM_REGIONS; i++)
        if (built->regions[i].graph)
            check_iterations(exec, built->regions[i], expected->iterations[i]);
}

// Returns how many scopes are in the islands of others.
static uint32_t run_program(struct contract *contract, uint64_t seed)
{
    struct random random = { seed };
    struct written written;
    struct built built;
    written_make(&written, &random);
    struct memory expected = written_run(&written);
    build(contract, &written, &built);
    braid_exec *exec = make_exec(contract, built.graph);
    check_frames(contract, seed, &built, &expected, exec);
    uint32_t num_nested = count_nested(exec, &built);
    if (seed % 5 == 1 && !contract->group)
        run_saved(contract, seed, &built, &expected, exec);
    if (seed % 5 == 2) {
        written_change_bounds(&written, &random, &built, exec);
        expected = written_run(&written);
        check_frames(contract, seed, &built, &expected, exec);
    }
    contract_destroy_exec(contract, exec);
    if (seed % 5 == 0 && !contract->group && !drives_all_loops(contract))
        run_with_times(contract, seed, &built, &expected);
    return num_nested;
}

static void programs_with_loops_run_as_written(void **state)
{
    struct contract *contract = *state;
    const char *fewer = getenv("BRAID_TEST_GRAPHS"), *seed = getenv("BRAID_TEST_SEED");
    bool is_cpu = strcmp(contract_backend(), "cpu") == 0;
    bool is_shortened = getenv("BRAID_SWEEP_STEP") != NULL;
    unsigned long num = is_cpu && !is_shortened ? 1000 : 250, num_nested = 0;
    if (seed) {
        run_program(contract, strtoull(seed, NULL, 10));
        return;
    }
    if (fewer && !is_cpu)
        num = strtoul(fewer, NULL, 10) / 4;
    const struct contract_part part = contract_part();
    for (unsigned long i = part.first; i < num; i += part.step) {
        num_nested += run_program(contract, i);
        assert_int_equal(contract_tear_down(state), 0); // graphs and memory of this one
    }
    assert_true((num_nested > num / part.step / 2) ==
                (islands_of_loops(contract) == BRAID_ISLANDS_ALWAYS));
    print_message("summary: %lu programs with loops and branches, %lu in the islands of others\n",
                  num, num_nested);
}

int run_random_loops(void)
{
    const struct CMUnitTest tests[] = { contract_test(programs_with_loops_run_as_written) };
    return contract_run("random_loops_run_as_written", tests);
}

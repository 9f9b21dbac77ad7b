// SPDX-License-Identifier: Apache-2.0
// Random programs with loops and branches leave in memory what their statements do one after the
// other: 1,000 of them on the CPU, and 250 elsewhere. BRAID_TEST_GRAPHS=N runs a quarter of N
// elsewhere, BRAID_TEST_SEED=N that of one seed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/counting.h"
#include "contract/groups.h"
#include "support/random.h"

enum { NUM_WORDS = 5, MOST_LOOPS = 6, NUM_ALL = NUM_WORDS + MOST_LOOPS, MOST_DEPTH = 4 };
enum { MOST_BRANCHES = 4, NUM_REGIONS = MOST_LOOPS + MOST_BRANCHES };
enum { MOST_STATEMENTS = 96, MOST_STEPS = 32, MOST_ITEMS = 8 };

enum kind { SCALE, ADD, FILL, COPY, LOOP, IF, ELSE, END };

// One statement. A loop has a counter word, behind the others, that it ends by.
struct statement {
    enum kind kind;
    uint32_t region;
    uint32_t to, from, other, factor, addend;
    braid_loop how; // of LOOP; its condition is the counter where `has_condition`
    bool has_condition;
};

struct written {
    struct random *random;
    struct statement statements[MOST_STATEMENTS];
    uint32_t num, num_loops, num_branches;
};

static void write(struct written *written, struct statement statement)
{
    assert_true(written->num < MOST_STATEMENTS);
    written->statements[written->num++] = statement;
}

static void write_step(struct written *written)
{
    struct random *random = written->random;
    struct statement step = { .kind = random_below(random, 4),
                              .to = random_below(random, NUM_WORDS),
                              .from = random_below(random, NUM_ALL),
                              .other = random_below(random, NUM_ALL),
                              .factor = random_below(random, 9),
                              .addend = random_below(random, 100) };
    if (step.kind == COPY && step.from == step.to) // which is refused
        step.from = NUM_ALL - 1;
    write(written, step);
}

// The condition and the bound of a loop whose counter is `count` when it begins. Without a test
// before the first iteration a counter of 0 would go round.
static struct statement choose_loop(struct random *random, uint32_t counter, uint32_t count)
{
    struct statement begin = {
        .kind = LOOP, .region = counter - NUM_WORDS, .to = counter, .has_condition = true
    };
    begin.how.tests_first = count == 0 || random_chance(random, 30);
    switch (random_below(random, 4)) {
    case 0:
        begin.how.unbounded = true;
        break;
    case 1:
        begin.how.most = 1 + random_below(random, 4); // fewer, at times
        break;
    case 2:
        begin.how.most = 50;
        break;
    default:
        begin.how.times = 1 + random_below(random, 3);
        begin.has_condition = begin.how.tests_first;
        break;
    }
    return begin;
}

static void write_items(struct written *written, uint32_t depth, uint32_t counter);

static void write_loop(struct written *written, uint32_t depth)
{
    uint32_t counter = NUM_WORDS + written->num_loops++, count = random_below(written->random, 4);
    write(written, (struct statement){ .kind = FILL, .to = counter, .addend = count });
    write(written, choose_loop(written->random, counter, count));
    write_items(written, depth + 1, counter);
    write(written, (struct statement){ .kind = END });
}

// Each arm has a step at least. In half of all cases nobody knows which arm runs.
static void write_branch(struct written *written, uint32_t depth)
{
    struct random *random = written->random;
    uint32_t to = random_below(random, NUM_WORDS), region = MOST_LOOPS + written->num_branches++;
    if (random_chance(random, 50))
        write(written,
              (struct statement){ .kind = FILL, .to = to, .addend = random_below(random, 2) });
    else
        to = random_below(random, NUM_ALL);
    write(written, (struct statement){ .kind = IF, .region = region, .to = to });
    write_step(written);
    write_items(written, depth + 1, 0);
    if (random_chance(random, 70)) {
        write(written, (struct statement){ .kind = ELSE });
        write_step(written);
        write_items(written, depth + 1, 0);
    }
    write(written, (struct statement){ .kind = END });
}

// The items of the frame, or of the body of the loop that has the counter. It goes down by 1
// before, between or behind the others.
static void write_items(struct written *written, uint32_t depth, uint32_t counter)
{
    struct random *random = written->random;
    uint32_t num = random_below(random, depth ? 4 : MOST_ITEMS),
             down = random_below(random, num + 1);
    for (uint32_t i = 0; i <= num; i++) {
        if (i == down && counter)
            write(written, (struct statement){ .kind = SCALE,
                                               .to = counter,
                                               .from = counter,
                                               .factor = 1,
                                               .addend = UINT32_MAX });
        bool has_room = written->num_loops < MOST_LOOPS && depth < MOST_DEPTH;
        bool may_branch = written->num_branches < MOST_BRANCHES;
        if (i < num && has_room && random_chance(random, 40))
            write_loop(written, depth);
        else if (i < num && may_branch && depth < MOST_DEPTH && random_chance(random, 30))
            write_branch(written, depth);
        else if (i < num && written->num < MOST_STEPS)
            write_step(written);
    }
}

static void write_program(struct written *written)
{
    for (uint32_t i = 0; i < NUM_ALL; i++)
        write(written, (struct statement){ .kind = FILL, .to = i, .addend = 3 + i });
    write_loop(written, 0);
    write_items(written, 0, 0);
}

// ---- the plain way ----

struct memory {
    uint32_t words[NUM_ALL];
    uint64_t iterations[NUM_REGIONS];
};

// Behind the statement that ends a region, or that begins its second arm where there is one.
static uint32_t find_end(const struct written *written, uint32_t begin, bool or_else)
{
    uint32_t depth = 0, i = begin;
    do {
        enum kind kind = written->statements[i++].kind;
        depth += kind == LOOP || kind == IF;
        depth -= kind == END || (kind == ELSE && or_else && depth == 1);
    } while (depth);
    return i;
}

static void interpret(const struct written *written, uint32_t from, uint32_t to,
                      struct memory *memory);

static void interpret_loop(const struct written *written, uint32_t begin, uint32_t end,
                           struct memory *memory)
{
    const struct statement *loop = &written->statements[begin];
    const uint32_t *counter = &memory->words[loop->to];
    uint64_t most = loop->how.times ? loop->how.times : loop->how.most, num = 0;
    if (loop->how.tests_first && !*counter)
        return;
    do {
        interpret(written, begin + 1, end - 1, memory);
        num++;
    } while ((!loop->has_condition || *counter) && (!most || num < most));
    memory->iterations[loop->region] += num;
}

static void interpret_branch(const struct written *written, uint32_t begin, uint32_t end,
                             struct memory *memory)
{
    const struct statement *branch = &written->statements[begin];
    uint32_t first = find_end(written, begin, true);
    memory->iterations[branch->region] += memory->words[branch->to] != 0;
    if (memory->words[branch->to])
        interpret(written, begin + 1, first - 1, memory);
    else if (first < end)
        interpret(written, first, end - 1, memory);
}

static void interpret(const struct written *written, uint32_t from, uint32_t to,
                      struct memory *memory)
{
    uint32_t *words = memory->words;
    for (uint32_t i = from; i < to; i++) {
        const struct statement *it = &written->statements[i];
        if (it->kind == SCALE)
            words[it->to] = words[it->from] * it->factor + it->addend;
        else if (it->kind == ADD)
            words[it->to] = words[it->from] + words[it->other];
        else if (it->kind == FILL)
            words[it->to] = it->addend;
        else if (it->kind == COPY)
            words[it->to] = words[it->from];
        else {
            uint32_t end = find_end(written, i, false);
            (it->kind == LOOP ? interpret_loop : interpret_branch)(written, i, end, memory);
            i = end - 1;
        }
    }
}

// ---- as a graph ----

struct built {
    braid_graph *graph;
    uint32_t *words; // of the device
    braid_resource resources[NUM_ALL];
    braid_node regions[NUM_REGIONS];
};

// A word that the node reads and writes has one access, as both.
static uint32_t find_accesses(const struct built *built, const struct statement *it,
                              braid_access *accesses)
{
    const uint32_t reads[2] = { it->from, it->other };
    uint32_t num_reads = it->kind == ADD ? 2 : it->kind != FILL, num = 1;
    accesses[0] = (braid_access){ built->resources[it->to], BRAID_WRITE };
    for (uint32_t i = 0; i < num_reads; i++) {
        if (reads[i] == it->to)
            accesses[0].mode = BRAID_READ_WRITE;
        else if (i == 0 || reads[1] != reads[0])
            accesses[num++] = (braid_access){ built->resources[reads[i]], BRAID_READ };
    }
    return num;
}

static void add_statement(struct built *built, const struct statement *it)
{
    uint32_t *words = built->words, *to = words + it->to, *from = words + it->from;
    braid_access accesses[3];
    braid_node_options options = { .accesses = accesses,
                                   .num_accesses = find_accesses(built, it, accesses) };
    if (it->kind == SCALE)
        add_axpy(built->graph, options, to, from, it->factor, it->addend, 1);
    else if (it->kind == ADD)
        add_add(built->graph, options, to, from, words + it->other, 1);
    else if (it->kind == FILL)
        add_fill(built->graph, options, to, it->addend, 1);
    else
        add_copy(built->graph, options, to, from, sizeof(*to));
}

static void add_program(struct built *built, const struct written *written)
{
    for (uint32_t i = 0; i < written->num; i++) {
        const struct statement *it = &written->statements[i];
        braid_loop how = it->how;
        if (it->has_condition)
            how.condition = built->resources[it->to];
        if (it->kind == LOOP)
            built->regions[it->region] = begin_loop(built->graph, how);
        else if (it->kind == IF)
            built->regions[it->region] = begin_branch(built->graph, built->resources[it->to]);
        else if (it->kind == ELSE)
            check_ok(braid_graph_else(built->graph));
        else if (it->kind == END)
            check_ok(braid_graph_end(built->graph));
        else
            add_statement(built, it);
    }
}

static void build(struct contract *contract, const struct written *written, struct built *built)
{
    *built = (struct built){ .graph = contract_graph(contract),
                             .words = contract_numbers(contract, NUM_ALL) };
    for (uint32_t i = 0; i < NUM_ALL; i++) {
        char name[16];
        snprintf(name, sizeof(name), "word %u", i);
        built->resources[i] = add_word(built->graph, name, built->words + i);
    }
    add_program(built, written);
}

static void run_frames_of(braid_exec *exec, uint64_t seed)
{
    braid_status status = BRAID_OK;
    for (int i = 0; i < num_frames && !status; i++)
        status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    if (status)
        fail_msg("seed %" PRIu64 ": %s", seed, braid_error_message());
}

static void run_program(struct contract *contract, uint64_t seed)
{
    struct random random = { seed };
    struct written written = { .random = &random };
    struct memory expected = { { 0 }, { 0 } };
    struct built built;
    write_program(&written);
    interpret(&written, 0, written.num, &expected);
    build(contract, &written, &built);
    braid_exec *exec = make_exec(contract, built.graph);
    run_frames_of(exec, seed);
    for (uint32_t i = 0; i < NUM_ALL; i++) {
        uint32_t found = contract_number(contract, built.words + i);
        if (found != expected.words[i])
            print_message("seed %" PRIu64 ": word %u is %u instead of %u\n", seed, i, found,
                          expected.words[i]);
        assert_int_equal(found, expected.words[i]);
    }
    for (uint32_t i = 0; i < NUM_REGIONS; i++)
        if (built.regions[i].graph)
            check_iterations(exec, built.regions[i], expected.iterations[i]);
    contract_destroy_exec(contract, exec);
}

static void programs_with_loops_run_as_written(void **state)
{
    struct contract *contract = *state;
    const char *fewer = getenv("BRAID_TEST_GRAPHS"), *seed = getenv("BRAID_TEST_SEED");
    bool is_cpu = strcmp(contract_backend(), "cpu") == 0;
    unsigned long num = is_cpu ? 1000 : 250;
    if (seed) {
        run_program(contract, strtoull(seed, NULL, 10));
        return;
    }
    if (fewer && !is_cpu)
        num = strtoul(fewer, NULL, 10) / 4;
    for (unsigned long i = 0; i < num; i++) {
        run_program(contract, i);
        assert_int_equal(contract_tear_down(state), 0); // graphs and memory of this one
    }
    print_message("summary: %lu programs with loops and branches\n", num);
}

int run_random_loops(void)
{
    const struct CMUnitTest tests[] = { contract_test(programs_with_loops_run_as_written) };
    return contract_run("random_loops_run_as_written", tests);
}

// SPDX-License-Identifier: Apache-2.0
// Writing random programs, and running them the plain way.
#include "support/written.h"

#include "support/check.h"

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

void written_make(struct written *written, struct random *random)
{
    *written = (struct written){ .random = random };
    for (uint32_t i = 0; i < NUM_ALL; i++)
        write(written, (struct statement){ .kind = FILL, .to = i, .addend = 3 + i });
    write_loop(written, 0);
    write_items(written, 0, 0);
}

void written_build(const struct written *written, struct built *built)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < written->num; i++) {
        const struct statement *it = &written->statements[i];
        braid_node *node = &built->nodes[i];
        braid_loop how = it->how;
        if (it->has_condition)
            how.condition = built->words[it->to];
        if (it->kind != ELSE && it->kind != END)
            *node = built->add(built, it, depth);
        if (it->kind == LOOP)
            check_ok(braid_graph_begin_loop(built->graph, &how, node));
        else if (it->kind == IF)
            check_ok(braid_graph_begin_if(built->graph,
                                          &(braid_if){ .condition = built->words[it->to] }, node));
        else if (it->kind == ELSE)
            check_ok(braid_graph_else(built->graph));
        else if (it->kind == END)
            check_ok(braid_graph_end(built->graph));
        if (it->kind == LOOP || it->kind == IF)
            built->regions[it->region] = *node;
        depth += it->kind == LOOP || it->kind == IF;
        depth -= it->kind == END;
    }
}

void written_change_bounds(struct written *written, struct random *random,
                           const struct built *built, braid_exec *exec)
{
    for (uint32_t i = 0; i < written->num; i++) {
        struct statement *it = &written->statements[i];
        if (it->kind != LOOP || random_chance(random, 30))
            continue;
        it->how.times = random_below(random, 4);
        it->is_off = !it->how.times;
        check_ok(braid_exec_set(exec, built->nodes[i], BRAID_TARGET_TIMES, 0, &it->how.times));
    }
}

// ---- the plain way ----

// Behind the statement that ends a region, or that begins its second arm where there is one.
static uint32_t find_end(const struct written *written, uint32_t begin, bool or_else)
{
    uint32_t depth = 0, i = begin;
    do {
        enum statement_kind kind = written->statements[i++].kind;
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
    if (loop->is_off || (loop->how.tests_first && !*counter))
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
        memory->runs[i]++;
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

struct memory written_run(const struct written *written)
{
    struct memory memory = { { 0 }, { 0 }, { 0 } };
    interpret(written, 0, written->num, &memory);
    return memory;
}

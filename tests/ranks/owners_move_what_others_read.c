// SPDX-License-Identifier: Apache-2.0
// Four ranks add the same tasks on buffers that have owners: what others own arrives, once, and all
// is as if one had computed it alone.
#include <stdio.h>
#include <stdlib.h>

#include "ranks_testing.h"
#include "support/random.h"

enum { MOST_BUFFERS = 12, WORDS = 64, HALF = WORDS / 2, MOST_READS = 3, NUM_GRAPHS = 40 };

// A buffer is accessed whole, or a half of it.
enum part { WHOLE, LOW, HIGH, NUM_PARTS };

struct field {
    uint32_t owner;
    uint64_t *memory; // NULL: the plan's
    braid_resource parts[NUM_PARTS];
};

// The same on all ranks.
struct task {
    uint32_t to, from[MOST_READS], num_reads;
    enum part to_part, from_parts[MOST_READS];
    bool overwrites;
    uint64_t salt;
};

static void part_words(enum part part, uint32_t *out_first, uint32_t *out_num)
{
    *out_first = part == HIGH ? HALF : 0;
    *out_num = part == WHOLE ? WORDS : HALF;
}

// Depends on all that is read, on its order, and on the task.
static void mix_words(uint64_t *to, uint32_t num, const uint64_t *const *from, const uint32_t *nums,
                      uint32_t num_reads, uint64_t salt, bool overwrites)
{
    for (uint32_t i = 0; i < num; i++) {
        uint64_t value = overwrites ? salt + i : to[i] * 31 + salt;
        for (uint32_t k = 0; k < num_reads; k++)
            value = (value ^ from[k][i % nums[k]]) * 0x9e3779b97f4a7c15u;
        to[i] = value;
    }
}

struct call {
    uint32_t num, nums[MOST_READS], num_reads;
    bool overwrites;
    uint64_t salt;
};

static void mix(const braid_blocks *blocks, void *const *args)
{
    const uint64_t *from[MOST_READS];
    const struct call *call = args[1 + MOST_READS];
    (void)blocks;
    for (uint32_t i = 0; i < MOST_READS; i++)
        from[i] = *(const uint64_t *const *)args[1 + i];
    mix_words(*(uint64_t *const *)args[0], call->num, from, call->nums, call->num_reads, call->salt,
              call->overwrites);
}

static const braid_kernel mix_kernel = { .name = "mix", .cpu = mix };

static struct task draw_task(struct random *random, uint32_t num_buffers)
{
    struct task task = { .to = random_below(random, num_buffers),
                         .num_reads = random_below(random, 4) };
    task.to_part = (enum part)random_below(random, NUM_PARTS);
    task.overwrites = random_below(random, 3) == 0;
    task.salt = random_below(random, 1u << 30);
    for (uint32_t i = 0; i < task.num_reads; i++) {
        task.from[i] = (task.to + 1 + random_below(random, num_buffers - 1)) % num_buffers;
        task.from_parts[i] = (enum part)random_below(random, NUM_PARTS);
    }
    return task;
}

static size_t task_accesses(const struct task *task, const struct field *fields,
                            braid_access accesses[1 + MOST_READS])
{
    accesses[0] = (braid_access){ fields[task->to].parts[task->to_part],
                                  task->overwrites ? BRAID_WRITE : BRAID_READ_WRITE };
    for (uint32_t i = 0; i < task->num_reads; i++)
        accesses[1 + i] =
            (braid_access){ fields[task->from[i]].parts[task->from_parts[i]], BRAID_READ };
    return 1 + task->num_reads;
}

static braid_status add_task(braid_graph *graph, const struct task *task, struct field *fields,
                             braid_node *out_node)
{
    braid_access accesses[1 + MOST_READS];
    size_t num = task_accesses(task, fields, accesses);
    struct call call = { .num_reads = task->num_reads,
                         .overwrites = task->overwrites,
                         .salt = task->salt };
    uint32_t first;
    part_words(task->to_part, &first, &call.num);
    for (uint32_t i = 0; i < task->num_reads; i++)
        part_words(task->from_parts[i], &first, &call.nums[i]);
    braid_arg args[2 + MOST_READS];
    for (uint32_t i = 0; i < 1 + MOST_READS; i++)
        args[i] = braid_resource_address(&accesses[i < num ? i : 0].resource);
    args[1 + MOST_READS] = (braid_arg){ &call, sizeof(call) };
    return braid_graph_add_kernel(graph,
                                  &(braid_kernel_node){ .kernel = &mix_kernel,
                                                        .node.accesses = accesses,
                                                        .node.num_accesses = num,
                                                        .args = args,
                                                        .num_args = 2 + MOST_READS },
                                  out_node);
}

static uint64_t initial(uint32_t buffer, uint32_t word)
{
    return buffer * 1000003u + word;
}

// Owners have memory, and some of the others for what they receive; the rest leave it to the plan.
static void add_fields(struct job *job, struct field *fields, uint32_t num, struct random *random)
{
    char name[32];
    for (uint32_t i = 0; i < num; i++) {
        struct field *field = &fields[i];
        field->owner = random_below(random, NUM_RANKS);
        bool has_memory = random_chance(random, 50) || field->owner == rank;
        field->memory = has_memory ? malloc(WORDS * sizeof(uint64_t)) : NULL;
        for (uint32_t k = 0; k < WORDS && field->memory; k++)
            field->memory[k] = field->owner == rank ? initial(i, k) : 0;
        snprintf(name, sizeof(name), "buffer %u", i);
        check_ok(braid_graph_add_owned_buffer(job->graph, job->world, field->owner, name,
                                              field->memory, WORDS * sizeof(uint64_t),
                                              &field->parts[WHOLE]));
        for (int half = 0; half < 2; half++)
            check_ok(braid_graph_add_range(job->graph, field->parts[WHOLE],
                                           (uint64_t)half * HALF * sizeof(uint64_t),
                                           HALF * sizeof(uint64_t), &field->parts[LOW + half]));
    }
}

static void free_fields(struct field *fields, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        free(fields[i].memory);
}

static void run_alone(const struct task *tasks, uint32_t num_tasks,
                      uint64_t memory[MOST_BUFFERS][WORDS])
{
    for (uint32_t i = 0; i < num_tasks; i++) {
        const uint64_t *from[MOST_READS] = { 0 };
        uint32_t first, num, nums[MOST_READS] = { 0 };
        for (uint32_t k = 0; k < tasks[i].num_reads; k++) {
            part_words(tasks[i].from_parts[k], &first, &nums[k]);
            from[k] = memory[tasks[i].from[k]] + first;
        }
        part_words(tasks[i].to_part, &first, &num);
        mix_words(memory[tasks[i].to] + first, num, from, nums, tasks[i].num_reads, tasks[i].salt,
                  tasks[i].overwrites);
    }
}

// Every second rank leaves out the tasks in which it has no part.
static void add_tasks(struct job *job, const struct task *tasks, uint32_t num, struct field *fields)
{
    for (uint32_t i = 0; i < num; i++) {
        braid_access accesses[1 + MOST_READS];
        size_t num_accesses = task_accesses(&tasks[i], fields, accesses);
        bool takes_part = braid_graph_takes_part(job->graph, accesses, num_accesses);
        size_t num_nodes = braid_graph_get_num_nodes(job->graph);
        braid_node node = { 0 };
        if (takes_part || rank % 2)
            check_ok(add_task(job->graph, &tasks[i], fields, &node));
        bool is_here = fields[tasks[i].to].owner == rank;
        assert_true(takes_part || !is_here);
        if (node.graph)
            assert_int_equal(node.index == BRAID_ELSEWHERE, !is_here);
        if (!takes_part)
            assert_int_equal(braid_graph_get_num_nodes(job->graph), num_nodes);
    }
}

static void try_graph(struct job *job, uint64_t seed)
{
    static uint64_t expected[MOST_BUFFERS][WORDS];
    struct random random = { seed * 977 + 5 };
    struct field fields[MOST_BUFFERS] = { 0 };
    uint32_t num_buffers = 2 + random_below(&random, MOST_BUFFERS - 1),
             num_tasks = 1 + random_below(&random, 60);
    uint32_t num_frames = 1 + random_below(&random, 3);
    struct task *tasks = calloc(num_tasks, sizeof(*tasks));
    for (uint32_t i = 0; i < num_buffers; i++) {
        for (uint32_t k = 0; k < WORDS; k++)
            expected[i][k] = initial(i, k);
    }
    for (uint32_t i = 0; i < num_tasks; i++)
        tasks[i] = draw_task(&random, num_buffers);
    add_fields(job, fields, num_buffers, &random);
    add_tasks(job, tasks, num_tasks, fields);
    const braid_exec_options options = { .frames_in_flight = random_chance(&random, 50) ? 2 : 1 };
    check_ok(braid_exec_create(job->device, job->graph, &options, &job->exec));
    for (uint32_t i = 0; i < num_frames; i++) {
        check_ok(braid_exec_launch(job->exec, NULL));
        run_alone(tasks, num_tasks, expected);
    }
    check_ok(braid_exec_wait(job->exec));
    for (uint32_t i = 0; i < num_buffers; i++) {
        if (fields[i].owner == rank)
            assert_memory_equal(fields[i].memory, expected[i], sizeof(expected[i]));
    }
    braid_exec_destroy(job->exec);
    job->exec = NULL;
    free_fields(fields, num_buffers);
    free(tasks);
}

static void test_random_tasks_give_what_one_computes_alone(void **state)
{
    struct job *job = *state;
    for (uint64_t seed = 0; seed < NUM_GRAPHS; seed++) {
        braid_graph_destroy(job->graph);
        check_ok(braid_graph_create(&job->graph));
        check_ok(braid_graph_add_communicator(job->graph, world, &job->world));
        try_graph(job, seed);
    }
}

#define test_job(function) cmocka_unit_test_setup_teardown(function, begin_job, end_job)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_job(test_random_tasks_give_what_one_computes_alone),
        test_job(test_a_copy_is_sent_once_until_it_is_written),
        test_job(test_a_neighbour_is_sent_the_rows_it_reads),
        test_job(test_a_rank_has_nothing_of_what_it_has_no_part_in),
        test_job(test_a_task_left_out_is_told_before_anything_runs),
        test_job(test_what_is_received_is_what_was_sent),
        test_job(test_bundles_run_where_their_main_node_runs),
        test_job(test_a_task_that_breaks_the_rule_is_refused),
        test_job(test_an_owned_buffer_is_declared_right_or_not_at_all),
        test_job(test_a_task_is_added_with_its_transfers_or_not_at_all),
    };
    return run_on_ranks(tests);
}

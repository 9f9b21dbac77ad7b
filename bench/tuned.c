// SPDX-License-Identifier: Apache-2.0
// What costs are worth: graphs of real matrix kernels on the CPU, planned without costs, with
// measured ones, tuned, on one lane, and with a lane for everything that may run at once.
// usage: bench_tuned [WORKERS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "tuned.h"

enum { ROUNDS = 60, FRAMES_A_TURN = 3 };

struct row {
    const char *name;
    braid_exec *exec;
    double times[ROUNDS]; // microseconds a frame
    uint32_t num_lanes;
};

enum { NO_COSTS, MEASURED, TUNED, ONE_LANE, AS_DECLARED, NUM_ROWS };

void tuned_check(braid_status status)
{
    if (status == BRAID_OK)
        return;
    fprintf(stderr, "braid: %s\n", braid_error_message());
    exit(1);
}

void *tuned_allocate(size_t bytes)
{
    return replay_allocate(1, bytes);
}

void tuned_multiply(const struct tuned_product *p)
{
    for (int i = 0; i < p->m; i++) {
        double *row = p->c + (size_t)i * (size_t)p->n;
        const double *a = p->a + (size_t)i * (size_t)p->k;
        if (!p->is_sum)
            memset(row, 0, (size_t)p->n * sizeof(*row));
        for (int k = 0; k < p->k; k++) {
            double factor = p->scale * a[k];
            for (int j = 0; j < p->n; j++)
                row[j] += factor * (p->is_transposed ? p->b[j * p->k + k] : p->b[k * p->n + j]);
        }
    }
}

static void make_exec(struct row *row, const char *name, braid_device *device,
                      const braid_graph *graph, const braid_exec_options *options)
{
    braid_schedule_info info;
    row->name = name;
    tuned_check(braid_exec_create(device, graph, options, &row->exec));
    braid_schedule_get_info(braid_exec_schedule(row->exec), &info);
    row->num_lanes = info.num_lanes;
}

// The graph has no costs before, and measured ones afterwards.
static void make_rows(struct row *rows, braid_device *device, braid_graph *graph)
{
    braid_exec_options way;
    make_exec(&rows[NO_COSTS], "no costs given", device, graph, NULL);
    make_exec(&rows[AS_DECLARED], "as declared: a lane for all that may run at once", device, graph,
              &(braid_exec_options){ .plan.policy = BRAID_POLICY_MAX_CONCURRENCY });
    make_exec(&rows[ONE_LANE], "one lane", device, graph,
              &(braid_exec_options){ .plan = { .max_lanes = 1, .fixed_lanes = true } });
    tuned_check(braid_exec_tune(device, graph, NULL, &way));
    make_exec(&rows[MEASURED], "costs measured", device, graph, NULL);
    make_exec(&rows[TUNED], "tuned", device, graph, &way);
}

static void run_turn(struct row *row, int round)
{
    uint64_t start_ns = replay_now_ns();
    for (int i = 0; i < FRAMES_A_TURN; i++)
        tuned_check(braid_exec_launch(row->exec, NULL));
    tuned_check(braid_exec_wait(row->exec));
    row->times[round] = (double)(replay_now_ns() - start_ns) / 1e3 / FRAMES_A_TURN;
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return first < second ? -1 : first > second;
}

static void print_rows(const struct tuned_graph *made, struct row *rows)
{
    for (int i = 0; i < NUM_ROWS; i++)
        qsort(rows[i].times, ROUNDS, sizeof(double), compare);
    double tuned = rows[TUNED].times[ROUNDS / 2];
    for (int i = 0; i < NUM_ROWS; i++)
        printf("| %s | %s | %u | %.1f | %.1f | %.3f |\n", made->name, rows[i].name,
               rows[i].num_lanes, rows[i].times[ROUNDS / 2], rows[i].times[0],
               rows[i].times[ROUNDS / 2] / tuned);
    fflush(stdout);
}

static bool measure(struct tuned_graph made, uint32_t num_workers)
{
    braid_device *device;
    struct row rows[NUM_ROWS] = { 0 };
    tuned_check(braid_device_open(
        &(braid_device_options){ .backend = "cpu", .num_workers = num_workers }, &device));
    make_rows(rows, device, made.graph);
    bool is_right = true;
    for (int i = 0; i < NUM_ROWS; i++) {
        run_turn(&rows[i], 0);
        is_right = made.is_right(&made) && is_right;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < NUM_ROWS; i++)
            run_turn(&rows[(i + round) % NUM_ROWS], round);
    if (is_right)
        print_rows(&made, rows);
    else
        fprintf(stderr, "%s: the result is wrong\n", made.name);
    for (int i = 0; i < NUM_ROWS; i++)
        braid_exec_destroy(rows[i].exec);
    braid_graph_destroy(made.graph);
    braid_device_close(device);
    free(made.memory);
    return is_right;
}

int main(int argc, char **argv)
{
    uint32_t num_workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    printf("| graph | planned | lanes | frame, us (median) | fastest | of tuned |\n"
           "|---|---|---|---|---|---|\n");
    bool is_right = measure(tuned_cholesky(), num_workers);
    return measure(tuned_inception(), num_workers) && is_right ? 0 : 1;
}

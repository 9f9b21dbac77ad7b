// SPDX-License-Identifier: Apache-2.0
// What costs are worth: graphs of real kernels, planned without costs, with measured ones, tuned,
// on one lane, and as declared: with a lane for everything that may run at once. usage: bench_tuned
// [WORKERS]           on the CPU
//        bench_tuned DEVICE              on cuda or hip
//        bench_tuned DEVICE model        what the planner expects, and what is measured
//        bench_tuned DEVICE expected     the same of more graphs, as they come and on one lane
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
    fprintf(stderr, "braid: %s\n", braid_error_get_message());
    exit(1);
}

struct tuned_memory tuned_allocate(braid_device *device, size_t bytes)
{
    braid_device_info info;
    void *memory = NULL;
    braid_device_get_info(device, &info);
    tuned_check(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory));
    return (struct tuned_memory){ .device = device,
                                  .is_gpu = strcmp(info.backend, "cpu") != 0,
                                  .at = memory,
                                  .mirror = replay_allocate(1, bytes),
                                  .bytes = bytes };
}

double *tuned_mirror(const struct tuned_memory *memory, const double *at)
{
    return memory->mirror + (at - memory->at);
}

void tuned_upload(const struct tuned_memory *memory)
{
    tuned_check(braid_stream_copy(braid_device_get_default_stream(memory->device), memory->at,
                                  memory->mirror, memory->bytes));
    tuned_check(braid_stream_wait(braid_device_get_default_stream(memory->device)));
}

void tuned_download(const struct tuned_memory *memory)
{
    tuned_check(braid_stream_copy(braid_device_get_default_stream(memory->device), memory->mirror,
                                  memory->at, memory->bytes));
    tuned_check(braid_stream_wait(braid_device_get_default_stream(memory->device)));
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
    braid_schedule_get_info(braid_exec_get_schedule(row->exec), &info);
    row->num_lanes = info.num_lanes;
}

static void print_trial(const braid_tune_trial *trial, void *user)
{
    const char *name = user;
    fprintf(stderr, "%s: %s%s: planned %.1f, median %.1f, least %.1f us, %u frames%s\n", name,
            trial->is_best ? "* " : "", trial->name, (double)trial->planned_ns / 1e3,
            (double)trial->frame.median_ns / 1e3, (double)trial->frame.least_ns / 1e3,
            trial->frames_timed, trial->was_dropped ? ", dropped" : "");
}

// The graph has no costs before, and measured ones afterwards. On a GPU one lane is one stream, and
// what is declared a driver graph of the driver's with nothing of Braid's in it.
static void make_rows(struct row *rows, const struct tuned_graph *made, braid_device *device)
{
    braid_graph *graph = made->graph;
    bool is_gpu = made->memory.is_gpu;
    const braid_tune_options tuning = { .report = print_trial,
                                        .user = (void *)(uintptr_t)made->name };
    const braid_exec_options declared = { .mode = is_gpu ? BRAID_MODE_GRAPH : BRAID_MODE_AUTO,
                                          .max_lanes = BRAID_ALL_LANES,
                                          .fixed_lanes = true,
                                          .no_rewriting = true };
    const braid_exec_options one = { .mode = is_gpu ? BRAID_MODE_STREAMS : BRAID_MODE_AUTO,
                                     .max_lanes = 1,
                                     .fixed_lanes = true };
    braid_exec_options way;
    make_exec(&rows[NO_COSTS], "no costs given", device, graph, NULL);
    make_exec(&rows[AS_DECLARED], is_gpu ? "driver graph as declared" : "as declared", device,
              graph, &declared);
    make_exec(&rows[ONE_LANE], is_gpu ? "one stream" : "one lane", device, graph, &one);
    tuned_check(braid_graph_tune(graph, device, &tuning, &way));
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

static void finish(struct tuned_graph *made)
{
    if (made->finish)
        made->finish(made);
    else
        braid_graph_destroy(made->graph);
    braid_memory_free(made->memory.device, made->memory.at);
    free(made->memory.mirror);
}

static bool print_model(struct tuned_graph made)
{
    tuned_print_model(&made);
    finish(&made);
    return true;
}

static bool print_expected(struct tuned_graph made)
{
    tuned_print_expected(&made);
    finish(&made);
    return true;
}

static bool measure(struct tuned_graph made)
{
    struct row rows[NUM_ROWS] = { 0 };
    make_rows(rows, &made, made.memory.device);
    bool is_right = true;
    for (int i = 0; i < NUM_ROWS; i++) {
        run_turn(&rows[i], 0);
        is_right = (!made.is_right || made.is_right(&made)) && is_right;
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
    finish(&made);
    return is_right;
}

int main(int argc, char **argv)
{
    uint32_t num_workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    const char *backend = argc > 1 && !num_workers ? argv[1] : "cpu";
    braid_device *device;
    tuned_check(braid_device_open(
        &(braid_device_options){ .backend = backend, .num_workers = num_workers }, &device));
    const char *word = argc > 2 ? argv[2] : "";
    bool (*show)(struct tuned_graph made) = strcmp(word, "model") == 0      ? print_model
                                            : strcmp(word, "expected") == 0 ? print_expected
                                                                            : measure;
    if (show == print_expected)
        printf("| graph | planned | lanes | expected, us | measured, us | expected / measured |\n"
               "|---|---|---:|---:|---:|---:|\n");
    if (show == measure)
        printf("<!-- default: no costs given | costs measured | tuned; by: graph; figures: frame, "
               "us (median) -->\n"
               "| graph | planned | lanes | frame, us (median) | fastest | of tuned |\n"
               "|---|---|---|---|---|---|\n");
    bool is_right = show(tuned_cholesky(device));
    is_right = show(tuned_inception(device)) && is_right;
    is_right = show(tuned_mpm(device)) && is_right;
    if (show == print_expected)
        is_right = show(tuned_gradients(device)) && show(tuned_decode(device)) &&
                   show(tuned_pipeline(device, 1)) && show(tuned_pipeline(device, 3));
    tuned_check(braid_device_close(device));
    return is_right ? 0 : 1;
}

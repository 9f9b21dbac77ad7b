// SPDX-License-Identifier: Apache-2.0
// Task Bench's METG(50 %): the finest grain at which a task system does half of what the cores can.
// usage: bench_task_bench [check|metg]... [--player NAME]... [--pattern NAME]... [--width N]...
// Whatever is not named is all measured.
#include <math.h>
#include <stdio.h>

#include "replay_choice.h"
#include "replay_measure.h"
#include "task_bench.h"

// The grain of a run is its time times its cores over its number of tasks, so it is the task and
// all that is spent round it; the efficiency is the task's part of that.

static const struct replay_player *const all_players[] = {
    &replay_braid,  &replay_braid_streams,
#ifdef REPLAY_OPENMP
    &replay_openmp,
#endif
#ifdef REPLAY_TBB
    &replay_tbb,
#endif
#ifdef REPLAY_STARPU
    &replay_starpu,
#endif
};

enum {
    MAX_PLAYERS = sizeof(all_players) / sizeof(all_players[0]),
    NUM_STEPS = 1000,
    NUM_WORKERS = 2,
    NUM_ROUNDS = 3,
    BUDGET_NS = 40000000, // for frames of one body
    FIRST_NS = 640,       // a body's
    LEAST_NS = 10,
    MOST_NS = 1000000,
};

static const char *const parts[] = { "check", "metg" };
static const uint32_t widths[] = { 2, 8, 32 };

static struct replay_choice choice;
static const struct replay_player *players[MAX_PLAYERS]; // that were chosen
static uint32_t num_players;

struct point {
    double grain_ns, efficiency;
};

// The body as it is without any system round it, by the fastest of many runs, as all times here.
static double time_body(const struct replay_body *body)
{
    enum { NUM_RUNS = 200, NUM_BODIES = 50 };
    double least = 0;
    for (int i = 0; i < NUM_RUNS; i++) {
        uint64_t start = replay_now_ns();
        for (int k = 0; k < NUM_BODIES; k++)
            replay_run_body(body, 0);
        double ns = (double)(replay_now_ns() - start) / NUM_BODIES;
        least = i == 0 || ns < least ? ns : least;
    }
    return least;
}

// False: the player cannot play.
static bool measure_point(const struct replay_player *player, const struct replay_shape *shape,
                          double body_ns, struct point *out_point)
{
    struct replay_body body = replay_body_create((uint64_t)body_ns);
    body.is_apart = true;
    body_ns = time_body(&body);
    body.cost_ns = (uint64_t)body_ns;
    struct replay_case played = { shape, &body, NUM_WORKERS, 0, BUDGET_NS };
    double frame_ns = replay_measure(player, &played).fastest;
    if (frame_ns < 0)
        return false;
    double grain_ns = frame_ns * NUM_WORKERS / shape->num_nodes;
    *out_point = (struct point){ grain_ns, body_ns / grain_ns };
    return true;
}

// Where the efficiency is one half, between a point below that and one above.
static double interpolate(const struct point *below, const struct point *above)
{
    double part = (0.5 - below->efficiency) / (above->efficiency - below->efficiency);
    return below->grain_ns * pow(above->grain_ns / below->grain_ns, part);
}

// Halves or doubles the body until the efficiency passes one half. -1: it cannot be found.
static double measure_metg(const struct replay_player *player, const struct replay_shape *shape)
{
    struct point last, now;
    double body_ns = FIRST_NS;
    if (!measure_point(player, shape, body_ns, &last))
        return -1;
    bool down = last.efficiency >= 0.5;
    for (;;) {
        body_ns = down ? body_ns / 2 : body_ns * 2;
        if (body_ns < LEAST_NS)
            return last.grain_ns;
        if (body_ns > MOST_NS || !measure_point(player, shape, body_ns, &now))
            return -1;
        if (down != (now.efficiency >= 0.5))
            return down ? interpolate(&now, &last) : interpolate(&last, &now);
        last = now;
    }
}

// The least of some rounds in which the players take turns: the machine is shared, and the fastest
// frame of a bad moment may be a bad one.
static void measure_players(const struct replay_shape *shape, double *out_metg_ns)
{
    for (uint32_t i = 0; i < num_players; i++)
        out_metg_ns[i] = -1;
    for (int round = 0; round < NUM_ROUNDS; round++)
        for (uint32_t i = 0; i < num_players; i++) {
            double metg_ns = measure_metg(players[i], shape);
            if (metg_ns >= 0 && (out_metg_ns[i] < 0 || metg_ns < out_metg_ns[i]))
                out_metg_ns[i] = metg_ns;
        }
}

static void print_row(uint32_t pattern, uint32_t width, double *log_sums, uint32_t *num_seen)
{
    const char *name = task_bench_pattern_names[pattern];
    if (!replay_choice_has(&choice, "--pattern", name) ||
        !replay_choice_has_number(&choice, "--width", width))
        return;
    struct replay_shape shape = task_bench_shape_create(pattern, width, NUM_STEPS);
    double metg_ns[MAX_PLAYERS];
    measure_players(&shape, metg_ns);
    printf("| %s | %u |", name, width);
    for (uint32_t i = 0; i < num_players; i++) {
        if (metg_ns[i] < 0) {
            printf(" - |");
            continue;
        }
        printf(" %.3f |", metg_ns[i] / 1000);
        log_sums[i] += log(metg_ns[i] / 1000);
        num_seen[i]++;
    }
    printf("\n");
    fflush(stdout);
    replay_shape_destroy(&shape);
}

static void print_metg(void)
{
    double log_sums[MAX_PLAYERS] = { 0 };
    uint32_t num_seen[MAX_PLAYERS] = { 0 };
    printf("\nMETG(50 %%) in us, %d steps, %d workers:\n\n| pattern | width |", NUM_STEPS,
           NUM_WORKERS);
    for (uint32_t i = 0; i < num_players; i++)
        printf(" %s |", players[i]->name);
    printf("\n|---|---|");
    for (uint32_t i = 0; i < num_players; i++)
        printf("---|");
    printf("\n");
    for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
        for (uint32_t pattern = 0; pattern < task_bench_num_patterns; pattern++)
            print_row(pattern, widths[w], log_sums, num_seen);
    printf("| geometric mean | |");
    for (uint32_t i = 0; i < num_players; i++)
        printf(" %.3f |", num_seen[i] ? exp(log_sums[i] / num_seen[i]) : 0);
    printf("\n");
}

static uint32_t check_orders(void)
{
    enum { FEW_STEPS = 40 };
    uint32_t num_wrong = 0;
    for (uint32_t pattern = 0; pattern < task_bench_num_patterns; pattern++)
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
            struct replay_shape shape = task_bench_shape_create(pattern, widths[w], FEW_STEPS);
            num_wrong += replay_count_wrong_orders(players, num_players, &shape,
                                                   task_bench_pattern_names[pattern], NUM_WORKERS);
            replay_shape_destroy(&shape);
        }
    if (!num_wrong)
        printf("Every player keeps the order of every pattern.\n");
    return num_wrong;
}

int main(int argc, char **argv)
{
    choice = (struct replay_choice){ argc, argv };
    if (!replay_choice_is_right(&choice, parts, sizeof(parts) / sizeof(parts[0])))
        return 2;
    for (size_t i = 0; i < MAX_PLAYERS; i++)
        if (replay_choice_has(&choice, "--player", all_players[i]->name))
            players[num_players++] = all_players[i];
    if (replay_choice_has_part(&choice, "check") && check_orders())
        return 1;
    if (replay_choice_has_part(&choice, "metg"))
        print_metg();
    return 0;
}

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
    NUM_TRIES = 9, // to come near an efficiency of one half
    LEAST_NS = 2,
};

static const char *const parts[] = { "check", "metg" };
static const uint32_t widths[] = { 2, 8, 32 };

static struct replay_choice choice;
static const struct replay_player *players[MAX_PLAYERS]; // that were chosen
static uint32_t num_players;

// The next task is as long as what is spent round this one: if that stays, they are one half each.
// Where it does not, the way there is halved. By the fastest of the frames, as all times here.
static double measure_metg(const struct replay_player *player, const struct replay_shape *shape)
{
    double body_ns = 1000, least_ns = -1, step = 1;
    for (int i = 0; i < NUM_TRIES; i++) {
        struct replay_body body = replay_body_create((uint64_t)body_ns);
        struct replay_case played = { shape, &body, NUM_WORKERS, 0 };
        struct replay_times times = replay_measure(player, &played);
        if (times.fastest < 0)
            return -1;
        double grain_ns = times.fastest * NUM_WORKERS / shape->num_nodes;
        double efficiency = body_ns / grain_ns;
        if (efficiency >= 0.5 && (least_ns < 0 || grain_ns < least_ns))
            least_ns = grain_ns;
        if (efficiency >= 0.5 && efficiency < 0.52)
            break;
        double next_ns = fmax(grain_ns - body_ns, LEAST_NS) * 1.01;
        body_ns = fmax(round(body_ns * pow(next_ns / body_ns, step)), LEAST_NS);
        step = i < 2 ? 1 : step * 0.8;
    }
    return least_ns;
}

static void print_row(uint32_t pattern, uint32_t width, double *log_sums, uint32_t *num_seen)
{
    const char *name = task_bench_pattern_names[pattern];
    if (!replay_choice_has(&choice, "--pattern", name) ||
        !replay_choice_has_number(&choice, "--width", width))
        return;
    struct replay_shape shape = task_bench_shape_create(pattern, width, NUM_STEPS);
    printf("| %s | %u |", name, width);
    for (uint32_t i = 0; i < num_players; i++) {
        double metg_ns = measure_metg(players[i], &shape);
        if (metg_ns < 0) {
            printf(" - |");
            continue;
        }
        printf(" %.3f |", metg_ns / 1000);
        fflush(stdout);
        log_sums[i] += log(metg_ns / 1000);
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

static bool keeps_order(const struct replay_player *player, uint32_t pattern, uint32_t width)
{
    enum { FEW_STEPS = 40, NUM_FRAMES = 5 };
    struct replay_shape shape = task_bench_shape_create(pattern, width, FEW_STEPS);
    struct replay_stamps *stamps = replay_stamps_create(&shape);
    struct replay_body body = { .cost_ns = 1000, .stamps = stamps };
    void *state = player->create(&shape, &body, NUM_WORKERS);
    for (int i = 0; state && i < NUM_FRAMES; i++)
        player->play(state);
    bool right = !state || replay_stamps_are_right(stamps, NUM_FRAMES);
    if (state)
        player->destroy(state);
    replay_stamps_destroy(stamps);
    replay_shape_destroy(&shape);
    return right;
}

static int check_orders(void)
{
    int num_wrong = 0;
    for (uint32_t i = 0; i < num_players; i++)
        for (uint32_t pattern = 0; pattern < task_bench_num_patterns; pattern++)
            for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
                if (keeps_order(players[i], pattern, widths[w]))
                    continue;
                printf("%s breaks the order of %s, width %u\n", players[i]->name,
                       task_bench_pattern_names[pattern], widths[w]);
                num_wrong++;
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

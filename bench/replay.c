// SPDX-License-Identifier: Apache-2.0
// Replaying a DAG on the CPU: Braid beside a hand-made floor and other libraries.
// usage: bench_replay [check|frames|short|large|gaps|idle|held]...
//            [--player NAME]... [--shape NAME]... [--body US]... [--workers N]...
// Whatever is not named is all measured.
#include <stdio.h>
#include <string.h>

#include "replay_choice.h"
#include "replay_measure.h"

static const struct replay_player *const all_players[] = {
    &replay_braid,  &replay_braid_timed, &replay_floor,
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
    NUM_ROUNDS = 7, // the players take turns, so that a busy minute of the machine hits all of them
};

static const char *const parts[] = { "check", "frames", "short", "large", "gaps", "idle", "held" };
static const uint64_t bodies_ns[] = { 0, 1000, 10000 };
static const uint32_t workers[] = { 1, 2 };

static struct replay_choice choice;
static const struct replay_player *players[MAX_PLAYERS]; // that were chosen
static uint32_t num_players;

static void print_heading(const char *title, const char *columns, uint32_t num_columns)
{
    printf("\n%s\n\n| %s |", title, columns);
    for (uint32_t i = 0; i < num_players; i++)
        printf(" %s |", players[i]->name);
    printf("\n|");
    for (uint32_t i = 0; i < num_columns + num_players; i++)
        printf("---|");
    printf("\n");
}

static void print_result(double value, const char *format)
{
    if (value < 0)
        printf(" - |");
    else
        printf(format, value);
    fflush(stdout);
}

// Over all rounds: the median of the medians, and the fastest frame.
static void measure_players(const struct replay_case *played, struct replay_times *out_times)
{
    double medians[MAX_PLAYERS][NUM_ROUNDS];
    for (size_t round = 0; round < NUM_ROUNDS; round++)
        for (uint32_t i = 0; i < num_players; i++) {
            struct replay_times times = replay_measure(players[i], played);
            medians[i][round] = times.median;
            if (round == 0 || times.fastest < out_times[i].fastest)
                out_times[i].fastest = times.fastest;
        }
    for (uint32_t i = 0; i < num_players; i++)
        out_times[i].median = replay_median(medians[i], NUM_ROUNDS);
}

// Nanoseconds a node, or microseconds a frame if there are gaps: the median, then the fastest.
static void print_case(uint32_t kind, uint32_t num_nodes, uint64_t body_ns, uint32_t num_workers,
                       uint64_t gap_ns)
{
    if (!replay_choice_has(&choice, "--shape", replay_shape_names[kind]) ||
        !replay_choice_has_number(&choice, "--body", (double)body_ns / 1000) ||
        !replay_choice_has_number(&choice, "--workers", num_workers))
        return;
    struct replay_shape shape = replay_shape_create(kind, num_nodes);
    struct replay_body body = replay_body_create(body_ns);
    struct replay_case played = { &shape, &body, num_workers, gap_ns };
    struct replay_times times[MAX_PLAYERS];
    double unit = gap_ns ? 1000 : shape.num_nodes;
    printf("| %s | %u | %g | %u |", replay_shape_names[kind], shape.num_nodes,
           (double)body_ns / 1000, num_workers);
    fflush(stdout);
    measure_players(&played, times);
    for (uint32_t i = 0; i < num_players; i++)
        if (times[i].median < 0)
            printf(" - |");
        else
            printf(" %.1f, %.1f |", times[i].median / unit, times[i].fastest / unit);
    printf("\n");
    fflush(stdout);
    replay_shape_destroy(&shape);
}

static void print_frames(uint32_t num_nodes)
{
    print_heading("Nanoseconds a node, frame after frame (median, fastest frame):",
                  "shape | nodes | body, us | workers", 4);
    for (size_t b = 0; b < sizeof(bodies_ns) / sizeof(bodies_ns[0]); b++)
        for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
            for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++)
                print_case(kind, num_nodes, bodies_ns[b], workers[w], 0);
}

static void print_gaps(void)
{
    const uint64_t gap_ns = 16000000;
    print_heading("Microseconds of a frame that follows a gap of 16 ms (median, fastest):",
                  "shape | nodes | body, us | workers", 4);
    for (size_t b = 0; b < 2; b++)
        for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
            print_case(kind, 1000, bodies_ns[b], 2, gap_ns);
}

static void print_idle(void)
{
    print_heading("Percent of a core used, 1,000 empty nodes (random), 2 workers:", "when", 1);
    struct replay_idle idle[MAX_PLAYERS];
    for (uint32_t i = 0; i < num_players; i++)
        idle[i] = replay_measure_idle(players[i]);
    printf("| a frame every 16 ms |");
    for (uint32_t i = 0; i < num_players; i++)
        print_result(idle[i].gaps_percent, " %.2f |");
    printf("\n| from 1 s to 2 s after the last frame |");
    for (uint32_t i = 0; i < num_players; i++)
        print_result(idle[i].later_percent, " %.2f |");
    printf("\n");
}

static void print_held(void)
{
    print_heading("Nanoseconds a node while another program holds core 0 (median, fastest frame):",
                  "shape | nodes | body, us | workers", 4);
    struct replay_hog hog = replay_hog_start();
    for (size_t b = 0; b < sizeof(bodies_ns) / sizeof(bodies_ns[0]); b++)
        for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
            print_case(kind, 1000, bodies_ns[b], 2, 0);
    replay_hog_stop(hog);
}

static uint32_t print_checks(void)
{
    uint32_t num_wrong = 0;
    for (uint32_t kind = 0; kind < replay_num_shapes; kind++) {
        struct replay_shape shape = replay_shape_create(kind, 1000);
        for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++)
            num_wrong += replay_count_wrong_orders(players, num_players, &shape,
                                                   replay_shape_names[kind], workers[w]);
        replay_shape_destroy(&shape);
    }
    if (!num_wrong)
        printf("Every player keeps the order of every shape.\n");
    return num_wrong;
}

static bool is_wanted(const char *part)
{
    return replay_choice_has_part(&choice, part);
}

static void choose_players(void)
{
    for (size_t i = 0; i < MAX_PLAYERS; i++)
        if (replay_choice_has(&choice, "--player", all_players[i]->name))
            players[num_players++] = all_players[i];
}

int main(int argc, char **argv)
{
    choice = (struct replay_choice){ argc, argv };
    if (!replay_choice_is_right(&choice, parts, sizeof(parts) / sizeof(parts[0])))
        return 2;
    choose_players();
    if (is_wanted("check") && print_checks())
        return 1;
    if (is_wanted("frames"))
        print_frames(1000);
    if (is_wanted("short"))
        print_frames(100);
    if (is_wanted("large"))
        print_frames(100000);
    if (is_wanted("gaps"))
        print_gaps();
    if (is_wanted("idle"))
        print_idle();
    if (is_wanted("held"))
        print_held();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Replaying a DAG on the CPU: Braid beside a hand-made floor and other libraries.
// usage: bench_replay [frames|gaps|held|check]...    (all parts when none is named)
#include <stdio.h>
#include <string.h>

#include "replay_measure.h"

static const struct replay_player *const players[] = {
    &replay_braid,  &replay_floor,
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
    NUM_PLAYERS = sizeof(players) / sizeof(players[0]),
    NUM_ROUNDS = 3, // the players take turns, so that a busy minute of the machine hits all of them
};

static const uint32_t sizes[] = { 1000, 100000 };
static const uint64_t bodies_ns[] = { 0, 1000, 10000 };
static const uint32_t workers[] = { 1, 2 };

static void print_heading(const char *title, const char *columns, uint32_t num_columns)
{
    printf("\n%s\n\n| %s |", title, columns);
    for (int i = 0; i < NUM_PLAYERS; i++)
        printf(" %s |", players[i]->name);
    printf("\n|");
    for (uint32_t i = 0; i < num_columns + NUM_PLAYERS; i++)
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

// Medians over rounds, in ns; -1 for a player that cannot play.
static void measure_players(const struct replay_case *played, double *out_ns)
{
    double rounds[NUM_PLAYERS][NUM_ROUNDS];
    for (int round = 0; round < NUM_ROUNDS; round++)
        for (int i = 0; i < NUM_PLAYERS; i++)
            rounds[i][round] = replay_measure(players[i], played);
    for (int i = 0; i < NUM_PLAYERS; i++)
        out_ns[i] = replay_median(rounds[i], NUM_ROUNDS);
}

static void print_case(uint32_t kind, uint32_t num_nodes, uint64_t body_ns, uint32_t num_workers,
                       uint64_t gap_ns)
{
    struct replay_shape shape = replay_shape_create(kind, num_nodes);
    struct replay_body body = replay_body_create(body_ns);
    struct replay_case played = { &shape, &body, num_workers, gap_ns };
    double ns[NUM_PLAYERS];
    printf("| %s | %u | %g | %u |", replay_shape_names[kind], shape.num_nodes,
           (double)body_ns / 1000, num_workers);
    fflush(stdout);
    measure_players(&played, ns);
    for (int i = 0; i < NUM_PLAYERS; i++)
        print_result(gap_ns || ns[i] < 0 ? ns[i] / 1000 : ns[i] / shape.num_nodes, " %.1f |");
    printf("\n");
    replay_shape_destroy(&shape);
}

static void print_frames(void)
{
    print_heading("Nanoseconds a node, frame after frame:", "shape | nodes | body, us | workers",
                  4);
    for (size_t b = 0; b < sizeof(bodies_ns) / sizeof(bodies_ns[0]); b++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
                for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++)
                    print_case(kind, sizes[s], bodies_ns[b], workers[w], 0);
}

static void print_gaps(void)
{
    const uint64_t gap_ns = 16000000;
    print_heading("Microseconds of a frame that follows a gap of 16 ms:",
                  "shape | nodes | body, us | workers", 4);
    for (size_t b = 0; b < 2; b++)
        for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
            print_case(kind, 1000, bodies_ns[b], 2, gap_ns);
    print_heading("Percent of a core used, 1,000 empty nodes (random), 2 workers:", "when", 1);
    struct replay_idle idle[NUM_PLAYERS];
    for (int i = 0; i < NUM_PLAYERS; i++)
        idle[i] = replay_measure_idle(players[i]);
    printf("| a frame every 16 ms |");
    for (int i = 0; i < NUM_PLAYERS; i++)
        print_result(idle[i].gaps_percent, " %.2f |");
    printf("\n| from 1 s to 2 s after the last frame |");
    for (int i = 0; i < NUM_PLAYERS; i++)
        print_result(idle[i].later_percent, " %.2f |");
    printf("\n");
}

static void print_held(void)
{
    print_heading("Nanoseconds a node while another program holds core 0:",
                  "shape | nodes | body, us | workers", 4);
    struct replay_hog hog = replay_hog_start();
    for (size_t b = 0; b < sizeof(bodies_ns) / sizeof(bodies_ns[0]); b++)
        for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
            print_case(kind, 1000, bodies_ns[b], 2, 0);
    replay_hog_stop(hog);
}

static int print_checks(void)
{
    int num_wrong = 0;
    for (int i = 0; i < NUM_PLAYERS; i++)
        for (uint32_t kind = 0; kind < replay_num_shapes; kind++)
            for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
                if (replay_order_is_right(players[i], kind, workers[w]))
                    continue;
                printf("%s breaks the order of %s on %u workers\n", players[i]->name,
                       replay_shape_names[kind], workers[w]);
                num_wrong++;
            }
    if (!num_wrong)
        printf("Every player keeps the order of every shape.\n");
    return num_wrong;
}

static bool is_wanted(const char *part, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], part) == 0)
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    if (is_wanted("check", argc, argv) && print_checks())
        return 1;
    if (is_wanted("frames", argc, argv))
        print_frames();
    if (is_wanted("gaps", argc, argv))
        print_gaps();
    if (is_wanted("held", argc, argv))
        print_held();
    return 0;
}

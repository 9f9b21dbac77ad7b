// SPDX-License-Identifier: Apache-2.0
// How the replay bench measures a player.
#include "replay_measure.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_FRAMES = 400,
    MIN_FRAMES = 3,
    BUDGET_NS = 150000000, // for one measurement, unless MIN_FRAMES take longer
    MOST_NS = 1000000000,  // a player that slow gets one frame
    GAP_FRAMES = 25,
    WARM_UP_FRAMES = 2,
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double replay_median(double *values, size_t num)
{
    qsort(values, num, sizeof(*values), compare);
    return num % 2 ? values[num / 2] : (values[num / 2 - 1] + values[num / 2]) / 2;
}

static double play_frame(const struct replay_player *player, void *state, uint64_t gap_ns)
{
    if (gap_ns)
        replay_sleep_ns(gap_ns);
    uint64_t start = replay_now_ns();
    player->play(state);
    return (double)(replay_now_ns() - start);
}

struct replay_times replay_measure(const struct replay_player *player,
                                   const struct replay_case *played)
{
    static double frames[MAX_FRAMES];
    void *state = player->create(played->shape, played->body, played->num_workers);
    if (!state)
        return (struct replay_times){ -1, -1 };
    double first_ns = play_frame(player, state, 0);
    for (int i = 1; i < WARM_UP_FRAMES && first_ns < MOST_NS / 10; i++)
        player->play(state);
    size_t num = 0, most = played->gap_ns ? GAP_FRAMES : MAX_FRAMES;
    double total = 0, budget = (double)(played->budget_ns ? played->budget_ns : BUDGET_NS);
    while (num < most && (num < MIN_FRAMES || total < budget) && total < MOST_NS) {
        frames[num] = play_frame(player, state, played->gap_ns);
        total += frames[num++];
    }
    player->destroy(state);
    double median = replay_median(frames, num);
    return (struct replay_times){ median, frames[0] };
}

static double percent_of_core(uint64_t cpu_start, uint64_t wall_start)
{
    uint64_t cpu = replay_process_cpu_ns() - cpu_start;
    return 100.0 * (double)cpu / (double)(replay_now_ns() - wall_start);
}

struct replay_idle replay_measure_idle(const struct replay_player *player)
{
    struct replay_shape shape = replay_shape_create(2, 1000);
    struct replay_body body = replay_body_create(0);
    struct replay_idle idle = { -1, -1 };
    void *state = player->create(&shape, &body, 2);
    if (state) {
        play_frame(player, state, 0);
        uint64_t cpu = replay_process_cpu_ns(), wall = replay_now_ns();
        for (int i = 0; i < 120; i++)
            play_frame(player, state, 16000000);
        idle.gaps_percent = percent_of_core(cpu, wall);
        replay_sleep_ns(1000000000);
        cpu = replay_process_cpu_ns();
        wall = replay_now_ns();
        replay_sleep_ns(1000000000);
        idle.later_percent = percent_of_core(cpu, wall);
        player->destroy(state);
    }
    replay_shape_destroy(&shape);
    return idle;
}

static bool keeps_order(const struct replay_player *player, const struct replay_shape *shape,
                        uint32_t num_workers)
{
    enum { NUM_FRAMES = 5, BODY_NS = 300 };
    struct replay_body body = replay_body_create(BODY_NS);
    body.stamps = replay_stamps_create(shape);
    bool right = true;
    void *state = player->create(shape, &body, num_workers);
    if (state) {
        for (int i = 0; i < NUM_FRAMES; i++)
            player->play(state);
        player->destroy(state);
        right = replay_stamps_are_right(body.stamps, NUM_FRAMES);
    }
    replay_stamps_destroy(body.stamps);
    return right;
}

uint32_t replay_count_wrong_orders(const struct replay_player *const *players, uint32_t num_players,
                                   const struct replay_shape *shape, const char *shape_name,
                                   uint32_t num_workers)
{
    uint32_t num_wrong = 0;
    for (uint32_t i = 0; i < num_players; i++) {
        if (keeps_order(players[i], shape, num_workers))
            continue;
        printf("%s breaks the order of %s, %u nodes, on %u workers\n", players[i]->name, shape_name,
               shape->num_nodes, num_workers);
        num_wrong++;
    }
    return num_wrong;
}

static void hold_core(void)
{
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(0, &core);
    if (sched_setaffinity(0, sizeof(core), &core))
        _exit(1);
    for (volatile unsigned i = 0;; i++)
        continue;
}

struct replay_hog replay_hog_start(void)
{
    fflush(stdout);
    pid_t process = fork();
    if (process < 0)
        abort();
    if (process == 0)
        hold_core();
    return (struct replay_hog){ process };
}

void replay_hog_stop(struct replay_hog hog)
{
    kill(hog.process, SIGKILL);
    waitpid(hog.process, NULL, 0);
}

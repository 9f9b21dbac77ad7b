// SPDX-License-Identifier: Apache-2.0
// A few threads that do one thing together and sleep in between.
#include "exec/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

struct member {
    struct team *team;
    uint32_t index;
    pthread_t thread;
    braid_status status; // of the latest run; read by the caller when num_running is 0
    char message[512];
};

struct team {
    struct member *members; // [0] is the caller's place, without a thread
    uint32_t num_started;   // threads that run, the caller counted in
    pthread_mutex_t lock;
    pthread_cond_t start, end;
    team_function *function; // lock, as all below
    void *user;
    uint64_t run;         // counts runs: a member that sees a new number has work
    uint32_t num_running; // members but the caller
    bool stop;
};

static void work(struct member *member, team_function *function, void *user)
{
    member->status = function(user, member->index);
    if (member->status)
        snprintf(member->message, sizeof(member->message), "%s", braid_error_message());
}

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct team *team = member->team;
    uint64_t seen = 0;
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (!team->stop && team->run == seen)
            pthread_cond_wait(&team->start, &team->lock);
        if (team->stop)
            break;
        seen = team->run;
        team_function *function = team->function;
        void *user = team->user;
        pthread_mutex_unlock(&team->lock);
        work(member, function, user);
        pthread_mutex_lock(&team->lock);
        if (--team->num_running == 0)
            pthread_cond_signal(&team->end);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

void braid_team_destroy(struct team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 1; i < team->num_started; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->start);
    pthread_cond_destroy(&team->end);
    pthread_mutex_destroy(&team->lock);
    free(team->members);
    free(team);
}

// Signals are for the program's own threads: members block them all.
static braid_status start_members(struct team *team, uint32_t num_members)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    for (uint32_t i = 1; i < num_members && !error; i++) {
        team->members[i] = (struct member){ .team = team, .index = i };
        error = pthread_create(&team->members[i].thread, NULL, member_main, &team->members[i]);
        team->num_started += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return braid_error(BRAID_UNAVAILABLE, "cannot start thread %u of %u for submitting (%d)",
                           team->num_started, num_members, error);
    return BRAID_OK;
}

braid_status braid_team_create(uint32_t num_members, struct team **out_team)
{
    struct team *team = calloc(1, sizeof(*team));
    if (!team)
        return braid_error_no_memory("a team of threads");
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->start, NULL);
    pthread_cond_init(&team->end, NULL);
    team->num_started = 1;
    team->members = braid_allocate_zeroed(num_members, sizeof(*team->members));
    braid_status status = team->members ? start_members(team, num_members)
                                        : braid_error_no_memory("a team of threads");
    if (status) {
        braid_team_destroy(team);
        return status;
    }
    *out_team = team;
    return BRAID_OK;
}

braid_status braid_team_run(struct team *team, team_function *function, void *user)
{
    pthread_mutex_lock(&team->lock);
    team->function = function;
    team->user = user;
    team->num_running = team->num_started - 1;
    team->run++;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    work(&team->members[0], function, user);
    pthread_mutex_lock(&team->lock);
    while (team->num_running)
        pthread_cond_wait(&team->end, &team->lock);
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; i < team->num_started; i++) {
        if (team->members[i].status)
            return braid_error(team->members[i].status, "%s", team->members[i].message);
    }
    return BRAID_OK;
}

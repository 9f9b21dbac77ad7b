// SPDX-License-Identifier: Apache-2.0
// The stand-in's one lock, and tickets: the promise that one piece of queued work will be done.
#include "world.h"

#include <stdlib.h>
#include <time.h>

#include "settings.h"

static pthread_mutex_t world = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;

void world_lock(void)
{
    pthread_mutex_lock(&world);
}

void world_unlock(void)
{
    pthread_mutex_unlock(&world);
}

void world_wait(pthread_cond_t *condition)
{
    pthread_cond_wait(condition, &world);
}

struct ticket *ticket_create(void)
{
    struct ticket *ticket = calloc(1, sizeof(*ticket));
    if (ticket != NULL)
        ticket->references = 1;
    return ticket;
}

struct ticket *ticket_hold(struct ticket *ticket)
{
    ticket->references++;
    return ticket;
}

void ticket_drop(struct ticket *ticket)
{
    if (ticket != NULL && --ticket->references == 0)
        free(ticket);
}

// With the world locked.
static double now_ms(void)
{
    static uint64_t steps_ns;
    if (setting(SETTING_CLOCK_NS) != 0)
        return (double)(steps_ns += setting(SETTING_CLOCK_NS)) / 1e6;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void ticket_complete(struct ticket *ticket)
{
    ticket->done = true;
    ticket->done_ms = now_ms();
    if (ticket->num_waiting > 0)
        pthread_cond_broadcast(&progress);
}

void ticket_wait(struct ticket *ticket)
{
    if (ticket == NULL)
        return;
    ticket_hold(ticket);
    ticket->num_waiting++;
    while (!ticket->done)
        pthread_cond_wait(&progress, &world);
    ticket_drop(ticket);
}

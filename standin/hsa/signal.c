// SPDX-License-Identifier: Apache-2.0
// HSA signals: 64-bit values that threads wait for, and handlers called when a value is reached.
#include "hsa_standin.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t standin_changed = PTHREAD_COND_INITIALIZER;

struct signal {
    // First, because a signal's handle is its address and AMD's runtime reads the time stamps
    // there.
    amd_signal_t shared;
    // The creator, each waiting thread and each handler. Guarded by standin_lock.
    unsigned num_users;
    pthread_cond_t *rung; // NULL: it is no doorbell
};

struct handler {
    struct handler *next;
    struct signal *signal;
    hsa_signal_condition_t condition;
    hsa_signal_value_t wanted;
    hsa_amd_signal_handler function;
    void *argument;
};

// Guarded by standin_lock, in the order of registration.
static struct handler *first_handler;

static struct signal *from_handle(hsa_signal_t signal)
{
    return (struct signal *)(uintptr_t)signal.handle;
}

// The runtime polls this value without the lock. It lies in AMD's struct, which has no C11 atomic
// types, hence the compiler's own atomics here and in the next function.
static int64_t load_value(struct signal *signal)
{
    return __atomic_load_n(&signal->shared.value, __ATOMIC_ACQUIRE);
}

// The lock must be held.
static void store_value(struct signal *signal, int64_t value)
{
    __atomic_store_n(&signal->shared.value, value, __ATOMIC_RELEASE);
    pthread_cond_broadcast(signal->rung ? signal->rung : &standin_changed);
}

void standin_signal_become_doorbell(hsa_signal_t signal, pthread_cond_t *rung)
{
    from_handle(signal)->rung = rung;
}

// The lock must be held.
static void drop_user(struct signal *signal)
{
    if (--signal->num_users == 0)
        free(signal);
}

int64_t standin_signal_value(hsa_signal_t signal)
{
    return load_value(from_handle(signal));
}

bool standin_signal_satisfies(int64_t value, hsa_signal_condition_t condition, int64_t wanted)
{
    switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
        return value == wanted;
    case HSA_SIGNAL_CONDITION_NE:
        return value != wanted;
    case HSA_SIGNAL_CONDITION_LT:
        return value < wanted;
    default:
        return value >= wanted;
    }
}

static void add(hsa_signal_t handle, int64_t difference)
{
    pthread_mutex_lock(&standin_lock);
    struct signal *signal = from_handle(handle);
    store_value(signal, load_value(signal) + difference);
    pthread_mutex_unlock(&standin_lock);
}

// Threads that share a queue ring in any order. A bell says how far packets are written, so it goes
// up only.
static void set(hsa_signal_t handle, int64_t value)
{
    pthread_mutex_lock(&standin_lock);
    struct signal *signal = from_handle(handle);
    int64_t before = load_value(signal);
    store_value(signal, signal->rung && before > value ? before : value);
    pthread_mutex_unlock(&standin_lock);
}

void standin_signal_finish(hsa_signal_t handle, uint64_t started)
{
    if (!handle.handle)
        return;
    pthread_mutex_lock(&standin_lock);
    struct signal *signal = from_handle(handle);
    signal->shared.start_ts = started;
    signal->shared.end_ts = standin_now();
    // Last: whoever sees the new value may read the stamps, or destroy the signal.
    store_value(signal, load_value(signal) - 1);
    pthread_mutex_unlock(&standin_lock);
}

hsa_status_t hsa_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                               const hsa_agent_t *consumers, hsa_signal_t *out_signal)
{
    (void)num_consumers;
    (void)consumers;
    struct signal *signal = aligned_alloc(AMD_SIGNAL_ALIGN_BYTES, sizeof(*signal));
    if (!signal)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *signal = (struct signal){ .num_users = 1 };
    signal->shared.kind = AMD_SIGNAL_KIND_USER;
    signal->shared.value = initial_value;
    out_signal->handle = (uintptr_t)signal;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                                   const hsa_agent_t *consumers, uint64_t attributes,
                                   hsa_signal_t *out_signal)
{
    (void)attributes;
    return hsa_signal_create(initial_value, num_consumers, consumers, out_signal);
}

hsa_status_t hsa_signal_destroy(hsa_signal_t signal)
{
    if (!signal.handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&standin_lock);
    drop_user(from_handle(signal));
    pthread_mutex_unlock(&standin_lock);
    return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t signal)
{
    return standin_signal_value(signal);
}

void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
    set(signal, value);
}

void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
    set(signal, value);
}

void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
    set(signal, value);
}

void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
    add(signal, value);
}

void hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
    add(signal, -value);
}

// The time on the condition's clock `nanoseconds` from now; "for ever" becomes an hour.
static struct timespec deadline(uint64_t nanoseconds)
{
    const uint64_t second = 1000000000u;
    const uint64_t hour = 3600 * second;
    if (nanoseconds > hour)
        nanoseconds = hour;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t total = (uint64_t)now.tv_nsec + nanoseconds;
    return (struct timespec){ now.tv_sec + (time_t)(total / second), (long)(total % second) };
}

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t handle, hsa_signal_condition_t condition,
                                             hsa_signal_value_t wanted, uint64_t timeout,
                                             hsa_wait_state_t wait_state)
{
    (void)wait_state;
    struct timespec until = deadline(timeout);
    pthread_mutex_lock(&standin_lock);
    struct signal *signal = from_handle(handle);
    signal->num_users++;
    while (!standin_signal_satisfies(load_value(signal), condition, wanted)) {
        if (pthread_cond_timedwait(&standin_changed, &standin_lock, &until) == ETIMEDOUT)
            break;
    }
    int64_t value = load_value(signal);
    drop_user(signal);
    pthread_mutex_unlock(&standin_lock);
    return value;
}

hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t signal,
                                          volatile hsa_signal_value_t **out_value)
{
    *out_value = (volatile hsa_signal_value_t *)&from_handle(signal)->shared.value;
    return HSA_STATUS_SUCCESS;
}

static void append_handler(struct handler *handler)
{
    struct handler **end = &first_handler;
    while (*end)
        end = &(*end)->next;
    handler->next = NULL;
    *end = handler;
    pthread_cond_broadcast(&standin_changed);
}

hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                          hsa_signal_value_t wanted,
                                          hsa_amd_signal_handler function, void *argument)
{
    struct handler *handler = calloc(1, sizeof(*handler));
    if (!handler)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *handler = (struct handler){ NULL, from_handle(signal), condition, wanted, function, argument };
    pthread_mutex_lock(&standin_lock);
    handler->signal->num_users++;
    append_handler(handler);
    pthread_mutex_unlock(&standin_lock);
    return HSA_STATUS_SUCCESS;
}

// Takes the first handler whose condition holds off the list. The lock must be held.
static struct handler *take_ready_handler(void)
{
    for (struct handler **link = &first_handler; *link; link = &(*link)->next) {
        struct handler *handler = *link;
        if (standin_signal_satisfies(load_value(handler->signal), handler->condition,
                                     handler->wanted)) {
            *link = handler->next;
            return handler;
        }
    }
    return NULL;
}

void *standin_run_handlers(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&standin_lock);
    for (;;) {
        struct handler *handler = take_ready_handler();
        if (!handler) {
            pthread_cond_wait(&standin_changed, &standin_lock);
            continue;
        }
        int64_t value = load_value(handler->signal);
        pthread_mutex_unlock(&standin_lock);
        bool call_again = handler->function(value, handler->argument);
        pthread_mutex_lock(&standin_lock);
        if (call_again) {
            append_handler(handler);
            continue;
        }
        drop_user(handler->signal);
        free(handler);
    }
    return NULL;
}

hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                 hsa_amd_profiling_dispatch_time_t *out_time)
{
    (void)agent;
    out_time->start = from_handle(signal)->shared.start_ts;
    out_time->end = from_handle(signal)->shared.end_ts;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal,
                                                   hsa_amd_profiling_async_copy_time_t *out_time)
{
    out_time->start = from_handle(signal)->shared.start_ts;
    out_time->end = from_handle(signal)->shared.end_ts;
    return HSA_STATUS_SUCCESS;
}

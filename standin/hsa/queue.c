// SPDX-License-Identifier: Apache-2.0
// AQL queues: rings of 64-byte packets that AMD's runtime writes and one thread a queue executes.
#include "hsa_standin.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { PACKET_BYTES = 64 };

struct queue {
    hsa_queue_t shared; // first, because the runtime's handle is its address
    _Atomic uint64_t read_index;
    _Atomic uint64_t write_index;
    pthread_t thread;
    pthread_cond_t rung;
    bool quit; // guarded by standin_lock
};

// Copied out of the ring before it runs, so that a slot is read in one place only.
union packet {
    uint16_t header;
    hsa_kernel_dispatch_packet_t dispatch;
    hsa_barrier_and_packet_t barrier; // barrier-or has the same layout
    hsa_amd_barrier_value_packet_t barrier_value;
};

static union packet *slot(const struct queue *queue, uint64_t index)
{
    char *base = queue->shared.base_address;
    return (union packet *)(void *)(base + (index & (queue->shared.size - 1)) * PACKET_BYTES);
}

// The runtime writes the header last, with release, from its own threads and without the lock.
static unsigned packet_type(const union packet *packet)
{
    unsigned header = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);
    return (header >> HSA_PACKET_HEADER_TYPE) & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

static void invalidate(union packet *packet)
{
    uint16_t header = HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE;
    __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
}

// A packet may run once it is written and the doorbell has been rung for it. Lock held.
static bool packet_ready(struct queue *queue, uint64_t index)
{
    return index < atomic_load_explicit(&queue->write_index, memory_order_acquire) &&
           packet_type(slot(queue, index)) != HSA_PACKET_TYPE_INVALID &&
           standin_signal_value(queue->shared.doorbell_signal) >= (int64_t)index;
}

static bool barrier_open(const hsa_barrier_and_packet_t *packet, bool one_is_enough)
{
    unsigned num_signals = 0;
    unsigned num_done = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (!packet->dep_signal[i].handle)
            continue;
        num_signals++;
        if (standin_signal_value(packet->dep_signal[i]) == 0)
            num_done++;
    }
    return num_signals == 0 || (one_is_enough ? num_done > 0 : num_done == num_signals);
}

static bool barrier_value_open(const hsa_amd_barrier_value_packet_t *packet)
{
    if (!packet->signal.handle)
        return true;
    int64_t value = standin_signal_value(packet->signal) & packet->mask;
    return standin_signal_satisfies(value, packet->cond, packet->value);
}

static bool wait_over(const union packet *packet, unsigned type)
{
    if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC)
        return barrier_value_open(&packet->barrier_value);
    return barrier_open(&packet->barrier, type == HSA_PACKET_TYPE_BARRIER_OR);
}

static void wait_for_signals(struct queue *queue, const union packet *packet, unsigned type)
{
    pthread_mutex_lock(&standin_lock);
    while (!queue->quit && !wait_over(packet, type))
        pthread_cond_wait(&standin_changed, &standin_lock);
    pthread_mutex_unlock(&standin_lock);
}

// Runs one packet to its end and returns the signal that says so.
static hsa_signal_t run_packet(struct queue *queue, const union packet *packet)
{
    unsigned type = packet_type(packet);
    switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
        standin_kernel_run(&packet->dispatch);
        return packet->dispatch.completion_signal;
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
        wait_for_signals(queue, packet, type);
        return packet->barrier.completion_signal;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
        wait_for_signals(queue, packet, type);
        return packet->barrier_value.completion_signal;
    default:
        // A queue has no way to report this that the runtime would survive.
        fprintf(stderr, "standin hsa: packet type %u is not known\n", type);
        abort();
    }
}

static void *run_queue(void *argument)
{
    struct queue *queue = argument;
    uint64_t index = 0;
    pthread_mutex_lock(&standin_lock);
    while (!queue->quit) {
        if (!packet_ready(queue, index)) {
            pthread_cond_wait(&queue->rung, &standin_lock);
            continue;
        }
        pthread_mutex_unlock(&standin_lock);
        uint64_t started = standin_now();
        union packet packet = *slot(queue, index);
        hsa_signal_t completion = run_packet(queue, &packet);
        // The slot is free for the runtime again once the read index has passed it.
        invalidate(slot(queue, index));
        index++;
        atomic_store_explicit(&queue->read_index, index, memory_order_release);
        standin_signal_finish(completion, started);
        pthread_mutex_lock(&standin_lock);
    }
    pthread_mutex_unlock(&standin_lock);
    return NULL;
}

static void free_queue(struct queue *queue)
{
    if (queue->shared.doorbell_signal.handle)
        hsa_signal_destroy(queue->shared.doorbell_signal);
    pthread_cond_destroy(&queue->rung);
    free(queue->shared.base_address);
    free(queue);
}

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t num_packets, hsa_queue_type32_t type,
                              void (*on_error)(hsa_status_t, hsa_queue_t *, void *), void *data,
                              uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **out_queue)
{
    (void)agent;
    (void)on_error;
    (void)data;
    (void)private_bytes;
    (void)group_bytes;
    if (num_packets == 0 || (num_packets & (num_packets - 1)) != 0)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    pthread_cond_init(&queue->rung, NULL);
    queue->shared.type = type;
    queue->shared.size = num_packets;
    queue->shared.base_address = aligned_alloc(PACKET_BYTES, (size_t)num_packets * PACKET_BYTES);
    if (!queue->shared.base_address ||
        hsa_signal_create(-1, 0, NULL, &queue->shared.doorbell_signal) != HSA_STATUS_SUCCESS) {
        free_queue(queue);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    standin_signal_become_doorbell(queue->shared.doorbell_signal, &queue->rung);
    for (uint32_t i = 0; i < num_packets; i++)
        invalidate(slot(queue, i));
    if (pthread_create(&queue->thread, NULL, run_queue, queue) != 0) {
        free_queue(queue);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    *out_queue = &queue->shared;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_queue_destroy(hsa_queue_t *handle)
{
    struct queue *queue = (struct queue *)handle;
    pthread_mutex_lock(&standin_lock);
    queue->quit = true;
    pthread_cond_signal(&queue->rung);
    pthread_cond_broadcast(&standin_changed);
    pthread_mutex_unlock(&standin_lock);
    pthread_join(queue->thread, NULL);
    free_queue(queue);
    return HSA_STATUS_SUCCESS;
}

uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t *handle, uint64_t value)
{
    struct queue *queue = (struct queue *)(uintptr_t)handle;
    return atomic_fetch_add_explicit(&queue->write_index, value, memory_order_acq_rel);
}

uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t *handle)
{
    return hsa_queue_load_read_index_scacquire(handle);
}

uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t *handle)
{
    const struct queue *queue = (const struct queue *)handle;
    return atomic_load_explicit(&queue->read_index, memory_order_acquire);
}

uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t *handle)
{
    const struct queue *queue = (const struct queue *)handle;
    return atomic_load_explicit(&queue->write_index, memory_order_acquire);
}

hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t *queue, hsa_amd_queue_priority_t priority)
{
    (void)queue;
    (void)priority;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t *queue, uint32_t num_mask_bits,
                                       const uint32_t *mask)
{
    (void)queue;
    (void)num_mask_bits;
    (void)mask;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t *queue, int enable)
{
    (void)queue;
    (void)enable;
    return HSA_STATUS_SUCCESS;
}

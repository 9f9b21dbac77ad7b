// SPDX-License-Identifier: Apache-2.0
// An engine of ranks without an MPI: processes of one machine that share memory. A send ends only
// when its receive has taken it, so that nothing works here by an MPI's goodwill.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "standin/ranks/ranks_shared.h"

enum { MOST_REQUESTS = 4096, WORLD = 0 };

struct communicator {
    uint32_t id, rank, num;
    uint32_t num_collectives;
    uint32_t members[RANKS_MOST];
    struct communicator *next;
};

struct request {
    bool used, is_put;
    struct rank_transfer transfer;
    struct communicator *communicator;
    uint32_t tag;
    uint32_t message;         // a send's
    bool sent[RANKS_MOST];    // a collective's, by rank in the communicator
    bool arrived[RANKS_MOST]; // a collective's, by rank in the communicator
    char *parts;              // what arrived, by rank
    uint64_t part_bytes;
};

static struct ranks_shared *shared;
static struct communicator world, *communicators;
static struct request requests[MOST_REQUESTS];
static uint32_t num_requests, num_splits;

static void lock(void)
{
    if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&shared->lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&shared->lock);
}

static uint32_t element_bytes(uint32_t element)
{
    static const uint32_t bytes[] = { 1, 4, 4, 8, 8, 4, 8 };
    return bytes[element];
}

static bool find_blocks(uint64_t bytes, uint32_t *out_first)
{
    uint32_t wanted = (uint32_t)((bytes + RANKS_BLOCK_BYTES - 1) / RANKS_BLOCK_BYTES), run = 0;
    for (uint32_t i = 0; i < RANKS_BLOCKS && run < wanted; i++) {
        run = shared->is_taken[i] ? 0 : run + 1;
        *out_first = i + 1 - run;
    }
    if (run < wanted)
        return false;
    memset(shared->is_taken + *out_first, 1, wanted);
    return true;
}

static void free_message(struct ranks_message *message)
{
    uint64_t wanted = (message->bytes + RANKS_BLOCK_BYTES - 1) / RANKS_BLOCK_BYTES;
    memset(shared->is_taken + message->first_block, 0, wanted);
    message->bytes = 0;
}

// False: no room now.
static bool put(const struct communicator *communicator, uint32_t to, uint32_t tag,
                const void *bytes, uint64_t num, bool is_send, uint32_t *out_message)
{
    uint32_t place = 0, first = 0;
    lock();
    while (place < RANKS_MESSAGES && shared->messages[place].state != RANKS_FREE)
        place++;
    bool has_room = place < RANKS_MESSAGES && find_blocks(num, &first);
    if (has_room) {
        shared->messages[place] = (struct ranks_message){
            .state = RANKS_SENT,
            .is_send = is_send,
            .communicator = communicator->id,
            .from = communicator->rank,
            .to = communicator->members[to],
            .tag = tag,
            .number = shared->num_sent++,
            .bytes = num,
            .first_block = first,
        };
        if (num)
            memcpy(shared->data + (size_t)first * RANKS_BLOCK_BYTES, bytes, num);
    }
    unlock();
    *out_message = place;
    return has_room;
}

// The first that was sent, of those that match.
static bool take(const struct communicator *communicator, uint32_t from, uint32_t tag, void *to,
                 uint64_t num)
{
    struct ranks_message *first = NULL;
    lock();
    for (uint32_t i = 0; i < RANKS_MESSAGES; i++) {
        struct ranks_message *message = &shared->messages[i];
        if (message->state != RANKS_SENT || message->communicator != communicator->id ||
            message->to != world.rank || message->tag != tag ||
            (from != RANK_ANY && message->from != from))
            continue;
        if (!first || message->number < first->number)
            first = message;
    }
    if (first) {
        uint64_t bytes = first->bytes < num ? first->bytes : num;
        if (bytes)
            memcpy(to, shared->data + (size_t)first->first_block * RANKS_BLOCK_BYTES, bytes);
        free_message(first);
        first->state = first->is_send ? RANKS_TAKEN : RANKS_FREE;
    }
    unlock();
    return first;
}

static bool is_collective(const struct request *request)
{
    return request->transfer.operation >= BRAID_RANK_BROADCAST;
}

static double reduce_double(uint32_t reduction, double a, double b)
{
    switch (reduction) {
    case BRAID_REDUCTION_MIN:
        return a < b ? a : b;
    case BRAID_REDUCTION_MAX:
        return a > b ? a : b;
    case BRAID_REDUCTION_PRODUCT:
        return a * b;
    default:
        return a + b;
    }
}

// The tests reduce doubles and 64-bit integers of moderate size.
static void reduce(const struct rank_transfer *transfer, char *to, const char *part)
{
    for (uint64_t i = 0; i < transfer->count; i++) {
        double a, b;
        int64_t c, d;
        if (transfer->element == BRAID_ELEMENT_DOUBLE) {
            memcpy(&a, to + 8 * i, 8);
            memcpy(&b, part + 8 * i, 8);
            a = reduce_double(transfer->reduction, a, b);
            memcpy(to + 8 * i, &a, 8);
        } else if (element_bytes(transfer->element) == 8) {
            memcpy(&c, to + 8 * i, 8);
            memcpy(&d, part + 8 * i, 8);
            c = (int64_t)reduce_double(transfer->reduction, (double)c, (double)d);
            memcpy(to + 8 * i, &c, 8);
        } else {
            abort();
        }
    }
}

// What a rank gives another in a collective, and how much.
static const char *part_for(const struct request *request, uint32_t member, uint64_t *out_bytes)
{
    const struct rank_transfer *transfer = &request->transfer;
    *out_bytes = request->part_bytes;
    if (transfer->operation == BRAID_RANK_BROADCAST)
        return transfer->to;
    const char *from = transfer->from;
    return transfer->operation == BRAID_RANK_REDUCE_SCATTER ? from + member * request->part_bytes
                                                            : from;
}

static void finish_collective(struct request *request)
{
    const struct rank_transfer *transfer = &request->transfer;
    uint32_t num = request->communicator->num, operation = transfer->operation;
    uint64_t bytes = request->part_bytes, own_bytes;
    if (operation == BRAID_RANK_BROADCAST && request->communicator->rank != transfer->peer)
        memcpy(transfer->to, request->parts + transfer->peer * bytes, bytes);
    if (operation == BRAID_RANK_BROADCAST || operation == RANK_OPERATION_BARRIER)
        return;
    memcpy(request->parts + request->communicator->rank * bytes,
           part_for(request, request->communicator->rank, &own_bytes), bytes);
    if (operation == BRAID_RANK_ALL_GATHER) {
        memcpy(transfer->to, request->parts, num * bytes);
        return;
    }
    memcpy(transfer->to, request->parts, bytes);
    for (uint32_t i = 1; i < num; i++)
        reduce(transfer, transfer->to, request->parts + i * bytes);
}

static bool move_collective(struct request *request)
{
    struct communicator *communicator = request->communicator;
    const struct rank_transfer *transfer = &request->transfer;
    bool is_broadcast = transfer->operation == BRAID_RANK_BROADCAST, ended = true;
    uint32_t message;
    for (uint32_t i = 0; i < communicator->num; i++) {
        bool gives =
            i != communicator->rank && (!is_broadcast || communicator->rank == transfer->peer);
        bool gets = i != communicator->rank && (!is_broadcast || i == transfer->peer);
        uint64_t bytes;
        const char *part = part_for(request, i, &bytes);
        if (gives && !request->sent[i])
            request->sent[i] = put(communicator, i, request->tag, part, bytes, false, &message);
        if (gets && !request->arrived[i])
            request->arrived[i] =
                take(communicator, i, request->tag, request->parts + i * request->part_bytes,
                     request->part_bytes);
        ended = ended && (!gives || request->sent[i]) && (!gets || request->arrived[i]);
    }
    if (ended)
        finish_collective(request);
    return ended;
}

// A send behind one that found no room must not overtake it: each is tried in the order of numbers,
// which are given anew only when all are free.
static bool move(struct request *request)
{
    const struct rank_transfer *transfer = &request->transfer;
    if (is_collective(request))
        return move_collective(request);
    uint64_t bytes = request->part_bytes;
    if (transfer->operation == BRAID_RANK_RECEIVE)
        return take(request->communicator, transfer->peer, request->tag, transfer->to, bytes);
    if (!request->is_put)
        request->is_put = put(request->communicator, transfer->peer, request->tag, transfer->from,
                              bytes, true, &request->message);
    if (!request->is_put)
        return false;
    lock();
    bool taken = shared->messages[request->message].state == RANKS_TAKEN;
    if (taken)
        shared->messages[request->message].state = RANKS_FREE;
    unlock();
    return taken;
}

static void release(struct request *request)
{
    free(request->parts);
    *request = (struct request){ 0 };
    while (num_requests && !requests[num_requests - 1].used)
        num_requests--;
}

static bool begin(const struct rank_transfer *transfer, uint32_t *out_request, char *why,
                  size_t size)
{
    uint32_t number = num_requests;
    if (number == MOST_REQUESTS) {
        snprintf(why, size, "the stand-in has room for %d requests", MOST_REQUESTS);
        return false;
    }
    struct request *request = &requests[number];
    *request = (struct request){ .used = true, .transfer = *transfer, .tag = transfer->tag };
    request->communicator = transfer->communicator ? transfer->communicator : &world;
    request->part_bytes = transfer->count * element_bytes(transfer->element);
    if (is_collective(request)) {
        request->tag = 0x80000000u | request->communicator->num_collectives++;
        request->parts = calloc(request->communicator->num, request->part_bytes + 1);
    }
    num_requests++;
    *out_request = number;
    return true;
}

static uint32_t poll_requests(struct rank_ended *out_ended, uint32_t most)
{
    uint32_t num = 0, end = num_requests;
    for (uint32_t i = 0; i < end && num < most; i++) {
        if (!requests[i].used || !move(&requests[i]))
            continue;
        out_ended[num++] = (struct rank_ended){ .request = i };
        release(&requests[i]);
    }
    return num;
}

static void cancel(uint32_t number)
{
    release(&requests[number]);
}

static bool open_ranks(uint32_t *out_rank, uint32_t *out_num, char *why, size_t size)
{
    const char *given = getenv("BRAID_STANDIN_RANKS");
    int file;
    uint32_t rank;
    if (!given || sscanf(given, "%d %u", &file, &rank) != 2) {
        snprintf(why, size, "not started by ranks_run");
        return false;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) {
        snprintf(why, size, "no shared memory: %s", strerror(errno));
        return false;
    }
    world = (struct communicator){ .id = WORLD, .rank = rank, .num = shared->num };
    for (uint32_t i = 0; i < world.num; i++)
        world.members[i] = i;
    *out_rank = rank;
    *out_num = world.num;
    return true;
}

// Whoever opens them again finds nothing of what a failure has left.
static void close_ranks(bool clean)
{
    (void)clean;
    while (num_requests)
        release(&requests[num_requests - 1]);
    while (communicators) {
        struct communicator *communicator = communicators;
        communicators = communicator->next;
        free(communicator);
    }
    munmap(shared, sizeof(*shared));
}

static bool split(uint32_t color, void **out_communicator, uint32_t *out_rank, uint32_t *out_num,
                  char *why, size_t size)
{
    uint32_t colors[RANKS_MOST], number;
    struct communicator *made = calloc(1, sizeof(*made));
    const struct rank_transfer gather = { .operation = BRAID_RANK_ALL_GATHER,
                                          .element = BRAID_ELEMENT_UINT32,
                                          .from = &color,
                                          .to = colors,
                                          .count = 1 };
    if (!made || !begin(&gather, &number, why, size))
        return false;
    while (!move(&requests[number]))
        sched_yield();
    release(&requests[number]);
    for (uint32_t i = 0; i < world.num; i++) {
        made->rank = i == world.rank ? made->num : made->rank;
        if (colors[i] == color)
            made->members[made->num++] = i;
    }
    made->id = ++num_splits << 8 | made->members[0];
    made->next = communicators;
    communicators = made;
    *out_communicator = made;
    *out_rank = made->rank;
    *out_num = made->num;
    return true;
}

static uint32_t find_member(void *communicator, uint32_t rank)
{
    return ((struct communicator *)communicator)->members[rank];
}

static const struct rank_engine engine = {
    .abi = RANK_ENGINE_ABI,
    .name = "standin",
    .open = open_ranks,
    .close = close_ranks,
    .split = split,
    .find_member = find_member,
    .begin = begin,
    .poll = poll_requests,
    .cancel = cancel,
};

__attribute__((visibility("default"))) const struct rank_engine *braid_rank_engine(void);

const struct rank_engine *braid_rank_engine(void)
{
    return &engine;
}

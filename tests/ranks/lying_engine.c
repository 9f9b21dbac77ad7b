// SPDX-License-Identifier: Apache-2.0
// Operations end at once, but for the receive of news, which never comes.
#include "lying_engine.h"

#include <string.h>

#include "rank/engine.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern struct lie braid_lying_engine_lie;
struct lie braid_lying_engine_lie;

enum { MOST_ENDED = 16 };
static uint32_t ended[MOST_ENDED], num_ended, num_requests;

static bool open_ranks(uint32_t *out_rank, uint32_t *out_num, char *why, size_t size)
{
    (void)why, (void)size;
    num_ended = num_requests = 0;
    *out_rank = braid_lying_engine_lie.rank;
    *out_num = 2;
    return true;
}

static void close_ranks(bool clean)
{
    (void)clean;
}

static bool split(uint32_t color, void **out_communicator, uint32_t *out_rank, uint32_t *out_num,
                  char *why, size_t size)
{
    (void)color;
    *out_communicator = &braid_lying_engine_lie;
    return open_ranks(out_rank, out_num, why, size);
}

static uint32_t find_member(void *communicator, uint32_t rank)
{
    (void)communicator;
    return rank;
}

static void lie(const struct rank_transfer *transfer)
{
    const struct lie *told = &braid_lying_engine_lie;
    if (transfer->operation == BRAID_RANK_ALL_GATHER) {
        uint64_t *sizes = transfer->to;
        memcpy(&sizes[told->rank], transfer->from, sizeof(*sizes));
        sizes[1 - told->rank] = told->num_bytes;
    } else if (transfer->operation == BRAID_RANK_RECEIVE) {
        memcpy(transfer->to, told->bytes, told->num_bytes);
    } else if (transfer->operation == BRAID_RANK_BROADCAST && told->rank) {
        memset(transfer->to, told->verdict, transfer->count);
    }
}

static bool begin(const struct rank_transfer *transfer, uint32_t *out_request, char *why,
                  size_t size)
{
    (void)why, (void)size;
    *out_request = num_requests++ % MOST_ENDED;
    if (transfer->peer == RANK_ANY)
        return true;
    lie(transfer);
    if (num_ended < MOST_ENDED)
        ended[num_ended++] = *out_request;
    return true;
}

static uint32_t poll_requests(struct rank_ended *out_ended, uint32_t most)
{
    uint32_t num = 0;
    while (num_ended && num < most)
        out_ended[num++] = (struct rank_ended){ .request = ended[--num_ended] };
    return num;
}

static void cancel(uint32_t request)
{
    (void)request;
}

static const struct rank_engine engine = {
    .abi = RANK_ENGINE_ABI,
    .name = "lying",
    .open = open_ranks,
    .close = close_ranks,
    .split = split,
    .find_member = find_member,
    .begin = begin,
    .poll = poll_requests,
    .cancel = cancel,
};

EXPORTED const struct rank_engine *braid_rank_engine(void);

const struct rank_engine *braid_rank_engine(void)
{
    return &engine;
}

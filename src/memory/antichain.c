// SPDX-License-Identifier: Apache-2.0
// The heaviest antichain of a partial order. By Dilworth's theorem with weights it is the sum of
// all weights less a largest flow. The flow goes from blocks to later blocks, and each sends and
// takes at most its weight. (Ford and Fulkerson, Flows in Networks, 1962, section II.9.) Dinic's
// algorithm finds it over a matrix of bits.
#include "memory/antichain.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define MOST_EXACT 2048
#define UNREACHED UINT32_MAX

// Each block is both a sender and a taker. Sender i reaches taker j if i comes before j. Taker j
// reaches sender i if i sends to j, since that can be taken back.
struct flow {
    uint32_t num;
    size_t words;          // of a row of bits
    uint64_t *later;       // a row of bits a block: those that it comes before
    uint64_t *sent;        // num * num
    uint64_t *to_send;     // per block: what is left
    uint64_t *to_take;     // likewise
    uint32_t *send_level;  // distance from a block that has some left to send
    uint32_t *take_level;  //
    uint32_t *next_taker;  // per sender: where the search goes on
    uint32_t *next_sender; // per taker: likewise
    uint32_t *queue;       // of 2 * num: senders, and takers from num on
};

static bool is_later(const struct flow *flow, uint32_t i, uint32_t j)
{
    return flow->later[i * flow->words + j / 64] >> (j % 64) & 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool allocate(struct flow *flow, uint32_t num)
{
    flow->num = num;
    flow->words = ((size_t)num + 63) / 64;
    flow->later = braid_allocate_zeroed(num * flow->words, sizeof(uint64_t));
    flow->sent = braid_allocate_zeroed((size_t)num * num, sizeof(uint64_t));
    flow->to_send = braid_allocate_zeroed(num, sizeof(uint64_t));
    flow->to_take = braid_allocate_zeroed(num, sizeof(uint64_t));
    flow->send_level = braid_allocate_zeroed(num, sizeof(uint32_t));
    flow->take_level = braid_allocate_zeroed(num, sizeof(uint32_t));
    flow->next_taker = braid_allocate_zeroed(num, sizeof(uint32_t));
    flow->next_sender = braid_allocate_zeroed(num, sizeof(uint32_t));
    flow->queue = braid_allocate_zeroed(2 * (size_t)num, sizeof(uint32_t));
    return flow->later && flow->sent && flow->to_send && flow->to_take && flow->send_level &&
           flow->take_level && flow->next_taker && flow->next_sender && flow->queue;
}

static void finish(struct flow *flow)
{
    free(flow->later);
    free(flow->sent);
    free(flow->to_send);
    free(flow->to_take);
    free(flow->send_level);
    free(flow->take_level);
    free(flow->next_taker);
    free(flow->next_sender);
    free(flow->queue);
}

static void fill(struct flow *flow, const struct lifetimes *lifetimes)
{
    for (uint32_t i = 0; i < flow->num; i++) {
        flow->to_send[i] = flow->to_take[i] = lifetimes->bytes[i];
        for (uint32_t j = 0; j < flow->num; j++) {
            if (lifetimes_precede(lifetimes, i, j))
                flow->later[i * flow->words + j / 64] |= (uint64_t)1 << (j % 64);
        }
    }
}

static void reset_levels(struct flow *flow)
{
    memset(flow->send_level, 0xff, flow->num * sizeof(uint32_t));
    memset(flow->take_level, 0xff, flow->num * sizeof(uint32_t));
    memset(flow->next_taker, 0, flow->num * sizeof(uint32_t));
    memset(flow->next_sender, 0, flow->num * sizeof(uint32_t));
}

// Breadth first from all that have some left to send; tells whether a taker with room is reached.
static bool find_levels(struct flow *flow)
{
    size_t head = 0, tail = 0;
    bool reached = false;
    reset_levels(flow);
    for (uint32_t i = 0; i < flow->num; i++) {
        if (flow->to_send[i]) {
            flow->send_level[i] = 0;
            flow->queue[tail++] = i;
        }
    }
    while (head < tail) {
        uint32_t item = flow->queue[head++];
        if (item < flow->num) {
            for (uint32_t j = 0; j < flow->num; j++) {
                if (flow->take_level[j] == UNREACHED && is_later(flow, item, j)) {
                    flow->take_level[j] = flow->send_level[item] + 1;
                    flow->queue[tail++] = flow->num + j;
                    reached = reached || flow->to_take[j];
                }
            }
            continue;
        }
        uint32_t taker = item - flow->num;
        for (uint32_t i = 0; i < flow->num; i++) {
            if (flow->send_level[i] == UNREACHED && flow->sent[(size_t)i * flow->num + taker]) {
                flow->send_level[i] = flow->take_level[taker] + 1;
                flow->queue[tail++] = i;
            }
        }
    }
    return reached;
}

static uint64_t push_from_sender(struct flow *flow, uint32_t sender, uint64_t most);

// Depth first along rising levels; calls nest at most as deep as there are blocks twice over.
static uint64_t push_to_taker(struct flow *flow, uint32_t taker, uint64_t most)
{
    uint64_t pushed = least(most, flow->to_take[taker]);
    flow->to_take[taker] -= pushed;
    for (uint32_t *i = &flow->next_sender[taker]; pushed < most && *i < flow->num; ++*i) {
        uint64_t *sent = &flow->sent[(size_t)*i * flow->num + taker];
        if (!*sent || flow->send_level[*i] != flow->take_level[taker] + 1)
            continue;
        uint64_t moved = push_from_sender(flow, *i, least(most - pushed, *sent));
        *sent -= moved;
        pushed += moved;
        if (pushed == most)
            break;
    }
    return pushed;
}

static uint64_t push_from_sender(struct flow *flow, uint32_t sender, uint64_t most)
{
    uint64_t pushed = 0;
    for (uint32_t *j = &flow->next_taker[sender]; pushed < most && *j < flow->num; ++*j) {
        if (flow->take_level[*j] != flow->send_level[sender] + 1 || !is_later(flow, sender, *j))
            continue;
        uint64_t moved = push_to_taker(flow, *j, most - pushed);
        flow->sent[(size_t)sender * flow->num + *j] += moved;
        pushed += moved;
        if (pushed == most)
            break;
    }
    return pushed;
}

static void find_flow(struct flow *flow)
{
    while (find_levels(flow)) {
        for (uint32_t i = 0; i < flow->num; i++) {
            if (flow->to_send[i])
                flow->to_send[i] -= push_from_sender(flow, i, flow->to_send[i]);
        }
    }
}

// The weight that is never sent, summed over all blocks, is the weight of the heaviest antichain.
static braid_status find_exactly(const struct lifetimes *lifetimes, uint64_t *out_bytes)
{
    struct flow flow;
    uint64_t bytes = 0;
    bool done = allocate(&flow, lifetimes->num);
    if (done) {
        fill(&flow, lifetimes);
        find_flow(&flow);
        for (uint32_t i = 0; i < flow.num; i++)
            bytes += flow.to_send[i];
        *out_bytes = bytes;
    }
    finish(&flow);
    return done ? BRAID_OK : braid_error_no_memory("the memory of a plan");
}

struct end {
    uint64_t place;
    uint64_t bytes;
    bool begins;
};

// At one place ends come after beginnings: a node uses blocks that begin and that end with it.
static int compare_ends(const void *left, const void *right)
{
    const struct end *a = left;
    const struct end *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (int)b->begins - (int)a->begins;
}

// Blocks alive at one place of the issue order are pairwise unordered.
static braid_status sweep(const struct lifetimes *lifetimes, uint64_t *out_bytes)
{
    struct end *ends = braid_allocate_zeroed(2 * (size_t)lifetimes->num, sizeof(*ends));
    if (!ends)
        return braid_error_no_memory("the memory of a plan");
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        ends[2 * (size_t)i] = (struct end){ lifetimes->first[i], lifetimes->bytes[i], true };
        ends[2 * (size_t)i + 1] = (struct end){ lifetimes->last[i], lifetimes->bytes[i], false };
    }
    qsort(ends, 2 * (size_t)lifetimes->num, sizeof(*ends), compare_ends);
    uint64_t alive = 0, most = 0;
    for (size_t i = 0; i < 2 * (size_t)lifetimes->num; i++) {
        alive = ends[i].begins ? alive + ends[i].bytes : alive - ends[i].bytes;
        most = alive > most ? alive : most;
    }
    free(ends);
    *out_bytes = most;
    return BRAID_OK;
}

braid_status braid_antichain_bytes(const struct lifetimes *lifetimes, uint64_t *out_bytes)
{
    return lifetimes->num <= MOST_EXACT ? find_exactly(lifetimes, out_bytes)
                                        : sweep(lifetimes, out_bytes);
}

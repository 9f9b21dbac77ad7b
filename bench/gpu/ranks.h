// SPDX-License-Identifier: Apache-2.0
// What the two ways of playing a stencil on several ranks share.
#ifndef BRAID_BENCH_GPU_RANKS_H
#define BRAID_BENCH_GPU_RANKS_H

#include <time.h>

#include <braid/braid.h>

enum { RANKS_STEPS = 8, RANKS_MOST_CELLS = 1 << 20 };

struct ranks_shape {
    uint32_t inside, edge, rounds; // cells, cells, and how long each inside takes
};

struct ranks_job {
    uint32_t rank, num;
    struct ranks_shape shape;
    braid_communicator *world;
    braid_device *device;
    braid_stream *stream;
    braid_graph *graph;
    braid_resource resource, inside_buffer, edge_buffer, halo_buffer;
    float *inside, *edge, *halo;
    double *sum;
    braid_node insides[RANKS_STEPS], received[RANKS_STEPS];
    int num_received;
};

extern const braid_kernel ranks_kernel; // (float *cells, const float *other, num, rounds)
void ranks_must(braid_status status);

static inline double ranks_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// ranks_by_hand.c: the driver's and NCCL's own calls, two streams and events.
struct ranks_hand;
struct ranks_hand *ranks_by_hand_open(struct ranks_job *job);
void ranks_by_hand_capture(struct ranks_hand *hand);
void ranks_by_hand_replay(void *hand);
void ranks_by_hand_queue(void *hand);
void ranks_by_hand_release(struct ranks_hand *hand);
void ranks_by_hand_close(struct ranks_hand *hand);

#endif

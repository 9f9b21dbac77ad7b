// SPDX-License-Identifier: Apache-2.0
// The stencil of several ranks as a program writes it by hand: a stream that computes, one that
// communicates, events between them, and all of it captured.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/ranks.h"
#include "ranks/nccl.h"

struct ranks_hand {
    struct ranks_job *job;
    struct gpu_backend *gpu;
    const struct nccl_api *nccl;
    nccl_communicator communicator;
    struct backend_kernel *kernel;
    gpu_stream main, side;
    gpu_event forked, joined;
    gpu_graph graph;
    gpu_executable executable;
    struct gpu_scope scope;
};

static void must(int result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "by hand: %s: %d\n", what, result);
    exit(EXIT_FAILURE);
}

#define MUST(call) must((int)(call), #call)

static void work(struct ranks_hand *hand, float *cells, float *other, uint32_t num, uint32_t rounds)
{
    static const uint32_t arg_bytes[] = { 8, 8, 4, 4 };
    void *args[] = { &cells, &other, &num, &rounds };
    struct gpu_stream stream = { .base = { .wrapped = true }, .handle = hand->main };
    const struct backend_task task = {
        .kind = WORK_KERNEL,
        .name = "by hand",
        .node = BACKEND_NO_NODE,
        .launch = { .kernel = hand->kernel,
                    .grid = { (num + 255) / 256, 1, 1 },
                    .block = { 256, 1, 1 },
                    .num_args = 4,
                    .args = args,
                    .arg_bytes = arg_bytes },
    };
    ranks_must(hand->gpu->base.ops->submit(&hand->gpu->base, &stream.base, &task));
}

static void exchange(struct ranks_hand *hand)
{
    const struct ranks_job *job = hand->job;
    const struct nccl_api *nccl = hand->nccl;
    int type = braid_nccl_type(BRAID_ELEMENT_FLOAT);
    MUST(nccl->group_start());
    MUST(nccl->send(job->edge, job->shape.edge, type, (int)((job->rank + 1) % job->num),
                    hand->communicator, hand->side));
    MUST(nccl->receive(job->halo, job->shape.edge, type,
                       (int)((job->rank + job->num - 1) % job->num), hand->communicator,
                       hand->side));
    MUST(nccl->group_end());
}

static void queue(struct ranks_hand *hand)
{
    const struct ranks_job *job = hand->job;
    const struct gpu_api *api = hand->gpu->api;
    for (int step = 0; step < RANKS_STEPS; step++) {
        work(hand, job->edge, job->halo, job->shape.edge, 16);
        MUST(api->event_record(hand->forked, hand->main));
        MUST(api->stream_wait(hand->side, hand->forked, 0));
        exchange(hand);
        MUST(api->event_record(hand->joined, hand->side));
        work(hand, job->inside, job->edge, job->shape.inside, job->shape.rounds);
        MUST(api->stream_wait(hand->main, hand->joined, 0));
    }
    MUST(hand->nccl->all_reduce(job->sum, job->sum, 1, braid_nccl_type(BRAID_ELEMENT_DOUBLE), 0,
                                hand->communicator, hand->main));
}

void ranks_by_hand_queue(void *user)
{
    queue(user);
}

void ranks_by_hand_capture(struct ranks_hand *hand)
{
    const struct gpu_api *api = hand->gpu->api;
    MUST(api->capture_begin(hand->main, GPU_CAPTURE_THREAD_LOCAL));
    queue(hand);
    MUST(api->capture_end(hand->main, &hand->graph));
    MUST(api->graph_instantiate(&hand->executable, hand->graph, 0));
}

void ranks_by_hand_replay(void *user)
{
    struct ranks_hand *hand = user;
    MUST(hand->gpu->api->executable_launch(hand->executable, hand->main));
}

void ranks_by_hand_release(struct ranks_hand *hand)
{
    MUST(hand->gpu->api->executable_destroy(hand->executable));
    MUST(hand->gpu->api->graph_destroy(hand->graph));
}

// Processes of one program on one host find each other by a file.
static struct nccl_id share_id(const struct ranks_hand *hand)
{
    struct nccl_id id;
    char name[64], unfinished[72];
    snprintf(name, sizeof(name), "/tmp/braid-bench-ranks-%d", (int)getppid());
    snprintf(unfinished, sizeof(unfinished), "%s.new", name);
    if (hand->job->rank == 0) {
        FILE *file = fopen(unfinished, "wb");
        MUST(hand->nccl->get_unique_id(&id));
        must(!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file), "writing the id");
        must(rename(unfinished, name), "naming the id");
        return id;
    }
    FILE *file = NULL;
    while (!(file = fopen(name, "rb")))
        usleep(1000);
    must(fread(&id, sizeof(id), 1, file) != 1 || fclose(file), "reading the id");
    return id;
}

struct ranks_hand *ranks_by_hand_open(struct ranks_job *job)
{
    static const uint32_t arg_bytes[] = { 8, 8, 4, 4 };
    struct ranks_hand *hand = calloc(1, sizeof(*hand));
    if (!hand)
        abort();
    hand->job = job;
    hand->gpu = gpu_from(job->device->backend);
    ranks_must(braid_nccl_open(RANK_ENGINE_NCCL, &hand->nccl));
    ranks_must(braid_gpu_enter(hand->gpu, &hand->scope, "by hand"));
    MUST(hand->nccl->init_rank(&hand->communicator, (int)job->num, share_id(hand), (int)job->rank));
    ranks_must(hand->gpu->base.ops->kernel_load(&hand->gpu->base, &ranks_kernel, KERNEL_AS_IT_IS,
                                                NULL, arg_bytes, 4, &hand->kernel));
    hand->main = braid_stream_get_handle(job->stream);
    MUST(hand->gpu->api->stream_create(&hand->side, GPU_STREAM_NON_BLOCKING, 0));
    MUST(hand->gpu->api->event_create(&hand->forked, GPU_EVENT_DISABLE_TIMING));
    MUST(hand->gpu->api->event_create(&hand->joined, GPU_EVENT_DISABLE_TIMING));
    return hand;
}

void ranks_by_hand_close(struct ranks_hand *hand)
{
    char name[64];
    snprintf(name, sizeof(name), "/tmp/braid-bench-ranks-%d", (int)getppid());
    if (hand->job->rank == 0)
        unlink(name);
    MUST(hand->nccl->destroy(hand->communicator));
    braid_gpu_leave(hand->gpu, &hand->scope);
    free(hand);
}

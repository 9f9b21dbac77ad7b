// SPDX-License-Identifier: Apache-2.0
// Tiled Cholesky on two devices as a program writes it by hand, with streams and events.
#include <stdlib.h>

#include "device/device.h"
#include "gpu/places.h"

enum { NUM_STREAMS = 4 };

struct places_by_hand {
    const struct world *world;
    const struct cholesky_tasks *tasks;
    const struct matrix *matrix;
    braid_stream *streams[NUM_PLACES][NUM_STREAMS];
    struct backend_kernel *kernels[NUM_PLACES][CHOLESKY_NUM_KINDS];
    void *copies[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];         // on the other device
    braid_event *done[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES];    // behind a tile's last write
    braid_event *arrived[CHOLESKY_MOST_TILES * CHOLESKY_MOST_TILES]; // behind its copy
    braid_event *begin, *ends[NUM_PLACES][NUM_STREAMS];
};

// Across devices, too, as drivers do.
static braid_status wait_for(braid_stream *stream, const braid_event *event)
{
    struct backend *backend = stream->device->backend;
    return backend->ops->stream_wait(backend, stream->backend, event->backend);
}

static braid_stream *stream_of(const struct places_by_hand *hand, uint32_t tile)
{
    uint32_t i = tile / CHOLESKY_MOST_TILES, j = tile % CHOLESKY_MOST_TILES;
    return hand->streams[hand->matrix->places[tile]][(i / NUM_PLACES + j) % NUM_STREAMS];
}

static void run_by_hand(struct places_by_hand *hand, const struct cholesky_task *task)
{
    const struct matrix *matrix = hand->matrix;
    uint32_t place = matrix->places[task->to];
    braid_device *device = matrix->owners[task->to];
    braid_stream *stream = stream_of(hand, task->to);
    const void *tiles[3] = { matrix->tiles[task->to] };
    for (uint32_t r = 0; r < task->num_reads; r++) {
        uint32_t t = task->reads[r];
        bool is_here = matrix->places[t] == place;
        must(wait_for(stream, is_here ? hand->done[t] : hand->arrived[t]));
        tiles[1 + r] = is_here ? matrix->tiles[t] : hand->copies[t];
    }
    uint32_t n = hand->world->tile, arg_bytes[4] = { 8, 8, 8, 4 };
    void *args[4] = { &tiles[0], &tiles[1], &tiles[2], &n };
    args[1 + task->num_reads] = &n;
    arg_bytes[1 + task->num_reads] = 4;
    const struct backend_task work = {
        .kind = WORK_KERNEL,
        .name = "by hand",
        .node = BACKEND_NO_NODE,
        .launch = { .kernel = hand->kernels[place][task->kind],
                    .grid = cholesky_grid(task->kind, n),
                    .block = cholesky_block(task->kind, n),
                    .num_args = 2 + task->num_reads,
                    .args = args,
                    .arg_bytes = arg_bytes },
    };
    must(device->backend->ops->submit(device->backend, stream->backend, &work));
    if (task->kind == CHOLESKY_GEMM)
        return; // what writes the tile next is on the same stream
    must(braid_event_record(hand->done[task->to], stream));
    must(braid_stream_copy(stream, hand->copies[task->to], matrix->tiles[task->to],
                           world_tile_bytes(hand->world)));
    must(braid_event_record(hand->arrived[task->to], stream));
}

void places_by_hand_launch(void *user)
{
    struct places_by_hand *hand = user;
    must(braid_event_record(hand->begin, hand->world->stream));
    for (uint32_t p = 0; p < NUM_PLACES; p++)
        for (uint32_t s = 0; s < NUM_STREAMS; s++)
            must(wait_for(hand->streams[p][s], hand->begin));
    for (uint32_t k = 0; k < hand->tasks->num; k++)
        run_by_hand(hand, &hand->tasks->items[k]);
    for (uint32_t p = 0; p < NUM_PLACES; p++) {
        for (uint32_t s = 0; s < NUM_STREAMS; s++) {
            must(braid_event_record(hand->ends[p][s], hand->streams[p][s]));
            must(wait_for(hand->world->stream, hand->ends[p][s]));
        }
    }
}

void places_by_hand_wait(void *user)
{
    const struct world *world = ((const struct places_by_hand *)user)->world;
    must(braid_stream_wait(world->stream));
}

static void open_all(struct places_by_hand *hand)
{
    static const uint32_t arg_bytes[CHOLESKY_NUM_KINDS][4] = { { 8, 4 },
                                                               { 8, 8, 4 },
                                                               { 8, 8, 8, 4 } };
    const struct world *world = hand->world;
    must(braid_event_create(world->devices[0], NULL, &hand->begin));
    for (uint32_t p = 0; p < NUM_PLACES; p++) {
        struct backend *backend = world->devices[p]->backend;
        for (uint32_t s = 0; s < NUM_STREAMS; s++) {
            must(braid_stream_create(world->devices[p], NULL, &hand->streams[p][s]));
            must(braid_event_create(world->devices[p], NULL, &hand->ends[p][s]));
        }
        for (uint32_t k = 0; k < CHOLESKY_NUM_KINDS; k++)
            must(backend->ops->kernel_load(backend, &cholesky_kernels[k], KERNEL_AS_IT_IS, NULL,
                                           arg_bytes[k], k + 2, &hand->kernels[p][k]));
    }
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            uint32_t t = cholesky_tile(i, j), place = hand->matrix->places[t];
            must(braid_memory_allocate(world->devices[1 - place], BRAID_MEMORY_DEVICE,
                                       world_tile_bytes(world), &hand->copies[t]));
            must(braid_event_create(world->devices[place], NULL, &hand->done[t]));
            must(braid_event_create(world->devices[place], NULL, &hand->arrived[t]));
        }
    }
}

struct places_by_hand *places_by_hand_open(const struct world *world,
                                           const struct cholesky_tasks *tasks,
                                           const struct matrix *matrix)
{
    struct places_by_hand *hand = calloc(1, sizeof(*hand));
    if (!hand)
        abort();
    hand->world = world;
    hand->tasks = tasks;
    hand->matrix = matrix;
    open_all(hand);
    return hand;
}

void places_by_hand_close(struct places_by_hand *hand)
{
    const struct world *world = hand->world;
    for (uint32_t i = 0; i < world->num_tiles; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            uint32_t t = cholesky_tile(i, j), place = hand->matrix->places[t];
            braid_memory_free(world->devices[1 - place], hand->copies[t]);
            braid_event_destroy(hand->done[t]);
            braid_event_destroy(hand->arrived[t]);
        }
    }
    for (uint32_t p = 0; p < NUM_PLACES; p++) {
        struct backend *backend = world->devices[p]->backend;
        for (uint32_t s = 0; s < NUM_STREAMS; s++) {
            braid_stream_destroy(hand->streams[p][s]);
            braid_event_destroy(hand->ends[p][s]);
        }
        for (uint32_t k = 0; k < CHOLESKY_NUM_KINDS; k++)
            backend->ops->kernel_unload(backend, hand->kernels[p][k]);
    }
    braid_event_destroy(hand->begin);
    free(hand);
}

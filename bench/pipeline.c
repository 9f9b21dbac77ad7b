// SPDX-License-Identifier: Apache-2.0
// A video pipeline: frames a second from one exec, with 1, 2 and 3 frames in flight, beside three
// threads with queues written by hand, in turn in one run.
//
// A picture is decoded, uploaded, filtered five times, downloaded and encoded. The codecs either
// mostly sleep, as those do that wait for hardware or files, or compute, as software does. The
// threads are a decoder, one that copies and filters, and an encoder, with a queue between each
// two; there filters run on one core. With queues of one picture three are under way, as with DEPTH
// frames in flight, and with queues of DEPTH seven. Launches queue behind those whose place they
// take, so that no thread has to wake for a frame to begin. Every run's pictures must come out in
// order and be the same. bench_pipeline [FRAMES [BACKEND]]: on a GPU (cuda) without the
// threads.
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "pipeline.h"

enum { NUM_TURNS = 5 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// ---- by hand: three threads, and queues of pictures between them

struct queue {
    struct picture *pictures;
    uint32_t depth;
    sem_t full, empty;
};

struct by_hand {
    struct queue decoded, filtered;
    uint32_t num_frames;
};

static struct picture *take(struct queue *queue, uint32_t frame, bool to_read)
{
    while (sem_wait(to_read ? &queue->full : &queue->empty))
        continue;
    return &queue->pictures[frame % queue->depth];
}

static void *decode_all(void *user)
{
    struct by_hand *by_hand = user;
    for (uint32_t i = 0; i < by_hand->num_frames; i++) {
        pipeline_decode(take(&by_hand->decoded, i, false));
        sem_post(&by_hand->decoded.full);
    }
    return NULL;
}

static void *filter_all(void *user)
{
    struct by_hand *by_hand = user;
    struct picture *on_device = calloc(2, sizeof(*on_device)); // a CPU's memory is like any other
    for (uint32_t i = 0; i < by_hand->num_frames && on_device; i++) {
        memcpy(&on_device[0], take(&by_hand->decoded, i, true), sizeof(*on_device));
        sem_post(&by_hand->decoded.empty);
        for (int k = 0; k < NUM_FILTERS; k++)
            pipeline_filter_rows(&on_device[(k + 1) % 2], &on_device[k % 2], 0, HEIGHT);
        memcpy(take(&by_hand->filtered, i, false), &on_device[NUM_FILTERS % 2], sizeof(*on_device));
        sem_post(&by_hand->filtered.full);
    }
    free(on_device);
    return NULL;
}

static void *encode_all(void *user)
{
    struct by_hand *by_hand = user;
    for (uint32_t i = 0; i < by_hand->num_frames; i++) {
        pipeline_encode(take(&by_hand->filtered, i, true));
        sem_post(&by_hand->filtered.empty);
    }
    return NULL;
}

static void open_queue(struct queue *queue, uint32_t depth)
{
    queue->depth = depth;
    queue->pictures = calloc(depth, sizeof(*queue->pictures));
    if (!queue->pictures)
        exit(EXIT_FAILURE);
    sem_init(&queue->full, 0, 0);
    sem_init(&queue->empty, 0, depth);
}

static uint64_t run_by_hand(uint32_t num_frames, uint32_t depth)
{
    struct by_hand by_hand = { .num_frames = num_frames };
    void *(*const stages[])(void *user) = { decode_all, filter_all, encode_all };
    pthread_t threads[3];
    open_queue(&by_hand.decoded, depth);
    open_queue(&by_hand.filtered, depth);
    uint64_t start = now_ns();
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, stages[i], &by_hand))
            exit(EXIT_FAILURE);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    uint64_t ns = now_ns() - start;
    free(by_hand.decoded.pictures);
    free(by_hand.filtered.pictures);
    return ns;
}

// ---- with Braid: one exec

struct with_braid {
    braid_device *device;
    braid_graph *graph;
    braid_stream *stream;
    braid_exec *exec;
    void *in, *out; // memory of the host
};

static const char *backend = "cpu";

static struct with_braid open_braid(uint32_t num_workers, uint32_t frames, braid_exec_mode mode)
{
    struct with_braid braid = { 0 };
    CHECK(braid_device_open(
        &(braid_device_options){ .backend = backend, .num_workers = num_workers }, &braid.device));
    CHECK(braid_graph_create(&braid.graph));
    const uint64_t bytes = DEPTH * sizeof(struct picture);
    CHECK(braid_memory_allocate(braid.device, BRAID_MEMORY_HOST, bytes, &braid.in));
    CHECK(braid_memory_allocate(braid.device, BRAID_MEMORY_HOST, bytes, &braid.out));
    pipeline_fill_graph(braid.graph, frames, braid.in, braid.out);
    CHECK(braid_stream_create(braid.device, NULL, &braid.stream));
    const braid_exec_options options = { .mode = mode,
                                         .frames_in_flight = frames,
                                         .when_full = BRAID_FULL_QUEUES };
    CHECK(braid_exec_create(braid.device, braid.graph, &options, &braid.exec));
    return braid;
}

static void close_braid(struct with_braid *braid)
{
    braid_exec_destroy(braid->exec);
    braid_stream_destroy(braid->stream);
    braid_graph_destroy(braid->graph);
    braid_memory_free(braid->device, braid->in);
    braid_memory_free(braid->device, braid->out);
    CHECK(braid_device_close(braid->device));
}

static uint64_t run_braid(const struct with_braid *braid, uint32_t num_frames)
{
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < num_frames; i++)
        CHECK(braid_exec_launch(braid->exec, braid->stream));
    CHECK(braid_exec_wait(braid->exec));
    return now_ns() - start;
}

// ---- in turn

struct row {
    const char *name;
    uint32_t num_workers, frames; // that are under way
    uint32_t queued;              // in each queue, by hand; 0: with Braid
    braid_exec_mode mode;
    uint64_t ns[NUM_TURNS];
};

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static uint64_t run_row(const struct row *row, uint32_t num_frames, uint32_t *out_checksum)
{
    pipeline_codecs.num_decoded = pipeline_codecs.num_encoded = pipeline_codecs.checksum = 0;
    pipeline_codecs.in_order = true;
    uint64_t ns;
    if (!row->queued) {
        struct with_braid braid = open_braid(row->num_workers, row->frames, row->mode);
        ns = run_braid(&braid, num_frames);
        close_braid(&braid);
    } else {
        ns = run_by_hand(num_frames, row->queued);
    }
    if (!pipeline_codecs.in_order || pipeline_codecs.num_encoded != num_frames) {
        fprintf(stderr, "%s: pictures came out of order\n", row->name);
        exit(EXIT_FAILURE);
    }
    *out_checksum = pipeline_codecs.checksum;
    return ns;
}

static void run_all(struct row *rows, size_t num_rows, uint32_t num_frames)
{
    uint32_t checksum = 0, first = 0;
    for (int turn = 0; turn < NUM_TURNS; turn++)
        for (size_t i = 0; i < num_rows; i++) {
            rows[i].ns[turn] = run_row(&rows[i], num_frames, &checksum);
            first = turn || i ? first : checksum;
            if (checksum != first) {
                fprintf(stderr, "%s: other pictures\n", rows[i].name);
                exit(EXIT_FAILURE);
            }
        }
    printf("<!-- default: graph | streams; by: workers | under way; figures: frames a second; more "
           "is better -->\n"
           "| codecs %s %.1f ms | workers | under way | frames a second | of the first row | of "
           "the second |\n"
           "|---|---:|---:|---:|---:|---:|\n",
           pipeline_codecs.sleep ? "sleep" : "compute", (double)pipeline_codecs.ns / 1e6);
    double first_rates[2] = { 0 };
    for (size_t i = 0; i < num_rows; i++) {
        qsort(rows[i].ns, NUM_TURNS, sizeof(uint64_t), compare);
        double rate = num_frames / ((double)rows[i].ns[NUM_TURNS / 2] / 1e9);
        if (i < 2)
            first_rates[i] = rate;
        printf("| %s | %u | %u | %.0f | %.2f | %.2f |\n", rows[i].name, rows[i].num_workers,
               rows[i].frames, rate, rate / first_rates[0], rate / first_rates[i ? 1 : 0]);
    }
}

int main(int argc, char **argv)
{
    uint32_t num_frames = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    backend = argc > 2 ? argv[2] : backend;
    bool on_cpu = strcmp(backend, "cpu") == 0;
    for (int sleep = 1; sleep >= 0; sleep--) {
        struct row rows[16] = { { .name = "by hand", .frames = 2 * DEPTH + 1, .queued = DEPTH },
                                { .name = "by hand", .frames = 3, .queued = 1 } };
        size_t num = on_cpu ? 2 : 0;
        for (uint32_t workers = 2; workers <= (on_cpu ? 4 : 2); workers += 2) {
            for (uint32_t frames = 1; frames <= DEPTH; frames++)
                rows[num++] = (struct row){ .name = "graph",
                                            .num_workers = workers,
                                            .frames = frames,
                                            .mode = BRAID_MODE_GRAPH };
            for (uint32_t frames = 1; frames <= DEPTH; frames++)
                rows[num++] = (struct row){ .name = "streams",
                                            .num_workers = workers,
                                            .frames = frames,
                                            .mode = BRAID_MODE_STREAMS };
        }
        pipeline_codecs.sleep = sleep;
        pipeline_codecs.ns = 1000000;
        run_all(rows, num, num_frames);
    }
    return 0;
}

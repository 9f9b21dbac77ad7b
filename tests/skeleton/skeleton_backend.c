// SPDX-License-Identifier: Apache-2.0
// The smallest backend that keeps every law, to copy from: a stream is a thread with a queue.
//
// A backend is a table of functions over its own streams, events and kernels, and a list of players
// that can play programs on it: "streams" plays on anything that has streams and events. What to
// look for in a driver, or to make:
// - a stream takes tasks one after another and never blocks who queues them;
// - an event's record is a moment of a stream. A wait captures the latest record when it is queued,
//   so each record is an object of its own here (a point), and the event only knows the latest;
// - arguments are captured when a task is queued;
// - nothing is allocated once as much was in flight as ever will be: items and points are kept.
#include "skeleton/skeleton_backend.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/players.h"
#include "base/error.h"
#include "skeleton/skeleton_pool.h"

// Everything below is guarded by skeleton.lock. A stream with nothing to do waits for its own
// queue, all others wait for a point or an empty queue.

struct skeleton_stream {
    struct backend_stream base;
    struct skeleton *skeleton;
    pthread_t thread;
    pthread_cond_t arrived;
    struct item *first, *last; // the first is at work
    bool stop;
};

struct skeleton_event {
    struct backend_event base;
    struct point *latest; // NULL: never recorded
};

struct skeleton_kernel {
    struct backend_kernel base;
    braid_cpu_function *call;
    void *user;
};

static struct skeleton *skeleton_of(struct backend *backend)
{
    return (struct skeleton *)backend;
}

static struct skeleton_stream *stream_of(struct backend *backend, struct backend_stream *stream)
{
    return stream ? (struct skeleton_stream *)stream : skeleton_of(backend)->default_stream;
}

static struct skeleton_event *event_of(struct backend_event *event)
{
    return (struct skeleton_event *)event;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void append(struct skeleton_stream *stream, struct item *item)
{
    if (stream->last)
        stream->last->next = item;
    else
        stream->first = item;
    stream->last = item;
    pthread_cond_signal(&stream->arrived);
}

static void fill(const struct backend_task *task)
{
    for (uint64_t row = 0; row < work_num_rows(&task->fill.rows); row++) {
        unsigned char *to = task->fill.to;
        to += work_row_at(&task->fill.rows, false, row);
        for (uint64_t i = 0; i < task->fill.num_values; i++)
            for (uint32_t k = 0; k < task->fill.value_bytes; k++)
                *to++ = (unsigned char)(task->fill.value >> 8 * k);
    }
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static braid_dim3 find_grid(const struct backend_launch *launch)
{
    if (!launch->grid_from)
        return launch->grid;
    const braid_dim3 *words = *(const braid_dim3 *const *)launch->args[launch->num_args - 1];
    const braid_dim3 grid = work_grid(*words);
    return (braid_dim3){ least(grid.x, launch->grid.x), least(grid.y, launch->grid.y),
                         least(grid.z, launch->grid.z) };
}

static void run_task(const struct backend_task *task)
{
    if (task->kind == WORK_KERNEL) {
        const struct backend_launch *launch = &task->launch;
        const braid_dim3 grid = find_grid(launch);
        const struct skeleton_kernel *kernel = (const struct skeleton_kernel *)launch->kernel;
        const braid_blocks blocks = {
            .end = (uint64_t)grid.x * grid.y * grid.z,
            .grid = grid,
            .block = launch->block,
            .user = kernel->user,
        };
        if (blocks.end)
            kernel->call(&blocks, launch->args);
    } else if (task->kind == WORK_COPY) {
        for (uint64_t row = 0; row < work_num_rows(&task->copy.rows); row++)
            memmove((char *)task->copy.to + work_row_at(&task->copy.rows, false, row),
                    (const char *)task->copy.from + work_row_at(&task->copy.rows, true, row),
                    task->copy.bytes);
    } else if (task->kind == WORK_FILL) {
        fill(task);
    } else if (task->kind == WORK_HOST) {
        task->host.call(task->host.user);
    }
}

static void run_item(struct skeleton *skeleton, struct item *item)
{
    if (item->kind == ITEM_TASK) {
        pthread_mutex_unlock(&skeleton->lock); // nothing of the program runs under it
        run_task(&item->task);
        pthread_mutex_lock(&skeleton->lock);
    } else if (item->kind == ITEM_RECORD) {
        item->point->time_ns = now_ns();
        item->point->reached = true;
    } else {
        while (!item->point->reached)
            pthread_cond_wait(&skeleton->changed, &skeleton->lock);
    }
}

static void *stream_main(void *user)
{
    struct skeleton_stream *stream = user;
    struct skeleton *skeleton = stream->skeleton;
    pthread_mutex_lock(&skeleton->lock);
    while (stream->first || !stream->stop) {
        struct item *item = stream->first;
        if (!item) {
            pthread_cond_wait(&stream->arrived, &skeleton->lock);
            continue;
        }
        run_item(skeleton, item);
        bool tells = item->kind == ITEM_RECORD || !item->next;
        stream->first = item->next;
        if (!stream->first)
            stream->last = NULL;
        skeleton_free_item(skeleton, item);
        if (tells)
            pthread_cond_broadcast(&skeleton->changed);
    }
    pthread_mutex_unlock(&skeleton->lock);
    return NULL;
}

static braid_status stream_create(struct backend *backend, int32_t priority,
                                  struct backend_stream **out_stream)
{
    (void)priority; // a hint
    struct skeleton_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return braid_error_no_memory("a stream");
    stream->skeleton = skeleton_of(backend);
    pthread_cond_init(&stream->arrived, NULL);
    if (pthread_create(&stream->thread, NULL, stream_main, stream)) {
        pthread_cond_destroy(&stream->arrived);
        free(stream);
        return braid_error(BRAID_UNAVAILABLE, "skeleton: no thread for a stream");
    }
    *out_stream = &stream->base;
    return BRAID_OK;
}

// The thread ends when its queue is empty.
static void stream_destroy(struct backend *backend, struct backend_stream *base)
{
    struct skeleton *skeleton = skeleton_of(backend);
    struct skeleton_stream *stream = stream_of(backend, base);
    pthread_mutex_lock(&skeleton->lock);
    stream->stop = true;
    pthread_cond_signal(&stream->arrived);
    pthread_mutex_unlock(&skeleton->lock);
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->arrived);
    free(stream);
}

// Queues an item with its point; takes the point over, which may be NULL. Lock held.
static braid_status queue(struct skeleton_stream *stream, int kind, struct point *point)
{
    struct skeleton *skeleton = stream->skeleton;
    struct item *item = point ? skeleton_new_item(skeleton, kind, point) : NULL;
    if (!item) {
        skeleton_release_point(skeleton, point);
        return braid_error_no_memory("an entry of a queue");
    }
    append(stream, item);
    return BRAID_OK;
}

// Waits for what others queue meanwhile, too.
static braid_status stream_synchronize(struct backend *backend, struct backend_stream *stream)
{
    struct skeleton *skeleton = skeleton_of(backend);
    pthread_mutex_lock(&skeleton->lock);
    while (stream_of(backend, stream)->first)
        pthread_cond_wait(&skeleton->changed, &skeleton->lock);
    pthread_mutex_unlock(&skeleton->lock);
    return BRAID_OK;
}

static braid_status stream_query(struct backend *backend, struct backend_stream *stream)
{
    struct skeleton *skeleton = skeleton_of(backend);
    pthread_mutex_lock(&skeleton->lock);
    bool idle = !stream_of(backend, stream)->first;
    pthread_mutex_unlock(&skeleton->lock);
    return idle ? BRAID_OK : BRAID_NOT_READY;
}

static braid_status stream_wait(struct backend *backend, struct backend_stream *stream,
                                struct backend_event *event)
{
    struct skeleton *skeleton = skeleton_of(backend);
    braid_status status = BRAID_OK;
    pthread_mutex_lock(&skeleton->lock);
    struct point *latest = event_of(event)->latest;
    if (latest && !latest->reached) {
        latest->num_references++;
        status = queue(stream_of(backend, stream), ITEM_WAIT, latest);
    }
    pthread_mutex_unlock(&skeleton->lock);
    return status;
}

static braid_status event_create(struct backend *backend, bool timing,
                                 struct backend_event **out_event)
{
    (void)backend;
    struct skeleton_event *event = calloc(1, sizeof(*event));
    if (!event)
        return braid_error_no_memory("an event");
    event->base.timing = timing; // every record has its time
    *out_event = &event->base;
    return BRAID_OK;
}

static void event_destroy(struct backend *backend, struct backend_event *event)
{
    struct skeleton *skeleton = skeleton_of(backend);
    pthread_mutex_lock(&skeleton->lock);
    skeleton_release_point(skeleton, event_of(event)->latest);
    pthread_mutex_unlock(&skeleton->lock);
    free(event);
}

static braid_status event_record(struct backend *backend, struct backend_event *event,
                                 struct backend_stream *stream)
{
    struct skeleton *skeleton = skeleton_of(backend);
    pthread_mutex_lock(&skeleton->lock);
    struct point *point = skeleton_new_point(skeleton);
    if (point)
        point->num_references++;
    braid_status status = queue(stream_of(backend, stream), ITEM_RECORD, point);
    if (!status) {
        skeleton_release_point(skeleton, event_of(event)->latest);
        event_of(event)->latest = point;
    } else {
        skeleton_release_point(skeleton, point);
    }
    pthread_mutex_unlock(&skeleton->lock);
    return status;
}

static braid_status event_query(struct backend *backend, struct backend_event *event)
{
    struct skeleton *skeleton = skeleton_of(backend);
    pthread_mutex_lock(&skeleton->lock);
    const struct point *latest = event_of(event)->latest;
    bool reached = !latest || latest->reached;
    pthread_mutex_unlock(&skeleton->lock);
    return reached ? BRAID_OK : BRAID_NOT_READY;
}

static braid_status event_synchronize(struct backend *backend, struct backend_event *event)
{
    struct skeleton *skeleton = skeleton_of(backend);
    pthread_mutex_lock(&skeleton->lock);
    struct point *point = event_of(event)->latest;
    if (point)
        point->num_references++;
    while (point && !point->reached)
        pthread_cond_wait(&skeleton->changed, &skeleton->lock);
    skeleton_release_point(skeleton, point);
    pthread_mutex_unlock(&skeleton->lock);
    return BRAID_OK;
}

static braid_status event_elapsed(struct backend *backend, struct backend_event *start,
                                  struct backend_event *end, uint64_t *out_ns)
{
    struct skeleton *skeleton = skeleton_of(backend);
    const struct point *from = event_of(start)->latest, *to = event_of(end)->latest;
    if (!from || !to)
        return braid_error(BRAID_WRONG_STATE, "elapsed time of an event never recorded");
    pthread_mutex_lock(&skeleton->lock);
    bool reached = from->reached && to->reached;
    if (reached)
        *out_ns = to->time_ns - from->time_ns;
    pthread_mutex_unlock(&skeleton->lock);
    return reached ? BRAID_OK : BRAID_NOT_READY;
}

static braid_status kernel_load(struct backend *backend, const braid_kernel *kernel,
                                unsigned changes, const struct backend_change *change,
                                const uint32_t *arg_bytes, uint32_t num_args,
                                struct backend_kernel **out_kernel)
{
    (void)changes;
    (void)change;
    (void)backend;
    (void)arg_bytes;
    if (!kernel->cpu || num_args > MAX_ARGS)
        return braid_error(BRAID_UNSUPPORTED, "skeleton: kernel '%s' has no CPU function",
                           kernel->name);
    struct skeleton_kernel *loaded = malloc(sizeof(*loaded));
    if (!loaded)
        return braid_error_no_memory("a kernel");
    *loaded = (struct skeleton_kernel){ .call = kernel->cpu, .user = kernel->user };
    *out_kernel = &loaded->base;
    return BRAID_OK;
}

static void kernel_unload(struct backend *backend, struct backend_kernel *kernel)
{
    (void)backend;
    free(kernel);
}

// False where the bytes do not fit.
static bool capture(struct item *item, const struct backend_launch *launch)
{
    size_t used = 0;
    for (uint32_t i = 0; i < launch->num_args; i++) {
        size_t bytes = launch->arg_bytes[i];
        if (bytes > ARG_BYTES - used)
            return false;
        item->args[i] = memcpy(&item->bytes[used], launch->args[i], bytes);
        used = (used + bytes + 15) / 16 * 16;
    }
    item->task.launch.args = item->args;
    return true;
}

static braid_status submit(struct backend *backend, struct backend_stream *stream,
                           const struct backend_task *task)
{
    struct skeleton *skeleton = skeleton_of(backend);
    braid_status status = BRAID_OK;
    pthread_mutex_lock(&skeleton->lock);
    struct item *item = skeleton_new_item(skeleton, ITEM_TASK, NULL);
    if (!item) {
        status = braid_error_no_memory(task->name ? task->name : "a task");
    } else {
        item->task = *task;
        if (task->kind == WORK_KERNEL && !capture(item, &task->launch)) {
            skeleton_free_item(skeleton, item);
            status =
                braid_error(BRAID_UNSUPPORTED, "the arguments of '%s' are too large", task->name);
        } else {
            append(stream_of(backend, stream), item);
        }
    }
    pthread_mutex_unlock(&skeleton->lock);
    return status;
}

static braid_status allocate(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                             void **out_memory)
{
    (void)backend;
    (void)kind;
    void *memory = bytes < (uint64_t)1 << 40 ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
    if (!memory)
        return braid_error(BRAID_NO_MEMORY, "skeleton: no %llu bytes", (unsigned long long)bytes);
    *out_memory = memory;
    return BRAID_OK;
}

static void release(struct backend *backend, braid_memory_kind kind, void *memory)
{
    (void)backend;
    (void)kind;
    free(memory);
}

static void get_info(struct backend *backend, braid_device_info *out_info)
{
    (void)backend;
    *out_info = (braid_device_info){ .name = "skeleton",
                                     .memory_bytes = (uint64_t)1 << 40,
                                     .num_units = 8 };
}

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    (void)backend;
    *out_model = (braid_cost_model){ .default_cost_ns = 10000, .node_ns = 500, .wait_ns = 2000 };
}

static void close_skeleton(struct backend *backend)
{
    struct skeleton *skeleton = skeleton_of(backend);
    if (skeleton->default_stream)
        stream_destroy(backend, &skeleton->default_stream->base);
    for (struct item *item; (item = skeleton->free_items); free(item))
        skeleton->free_items = item->next;
    for (struct point *point; (point = skeleton->free_points); free(point))
        skeleton->free_points = point->next;
    pthread_cond_destroy(&skeleton->changed);
    pthread_mutex_destroy(&skeleton->lock);
    free(skeleton);
}

static const struct player *const players[] = { &braid_streams_player, NULL };

static const struct backend_ops skeleton_ops = {
    .name = "skeleton",
    .players = players,
    .close = close_skeleton,
    .get_info = get_info,
    .get_cost_model = get_cost_model,
    .allocate = allocate,
    .release = release,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_query = stream_query,
    .stream_wait = stream_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .kernel_load = kernel_load,
    .kernel_unload = kernel_unload,
    .submit = submit,
};

braid_status skeleton_open(braid_device **out_device)
{
    struct skeleton *skeleton = calloc(1, sizeof(*skeleton));
    if (!skeleton)
        return braid_error_no_memory("the skeleton");
    skeleton->base.ops = &skeleton_ops;
    pthread_mutex_init(&skeleton->lock, NULL);
    pthread_cond_init(&skeleton->changed, NULL);
    struct backend_stream *stream = NULL;
    braid_status status = stream_create(&skeleton->base, 0, &stream);
    skeleton->default_stream = (struct skeleton_stream *)stream;
    if (!status && !skeleton_fill_pools(skeleton))
        status = braid_error_no_memory("the skeleton");
    if (status) {
        close_skeleton(&skeleton->base);
        return status;
    }
    return braid_device_create(&skeleton->base, 0, out_device);
}

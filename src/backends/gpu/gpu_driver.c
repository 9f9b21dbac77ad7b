// SPDX-License-Identifier: Apache-2.0
// Drivers of streams: their lists, and the threads that take from these.
#include "backends/gpu/gpu_driver.h"

#include "base/array.h"
#include "base/blockers.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/host_memory.h"

enum job_kind { JOB_CALL, JOB_RECORD, JOB_WAIT, JOB_HOST };

struct job {
    enum job_kind kind;
    void (*call)(void *user, struct backend_stream *stream); // JOB_CALL
    void *user;
    struct gpu_event *event; // JOB_RECORD and JOB_WAIT
    uint64_t number;         // which record of the event is made, or waited for
    uint64_t num_waits;      // JOB_RECORD: of the event, before it
    struct backend_task task;
};

struct gpu_driver {
    struct gpu_backend *gpu;
    struct backend_stream *stream; // NULL: the default stream
    struct blockers thread;
    struct array jobs; // guarded by the lock; the one at `first` is under way
    size_t first;      // guarded by the lock
    bool runs;         // guarded by the lock; a thread takes from the list
};

// One lock for all lists and all numbers of records: a stream may wait for an event of another
// device. Nothing is done with it held but to change these.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_moved = PTHREAD_COND_INITIALIZER;

// Operations by the thread of a driver on its own stream are a part of the call under way.
static _Thread_local const struct gpu_driver *own_driver;

static _Atomic(struct gpu_driver *) *find_place(struct gpu_backend *gpu,
                                                struct backend_stream *stream)
{
    return stream ? &gpu_stream_from(stream)->driver : &gpu->default_driver;
}

// NULL: there is none, or this is its thread.
static struct gpu_driver *find(struct gpu_backend *gpu, struct backend_stream *stream)
{
    struct gpu_driver *driver = atomic_load(find_place(gpu, stream));
    return driver == own_driver ? NULL : driver;
}

// As await_other in exec_wait.c: no point of cancellation.
static void await_move(void)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_cond_wait(&has_moved, &lock);
    pthread_setcancelstate(cancel_state, NULL);
}

// ---- one operation ----

// Once the work on the stream has ended, a record is not needed: an older one passes. A wait of the
// host is as good as that of the stream.
static void end_instead(const struct gpu_driver *driver, const struct job *job)
{
    struct backend *backend = &driver->gpu->base;
    braid_status status = job->kind == JOB_WAIT
                              ? backend->ops->event_synchronize(backend, &job->event->base)
                              : braid_gpu_stream_synchronize(backend, driver->stream);
    if (!status && job->kind == JOB_HOST) {
        PLAIN_MEMORY;
        job->task.host.call(job->task.host.user);
    }
    if (status && backend->failure)
        braid_failure_note(backend->failure);
}

// An event stands for its latest record. So a record comes behind the one before, and behind each
// wait for that one, in any list. All of these were queued earlier.
static bool has_turn(const struct job *job)
{
    const struct gpu_event *event = job->event;
    if (job->kind == JOB_WAIT)
        return event->num_made >= job->number;
    return event->num_made + 1 == job->number && event->num_waited == job->num_waits;
}

static void await_turn(const struct job *job)
{
    pthread_mutex_lock(&lock);
    while (!has_turn(job))
        await_move();
    pthread_mutex_unlock(&lock);
}

static void play(const struct gpu_driver *driver, const struct job *job)
{
    HOST_MEMORY(driver->thread.allocator); // the device's
    struct backend *backend = &driver->gpu->base;
    braid_status status = BRAID_OK;
    if (job->kind == JOB_CALL)
        job->call(job->user, driver->stream);
    else if (job->kind == JOB_RECORD)
        status = braid_gpu_record_now(backend, &job->event->base, driver->stream);
    else if (job->kind == JOB_WAIT)
        status = braid_gpu_wait_now(backend, driver->stream, &job->event->base);
    else
        status = braid_gpu_submit(backend, driver->stream, &job->task);
    if (!status)
        return;
    (void)braid_error(status, "the host waits instead: %s", braid_error_get_message());
    end_instead(driver, job);
}

static void leave_event(const struct job *job)
{
    if (job->kind == JOB_RECORD)
        job->event->num_made = job->number;
    if (job->kind == JOB_WAIT)
        job->event->num_waited++;
    if (job->event)
        atomic_fetch_sub(&job->event->num_jobs, 1);
}

static void drive(void *user)
{
    struct gpu_driver *driver = user;
    own_driver = driver;
    pthread_mutex_lock(&lock);
    while (driver->first < driver->jobs.num) {
        const struct job job = ((const struct job *)driver->jobs.items)[driver->first];
        pthread_mutex_unlock(&lock);
        if (job.event)
            await_turn(&job);
        play(driver, &job);
        pthread_mutex_lock(&lock);
        leave_event(&job);
        driver->first++;
        pthread_cond_broadcast(&has_moved);
    }
    driver->jobs.num = driver->first = 0;
    driver->runs = false;
    pthread_cond_broadcast(&has_moved);
    pthread_mutex_unlock(&lock);
    own_driver = NULL;
}

// ---- lists, with the lock held ----

static struct gpu_driver *make(struct gpu_backend *gpu, struct backend_stream *stream)
{
    struct gpu_driver *driver = atomic_load(find_place(gpu, stream));
    if (driver)
        return driver;
    driver = braid_allocate_zeroed(1, sizeof(*driver));
    if (!driver)
        return NULL;
    driver->gpu = gpu;
    driver->stream = stream;
    braid_blockers_init(&driver->thread, drive, NULL, NULL);
    atomic_store(find_place(gpu, stream), driver);
    return driver;
}

static void drop_done(struct gpu_driver *driver)
{
    struct job *jobs = driver->jobs.items;
    size_t num = driver->jobs.num - driver->first;
    for (size_t i = 0; i < num; i++)
        jobs[i] = jobs[driver->first + i];
    driver->jobs.num = num;
    driver->first = 0;
}

static braid_status append(struct gpu_backend *gpu, struct backend_stream *stream,
                           const struct job *job)
{
    struct gpu_driver *driver = make(gpu, stream);
    if (driver && driver->jobs.num == driver->jobs.capacity)
        drop_done(driver);
    if (!driver || !braid_array_put(&driver->jobs, job, sizeof(*job)))
        return braid_error_no_memory("what stands behind a call of the host");
    if (!driver->runs && !braid_blockers_run(&driver->thread, driver)) {
        driver->jobs.num--;
        return braid_error_no_memory("the thread of a stream");
    }
    driver->runs = true;
    if (job->event)
        atomic_fetch_add(&job->event->num_jobs, 1);
    return BRAID_OK;
}

static bool is_pending(const struct gpu_event *event)
{
    return event->num_made < event->num_queued;
}

// ---- operations ----

braid_status braid_gpu_drive(struct backend *backend, struct backend_stream *stream,
                             void (*call)(void *user, struct backend_stream *stream), void *user)
{
    const struct job job = { .kind = JOB_CALL, .call = call, .user = user };
    pthread_mutex_lock(&lock);
    braid_status status = append(gpu_from(backend), stream, &job);
    pthread_mutex_unlock(&lock);
    return status;
}

bool braid_gpu_driver_is_busy(struct gpu_backend *gpu, struct backend_stream *stream)
{
    const struct gpu_driver *driver = find(gpu, stream);
    if (!driver)
        return false;
    pthread_mutex_lock(&lock);
    bool is_busy = driver->runs;
    pthread_mutex_unlock(&lock);
    return is_busy;
}

bool braid_gpu_driver_is_pending(struct gpu_event *event)
{
    if (!atomic_load(&event->num_jobs))
        return false;
    pthread_mutex_lock(&lock);
    bool pending = is_pending(event);
    pthread_mutex_unlock(&lock);
    return pending;
}

void braid_gpu_driver_await(struct gpu_backend *gpu, struct backend_stream *stream)
{
    const struct gpu_driver *driver = find(gpu, stream);
    if (!driver)
        return;
    pthread_mutex_lock(&lock);
    while (driver->runs)
        await_move();
    pthread_mutex_unlock(&lock);
}

void braid_gpu_driver_await_record(struct gpu_event *event)
{
    if (!atomic_load(&event->num_jobs))
        return;
    pthread_mutex_lock(&lock);
    const uint64_t number = event->num_queued;
    while (event->num_made < number)
        await_move();
    pthread_mutex_unlock(&lock);
}

void braid_gpu_driver_forget(struct gpu_event *event)
{
    if (!atomic_load(&event->num_jobs))
        return;
    pthread_mutex_lock(&lock);
    while (atomic_load(&event->num_jobs))
        await_move();
    pthread_mutex_unlock(&lock);
}

// The program's own streams have no list, since it queues on them by itself.
static bool may_have_list(struct gpu_backend *gpu, struct backend_stream *stream)
{
    const bool is_own = own_driver && atomic_load(find_place(gpu, stream)) == own_driver;
    return !is_own && (!stream || !stream->wrapped);
}

// While a list has the event, a record at once would take the place of one that is still awaited.
braid_status braid_gpu_driver_record(struct gpu_backend *gpu, struct backend_stream *stream,
                                     struct gpu_event *event, bool *out_at_once)
{
    const struct gpu_driver *driver = find(gpu, stream);
    const bool has_list = may_have_list(gpu, stream);
    braid_status status = BRAID_OK;
    *out_at_once = true;
    if (!driver && !atomic_load(&event->num_jobs))
        return BRAID_OK;
    pthread_mutex_lock(&lock);
    if (has_list && (atomic_load(&event->num_jobs) || (driver && driver->runs))) {
        const struct job job = { .kind = JOB_RECORD,
                                 .event = event,
                                 .number = event->num_queued + 1,
                                 .num_waits = event->num_waits };
        status = append(gpu, stream, &job);
        event->num_queued += !status;
        *out_at_once = false;
    }
    pthread_mutex_unlock(&lock);
    if (*out_at_once)
        braid_gpu_driver_forget(event);
    return status;
}

braid_status braid_gpu_driver_wait(struct gpu_backend *gpu, struct backend_stream *stream,
                                   struct gpu_event *event, bool *out_at_once)
{
    const struct gpu_driver *driver = find(gpu, stream);
    const bool has_list = may_have_list(gpu, stream);
    braid_status status = BRAID_OK;
    *out_at_once = true;
    if (!driver && !atomic_load(&event->num_jobs))
        return BRAID_OK;
    pthread_mutex_lock(&lock);
    if (has_list && (is_pending(event) || (driver && driver->runs))) {
        const struct job job = { .kind = JOB_WAIT, .event = event, .number = event->num_queued };
        status = append(gpu, stream, &job);
        event->num_waits += !status;
        *out_at_once = false;
    }
    pthread_mutex_unlock(&lock);
    if (*out_at_once)
        braid_gpu_driver_await_record(event);
    return status;
}

// A kernel's arguments are the caller's, and so are the parts of a detour.
braid_status braid_gpu_driver_submit(struct gpu_backend *gpu, struct backend_stream *stream,
                                     const struct backend_task *task, bool *out_at_once)
{
    const struct gpu_driver *driver = find(gpu, stream);
    braid_status status = BRAID_OK;
    *out_at_once = true;
    if (!driver)
        return BRAID_OK;
    if (task->kind == WORK_HOST && !task->detour && !task->note) {
        const struct job job = { .kind = JOB_HOST, .task = *task };
        pthread_mutex_lock(&lock);
        *out_at_once = !driver->runs;
        if (driver->runs)
            status = append(gpu, stream, &job);
        pthread_mutex_unlock(&lock);
    }
    if (*out_at_once)
        braid_gpu_driver_await(gpu, stream);
    return status;
}

void braid_gpu_driver_finish(struct gpu_backend *gpu, struct backend_stream *stream)
{
    struct gpu_driver *driver = atomic_load(find_place(gpu, stream));
    if (!driver)
        return;
    braid_gpu_driver_await(gpu, stream);
    braid_blockers_finish(&driver->thread);
    braid_array_finish(&driver->jobs);
    braid_free(driver);
    atomic_store(find_place(gpu, stream), NULL);
}

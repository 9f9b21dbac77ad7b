// SPDX-License-Identifier: Apache-2.0
// A backend that runs nothing but writes down every call.
#include "trace_backend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/players.h"
#include "base/error.h"
#include "base/node_text.h"

struct trace_stream {
    struct backend_stream base;
    int number;
};

struct trace_event {
    struct backend_event base;
    int number;
};

static struct trace *trace_of(struct backend *backend)
{
    return (struct trace *)backend;
}

static int stream_number(const struct backend_stream *stream)
{
    return stream ? ((const struct trace_stream *)stream)->number : 0;
}

static int event_number(const struct backend_event *event)
{
    return ((const struct trace_event *)event)->number;
}

static void write_down(struct trace *trace, struct trace_entry entry)
{
    pthread_mutex_lock(&trace->lock);
    assert(trace->num_entries < (int)(sizeof(trace->entries) / sizeof(trace->entries[0])));
    trace->entries[trace->num_entries++] = entry;
    pthread_mutex_unlock(&trace->lock);
}

// Whether the turn of the call to fail has come.
static bool must_fail(struct trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    int call = ++trace->num_calls;
    bool fails = call == trace->fail_at || (trace->fails_on && trace->failed);
    trace->failed = trace->failed || fails;
    pthread_mutex_unlock(&trace->lock);
    if (trace->while_calling && call == trace->call_at)
        trace->while_calling(trace->user);
    return fails;
}

static braid_status count_call(struct trace *trace, const char *call)
{
    if (!must_fail(trace))
        return BRAID_OK;
    return braid_error(BRAID_DEVICE_ERROR, "planted failure of %s", call);
}

static void close_trace(struct backend *backend)
{
    trace_of(backend)->closed = true;
    pthread_mutex_destroy(&trace_of(backend)->lock);
}

static void get_info(struct backend *backend, braid_device_info *out_info)
{
    (void)backend;
    *out_info = (braid_device_info){ .name = "trace" };
}

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    (void)backend;
    *out_model = (braid_cost_model){ 0 };
}

static braid_status allocate(struct backend *backend, braid_memory_kind kind, uint64_t bytes,
                             void **out_memory)
{
    (void)kind;
    braid_status status = count_call(trace_of(backend), "allocate");
    if (status)
        return status;
    write_down(trace_of(backend), (struct trace_entry){ .call = TRACE_ALLOCATE });
    *out_memory = malloc(bytes);
    return BRAID_OK;
}

static void release(struct backend *backend, braid_memory_kind kind, void *memory)
{
    (void)backend;
    (void)kind;
    free(memory);
}

static braid_status stream_create(struct backend *backend, int32_t priority,
                                  struct backend_stream **out_stream)
{
    (void)priority;
    struct trace *trace = trace_of(backend);
    braid_status status = count_call(trace, "stream_create");
    if (status)
        return status;
    struct trace_stream *stream = calloc(1, sizeof(*stream));
    assert(stream);
    stream->number = ++trace->num_streams;
    trace->live_streams++;
    write_down(trace, (struct trace_entry){ TRACE_STREAM_CREATE, stream->number, 0, NULL });
    *out_stream = &stream->base;
    return BRAID_OK;
}

static void stream_destroy(struct backend *backend, struct backend_stream *stream)
{
    struct trace *trace = trace_of(backend);
    trace->live_streams--;
    write_down(trace, (struct trace_entry){ TRACE_STREAM_DESTROY, stream_number(stream), 0, NULL });
    free(stream);
}

static braid_status stream_synchronize(struct backend *backend, struct backend_stream *stream)
{
    struct trace *trace = trace_of(backend);
    write_down(trace,
               (struct trace_entry){ TRACE_STREAM_SYNCHRONIZE, stream_number(stream), 0, NULL });
    return trace->while_waiting ? trace->while_waiting(trace->user) : BRAID_OK;
}

static braid_status stream_query(struct backend *backend, struct backend_stream *stream)
{
    write_down(trace_of(backend),
               (struct trace_entry){ TRACE_STREAM_QUERY, stream_number(stream), 0, NULL });
    return BRAID_OK;
}

static braid_status stream_wait(struct backend *backend, struct backend_stream *stream,
                                struct backend_event *event)
{
    braid_status status = count_call(trace_of(backend), "stream_wait");
    if (status)
        return status;
    write_down(trace_of(backend), (struct trace_entry){ TRACE_STREAM_WAIT, stream_number(stream),
                                                        event_number(event), NULL });
    return BRAID_OK;
}

static braid_status event_create(struct backend *backend, bool timing,
                                 struct backend_event **out_event)
{
    (void)timing;
    struct trace *trace = trace_of(backend);
    braid_status status = count_call(trace, "event_create");
    if (status)
        return status;
    struct trace_event *event = calloc(1, sizeof(*event));
    assert(event);
    event->number = ++trace->num_events;
    trace->live_events++;
    write_down(trace, (struct trace_entry){ TRACE_EVENT_CREATE, 0, event->number, NULL });
    *out_event = &event->base;
    return BRAID_OK;
}

static void event_destroy(struct backend *backend, struct backend_event *event)
{
    struct trace *trace = trace_of(backend);
    trace->live_events--;
    write_down(trace, (struct trace_entry){ TRACE_EVENT_DESTROY, 0, event_number(event), NULL });
    free(event);
}

static braid_status event_record(struct backend *backend, struct backend_event *event,
                                 struct backend_stream *stream)
{
    struct trace *trace = trace_of(backend);
    braid_status status = count_call(trace, "event_record");
    if (status)
        return status;
    if (trace->while_recording)
        trace->while_recording(trace->user);
    write_down(trace_of(backend), (struct trace_entry){ TRACE_EVENT_RECORD, stream_number(stream),
                                                        event_number(event), NULL });
    return BRAID_OK;
}

static braid_status event_query(struct backend *backend, struct backend_event *event)
{
    struct trace *trace = trace_of(backend);
    return trace->while_asking ? trace->while_asking(event, trace->user) : BRAID_OK;
}

static braid_status event_synchronize(struct backend *backend, struct backend_event *event)
{
    write_down(trace_of(backend),
               (struct trace_entry){ TRACE_EVENT_SYNCHRONIZE, 0, event_number(event), NULL });
    return BRAID_OK;
}

static braid_status event_elapsed(struct backend *backend, struct backend_event *start,
                                  struct backend_event *end, uint64_t *out_ns)
{
    (void)backend;
    (void)start;
    (void)end;
    *out_ns = 0;
    return BRAID_OK;
}

static braid_status kernel_load(struct backend *backend, const braid_kernel *kernel,
                                unsigned changes, const struct backend_change *change,
                                const uint32_t *arg_bytes, uint32_t num_args,
                                struct backend_kernel **out_kernel)
{
    (void)changes;
    (void)change;
    (void)kernel;
    (void)arg_bytes;
    (void)num_args;
    struct trace *trace = trace_of(backend);
    braid_status status = count_call(trace, "kernel_load");
    if (status)
        return status;
    write_down(trace, (struct trace_entry){ .call = TRACE_KERNEL_LOAD });
    *out_kernel = calloc(1, sizeof(**out_kernel));
    assert(*out_kernel);
    trace->live_kernels++;
    return BRAID_OK;
}

static void kernel_unload(struct backend *backend, struct backend_kernel *kernel)
{
    trace_of(backend)->live_kernels--;
    write_down(trace_of(backend), (struct trace_entry){ .call = TRACE_KERNEL_UNLOAD });
    free(kernel);
}

static braid_status submit(struct backend *backend, struct backend_stream *stream,
                           const struct backend_task *task)
{
    struct trace *trace = trace_of(backend);
    if (must_fail(trace))
        return braid_error(BRAID_DEVICE_ERROR,
                           "launch of node %s failed: planted failure of submit",
                           braid_node_text(task->node, task->name).text);
    write_down(trace, (struct trace_entry){ TRACE_SUBMIT, stream_number(stream), 0, task->name });
    if (task->kind == WORK_HOST)
        task->host.call(task->host.user);
    return BRAID_OK;
}

// A player that only writes down that it played, and leaves the order of frames to the device.
struct trace_playing {
    struct playing base;
    struct trace *trace;
};

static struct trace *trace_of_playing(const struct playing *playing)
{
    return ((const struct trace_playing *)playing)->trace;
}

static braid_status check(const struct stage *stage)
{
    if (trace_of(stage->device->backend)->refuses_programs)
        return braid_error(BRAID_UNSUPPORTED, "planted refusal of a program");
    return BRAID_OK;
}

static braid_status create(const struct stage *stage, struct playing **out_playing)
{
    struct trace *trace = trace_of(stage->device->backend);
    braid_status status = count_call(trace, "create");
    if (status)
        return status;
    write_down(trace, (struct trace_entry){ .call = TRACE_PROGRAM_CREATE });
    struct trace_playing *playing = calloc(1, sizeof(*playing));
    assert(playing);
    playing->trace = trace;
    *out_playing = &playing->base;
    return BRAID_OK;
}

static braid_status launch(struct playing *playing, braid_stream *stream,
                           struct play_result *out_result)
{
    struct trace *trace = trace_of_playing(playing);
    braid_status status = count_call(trace, "launch");
    out_result->queued = !status;
    if (status)
        return status;
    write_down(trace, (struct trace_entry){ TRACE_PROGRAM_LAUNCH, stream_number(stream->backend), 0,
                                            NULL });
    return BRAID_OK;
}

static void destroy(struct playing *playing)
{
    write_down(trace_of_playing(playing), (struct trace_entry){ .call = TRACE_PROGRAM_DESTROY });
    free(playing);
}

static const struct player trace_player = {
    .name = "trace",
    .mode = BRAID_MODE_GRAPH,
    .get_cost_model = get_cost_model,
    .check = check,
    .create = create,
    .launch = launch,
    .destroy = destroy,
};

static const struct player *const streams_only[] = { &braid_streams_player, NULL };
static const struct player *const renewing_only[] = { &braid_renewing_streams_player, NULL };
static const struct player *const trace_first[] = { &trace_player, &braid_streams_player, NULL };

#define TRACE_OPS                                                                                  \
    .name = "trace", .close = close_trace, .get_info = get_info, .get_cost_model = get_cost_model, \
    .allocate = allocate, .release = release, .stream_create = stream_create,                      \
    .stream_destroy = stream_destroy, .stream_synchronize = stream_synchronize,                    \
    .stream_query = stream_query, .stream_wait = stream_wait, .event_create = event_create,        \
    .event_destroy = event_destroy, .event_record = event_record, .event_query = event_query,      \
    .event_synchronize = event_synchronize, .event_elapsed = event_elapsed,                        \
    .kernel_load = kernel_load, .kernel_unload = kernel_unload, .submit = submit

static const struct backend_ops trace_ops = { TRACE_OPS, .players = streams_only };
static const struct backend_ops renewing_ops = { TRACE_OPS, .players = renewing_only };
static const struct backend_ops graph_ops = { TRACE_OPS, .players = trace_first };

#undef TRACE_OPS

static braid_status open_with(const struct backend_ops *ops, struct trace *trace,
                              braid_device **out_device)
{
    *trace = (struct trace){ .backend = { ops } };
    pthread_mutex_init(&trace->lock, NULL);
    return braid_device_create(&trace->backend, 0, out_device);
}

braid_status trace_open(struct trace *trace, bool renew_events, braid_device **out_device)
{
    return open_with(renew_events ? &renewing_ops : &trace_ops, trace, out_device);
}

braid_status trace_open_graph(struct trace *trace, braid_device **out_device)
{
    return open_with(&graph_ops, trace, out_device);
}

// What is ordered behind an entry.
struct behind {
    bool *streams; // by number: holds such an entry
    bool *events;  // by number: its latest record is such an entry
    bool program;  // its latest launch is such an entry
    bool host;     // has waited for such an entry
};

// A wait captures what its event is at that moment; a launch follows the launch before it.
static void follow(const struct trace_entry *entry, struct behind *behind)
{
    bool *stream = &behind->streams[entry->stream];
    bool *event = &behind->events[entry->event];
    *stream = *stream || behind->host;
    if (entry->call == TRACE_EVENT_RECORD)
        *event = *stream;
    else if (entry->call == TRACE_STREAM_WAIT)
        *stream = *stream || *event;
    else if (entry->call == TRACE_PROGRAM_LAUNCH)
        *stream = behind->program = *stream || behind->program;
    else if (entry->call == TRACE_STREAM_SYNCHRONIZE)
        behind->host = behind->host || *stream;
    else if (entry->call == TRACE_EVENT_SYNCHRONIZE)
        behind->host = behind->host || *event;
}

// Marks every entry ordered behind `first`, by a walk in submission order.
bool trace_is_ordered(const struct trace *trace, int first, int second)
{
    struct behind behind = {
        .streams = calloc((size_t)trace->num_streams + 1, sizeof(bool)),
        .events = calloc((size_t)trace->num_events + 1, sizeof(bool)),
        .program = trace->entries[first].call == TRACE_PROGRAM_LAUNCH,
    };
    assert(behind.streams && behind.events);
    behind.streams[trace->entries[first].stream] = true;
    for (int i = first + 1; i <= second; i++)
        follow(&trace->entries[i], &behind);
    enum trace_call call = trace->entries[second].call;
    bool is_host = call == TRACE_STREAM_SYNCHRONIZE || call == TRACE_EVENT_SYNCHRONIZE;
    bool ordered = behind.host || (!is_host && behind.streams[trace->entries[second].stream]);
    free(behind.streams);
    free(behind.events);
    return ordered;
}

int trace_find_task(const struct trace *trace, const char *task, int from)
{
    int found = -1;
    for (int i = from; i < trace->num_entries; i++) {
        if (trace->entries[i].call == TRACE_SUBMIT && strcmp(trace->entries[i].task, task) == 0) {
            assert(found < 0);
            found = i;
        }
    }
    return found;
}

int trace_count(const struct trace *trace, enum trace_call call, int from)
{
    int count = 0;
    for (int i = from; i < trace->num_entries; i++)
        count += trace->entries[i].call == call;
    return count;
}

// SPDX-License-Identifier: Apache-2.0
// Work on streams: launches, copies, fills, events, and waits of the host.
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/notes.h"

enum { BY_NAME_ALONE = 1 << 30 }; // a version that none asks for

enum { HOST = 1, ARRAY = 3, UNIFIED = 4, MEMORY_TYPE = 2, NOT_DONE = 1 };

// Attributes of a launch.
enum { COOPERATIVE = 2, CLUSTER = 4, PROGRAMMATIC = 6, PRIORITY = 8 };

static word make(const struct driver_call *call, word *words, const struct place *place,
                 const braid_record_work *work, uint32_t *out_operation)
{
    const struct begun begun = recorder_begin(place, work->kind);
    const word answer = call_driver(call, words);
    recorder_end(&begun, work, answer);
    *out_operation = begun.number;
    return answer;
}

// The host has waited: noted where the call has returned.
static void note_wait(braid_record_scope scope, uint32_t scope_of, uint32_t event)
{
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_SYNCHRONISE);
    work.scope = scope;
    work.scope_of = scope_of;
    work.event = event;
    const struct begun begun =
        recorder_begin(&(struct place){ .has_stream = false }, BRAID_RECORD_SYNCHRONISE);
    recorder_end(&begun, &work, SUCCEEDED);
}

// ---- launches ----

// The parameters are read once the driver has taken the launch: it then knows the function, even if
// it loads it late.
static word launch(const struct driver_call *call, word *words, const struct place *place,
                   const struct launch *launch, word function, void **arguments, void **extra)
{
    const struct begun begun = recorder_begin(place, BRAID_RECORD_KERNEL);
    const word answer = call_driver(call, words);
    if (begun.number == BRAID_RECORD_NONE)
        return answer;
    const uint64_t end_ns = recorder_now();
    if (begun.timing)
        recorder_time_end(&begun, answer);
    if (answer != SUCCEEDED)
        return answer;
    const struct kernel_layout *layout = recorder_layout(begun.notes, function);
    if (layout)
        recorder_note_launch(&begun, launch, end_ns, layout, arguments, extra);
    return answer;
}

// (function, grid, block, shared, stream, arguments, extra), the last not where it is cooperative.
static word launch_kernel(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const struct place place = recorder_place(call, words[8]);
    struct launch told = { .is_cooperative = call->detail };
    for (int i = 0; i < 7; i++)
        told.sizes[i] = (uint32_t)words[1 + i];
    return launch(call, words, &place, &told, words[0], (void **)(uintptr_t)words[9],
                  call->detail ? NULL : (void **)(uintptr_t)words[10]);
}

struct attribute {
    int id, unused;
    union {
        uint32_t cluster[3];
        int number;
        char bytes[64];
    };
};

struct launch_config {
    uint32_t sizes[7];
    uint64_t stream;
    const struct attribute *attributes;
    uint32_t num_attributes;
};

// cuLaunchKernelEx(config, function, arguments, extra)
static word launch_with_config(const struct driver_call *call, word *words)
{
    const struct launch_config *config = (const struct launch_config *)(uintptr_t)words[0];
    if (!is_recording() || !config)
        return call_driver(call, words);
    const struct place place = recorder_place(call, config->stream);
    struct launch told = { .is_cooperative = false };
    memcpy(told.sizes, config->sizes, sizeof(told.sizes));
    for (uint32_t i = 0; config->attributes && i < config->num_attributes; i++) {
        const struct attribute *attribute = &config->attributes[i];
        if (attribute->id == COOPERATIVE)
            told.is_cooperative = attribute->number != 0;
        else if (attribute->id == CLUSTER)
            memcpy(told.cluster, attribute->cluster, sizeof(told.cluster));
        else if (attribute->id == PROGRAMMATIC)
            told.starts_early = attribute->number != 0;
        else if (attribute->id != PRIORITY && attribute->id != 0)
            told.has_unknown_attributes = true;
    }
    return launch(call, words, &place, &told, words[1], (void **)(uintptr_t)words[2],
                  (void **)(uintptr_t)words[3]);
}

// (stream, ..)
static word host_call(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const struct place place = recorder_place(call, words[0]);
    uint32_t operation;
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_HOST_CALL);
    return make(call, words, &place, &work, &operation);
}

// (stream, ..): writes and waits for words of memory, which stay without a meaning here.
static word stream_operation(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const struct place place = recorder_place(call, words[0]);
    uint32_t operation;
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_UNKNOWN);
    work.name = call->name;
    return make(call, words, &place, &work, &operation);
}

// ---- copies ----

// Whether the address is host memory, where only the driver can tell. It does not know memory that
// nobody pinned.
static bool is_host(uint64_t address)
{
    int type = 0;
    const word answer = ASK("cuPointerGetAttribute", POINTER(&type), MEMORY_TYPE, address, 0);
    return answer == INVALID_VALUE || (answer == SUCCEEDED && type == HOST);
}

static bool is_pinned(uint64_t address)
{
    int type = 0;
    return ASK("cuPointerGetAttribute", POINTER(&type), MEMORY_TYPE, address, 0) == SUCCEEDED &&
           type == HOST;
}

static const char *row_of(const braid_record_work *work, uint64_t y, uint64_t z)
{
    const braid_record_end *from = &work->from;
    return (const char *)(uintptr_t)(from->address + from->x +
                                     ((z + from->z) * from->rows + y + from->y) * from->pitch);
}

// The driver may refuse the copy, so its source may be anything. The kernel looks at the signals
// that shall change before it refuses such a change.
bool recorder_can_read(const void *begin, uint64_t num)
{
    enum { PAGE = 4096, NO_CHANGE = -1 };
    const uintptr_t first = POINTER(begin), end = first + num;
    const int before = errno;
    bool is_read = first >= PAGE && end >= first;
    for (uintptr_t at = first / 8 * 8; at < end && is_read; at = at / PAGE * PAGE + PAGE)
        is_read = syscall(SYS_rt_sigprocmask, NO_CHANGE, at, NULL, 8) == 0 || errno != EFAULT;
    errno = before;
    return is_read;
}

static bool are_rows_readable(const braid_record_work *work)
{
    bool is_read = true;
    for (uint64_t z = 0; z < work->depth && is_read; z++)
        for (uint64_t y = 0; y < work->height && is_read; y++)
            is_read = recorder_can_read(row_of(work, y, z), work->width);
    return is_read;
}

// Keeps the bytes that the copy sends, row after row.
static void take_bytes(braid_record_work *work)
{
    uint64_t num = 0;
    if (__builtin_mul_overflow(work->width, work->height, &num) ||
        __builtin_mul_overflow(num, work->depth, &num))
        return;
    const bool is_host_memory =
        work->from.place == BRAID_RECORD_ON_HOST ||
        (work->from.place == BRAID_RECORD_ANYWHERE && is_host(work->from.address));
    if (!is_host_memory || num == 0)
        return;
    work->from.place = BRAID_RECORD_ON_HOST;
    work->num_bytes = num;
    const bool is_line = work->height == 1 && work->depth == 1;
    if ((!is_line && num > recorder.most_bytes) || !are_rows_readable(work))
        return;
    char *to = NULL;
    recorder_lock();
    if (num <= recorder.most_bytes && num <= recorder.most_stored - recorder.stored_bytes) {
        recorder.stored_bytes += num;
        to = braid_store_take(&recorder.store, 1, num + 1);
        recorder.failed |= !to;
    }
    recorder_unlock();
    if (!to && is_line)
        work->digest = braid_record_get_digest(row_of(work, 0, 0), num);
    if (!to)
        return;
    work->bytes = to;
    for (uint64_t z = 0; z < work->depth; z++)
        for (uint64_t y = 0; y < work->height; y++, to += work->width)
            memcpy(to, row_of(work, y, z), work->width);
    work->digest = braid_record_get_digest(work->bytes, num);
}

// The host waits for a copy to it, and for one from pinned memory, where no stream was given.
static word copy(const struct driver_call *call, word *words, const struct place *place,
                 braid_record_work *work, bool is_synchronous)
{
    if (place->is_captured)
        return call_driver(call, words);
    uint32_t operation;
    take_bytes(work);
    const bool to_host =
        work->to.place == BRAID_RECORD_ON_HOST ||
        (work->to.place == BRAID_RECORD_ANYWHERE && is_synchronous && is_host(work->to.address));
    const bool waits =
        is_synchronous &&
        (to_host || (work->from.place == BRAID_RECORD_ON_HOST && is_pinned(work->from.address)));
    const word answer = make(call, words, place, work, &operation);
    if (answer == SUCCEEDED && waits && operation != BRAID_RECORD_NONE)
        note_wait(BRAID_RECORD_OF_OPERATION, operation, BRAID_RECORD_NONE);
    return answer;
}

// The detail of a linear copy: both places, the words with the source, size and stream.
enum { TO_AT = 4, FROM_WORD_AT = 8, SIZE_WORD_AT = 12, STREAM_WORD_AT = 16, NO_STREAM = 15 };
#define COPIES(to, from, from_word, size_word, stream_word)                                        \
    ((from) | (to) << TO_AT | (from_word) << FROM_WORD_AT | (size_word) << SIZE_WORD_AT |          \
     (uint64_t)(stream_word) << STREAM_WORD_AT)

// Calls without a stream run on the null stream.
static struct place place_of(const struct driver_call *call, const word *words, unsigned stream)
{
    return recorder_place(call, stream == NO_STREAM ? 0 : words[stream]);
}

// (to, .., from, .., bytes, ..)
static word copy_line(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const unsigned stream = call->detail >> STREAM_WORD_AT & 15;
    const struct place place = place_of(call, words, stream);
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_COPY);
    work.to.address = words[0];
    work.to.place = (braid_record_place)(call->detail >> TO_AT & 15);
    work.from.address = words[call->detail >> FROM_WORD_AT & 15];
    work.from.place = (braid_record_place)(call->detail & 15);
    work.width = words[call->detail >> SIZE_WORD_AT & 15];
    work.height = work.depth = 1;
    return copy(call, words, &place, &work, stream == NO_STREAM);
}

static braid_record_place place_named(int type)
{
    return type == HOST      ? BRAID_RECORD_ON_HOST
           : type == ARRAY   ? BRAID_RECORD_IN_ARRAY
           : type == UNIFIED ? BRAID_RECORD_ANYWHERE
                             : BRAID_RECORD_ON_DEVICE;
}

static uint64_t address_named(int type, const void *host, uint64_t device, uint64_t array)
{
    return type == HOST ? POINTER(host) : type == ARRAY ? array : device;
}

struct plane { // a part of CUDA_MEMCPY2D
    size_t x, y;
    int type;
    const void *host;
    uint64_t device, array;
    size_t pitch;
};

struct copy_of_rows { // CUDA_MEMCPY2D
    struct plane from, to;
    size_t width, height;
};

static braid_record_end end_of_plane(const struct plane *plane)
{
    return (braid_record_end){
        .address = address_named(plane->type, plane->host, plane->device, plane->array),
        .place = place_named(plane->type),
        .pitch = plane->pitch,
        .x = plane->x,
        .y = plane->y,
    };
}

// (copy *, stream): the detail is the stream's word.
static word copy_rows(const struct driver_call *call, word *words)
{
    const struct copy_of_rows *rows = (const struct copy_of_rows *)(uintptr_t)words[0];
    if (!is_recording() || !rows)
        return call_driver(call, words);
    const struct place place = place_of(call, words, (unsigned)call->detail);
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_COPY);
    work.from = end_of_plane(&rows->from);
    work.to = end_of_plane(&rows->to);
    work.width = rows->width;
    work.height = rows->height;
    work.depth = 1;
    return copy(call, words, &place, &work, call->detail == NO_STREAM);
}

braid_record_end recorder_end_of_box(const struct box_side *side)
{
    return (braid_record_end){
        .address = address_named(side->type, side->host, side->device, side->array),
        .place = place_named(side->type),
        .pitch = side->pitch,
        .rows = side->height,
        .x = side->x,
        .y = side->y,
        .z = side->z,
    };
}

// (copy *, stream)
static word copy_box(const struct driver_call *call, word *words)
{
    const struct box *box = (const struct box *)(uintptr_t)words[0];
    if (!is_recording() || !box)
        return call_driver(call, words);
    const struct place place = place_of(call, words, (unsigned)call->detail);
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_COPY);
    work.from = recorder_end_of_box(&box->from);
    work.to = recorder_end_of_box(&box->to);
    work.width = box->width;
    work.height = box->height;
    work.depth = box->depth;
    return copy(call, words, &place, &work, call->detail == NO_STREAM);
}

// ---- fills ----

enum { IN_ROWS = 16 }; // beside the bytes of a value

// (to, value, number, stream) or (to, pitch, value, width, height, stream). A call without a stream
// has none behind.
static word fill(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const bool in_rows = call->detail & IN_ROWS;
    const unsigned stream = in_rows ? 5 : 3;
    const struct place place =
        place_of(call, words, call->detail >> STREAM_WORD_AT ? NO_STREAM : stream);
    uint32_t operation;
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_FILL);
    work.value_bytes = (uint32_t)call->detail & 7;
    work.to.address = words[0];
    work.to.place = BRAID_RECORD_ON_DEVICE;
    work.to.pitch = in_rows ? words[1] : 0;
    const uint32_t value = (uint32_t)words[in_rows ? 2 : 1];
    work.value = work.value_bytes == 4 ? value : value & ((1u << 8 * work.value_bytes) - 1);
    work.width = words[in_rows ? 3 : 2] * work.value_bytes;
    work.height = in_rows ? words[4] : 1;
    work.depth = 1;
    return make(call, words, &place, &work, &operation);
}

// ---- events, and waits of the host ----

// An event belongs to the context of the streams that record it.
static uint32_t number_event(word event, uint32_t stream)
{
    recorder_lock();
    const braid_record_stream *row =
        stream == BRAID_RECORD_NONE ? NULL : recorder_row(&recorder.streams, stream, sizeof(*row));
    const uint32_t number = recorder_number_event(event, row ? row->context : BRAID_RECORD_NONE);
    recorder_unlock();
    return number;
}

// cuEventRecord(event, stream, ..), cuStreamWaitEvent(stream, event, ..)
static word event_operation(const struct driver_call *call, word *words)
{
    if (!is_recording())
        return call_driver(call, words);
    const bool records = call->detail == BRAID_RECORD_EVENT_RECORD;
    const struct place place = recorder_place(call, words[records ? 1 : 0]);
    if (place.is_captured)
        return call_driver(call, words);
    braid_record_work work;
    recorder_clear_work(&work, (braid_record_work_kind)call->detail);
    const struct begun begun = recorder_begin(&place, work.kind);
    work.event = number_event(words[records ? 0 : 1], records ? begun.stream : BRAID_RECORD_NONE);
    const word answer = call_driver(call, words);
    // A wait for an event of a capture takes the stream into that capture.
    const bool has_joined = !records && recorder_place(call, words[0]).is_captured;
    recorder_end(&begun, &work, has_joined ? NOT_DONE : answer);
    return answer;
}

static word destroy_event(const struct driver_call *call, word *words)
{
    struct array lost = { .items = NULL };
    if (is_recording()) {
        recorder_lock();
        recorder_lose(&recorder.event_of, words[0] + 1, &lost);
        recorder_unlock();
    }
    return recorder_settle(&lost, call_driver(call, words));
}

// A query that says yes tells the host as much as a wait.
static word wait_for_stream(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || !is_recording())
        return answer;
    const struct place place = recorder_place(call, words[0]);
    struct thread_notes *notes = recorder_notes();
    if (place.is_captured || !notes)
        return answer;
    const uint32_t stream = recorder_number_stream(notes, &place);
    if (stream != BRAID_RECORD_NONE)
        note_wait(BRAID_RECORD_OF_STREAM, stream, BRAID_RECORD_NONE);
    return answer;
}

static word wait_for_event(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer == SUCCEEDED && is_recording())
        note_wait(BRAID_RECORD_OF_EVENT, BRAID_RECORD_NONE,
                  number_event(words[0], BRAID_RECORD_NONE));
    return answer;
}

// cuCtxSynchronize(), cuCtxSynchronize_v2(context)
static word wait_for_context(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || !is_recording())
        return answer;
    const word context = call->detail && words[0] ? words[0] : recorder_context();
    recorder_lock();
    const uint32_t number = recorder_number_context(context);
    recorder_unlock();
    note_wait(BRAID_RECORD_OF_CONTEXT, number, BRAID_RECORD_NONE);
    return answer;
}

// ---- captures ----

enum { PER_THREAD = 2 };

static word stream_of(const struct driver_call *call, const word *words)
{
    return words[0] == 0 && call->per_thread ? PER_THREAD : words[0];
}

// Stream 2 is another one in each thread.
static word key_of(word stream)
{
    const struct thread_notes *notes = stream <= PER_THREAD ? recorder_notes() : NULL;
    return recorder_stream_key(stream, notes ? recorder_context() : 0, notes ? notes->thread : 0);
}

static word begin_capture(const struct driver_call *call, word *words)
{
    const word stream = stream_of(call, words);
    word context = 0;
    if (stream <= PER_THREAD || ASK("cuStreamGetCtx", stream, POINTER(&context), 0, 0) != SUCCEEDED)
        context = recorder_context();
    // Calls in other threads ask about their stream from here on.
    atomic_fetch_add(&recorder.captures, 1);
    const word answer = call_driver(call, words);
    if (answer == SUCCEEDED) {
        const word key = key_of(stream);
        recorder_lock();
        recorder_note_capture(key, context);
        recorder_unlock();
    } else {
        atomic_fetch_sub(&recorder.captures, 1);
    }
    return answer;
}

// An invalid capture lasts until it is ended.
static bool is_in_capture(word stream)
{
    int status = 0;
    return ASK("cuStreamIsCapturing", stream, POINTER(&status), 0, 0) == SUCCEEDED && status != 0;
}

// The call may fail and end no capture, or fail and end one.
static word end_capture(const struct driver_call *call, word *words)
{
    struct array lost = { .items = NULL };
    const word stream = stream_of(call, words), key = key_of(stream);
    recorder_lock();
    recorder_lose(&recorder.capture_of, key, &lost);
    recorder_unlock();
    const word answer = call_driver(call, words);
    recorder_settle(&lost, answer != SUCCEEDED && is_in_capture(stream) ? answer : SUCCEEDED);
    return answer;
}

// A stream takes the capture along that it began.
static word destroy_stream(const struct driver_call *call, word *words)
{
    struct array lost = { .items = NULL };
    if (words[0] > PER_THREAD) {
        recorder_lock();
        recorder_lose(&recorder.stream_of, words[0], &lost);
        recorder_lose(&recorder.capture_of, words[0], &lost);
        recorder_forget_handles();
        recorder_unlock();
    }
    return recorder_settle(&lost, call_driver(call, words));
}

#define FILLS(bytes, more, no_stream) ((bytes) | (more) | (uint64_t)(no_stream) << STREAM_WORD_AT)

const struct noted_call recorder_work_calls[] = {
    { "cuLaunchKernel", launch_kernel, 0, 4000 },
    { "cuLaunchCooperativeKernel", launch_kernel, 1, 9000 },
    { "cuLaunchKernelEx", launch_with_config, 0, 11060 },
    { "cuLaunchHostFunc", host_call, 0, 10000 },
    { "cuStreamAddCallback", host_call, 0, 5000 },
    { "cuStreamWaitValue32", stream_operation, 0, 8000 },
    { "cuStreamWaitValue32_v2", stream_operation, 0, 11070 },
    { "cuStreamWaitValue64", stream_operation, 0, 9000 },
    { "cuStreamWaitValue64_v2", stream_operation, 0, 11070 },
    { "cuStreamWriteValue32", stream_operation, 0, 8000 },
    { "cuStreamWriteValue32_v2", stream_operation, 0, 11070 },
    { "cuStreamWriteValue64", stream_operation, 0, 9000 },
    { "cuStreamWriteValue64_v2", stream_operation, 0, 11070 },
    { "cuStreamBatchMemOp", stream_operation, 0, 8000 },
    { "cuStreamBatchMemOp_v2", stream_operation, 0, 11070 },
#define ANY BRAID_RECORD_ANYWHERE
#define DEV BRAID_RECORD_ON_DEVICE
#define HST BRAID_RECORD_ON_HOST
    { "cuMemcpy", copy_line, COPIES(ANY, ANY, 1, 2, NO_STREAM), 4000 },
    { "cuMemcpyAsync", copy_line, COPIES(ANY, ANY, 1, 2, 3), 4000 },
    { "cuMemcpyHtoD_v2", copy_line, COPIES(DEV, HST, 1, 2, NO_STREAM), 3020 },
    { "cuMemcpyHtoDAsync_v2", copy_line, COPIES(DEV, HST, 1, 2, 3), 3020 },
    { "cuMemcpyDtoH_v2", copy_line, COPIES(HST, DEV, 1, 2, NO_STREAM), 3020 },
    { "cuMemcpyDtoHAsync_v2", copy_line, COPIES(HST, DEV, 1, 2, 3), 3020 },
    { "cuMemcpyDtoD_v2", copy_line, COPIES(DEV, DEV, 1, 2, NO_STREAM), 3020 },
    { "cuMemcpyDtoDAsync_v2", copy_line, COPIES(DEV, DEV, 1, 2, 3), 3020 },
    { "cuMemcpyPeer", copy_line, COPIES(DEV, DEV, 2, 4, NO_STREAM), 4000 },
    { "cuMemcpyPeerAsync", copy_line, COPIES(DEV, DEV, 2, 4, 5), 4000 },
    { "cuMemcpy2D_v2", copy_rows, NO_STREAM, 3020 },
    { "cuMemcpy2DUnaligned_v2", copy_rows, NO_STREAM, 3020 },
    { "cuMemcpy2DAsync_v2", copy_rows, 1, 3020 },
    { "cuMemcpy3D_v2", copy_box, NO_STREAM, 3020 },
    { "cuMemcpy3DAsync_v2", copy_box, 1, 3020 },
    { "cuMemsetD8_v2", fill, FILLS(1, 0, 1), 3020 },
    { "cuMemsetD16_v2", fill, FILLS(2, 0, 1), 3020 },
    { "cuMemsetD32_v2", fill, FILLS(4, 0, 1), 3020 },
    { "cuMemsetD8Async", fill, FILLS(1, 0, 0), 3020 },
    { "cuMemsetD16Async", fill, FILLS(2, 0, 0), 3020 },
    { "cuMemsetD32Async", fill, FILLS(4, 0, 0), 3020 },
    { "cuMemsetD2D8_v2", fill, FILLS(1, IN_ROWS, 1), 3020 },
    { "cuMemsetD2D16_v2", fill, FILLS(2, IN_ROWS, 1), 3020 },
    { "cuMemsetD2D32_v2", fill, FILLS(4, IN_ROWS, 1), 3020 },
    { "cuMemsetD2D8Async", fill, FILLS(1, IN_ROWS, 0), 3020 },
    { "cuMemsetD2D16Async", fill, FILLS(2, IN_ROWS, 0), 3020 },
    { "cuMemsetD2D32Async", fill, FILLS(4, IN_ROWS, 0), 3020 },
    { "cuEventRecord", event_operation, BRAID_RECORD_EVENT_RECORD, 2000 },
    { "cuEventRecordWithFlags", event_operation, BRAID_RECORD_EVENT_RECORD, 11010 },
    { "cuStreamWaitEvent", event_operation, BRAID_RECORD_EVENT_WAIT, 3020 },
    { "cuEventDestroy", destroy_event, 0, 2000 },
    { "cuEventDestroy_v2", destroy_event, 0, 4000 },
    { "cuStreamSynchronize", wait_for_stream, 0, 2000 },
    { "cuStreamQuery", wait_for_stream, 0, 2000 },
    { "cuEventSynchronize", wait_for_event, 0, 2000 },
    { "cuEventQuery", wait_for_event, 0, 2000 },
    { "cuCtxSynchronize", wait_for_context, 0, 2000 },
    { "cuCtxSynchronize_v2", wait_for_context, 1, BY_NAME_ALONE },
    { NULL, NULL, 0, 0 },
};

const struct noted_call recorder_capture_calls[] = {
    { "cuStreamBeginCapture", begin_capture, 0, 10000 },
    { "cuStreamBeginCapture_v2", begin_capture, 0, 10010 },
    { "cuStreamBeginCaptureToGraph", begin_capture, 0, 12030 },
    { "cuStreamEndCapture", end_capture, 0, 10000 },
    { "cuStreamDestroy", destroy_stream, 0, 2000 },
    { "cuStreamDestroy_v2", destroy_stream, 0, 4000 },
    { NULL, NULL, 0, 0 },
};

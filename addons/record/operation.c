// SPDX-License-Identifier: Apache-2.0
// Operations: each gets its number before the driver gets the call, and is noted if it took that.
//
// Work stands where its call began, and a synchronisation where its call returned. So work behind a
// synchronisation, on any thread, was handed to the driver after that had ended.
#include <string.h>
#include <time.h>

#include "record/notes.h"

enum { IS_CAPTURING = 1, IMPLICIT_CAPTURE = 906, NON_BLOCKING = 1, LEGACY = 1, PER_THREAD = 2 };

// Attributes of a function.
enum { MAX_THREADS = 0, SHARED_BYTES = 1, REGISTERS = 4, DYNAMIC_SHARED_BYTES = 8 };

enum { MOST_PARAMETERS = 4096 };

uint64_t recorder_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Each launch on a default stream asks: there is no quicker way that sees all that a runtime does.
word recorder_context(void)
{
    typedef int get_context(void **);
    void *context = NULL;
    if (recorder.get_context)
        ((get_context *)(uintptr_t)recorder.get_context)(&context);
    return POINTER(context);
}

void recorder_clear_work(braid_record_work *work, braid_record_work_kind kind)
{
    *work = (braid_record_work){
        .kind = kind,
        .name = "",
        .kernel = BRAID_RECORD_NONE,
        .memory = BRAID_RECORD_NONE,
        .graph = BRAID_RECORD_NONE,
        .event = BRAID_RECORD_NONE,
        .scope_of = BRAID_RECORD_NONE,
    };
}

void recorder_set_sizes(braid_record_work *work, const uint32_t *sizes)
{
    memcpy(work->grid, sizes, sizeof(work->grid));
    memcpy(work->block, sizes + 3, sizeof(work->block));
    work->shared_bytes = sizes[6];
}

// ---- streams ----

static bool is_captured(word stream)
{
    int status = 0;
    if (atomic_load_explicit(&recorder.captures, memory_order_relaxed) == 0)
        return false;
    return ASK("cuStreamIsCapturing", stream, POINTER(&status), 0, 0) == SUCCEEDED &&
           status == IS_CAPTURING;
}

struct place recorder_place(const struct driver_call *call, word stream)
{
    struct place place = { .stream = stream, .has_stream = true };
    if (stream == 0 && call->per_thread)
        place.stream = PER_THREAD;
    place.is_captured = !is_done() && is_captured(place.stream);
    return place;
}

// An odd key is no handle.
word recorder_stream_key(word stream, word context, uint32_t thread)
{
    uint64_t key = stream;
    if (stream <= PER_THREAD)
        key = (context << 1 | 1) * 4 + (stream == PER_THREAD ? 3 : 1);
    if (stream == PER_THREAD)
        key += ((uint64_t)thread + 1) << 52;
    return key;
}

static void describe_stream(word stream, word context, uint32_t thread, braid_record_stream *row)
{
    *row = (braid_record_stream){ .handle = stream, .thread = BRAID_RECORD_NONE };
    row->context = recorder_number_context(context);
    if (stream == 0 || stream == LEGACY) {
        row->kind = BRAID_RECORD_NULL_STREAM;
        return;
    }
    if (stream == PER_THREAD) {
        row->kind = BRAID_RECORD_PER_THREAD;
        row->thread = thread;
        return;
    }
    // These three answer without a lock that a callback could hold.
    unsigned flags = 0;
    void *own = NULL;
    if (ASK("cuStreamGetFlags", stream, POINTER(&flags), 0, 0) == SUCCEEDED && flags & NON_BLOCKING)
        row->kind = BRAID_RECORD_NON_BLOCKING;
    ASK("cuStreamGetPriority", stream, POINTER(&row->priority), 0, 0);
    if (ASK("cuStreamGetCtx", stream, POINTER(&own), 0, 0) == SUCCEEDED)
        row->context = recorder_number_context(POINTER(own));
}

static uint32_t find_stream(word stream, word context, uint32_t thread)
{
    const void *key = (const void *)(uintptr_t)recorder_stream_key(stream, context, thread);
    recorder_lock();
    uint32_t number = braid_pointer_map_get(&recorder.stream_of, key);
    if (number == POINTER_MAP_NONE && braid_pointer_map_reserve(&recorder.stream_of)) {
        braid_record_stream *row = braid_array_append(&recorder.streams, 1, sizeof(*row));
        if (row) {
            number = (uint32_t)(recorder.streams.num - 1);
            describe_stream(stream, context, thread, row);
            braid_pointer_map_put(&recorder.stream_of, key, number);
        }
    }
    recorder.failed |= number == BRAID_RECORD_NONE;
    recorder_unlock();
    return number;
}

// A thread knows its last streams. A default stream is asked of the driver for its context.
uint32_t recorder_number_stream(struct thread_notes *notes, const struct place *place)
{
    const word stream = place->stream;
    const word context = stream <= PER_THREAD ? recorder_context() : 0;
    const size_t at = (size_t)(stream >> 4 ^ stream >> 10 ^ stream) % KNOWN_STREAMS;
    recorder_refresh_notes(notes);
    if (notes->streams[at].number_and_1 != 0 && notes->streams[at].stream == stream &&
        notes->streams[at].context == context)
        return notes->streams[at].number_and_1 - 1;
    const uint32_t number =
        find_stream(stream, stream <= PER_THREAD ? context : recorder_context(), notes->thread);
    notes->streams[at].stream = stream;
    notes->streams[at].context = context;
    notes->streams[at].number_and_1 = number + 1;
    return number;
}

// ---- operations ----

// The number is taken first: if a mark forgets streams meanwhile, it forgets this operation, or the
// thread sees that it did (finish.c).
struct begun recorder_begin(const struct place *place, braid_record_work_kind kind)
{
    struct begun begun = { .number = BRAID_RECORD_NONE };
    if (!is_recording() || place->is_captured)
        return begun;
    begun.notes = recorder_notes();
    if (!begun.notes)
        return begun;
    begun.number = atomic_fetch_add_explicit(&recorder.next_number, 1, memory_order_acq_rel);
    begun.stream =
        place->has_stream ? recorder_number_stream(begun.notes, place) : BRAID_RECORD_NONE;
    if (recorder.measures)
        begun.timing = recorder_time_begin(place, begun.stream, kind);
    begun.begin_ns = recorder_now();
    return begun;
}

void recorder_end(const struct begun *begun, const braid_record_work *work, word answer)
{
    if (begun->number == BRAID_RECORD_NONE)
        return;
    const uint64_t now = recorder_now();
    if (begun->timing)
        recorder_time_end(begun, answer);
    if (answer == SUCCEEDED)
        recorder_note_work(begun, work, now);
}

// ---- kernels ----

static word ask_attribute(word function, int attribute)
{
    int value = 0;
    // A CUkernel has attributes of each device, and those of a function in the present context.
    ASK("cuFuncGetAttribute", POINTER(&value), attribute, function, 0);
    return (word)value;
}

// Parameters as the driver tells them: of a function, or of a kernel that stands for one.
// A launch takes a CUfunction or a CUkernel. A driver may answer for the wrong one as for an index
// behind the last, so the first parameter is asked for both.
static uint32_t ask_parameters(word function, braid_record_parameter *parameters)
{
    const char *name = "cuFuncGetParamInfo";
    for (uint32_t i = 0; i < MOST_PARAMETERS; i++) {
        size_t offset = 0, bytes = 0;
        word answer = ASK(name, function, i, POINTER(&offset), POINTER(&bytes));
        if (answer != SUCCEEDED && i == 0) {
            const word other =
                ASK("cuKernelGetParamInfo", function, i, POINTER(&offset), POINTER(&bytes));
            if (other == SUCCEEDED)
                name = "cuKernelGetParamInfo";
            if (answer != INVALID_VALUE || other == SUCCEEDED)
                answer = other;
        }
        if (answer != SUCCEEDED)
            return answer == INVALID_VALUE ? i : BRAID_RECORD_NONE;
        parameters[i] = (braid_record_parameter){ (uint32_t)offset, (uint32_t)bytes };
    }
    return BRAID_RECORD_NONE;
}

// Under the lock. The layout lasts as long as the recorder.
static void keep_layout(uint32_t number, uint32_t num, const braid_record_parameter *parameters)
{
    const uint32_t rows = num == BRAID_RECORD_NONE ? 0 : num;
    struct kernel_layout **all = NULL;
    struct kernel_layout *layout =
        braid_store_take(&recorder.store, 1, sizeof(*layout) + rows * sizeof(*parameters));
    if (layout && number >= recorder.layouts.num) {
        const size_t more = number + 1 - recorder.layouts.num;
        all = braid_array_append(&recorder.layouts, more, sizeof(*all));
        if (all)
            memset(all, 0, more * sizeof(*all));
    }
    if (!layout || number >= recorder.layouts.num) {
        recorder.failed = true;
        return;
    }
    layout->kernel = number;
    layout->num = num;
    uint64_t told = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t end = parameters[i].offset + parameters[i].bytes;
        layout->parameters[i] = parameters[i];
        layout->bytes = end > layout->bytes ? end : layout->bytes;
        told += parameters[i].bytes;
    }
    layout->has_gaps = told < layout->bytes;
    all = recorder.layouts.items;
    all[number] = layout;
}

static void describe_kernel(uint32_t number, word function)
{
    braid_record_kernel told = { .name = NULL };
    braid_record_parameter *parameters =
        braid_allocate_zeroed(MOST_PARAMETERS, sizeof(*parameters));
    if (!parameters)
        return;
    told.num_parameters = ask_parameters(function, parameters);
    told.shared_bytes = (uint32_t)ask_attribute(function, SHARED_BYTES);
    told.dynamic_shared_bytes = (uint32_t)ask_attribute(function, DYNAMIC_SHARED_BYTES);
    told.registers = (uint32_t)ask_attribute(function, REGISTERS);
    told.max_threads = (uint32_t)ask_attribute(function, MAX_THREADS);
    recorder_lock();
    braid_record_kernel *row = recorder_row(&recorder.kernels, number, sizeof(*row));
    if (row->first_parameter == BRAID_RECORD_NONE) {
        told.name = row->name;
        told.module = row->module;
        told.first_parameter = (uint32_t)recorder.parameters.num;
        for (uint32_t i = 0; told.num_parameters != BRAID_RECORD_NONE && i < told.num_parameters;
             i++)
            recorder.failed |=
                !braid_array_put(&recorder.parameters, &parameters[i], sizeof(*parameters));
        *row = told;
        keep_layout(number, told.num_parameters, parameters);
    }
    recorder_unlock();
    braid_free(parameters);
}

// A function that the program got by a way that is not noted.
static uint32_t meet_kernel(word function)
{
    const char *name = NULL;
    void *module = NULL;
    if (ASK("cuFuncGetName", POINTER(&name), function, 0, 0) != SUCCEEDED)
        ASK("cuKernelGetName", POINTER(&name), function, 0, 0);
    if (ASK("cuFuncGetModule", POINTER(&module), function, 0, 0) != SUCCEEDED)
        ASK("cuKernelGetLibrary", POINTER(&module), function, 0, 0);
    recorder_lock();
    uint32_t number = braid_pointer_map_get(&recorder.kernel_of, (void *)(uintptr_t)function);
    if (number == POINTER_MAP_NONE)
        number = recorder_add_kernel(function, recorder_find_module(POINTER(module)), name);
    recorder_unlock();
    return number;
}

uint32_t recorder_number_kernel(word function)
{
    recorder_lock();
    uint32_t number = braid_pointer_map_get(&recorder.kernel_of, (void *)(uintptr_t)function);
    recorder_unlock();
    if (number == POINTER_MAP_NONE)
        number = meet_kernel(function);
    if (number == BRAID_RECORD_NONE)
        return number;
    recorder_lock();
    const braid_record_kernel *row = recorder_row(&recorder.kernels, number, sizeof(*row));
    const bool is_told = row->first_parameter != BRAID_RECORD_NONE;
    recorder_unlock();
    if (!is_told)
        describe_kernel(number, function);
    return number;
}

static const struct kernel_layout *layout_of(uint32_t kernel)
{
    recorder_lock();
    const struct kernel_layout *const *all = recorder.layouts.items;
    const struct kernel_layout *layout = kernel < recorder.layouts.num ? all[kernel] : NULL;
    recorder.failed |= kernel != BRAID_RECORD_NONE && !layout;
    recorder_unlock();
    return layout;
}

// A thread knows the kernels that it launches most.
const struct kernel_layout *recorder_layout(struct thread_notes *notes, word function)
{
    const size_t at = (size_t)(function * UINT64_C(0x9e3779b97f4a7c15) >> 58) % KNOWN_KERNELS;
    recorder_refresh_notes(notes);
    if (notes->kernels[at].layout && notes->kernels[at].function == function)
        return notes->kernels[at].layout;
    const struct kernel_layout *layout = layout_of(recorder_number_kernel(function));
    notes->kernels[at].function = function;
    notes->kernels[at].layout = layout;
    return layout;
}

// ---- parameters ----

void recorder_take_parameters(uint32_t kernel, void **arguments, void **extra,
                              braid_record_work *work, struct store *store)
{
    size_t bytes;
    const struct kernel_layout *layout = layout_of(kernel);
    if (!layout || !recorder_measure_parameters(layout, arguments, extra, &bytes))
        return;
    void *to = braid_store_take(store, 1, bytes + 1);
    if (to)
        recorder_copy_parameters(layout, arguments, extra, to);
    work->parameters = to;
    work->parameter_bytes = to ? (uint32_t)bytes : 0;
}

// ---- strangers ----

void recorder_note_stranger(const char *name, uint64_t num_calls)
{
    recorder_lock();
    braid_record_stranger *rows = recorder.strangers.items, *row = NULL;
    for (size_t i = 0; i < recorder.strangers.num && !row; i++)
        if (strcmp(rows[i].name, name) == 0)
            row = &rows[i];
    if (!row) {
        row = braid_array_append(&recorder.strangers, 1, sizeof(*row));
        if (row)
            *row = (braid_record_stranger){ recorder_keep_text(name), 0 };
    }
    recorder.failed |= !row;
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_UNKNOWN);
    if (row) {
        row->num_calls += num_calls;
        work.name = row->name;
    }
    recorder_unlock();
    if (num_calls == 0)
        return;
    const struct begun begun =
        recorder_begin(&(struct place){ .has_stream = false }, BRAID_RECORD_UNKNOWN);
    recorder_end(&begun, &work, SUCCEEDED);
}

// SPDX-License-Identifier: Apache-2.0
// Operations: each is noted before the driver gets the call, and dropped if the driver refuses it.
//
// Work stands where its call began, and a synchronisation where its call returned. So work behind a
// synchronisation, on any thread, was handed to the driver after that had ended.
#include <string.h>
#include <time.h>

#include "record/recorder.h"

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

word recorder_context(void)
{
    void *context = NULL;
    ASK("cuCtxGetCurrent", POINTER(&context), 0, 0, 0);
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
    if (is_done())
        return place;
    place.is_captured = is_captured(place.stream);
    place.context = recorder_context();
    return place;
}

static const void *stream_key(const struct place *place)
{
    uint64_t key = place->stream;
    if (key <= PER_THREAD) {
        // Default streams are of a context, and perhaps of a thread. An odd key is no handle.
        key = (place->context << 1 | 1) * 4 + (place->stream == PER_THREAD ? 3 : 1);
        if (place->stream == PER_THREAD)
            key += ((uint64_t)recorder_number_thread() + 1) << 52;
    }
    return (const void *)(uintptr_t)key;
}

static void describe_stream(const struct place *place, braid_record_stream *row)
{
    row->thread = BRAID_RECORD_NONE;
    row->handle = place->stream;
    row->context = recorder_number_context(place->context);
    if (place->stream == 0 || place->stream == LEGACY) {
        row->kind = BRAID_RECORD_NULL_STREAM;
    } else if (place->stream == PER_THREAD) {
        row->kind = BRAID_RECORD_PER_THREAD;
        row->thread = recorder_number_thread();
    }
}

uint32_t recorder_number_stream(const struct place *place)
{
    const void *key = stream_key(place);
    const uint32_t known = braid_pointer_map_get(&recorder.stream_of, key);
    if (known != POINTER_MAP_NONE)
        return known;
    braid_record_stream *row = braid_array_append(&recorder.streams, 1, sizeof(*row));
    if (!row || !braid_pointer_map_reserve(&recorder.stream_of)) {
        recorder.failed = true;
        return BRAID_RECORD_NONE;
    }
    memset(row, 0, sizeof(*row));
    describe_stream(place, row);
    if (row->kind == BRAID_RECORD_BLOCKING) {
        // These three answer without a lock that a callback could hold.
        unsigned flags = 0;
        void *context = NULL;
        if (ASK("cuStreamGetFlags", place->stream, POINTER(&flags), 0, 0) == SUCCEEDED &&
            flags & NON_BLOCKING)
            row->kind = BRAID_RECORD_NON_BLOCKING;
        ASK("cuStreamGetPriority", place->stream, POINTER(&row->priority), 0, 0);
        if (ASK("cuStreamGetCtx", place->stream, POINTER(&context), 0, 0) == SUCCEEDED)
            row->context = recorder_number_context(POINTER(context));
    }
    const uint32_t number = (uint32_t)(recorder.streams.num - 1);
    braid_pointer_map_put(&recorder.stream_of, key, number);
    return number;
}

// ---- operations ----

braid_record_operation *recorder_operation(uint32_t number)
{
    if (number < recorder.dropped || number - recorder.dropped >= recorder.operations.num)
        return NULL;
    return recorder_row(&recorder.operations, number - recorder.dropped,
                        sizeof(braid_record_operation));
}

uint32_t recorder_begin(const struct place *place, const braid_record_work *work)
{
    uint32_t number = BRAID_RECORD_NONE;
    if (!is_recording() || place->is_captured)
        return number;
    const uint64_t now = recorder_now();
    recorder_lock();
    braid_record_operation *operation =
        is_recording() ? braid_array_append(&recorder.operations, 1, sizeof(*operation)) : NULL;
    if (operation) {
        number = recorder.dropped + (uint32_t)(recorder.operations.num - 1);
        *operation = (braid_record_operation){
            .work = *work,
            .stream = place->has_stream ? recorder_number_stream(place) : BRAID_RECORD_NONE,
            .thread = recorder_number_thread(),
            .begin_ns = now,
        };
    } else if (is_recording()) {
        recorder.failed = true;
    }
    recorder_unlock();
    return number;
}

void recorder_end(uint32_t number, word answer)
{
    if (number == BRAID_RECORD_NONE)
        return;
    const uint64_t now = recorder_now();
    recorder_lock();
    braid_record_operation *operation = recorder_operation(number);
    if (operation) {
        operation->end_ns = now;
        // A refused call did nothing: an operation without times is left out.
        if (answer != SUCCEEDED)
            operation->begin_ns = operation->end_ns = 0;
    }
    if (is_recording())
        recorder_watch_frames();
    recorder_unlock();
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

// ---- parameters ----

// Launches may give one buffer instead of a list: a list of keys and values that ends with NULL.
static const void *find_buffer(void **extra, size_t *out_bytes)
{
    const void *buffer = NULL;
    for (; extra && extra[0]; extra += 2)
        if (POINTER(extra[0]) == 1)
            buffer = extra[1];
        else if (POINTER(extra[0]) == 2)
            memcpy(out_bytes, extra[1], sizeof(*out_bytes));
    return buffer;
}

static char *take(struct store *store, size_t bytes)
{
    char *memory = braid_store_take(store, 1, bytes + 1);
    recorder.noted_bytes += store == &recorder.store ? bytes : 0;
    recorder.failed |= !memory;
    return memory;
}

void recorder_take_parameters(uint32_t kernel, void **arguments, void **extra,
                              braid_record_work *work, struct store *store)
{
    size_t bytes = 0;
    const void *buffer = find_buffer(extra, &bytes);
    recorder_lock();
    const braid_record_kernel *row = recorder_row(&recorder.kernels, kernel, sizeof(*row));
    const uint32_t num = row->num_parameters;
    const braid_record_parameter *all =
        recorder_row(&recorder.parameters, row->first_parameter, sizeof(*all));
    char *to = NULL;
    if (buffer) {
        to = take(store, bytes);
        if (to)
            memcpy(to, buffer, bytes);
    } else if (arguments && num != BRAID_RECORD_NONE && num > 0) {
        for (uint32_t i = 0; i < num; i++)
            if (all[i].offset + all[i].bytes > bytes)
                bytes = all[i].offset + all[i].bytes;
        to = take(store, bytes);
        for (uint32_t i = 0; to && i < num; i++)
            memcpy(to + all[i].offset, arguments[i], all[i].bytes);
    }
    work->parameters = to;
    work->parameter_bytes = to ? (uint32_t)bytes : 0;
    recorder_unlock();
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
    recorder_end(recorder_begin(&(struct place){ .has_stream = false }, &work), SUCCEEDED);
}

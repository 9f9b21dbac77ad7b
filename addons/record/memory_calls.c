// SPDX-License-Identifier: Apache-2.0
// Memory, modules and functions of the program: noted from its first call on, since frames use
// them.
#include <stdio.h>
#include <string.h>

#include "record/recorder.h"

enum { MOST_DEVICES = 256, BY_RELEASE = 0, BY_RESET = 1 };

// ---- allocations ----

// Notes memory that a call has given, and where a record runs, the call.
static void note_memory(const struct place *place, braid_record_allocation *allocation,
                        bool is_variable)
{
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_ALLOCATE);
    const word context = recorder_context();
    recorder_lock();
    const uint32_t known = recorder_find_memory(allocation->address);
    if (is_variable && known != BRAID_RECORD_NONE) {
        recorder_unlock();
        return;
    }
    allocation->context = recorder_number_context(context);
    allocation->device_address =
        allocation->device_address ? allocation->device_address : allocation->address;
    work.memory = recorder_add_memory(allocation);
    recorder_unlock();
    if (work.memory == BRAID_RECORD_NONE || is_variable)
        return;
    // The call is over: its memory was nobody's before.
    const struct begun begun = recorder_begin(place, work.kind);
    recorder_lock();
    if (begun.number != BRAID_RECORD_NONE) {
        braid_record_allocation *row =
            recorder_row(&recorder.allocations, work.memory, sizeof(*row));
        row->born = begun.number;
    }
    recorder_unlock();
    recorder_end(&begun, &work, SUCCEEDED);
}

// The detail of an allocating call: the kind of memory, and the words with the size and the stream.
enum { SIZE_AT = 8, STREAM_AT = 16, NO_STREAM = 15 };
#define GIVES(kind, size, stream) ((kind) | (size) << SIZE_AT | (uint64_t)(stream) << STREAM_AT)

// (address *, ..): writes an address to its first argument.
static word allocate(const struct driver_call *call, word *words)
{
    const unsigned stream = call->detail >> STREAM_AT & 15;
    struct place place = { .has_stream = false };
    if (stream != NO_STREAM)
        place = recorder_place(call, words[stream]);
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done() || place.is_captured)
        return answer;
    braid_record_allocation allocation = {
        .address = *(const uint64_t *)(uintptr_t)words[0],
        .bytes = words[call->detail >> SIZE_AT & 15],
        .kind = (braid_record_memory_kind)(call->detail & 255),
        .module = BRAID_RECORD_NONE,
    };
    if (allocation.kind == BRAID_RECORD_PINNED)
        ASK("cuMemHostGetDevicePointer_v2", POINTER(&allocation.device_address), allocation.address,
            0, 0);
    note_memory(&place, &allocation, false);
    return answer;
}

// cuMemAllocPitch(address *, pitch *, width, height, element)
static word allocate_rows(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    braid_record_allocation allocation = {
        .address = *(const uint64_t *)(uintptr_t)words[0],
        .bytes = *(const size_t *)(uintptr_t)words[1] * words[3],
        .module = BRAID_RECORD_NONE,
    };
    note_memory(&(struct place){ .has_stream = false }, &allocation, false);
    return answer;
}

// (address, bytes, ..): memory that is there gets known to the driver.
static word register_memory(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    braid_record_allocation allocation = {
        .address = words[0],
        .bytes = words[1],
        .kind = (braid_record_memory_kind)call->detail,
        .module = BRAID_RECORD_NONE,
    };
    if (allocation.kind == BRAID_RECORD_HOST)
        ASK("cuMemHostGetDevicePointer_v2", POINTER(&allocation.device_address), words[0], 0, 0);
    note_memory(&(struct place){ .has_stream = false }, &allocation, false);
    return answer;
}

// cuExternalMemoryGetMappedBuffer(address *, memory, { offset, bytes, flags } *)
static word map_foreign(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    braid_record_allocation allocation = {
        .address = *(const uint64_t *)(uintptr_t)words[0],
        .bytes = ((const uint64_t *)(uintptr_t)words[2])[1],
        .kind = BRAID_RECORD_FOREIGN,
        .module = BRAID_RECORD_NONE,
    };
    note_memory(&(struct place){ .has_stream = false }, &allocation, false);
    return answer;
}

// Under the lock, behind the call: the memory went, or it did not.
static void free_or_keep(uint32_t memory, const struct begun *begun, word answer)
{
    if (answer == SUCCEEDED)
        recorder_free_memory(memory, begun->number);
    else if (is_recording())
        recorder_forget_end(memory);
}

// (address, ..): the detail has the word with the stream. Another thread may get the address as
// soon as the driver has it, so it is forgotten before.
static word free_memory(const struct driver_call *call, word *words)
{
    struct place place = { .has_stream = false };
    if (call->detail != NO_STREAM)
        place = recorder_place(call, words[call->detail]);
    if (is_done() || words[0] == 0 || place.is_captured)
        return call_driver(call, words);
    struct array lost = { .items = NULL };
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_FREE);
    recorder_lock();
    work.memory = recorder_lose(&recorder.allocation_at, words[0], &lost);
    recorder_unlock();
    if (work.memory == BRAID_RECORD_NONE)
        return call_driver(call, words);
    recorder_keep_end(work.memory);
    const struct begun begun = recorder_begin(&place, work.kind);
    const word answer = call_driver(call, words);
    recorder_lock();
    if (!is_done())
        free_or_keep(work.memory, &begun, answer);
    recorder_unlock();
    recorder_end(&begun, &work, answer);
    return recorder_settle(&lost, answer);
}

// ---- objects that go together ----

// Objects that go by one call. Each memory that goes is freed by an operation of its own.
struct loss {
    struct array handles; // the first are addresses of memory
    struct array frees;   // a struct begun of each memory
    uint32_t context;
};

// All handles in the list are of memory.
static void begin_frees(struct loss *loss)
{
    const size_t num = loss->handles.num;
    struct begun *frees = num > 0 ? braid_array_append(&loss->frees, num, sizeof(*frees)) : NULL;
    const struct lost_handle *memory = loss->handles.items;
    if (num > 0 && !frees) {
        recorder_lock();
        recorder.failed = true;
        recorder_unlock();
    }
    for (size_t i = 0; i < loss->frees.num; i++) {
        recorder_keep_end(memory[i].number);
        frees[i] = recorder_begin(&(struct place){ .has_stream = false }, BRAID_RECORD_FREE);
    }
}

static void begin_loss(struct loss *loss, uint32_t module, uint32_t context)
{
    *loss = (struct loss){ .context = context };
    recorder_lock();
    recorder_lose_memory_of(module, context, &loss->handles);
    recorder_unlock();
    begin_frees(loss);
    recorder_lock();
    if (context == BRAID_RECORD_NONE)
        recorder_lose_module(module, &loss->handles);
    else
        recorder_lose_context(context, &loss->handles);
    recorder_unlock();
}

static word end_loss(struct loss *loss, word answer)
{
    const struct lost_handle *memory = loss->handles.items;
    struct begun *frees = loss->frees.items;
    braid_record_work work;
    recorder_clear_work(&work, BRAID_RECORD_FREE);
    recorder_lock();
    for (size_t i = 0; i < loss->frees.num && !is_done(); i++)
        free_or_keep(memory[i].number, &frees[i], answer);
    if (answer != SUCCEEDED && loss->context != BRAID_RECORD_NONE)
        recorder_lose_times(loss->context, false);
    recorder_unlock();
    for (size_t i = 0; i < loss->frees.num; i++) {
        frees[i].begin_ns = i == 0 ? frees[i].begin_ns : recorder_now(); // it was one call
        work.memory = memory[i].number;
        recorder_end(&frees[i], &work, answer);
    }
    braid_array_finish(&loss->frees);
    return recorder_settle(&loss->handles, answer);
}

// cuMemUnmap(address, bytes): a range may have several mappings.
static word unmap_memory(const struct driver_call *call, word *words)
{
    struct loss loss = { .context = BRAID_RECORD_NONE };
    if (is_done())
        return call_driver(call, words);
    recorder_lock();
    recorder_lose_mappings(words[0], words[1], &loss.handles);
    recorder_unlock();
    begin_frees(&loss);
    return end_loss(&loss, call_driver(call, words));
}

static word end_context(const struct driver_call *call, word *words, word handle)
{
    struct loss loss;
    recorder_lock();
    const uint32_t context = recorder_number_context(handle);
    recorder_unlock();
    begin_loss(&loss, BRAID_RECORD_NONE, context);
    return end_loss(&loss, call_driver(call, words));
}

// The primary context of each device, and how often the program has retained it. Under the lock.
static struct {
    word context;
    uint32_t num;
} primaries[MOST_DEVICES];

static bool is_primary(word context)
{
    bool is = false;
    recorder_lock();
    for (int i = 0; i < MOST_DEVICES; i++)
        is |= primaries[i].num > 0 && primaries[i].context == context;
    recorder_unlock();
    return is;
}

// The driver refuses to destroy a primary one. cuCtxDetach destroys a context to which nobody has
// attached since: cuCtxAttach is a stranger.
static word destroy_context(const struct driver_call *call, word *words)
{
    if (is_done() || words[0] == 0 || is_primary(words[0]))
        return call_driver(call, words);
    return end_context(call, words, words[0]);
}

// (context *, device)
static word retain_primary(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    const uint32_t device = (uint32_t)words[1];
    if (answer != SUCCEEDED || is_done() || device >= MOST_DEVICES)
        return answer;
    recorder_lock();
    primaries[device].context = *(const word *)(uintptr_t)words[0];
    primaries[device].num++;
    recorder_unlock();
    return answer;
}

// (device): the last release ends it, and a reset ends all that it has.
static word end_primary(const struct driver_call *call, word *words)
{
    const uint32_t device = (uint32_t)words[0];
    if (is_done() || device >= MOST_DEVICES)
        return call_driver(call, words);
    recorder_lock();
    const bool is_retained = primaries[device].num > 0;
    if (is_retained && call->detail == BY_RELEASE)
        primaries[device].num--;
    const bool ends = is_retained && (call->detail == BY_RESET || primaries[device].num == 0);
    const word context = primaries[device].context;
    recorder_unlock();
    const word answer = ends ? end_context(call, words, context) : call_driver(call, words);
    if (answer != SUCCEEDED && is_retained && call->detail == BY_RELEASE) {
        recorder_lock();
        primaries[device].num++;
        recorder_unlock();
    }
    return answer;
}

// ---- modules ----

enum { OF_LIBRARY = 1, FROM_FILE = 2 };

// (module *, file or image, ..)
static word load_module(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    const void *second = (const void *)(uintptr_t)words[1];
    const bool from_file = call->detail & FROM_FILE;
    const word context = recorder_context();
    struct array bytes = { .items = NULL };
    FILE *stream = from_file ? fopen(second, "rbe") : NULL;
    for (size_t got = 1; stream && got > 0;) {
        char piece[1 << 14];
        got = fread(piece, 1, sizeof(piece), stream);
        char *to = braid_array_append(&bytes, got + 8, 1);
        if (!to)
            break;
        memcpy(to, piece, got);
        memset(to + got, 0, 8);
        bytes.num -= 8;
    }
    if (stream)
        fclose(stream);
    int version = 0;
    ASK("cuDriverGetVersion", POINTER(&version), 0, 0, 0);
    recorder_lock();
    recorder.driver_version = version;
    recorder_add_module(*(const word *)(uintptr_t)words[0], call->detail & OF_LIBRARY, context,
                        from_file ? second : "", from_file ? bytes.items : second);
    recorder_unlock();
    braid_array_finish(&bytes);
    return answer;
}

// Functions of a module that nobody has seen have no module. One may be of this one.
static word unload_module(const struct driver_call *call, word *words)
{
    struct loss loss;
    if (is_done())
        return call_driver(call, words);
    recorder_lock();
    const uint32_t module = recorder_find_module(words[0]);
    recorder_unlock();
    begin_loss(&loss, module, BRAID_RECORD_NONE);
    return end_loss(&loss, call_driver(call, words));
}

// cuLibraryGetModule(module *, library)
static word join_module(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    recorder_lock();
    const uint32_t module = recorder_find_module(words[1]);
    if (module != BRAID_RECORD_NONE)
        recorder_join_module(*(const word *)(uintptr_t)words[0], module);
    recorder_unlock();
    return answer;
}

// Whether a handle still names the kernel. A context may have gone with a function of a library.
static bool is_kernel(uint32_t kernel, uint32_t module, const char *name)
{
    const braid_record_kernel *row =
        kernel == POINTER_MAP_NONE ? NULL : recorder_row(&recorder.kernels, kernel, sizeof(*row));
    return row && row->module == module && strcmp(row->name, name) == 0;
}

// (function *, module, name): the driver gives one function for one name.
static word get_function(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    const word function = *(const word *)(uintptr_t)words[0];
    recorder_lock();
    const uint32_t module = recorder_find_module(words[1]);
    const uint32_t known = braid_pointer_map_get(&recorder.kernel_of, (void *)(uintptr_t)function);
    if (!is_kernel(known, module, (const char *)(uintptr_t)words[2])) {
        recorder_add_kernel(function, module, (const char *)(uintptr_t)words[2]);
        if (known != POINTER_MAP_NONE)
            recorder_forget_handles();
    }
    recorder_unlock();
    return answer;
}

// cuKernelGetFunction(function *, kernel): a context that went may have taken the kernel along.
static word join_kernel(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done())
        return answer;
    recorder_lock();
    uint32_t kernel = braid_pointer_map_get(&recorder.kernel_of, (void *)(uintptr_t)words[1]);
    recorder_unlock();
    if (kernel == POINTER_MAP_NONE)
        kernel = recorder_number_kernel(words[1]);
    recorder_lock();
    if (kernel != BRAID_RECORD_NONE)
        recorder_join_kernel(*(const word *)(uintptr_t)words[0], kernel);
    recorder_unlock();
    return answer;
}

// (address *, bytes *, module, name)
static word get_variable(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    if (answer != SUCCEEDED || is_done() || words[0] == 0)
        return answer;
    const word address = *(const word *)(uintptr_t)words[0];
    uint64_t begin = 0;
    size_t bytes = 0;
    if (words[1] != 0)
        bytes = *(const size_t *)(uintptr_t)words[1];
    else
        ASK("cuMemGetAddressRange_v2", POINTER(&begin), POINTER(&bytes), address, 0);
    recorder_lock();
    braid_record_allocation allocation = {
        .address = address,
        .bytes = bytes,
        .kind = BRAID_RECORD_VARIABLE,
        .module = recorder_find_module(words[2]),
        .name = recorder_keep_text((const char *)(uintptr_t)words[3]),
    };
    recorder_unlock();
    note_memory(&(struct place){ .has_stream = false }, &allocation, true);
    return answer;
}

const struct noted_call recorder_memory_calls[] = {
    { "cuMemAlloc_v2", allocate, GIVES(BRAID_RECORD_DEVICE, 1, NO_STREAM), 3020 },
    { "cuMemAllocPitch_v2", allocate_rows, 0, 3020 },
    { "cuMemAllocManaged", allocate, GIVES(BRAID_RECORD_MANAGED, 1, NO_STREAM), 6000 },
    { "cuMemAllocHost_v2", allocate, GIVES(BRAID_RECORD_PINNED, 1, NO_STREAM), 3020 },
    { "cuMemHostAlloc", allocate, GIVES(BRAID_RECORD_PINNED, 1, NO_STREAM), 2020 },
    { "cuMemAllocAsync", allocate, GIVES(BRAID_RECORD_POOL, 1, 2), 11020 },
    { "cuMemAllocFromPoolAsync", allocate, GIVES(BRAID_RECORD_POOL, 1, 3), 11020 },
    { "cuMemHostRegister_v2", register_memory, BRAID_RECORD_HOST, 6050 },
    { "cuMemMap", register_memory, BRAID_RECORD_MAPPED, 10020 },
    { "cuExternalMemoryGetMappedBuffer", map_foreign, 0, 10000 },
    { "cuMemFree_v2", free_memory, NO_STREAM, 3020 },
    { "cuMemFreeHost", free_memory, NO_STREAM, 2000 },
    { "cuMemFreeAsync", free_memory, 1, 11020 },
    { "cuMemHostUnregister", free_memory, NO_STREAM, 4000 },
    { "cuMemUnmap", unmap_memory, 0, 10020 },
    { "cuModuleLoad", load_module, FROM_FILE, 2000 },
    { "cuModuleLoadData", load_module, 0, 2000 },
    { "cuModuleLoadDataEx", load_module, 0, 2010 },
    { "cuModuleLoadFatBinary", load_module, 0, 2000 },
    { "cuLibraryLoadData", load_module, OF_LIBRARY, 12000 },
    { "cuLibraryLoadFromFile", load_module, OF_LIBRARY | FROM_FILE, 12000 },
    { "cuCtxDestroy", destroy_context, 0, 2000 },
    { "cuCtxDestroy_v2", destroy_context, 0, 4000 },
    { "cuCtxDetach", destroy_context, 0, 2000 },
    { "cuDevicePrimaryCtxRetain", retain_primary, 0, 7000 },
    { "cuDevicePrimaryCtxRelease", end_primary, BY_RELEASE, 7000 },
    { "cuDevicePrimaryCtxRelease_v2", end_primary, BY_RELEASE, 11000 },
    { "cuDevicePrimaryCtxReset", end_primary, BY_RESET, 7000 },
    { "cuDevicePrimaryCtxReset_v2", end_primary, BY_RESET, 11000 },
    { "cuModuleUnload", unload_module, 0, 2000 },
    { "cuLibraryUnload", unload_module, 0, 12000 },
    { "cuModuleGetFunction", get_function, 0, 2000 },
    { "cuLibraryGetKernel", get_function, 0, 12000 },
    { "cuLibraryGetModule", join_module, 0, 12000 },
    { "cuKernelGetFunction", join_kernel, 0, 12000 },
    { "cuModuleGetGlobal_v2", get_variable, 0, 3020 },
    { "cuLibraryGetGlobal", get_variable, 0, 12000 },
    { "cuLibraryGetManaged", get_variable, 0, 12000 },
    { NULL, NULL, 0, 0 },
};

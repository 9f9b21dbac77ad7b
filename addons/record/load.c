// SPDX-License-Identifier: Apache-2.0
// Finds the driver behind the recorder, and leads each call there.
//
// A function that is not noted costs one jump. The slot of each function leads to
// recorder_forward until the driver is loaded. Then it leads to the driver, or to recorder_noted
// where a handler notes the call in the present phase. While a record runs it leads to
// recorder_forward where a call may write and no handler knows it. Before the record it leads there
// where that call makes or changes an object.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/recorder.h"

enum { NO_DEVICE = 100, NOT_SUPPORTED = 801, NAME_BYTES = 128, PER_THREAD_STREAMS = 2 };

typedef void routine(void);

void recorder_forward(void);
void recorder_noted(void);
routine *recorder_enter(unsigned index);
word recorder_call(unsigned index, word *words);

extern routine *const recorder_trampolines[] __attribute__((visibility("hidden")));

__attribute__((visibility("hidden"))) routine *recorder_targets[] = {
#define SYMBOL(name) recorder_forward,
#include "record/symbols.inc"
#undef SYMBOL
};

static struct driver_call calls[] = {
#define SYMBOL(name) { #name, NULL, NULL, 0, false, false },
#include "record/symbols.inc"
#undef SYMBOL
};

enum { NUM_CALLS = sizeof(calls) / sizeof(calls[0]), NUM_SPARE = 256 };
enum { NUM_NAMES = NUM_CALLS - NUM_SPARE };

static pthread_once_t once = PTHREAD_ONCE_INIT;
// A call that may launch or write, and nobody knows how. LASTING: it counts before the record, too.
static enum strangeness { FAMILIAR, WORKING, LASTING } strange[NUM_CALLS];
static void *driver;
static _Thread_local bool is_inside; // the driver may call its own functions through here

// Functions that begin so, and that no handler knows. These launch or write at that moment alone.
static const char *const working[] = {
    "cuCtxRecordEvent",   "cuCtxWaitEvent",   "cuGreenCtxRecordEvent", "cuGreenCtxWaitEvent",
    "cuLaunch",           "cuMemBatch",       "cuMemDiscard",          "cuMemcpy",
    "cuMemset",           "cuSignalExternal", "cuStreamBatchMemOp",    "cuStreamWaitValue",
    "cuStreamWriteValue", "cuWaitExternal",   "cuMemPrefetch",
};

// These make or change objects, or decide how long a context lives. A later frame may use them.
static const char *const lasting[] = {
    "cuCtxAttach",      "cuGraphExec",         "cuGraphMemcpyNodeSetParams_",
    "cuGreenCtxCreate", "cuGreenCtxDestroy",   "cuIpcOpenMemHandle",
    "cuMemAlloc",       "cuMemFree",           "cuMemHostRegister",
    "cuMemMapArray",    "cuModuleLoad",        "cuStreamBeginCapture",
    "cuGraphicsMap",    "cuLibraryGetUnified",
};

#define BEGINS(name, list) begins_so((name), (list), sizeof(list) / sizeof((list)[0]))

static bool begins_so(const char *name, const char *const *list, size_t num)
{
    bool begins = false;
    for (size_t i = 0; i < num && !begins; i++)
        begins = strncmp(name, list[i], strlen(list[i])) == 0;
    return begins;
}

static enum strangeness judge(const char *name)
{
    static const char *const harmless[] = { "cuGraphExecDestroy", "cuGraphExecGetFlags" };
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (strcmp(name, harmless[i]) == 0)
            return FAMILIAR;
    return BEGINS(name, lasting) ? LASTING : BEGINS(name, working) ? WORKING : FAMILIAR;
}

// ---- calls ----

static word not_supported(void)
{
    return NOT_SUPPORTED;
}

static word no_driver(void)
{
    return NO_DEVICE;
}

static routine *missing(void)
{
    return (routine *)(driver ? not_supported : no_driver);
}

static void load(void);

// ---- slots ----

static bool is_noted(const struct driver_call *call, int phase)
{
    return call->handler && phase != DONE && (phase == RECORDING || !call->while_recording);
}

static bool is_counted(int index, int phase)
{
    return phase == RECORDING ? strange[index] != FAMILIAR
                              : phase == BEFORE && strange[index] == LASTING;
}

static void set_slot(int index, int phase)
{
    const struct driver_call *call = &calls[index];
    routine *target = call->real ? (routine *)(uintptr_t)call->real : missing();
    if (is_noted(call, phase))
        target = recorder_noted;
    else if (is_counted(index, phase))
        target = recorder_forward;
    __atomic_store_n(&recorder_targets[index], target, __ATOMIC_RELEASE);
}

void recorder_set_phase(enum recorder_phase phase)
{
    atomic_store(&recorder.phase, (int)phase);
    for (int i = 0; i < NUM_CALLS; i++)
        set_slot(i, (int)phase);
}

// ---- calls that come in ----

routine *recorder_enter(unsigned index)
{
    pthread_once(&once, load);
    if (is_counted((int)index, atomic_load(&recorder.phase)) && !is_inside)
        recorder_note_stranger(calls[index].name, 1);
    if (calls[index].handler)
        return recorder_noted;
    return calls[index].real ? (routine *)(uintptr_t)calls[index].real : missing();
}

word recorder_call(unsigned index, word *words)
{
    const struct driver_call *call = &calls[index];
    if (!call->real)
        return NOT_SUPPORTED;
    if (is_inside)
        return call_driver(call, words);
    is_inside = true;
    const word answer = call->handler(call, words);
    is_inside = false;
    return answer;
}

static struct driver_call *find_call(const char *name)
{
    int low = 0, high = NUM_NAMES - 1;
    while (low <= high) {
        const int middle = (low + high) / 2, order = strcmp(name, calls[middle].name);
        if (order == 0)
            return &calls[middle];
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle - 1 : high;
    }
    return NULL;
}

// A call that the driver makes for its answer is none of the program's calls.
word recorder_ask(const char *name, word a, word b, word c, word d, word e)
{
    const struct driver_call *call = find_call(name);
    const word words[NUM_WORDS] = { a, b, c, d, e };
    if (!call || !call->real)
        return NOT_SUPPORTED;
    const bool was_inside = is_inside;
    is_inside = true;
    const word answer = call_driver(call, words);
    is_inside = was_inside;
    return answer;
}

// ---- addresses that the program asks for ----

// The name is the symbol, perhaps with a version and the kind of its default stream.
static bool is_shape_of(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);
    return strncmp(name, symbol, length) == 0 &&
           (name[length] == '\0' || strncmp(name + length, "_v", 2) == 0 ||
            strncmp(name + length, "_pt", 3) == 0);
}

// Several names may have one address. One is best that has a handler, and then the symbol's own.
static const struct driver_call *find_by_address(const char *symbol, const void *address)
{
    const struct driver_call *best = NULL;
    int most = -1;
    for (int i = 0; i < NUM_CALLS; i++) {
        const int worth = (calls[i].handler ? 2 : 0) + (is_shape_of(calls[i].name, symbol) ? 1 : 0);
        if (calls[i].real == address && worth > most) {
            best = &calls[i];
            most = worth;
        }
    }
    return best;
}

static const struct table {
    const struct noted_call *rows;
    bool while_recording;
} tables[] = {
    { recorder_memory_calls, false },  { recorder_work_calls, true },
    { recorder_capture_calls, false }, { recorder_graph_calls, false },
    { recorder_graph_launches, true },
};

enum { NUM_TABLES = sizeof(tables) / sizeof(tables[0]) };

static const struct noted_call *look_for_row(const char *symbol, int version,
                                             bool *out_while_recording)
{
    const struct noted_call *best = NULL;
    for (int i = 0; i < NUM_TABLES; i++)
        for (const struct noted_call *row = tables[i].rows; row->name; row++)
            if (is_shape_of(row->name, symbol) && row->since <= version &&
                (!best || row->since > best->since)) {
                best = row;
                *out_while_recording = tables[i].while_recording;
            }
    return best;
}

// The driver may hand out an address that it does not export. The version tells its arguments.
static const struct driver_call *use_spare(const char *symbol, void *address, int version,
                                           word flags)
{
    static int num_used; // under the lock
    struct driver_call *call = NULL;
    bool while_recording = false;
    const bool is_renamed = strcmp(symbol, "cuGraphInstantiate") == 0 && version >= 12000;
    const char *name = is_renamed ? "cuGraphInstantiateWithFlags" : symbol;
    const struct noted_call *best = look_for_row(name, version, &while_recording);
    if (!best)
        return NULL;
    recorder_lock();
    if (num_used < NUM_SPARE) {
        call = &calls[NUM_NAMES + num_used++];
        *call = (struct driver_call){
            best->name,     address, best->handler, best->detail, (flags & PER_THREAD_STREAMS) != 0,
            while_recording
        };
        set_slot((int)(call - calls), atomic_load(&recorder.phase));
    }
    recorder_unlock();
    return call;
}

static void *hand_out(const char *symbol, void *address, int version, word flags)
{
    const struct driver_call *call = find_by_address(symbol, address);
    if (!call)
        call = use_spare(symbol, address, version, flags);
    if (call && (call->handler || strange[call - calls] != FAMILIAR))
        return (void *)(uintptr_t)recorder_trampolines[call - calls];
    if (!call && judge(symbol) != FAMILIAR)
        recorder_note_stranger(symbol, 0);
    return address;
}

// cuGetProcAddress(symbol, address, version, flags, status)
static word get_address(const struct driver_call *call, word *words)
{
    const word answer = call_driver(call, words);
    void **address = (void **)(uintptr_t)words[1];
    const char *symbol = (const char *)(uintptr_t)words[0];
    if (answer == SUCCEEDED && symbol && address && *address)
        *address = hand_out(symbol, *address, (int)words[2], words[3]);
    return answer;
}

// ---- loading ----

static void note_rows(const struct noted_call *rows, bool while_recording)
{
    static const char *const ends[] = { "", "_ptsz", "_ptds" };
    for (; rows->name; rows++)
        for (int i = 0; i < 3; i++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof(name), "%s%s", rows->name, ends[i]);
            struct driver_call *call = find_call(name);
            if (!call)
                continue;
            call->handler = rows->handler;
            call->detail = rows->detail;
            call->per_thread = i > 0;
            call->while_recording = while_recording;
        }
}

static void *open_driver(void)
{
    static const char *const usual[] = {
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
        "/usr/lib/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
    };
    const char *path = secure_getenv("BRAID_RECORD_REAL");
    void *found = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; !path && !found && i < sizeof(usual) / sizeof(usual[0]); i++)
        found = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
    if (!found) {
        fprintf(stderr, "braid record: there is no CUDA driver: %s\n", path ? dlerror() : "");
    } else if (dlsym(found, "braid_recorder_mark")) { // it would forward calls to itself
        fprintf(stderr, "braid record: %s is a recorder, and no CUDA driver\n",
                path ? path : usual[0]);
        found = NULL;
    }
    return found;
}

static void load(void)
{
    static const struct noted_call lookups[] = { { "cuGetProcAddress", get_address, 0, 0 },
                                                 { "cuGetProcAddress_v2", get_address, 0, 0 },
                                                 { NULL, NULL, 0, 0 } };
    driver = open_driver();
    for (int i = 0; driver && i < NUM_NAMES; i++)
        calls[i].real = dlsym(driver, calls[i].name);
    if (driver) {
        note_rows(lookups, false);
        for (int i = 0; i < NUM_TABLES; i++)
            note_rows(tables[i].rows, tables[i].while_recording);
    }
    for (int i = 0; i < NUM_CALLS; i++)
        strange[i] = calls[i].handler ? FAMILIAR : judge(calls[i].name);
    recorder.get_context = find_call("cuCtxGetCurrent")->real;
    recorder_set_phase(driver ? recorder_start() : DONE);
}

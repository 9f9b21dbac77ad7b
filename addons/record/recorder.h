// SPDX-License-Identifier: Apache-2.0
// The recorder: a library that stands before the driver, forwards all calls, and notes some.
//
// It is a library of its own, libbraid_record.so. One lock guards all that it knows. Under it the
// driver is asked about streams and events, which runs no code of the program. When the record is
// done, it is also asked for the contents of memory. Each thread has notes of its operations, and
// adds to them without the lock (notes.h).
#ifndef BRAID_RECORD_RECORDER_H
#define BRAID_RECORD_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <braid/record.h>

#include "base/array.h"
#include "base/pointer_map.h"
#include "base/store.h"

typedef uint64_t word; // an argument

enum { NUM_WORDS = 12, SUCCEEDED = 0, INVALID_VALUE = 1 };

// ---- the driver (load.c) ----

struct driver_call;
typedef word call_handler(const struct driver_call *call, word *words);

// A function of the driver. `real` is NULL where the driver lacks it.
struct driver_call {
    const char *name;
    void *real;
    call_handler *handler; // NULL: it is not noted
    uint64_t detail;       // for the handler
    bool per_thread;       // stream 0 is the one of the thread
    bool while_recording;  // the handler notes nothing else: it is left out at other times
};

// A call that is noted. A name with _ptsz or _ptds behind it is noted, too.
struct noted_call {
    const char *name;
    call_handler *handler;
    uint64_t detail;
    int since; // the version of CUDA that gave this shape to the name without _vN
};

// Each ends with a row of zeros. Work is noted while a record runs, and the others at any time.
extern const struct noted_call recorder_memory_calls[], recorder_work_calls[],
    recorder_capture_calls[], recorder_graph_calls[], recorder_graph_launches[];

static inline word call_driver(const struct driver_call *call, const word *w)
{
    typedef word any(word, word, word, word, word, word, word, word, word, word, word, word);
    any *function = (any *)(uintptr_t)call->real;
    return (uint32_t)function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
                              w[11]);
}

// Asks the driver something by the exported name. A driver without the function fails.
word recorder_ask(const char *name, word a, word b, word c, word d, word e);
#define ASK(name, a, b, c, d) recorder_ask(name, (word)(a), (word)(b), (word)(c), (word)(d), 0)
#define POINTER(value) ((word)(uintptr_t)(value))

// ---- modules, kernels, memory, handles (state.c) ----

enum recorder_phase { BEFORE, RECORDING, DONE };

struct known_exec;
struct thread_notes;
struct timing;

struct recorder {
    pthread_mutex_t lock;
    // Read without the lock where a call comes in.
    _Atomic int phase;
    _Atomic int captures;         // in capture_of, or about to be there
    _Atomic uint32_t next_number; // the next operation's
    _Atomic uint32_t watch_at;    // from this operation on each is watched
    _Atomic uint32_t generation;  // counts handles that were destroyed
    int driver_version;           // since the first module
    bool failed;                  // memory ran out: no record
    bool keeps_rows;              // no row of memory is used again
    bool measures;                // times on the device
    struct thread_notes *notes;   // the first of a list of all
    void *get_context;            // the driver's cuCtxGetCurrent
    struct store store;           // bytes that the record points to
    uint64_t stored_bytes;        // copied from host memory
    uint64_t noted_bytes;         // that notes and nodes need
    uint64_t most_bytes, most_stored, most_text, most_noted;
    uint64_t most_at_begin; // bytes of memory that are kept of the last frame; 0: none are
    uint64_t most_at_end;   // bytes that are kept of the end of an allocation; 0: none are
    // Arrays of the record, and the handles of their rows.
    struct array modules, kernels, parameters, allocations, streams, operations, frames, strangers;
    struct array graphs, nodes, befores;
    const char *range;             // ranges of NVTX with this name are frames; NULL: marks are
    struct timing *timings;        // the last of a list (times.c)
    struct array memory;           // that is kept; its bytes are blocks of their own
    struct array layouts;          // a struct kernel_layout * of each kernel, or NULL
    struct array context_of_event; // where it was recorded: a number, or NONE
    struct array free_allocations; // rows that nothing points to
    struct pointer_map module_of, kernel_of, allocation_at, stream_of, event_of, context_of;
    struct pointer_map exec_of, condition_of;
    struct pointer_map first_of;    // the first value of each handle that no node has yet
    struct pointer_map capture_of;  // the context of each stream that began a capture
    struct array execs, conditions; // see snapshot.h
    uint32_t num_contexts, num_threads, num_events;
    uint32_t dropped; // operations before this number are forgotten
};

extern struct recorder recorder;

static inline bool is_recording(void)
{
    return atomic_load_explicit(&recorder.phase, memory_order_relaxed) == RECORDING;
}

static inline bool is_done(void)
{
    return atomic_load_explicit(&recorder.phase, memory_order_relaxed) == DONE;
}

void recorder_lock(void);
void recorder_unlock(void);

// Under the lock: calls come in where the phase needs them (load.c).
void recorder_set_phase(enum recorder_phase phase);

// All below are called under the lock.

// Copies of bytes and texts that last as long as the recorder. NULL: memory ran out, and `failed`.
void *recorder_keep(const void *bytes, uint64_t num);
const char *recorder_keep_text(const char *text);

// Numbers of handles. A handle that is not known gets one.
uint32_t recorder_number_context(word context);
word recorder_find_context(uint32_t number); // its handle; 0: none
// `context`: where it is recorded, or BRAID_RECORD_NONE.
uint32_t recorder_number_event(word event, uint32_t context);

// A stream began a capture: see capture_of.
void recorder_note_capture(word key, word context);

// A row that does not exist gets NONE, and so does all where memory ran out.
uint32_t recorder_add_module(word handle, bool is_library, word context, const char *file,
                             const void *image);
void recorder_join_module(word handle, uint32_t module); // a second handle of it
uint32_t recorder_find_module(word handle);
uint32_t recorder_add_kernel(word handle, uint32_t module, const char *name);
void recorder_join_kernel(word handle, uint32_t kernel);

// The recorder forgets handles of objects that go before the driver gets the call. Another thread
// may get them at once. They come back if the driver refuses the call.
struct lost_handle {
    struct pointer_map *map;
    word key;
    uint32_t number;
};

// Forgets a key of a map and puts it into the list. Returns its number, or NONE.
uint32_t recorder_lose(struct pointer_map *map, word key, struct array *lost);
// The same of the rows, and of all that goes with them except memory.
void recorder_lose_module(uint32_t module, struct array *lost);
void recorder_lose_context(uint32_t context, struct array *lost);
// The same of the memory that goes with a module and a context. Either may be none.
void recorder_lose_memory_of(uint32_t module, uint32_t context, struct array *lost);
// The same of all mappings in a range of addresses.
void recorder_lose_mappings(word begin, uint64_t bytes, struct array *lost);
// Behind the call, without the lock. Captures end here. Empties the list, and returns the answer.
word recorder_settle(struct array *lost, word answer);

// Adds memory, or forgets it. `operation` is NONE where none was noted.
uint32_t recorder_add_memory(const braid_record_allocation *allocation);
uint32_t recorder_find_memory(word address);
void recorder_free_memory(uint32_t memory, uint32_t operation);

void *recorder_row(struct array *array, uint32_t number, size_t bytes);

// Handles may come again: each thread forgets those that it knows.
void recorder_forget_handles(void);

// ---- operations (operation.c) ----

uint64_t recorder_now(void);
word recorder_context(void); // the current one's handle

// The work of no kind: all indices are NONE.
void recorder_clear_work(braid_record_work *work, braid_record_work_kind kind);

void recorder_set_sizes(braid_record_work *work, const uint32_t *sizes); // grid, block, shared

// All below are called without the lock.

// A stream as an argument.
struct place {
    word stream;
    bool per_thread, has_stream;
    bool is_captured;
};
struct place recorder_place(const struct driver_call *call, word stream);
// Its key in a map. Default streams are of a context, and perhaps of a thread.
word recorder_stream_key(word stream, word context, uint32_t thread);
// The number of a stream.
uint32_t recorder_number_stream(struct thread_notes *notes, const struct place *place);

// An operation between its begin and its end.
struct begun {
    uint32_t number; // BRAID_RECORD_NONE: not recording, or captured
    uint32_t stream;
    uint64_t begin_ns;
    struct thread_notes *notes;
    struct timing *timing; // NULL: it is not measured
};

// Begins an operation, and ends it with the driver's answer. It is noted if the driver took it.
struct begun recorder_begin(const struct place *place, braid_record_work_kind kind);
void recorder_end(const struct begun *begun, const braid_record_work *work, word answer);

// The number of a launched function, with all that the driver tells of it.
uint32_t recorder_number_kernel(word function);
// Fills parameters from arguments, with memory of the store.
void recorder_take_parameters(uint32_t kernel, void **arguments, void **extra,
                              braid_record_work *work, struct store *store);

// A function that is not understood.
void recorder_note_stranger(const char *name, uint64_t num_calls);

// ---- copies (work_calls.c) ----

struct box_side { // a part of CUDA_MEMCPY3D
    size_t x, y, z, lod;
    int type;
    const void *host;
    uint64_t device, array;
    void *reserved;
    size_t pitch, height;
};

struct box { // CUDA_MEMCPY3D
    struct box_side from, to;
    size_t width, height, depth;
};

braid_record_end recorder_end_of_box(const struct box_side *side);
// Whether this process can read the bytes. Any thread may ask.
bool recorder_can_read(const void *begin, uint64_t num);

// ---- executable graphs (snapshot.c) ----

// The graph of the exec as it is now, as a row of the record; NONE: not known. Under the lock.
uint32_t recorder_publish_exec(word exec, const char **out_strange);

// ---- times (times.c) ----

// Beside an operation, without the lock. NULL: it is not measured.
struct timing *recorder_time_begin(const struct place *place, uint32_t stream,
                                   braid_record_work_kind kind);
void recorder_time_end(const struct begun *begun, word answer);
// Behind the last frame, without the lock.
void recorder_take_times(void);
// Into the operations that are kept. Under the lock.
void recorder_put_times(void);
// Events that go with their context, or that stay after all. Under the lock.
void recorder_lose_times(uint32_t context, bool are_lost);

// ---- bytes of memory (kept_memory.c) ----

// At the begin of the last frame, and at its end, both without the lock.
void recorder_keep_begin(void);
void recorder_compare_begin(void);
// Under the lock: forgets memory that other threads have freed since, or also all of the end.
void recorder_forget_memory(bool of_end);
// The first bytes of memory before it goes, without the lock.
void recorder_keep_end(uint32_t memory);
// Under the lock, while recording: it did not go.
void recorder_forget_end(uint32_t memory);
// The same of all memory, under the lock, when no calls are noted any more.
void recorder_keep_all_ends(void);

// ---- frames (frames.c, finish.c) ----

// The mark of a program. Without the lock.
void recorder_mark_frame(void);
// Ends the frame that the mark before began. Without the lock.
void recorder_end_frame(void);
// Under the lock, behind operations from `watch_at` on: drops old ones, or ends the record.
void recorder_watch_frames(void);
// Under the lock: notes need so many bytes more.
void recorder_need_memory(uint64_t bytes);
// Finds repeated launches and writes the record. Under the lock.
void recorder_finish(void);
// Reads the settings, and returns the phase that they begin with. Before any other call.
enum recorder_phase recorder_start(void);

#endif

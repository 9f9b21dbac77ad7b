// SPDX-License-Identifier: Apache-2.0
// The notes of each thread: its operations, one behind another, in memory of its own.
//
// Only the thread itself appends to its last piece. It publishes an operation by `used`, and takes
// the lock for a new piece. So the holder of the lock may read all pieces up to `used`, and may
// free each piece that another one follows.
#include "record/notes.h"

#include <string.h>

#include "base/host_memory.h"

enum { FIRST_BYTES = 4096, MOST_BYTES = 256 << 10 };

struct note_piece {
    struct note_piece *next;
    size_t bytes;
    _Atomic size_t used;
    uint32_t last; // the number of the last operation in it
    _Alignas(16) unsigned char notes[];
};

enum { COOPERATIVE = 1, EARLY = 2, UNKNOWN_ATTRIBUTES = 4, PARAMETERS = 8 };

// In front of each operation. A launch has `kernel` and the members behind, and then its
// parameters; all other work stands behind as a braid_record_work.
struct note {
    uint32_t bytes; // with all behind
    uint32_t number, stream, thread;
    uint64_t begin_ns, end_ns;
    uint32_t kernel; // BRAID_RECORD_NONE: it is no launch
    uint32_t flags, parameter_bytes;
    uint32_t sizes[7], cluster[3];
};

// ---- the notes of a thread ----

static _Thread_local struct thread_notes *mine;

static struct thread_notes *make_notes(void)
{
    struct thread_notes *notes = braid_allocate_zeroed(1, sizeof(*notes));
    recorder_lock();
    if (notes) {
        notes->thread = recorder.num_threads++;
        notes->next = recorder.notes;
        recorder.notes = notes;
    } else {
        recorder.failed = true;
    }
    recorder_unlock();
    return mine = notes;
}

struct thread_notes *recorder_notes(void)
{
    struct thread_notes *notes = mine;
    return notes ? notes : make_notes();
}

void recorder_refresh_notes(struct thread_notes *notes)
{
    const uint32_t now = atomic_load_explicit(&recorder.generation, memory_order_acquire);
    if (notes->generation == now)
        return;
    notes->generation = now;
    memset(notes->streams, 0, sizeof(notes->streams));
    memset(notes->kernels, 0, sizeof(notes->kernels));
}

// ---- appending ----

static struct note_piece *add_piece(struct thread_notes *notes, size_t bytes)
{
    struct note_piece *last = notes->last;
    size_t size = last ? 2 * last->bytes : FIRST_BYTES;
    size = size < MOST_BYTES ? size : MOST_BYTES;
    size = size > bytes ? size : bytes;
    struct note_piece *piece = NULL;
    recorder_lock();
    if (is_recording()) {
        piece = braid_allocate(sizeof(*piece) + size);
        recorder.failed |= !piece;
    }
    if (piece) {
        piece->next = NULL;
        piece->bytes = size;
        atomic_init(&piece->used, 0);
        *(last ? &last->next : &notes->first) = piece;
        notes->last = piece;
        recorder_need_memory(size);
    }
    recorder_unlock();
    return piece;
}

// Room for a note and `more` bytes behind it; NULL: the record is done, or memory ran out.
static struct note *take(const struct begun *begun, size_t more)
{
    struct note_piece *piece = begun->notes->last;
    const size_t bytes = (sizeof(struct note) + more + 7) / 8 * 8;
    size_t used = piece ? atomic_load_explicit(&piece->used, memory_order_relaxed) : 0;
    if (bytes > UINT32_MAX)
        return NULL;
    if (!piece || piece->bytes - used < bytes) {
        piece = add_piece(begun->notes, bytes);
        used = 0;
    }
    if (!piece)
        return NULL;
    struct note *note = (struct note *)(void *)(piece->notes + used);
    note->bytes = (uint32_t)bytes;
    note->number = begun->number;
    note->stream = begun->stream;
    note->thread = begun->notes->thread;
    note->begin_ns = begun->begin_ns;
    return note;
}

static void publish(const struct begun *begun, const struct note *note)
{
    struct note_piece *piece = begun->notes->last;
    const size_t used = atomic_load_explicit(&piece->used, memory_order_relaxed);
    piece->last = begun->number;
    atomic_store_explicit(&piece->used, used + note->bytes, memory_order_release);
    if (begun->number < atomic_load_explicit(&recorder.watch_at, memory_order_relaxed))
        return;
    recorder_lock();
    if (is_recording())
        recorder_watch_frames();
    recorder_unlock();
}

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

bool recorder_measure_parameters(const struct kernel_layout *layout, void **arguments, void **extra,
                                 size_t *out_bytes)
{
    *out_bytes = 0;
    if (extra && find_buffer(extra, out_bytes))
        return true;
    const bool are_told = arguments && layout->num != BRAID_RECORD_NONE && layout->num > 0;
    *out_bytes = are_told ? layout->bytes : 0;
    return are_told;
}

void recorder_copy_parameters(const struct kernel_layout *layout, void **arguments, void **extra,
                              void *to)
{
    size_t bytes = 0;
    const void *buffer = extra ? find_buffer(extra, &bytes) : NULL;
    if (buffer) {
        memcpy(to, buffer, bytes);
        return;
    }
    if (layout->has_gaps)
        memset(to, 0, layout->bytes);
    for (uint32_t i = 0; i < layout->num; i++) {
        const braid_record_parameter parameter = layout->parameters[i];
        char *at = (char *)to + parameter.offset;
        if (parameter.bytes == 8)
            memcpy(at, arguments[i], 8);
        else if (parameter.bytes == 4)
            memcpy(at, arguments[i], 4);
        else
            memcpy(at, arguments[i], parameter.bytes);
    }
}

void recorder_note_launch(const struct begun *begun, const struct launch *launch, uint64_t end_ns,
                          const struct kernel_layout *layout, void **arguments, void **extra)
{
    size_t bytes;
    const bool has_parameters = recorder_measure_parameters(layout, arguments, extra, &bytes);
    struct note *note = take(begun, bytes);
    if (!note)
        return;
    note->end_ns = end_ns;
    note->kernel = layout->kernel;
    note->flags = (launch->is_cooperative ? COOPERATIVE : 0) | (launch->starts_early ? EARLY : 0) |
                  (launch->has_unknown_attributes ? UNKNOWN_ATTRIBUTES : 0) |
                  (has_parameters ? PARAMETERS : 0);
    note->parameter_bytes = (uint32_t)bytes;
    memcpy(note->sizes, launch->sizes, sizeof(note->sizes));
    memcpy(note->cluster, launch->cluster, sizeof(note->cluster));
    if (has_parameters)
        recorder_copy_parameters(layout, arguments, extra, note + 1);
    publish(begun, note);
}

void recorder_note_work(const struct begun *begun, const braid_record_work *work, uint64_t end_ns)
{
    struct note *note = take(begun, sizeof(*work));
    if (!note)
        return;
    note->end_ns = end_ns;
    note->kernel = BRAID_RECORD_NONE;
    memcpy(note + 1, work, sizeof(*work));
    publish(begun, note);
}

// ---- reading ----

static void unpack(const struct note *note, braid_record_operation *row)
{
    row->stream = note->stream;
    row->thread = note->thread;
    row->begin_ns = note->begin_ns;
    row->end_ns = note->end_ns;
    if (note->kernel == BRAID_RECORD_NONE) {
        memcpy(&row->work, note + 1, sizeof(row->work));
        return;
    }
    braid_record_work *work = &row->work;
    recorder_clear_work(work, BRAID_RECORD_KERNEL);
    work->kernel = note->kernel;
    recorder_set_sizes(work, note->sizes);
    memcpy(work->cluster, note->cluster, sizeof(work->cluster));
    work->is_cooperative = note->flags & COOPERATIVE;
    work->starts_early = note->flags & EARLY;
    work->has_unknown_attributes = note->flags & UNKNOWN_ATTRIBUTES;
    work->parameters = note->flags & PARAMETERS ? note + 1 : NULL;
    work->parameter_bytes = note->parameter_bytes;
}

void recorder_visit_notes(uint32_t first,
                          void (*visit)(uint32_t number, const braid_record_operation *operation,
                                        void *user),
                          void *user)
{
    braid_record_operation row = { .begin_ns = 0 };
    for (const struct thread_notes *notes = recorder.notes; notes; notes = notes->next)
        for (struct note_piece *piece = notes->first; piece; piece = piece->next) {
            const size_t used = atomic_load_explicit(&piece->used, memory_order_acquire);
            for (size_t at = 0; at < used;) {
                const struct note *note = (const struct note *)(void *)(piece->notes + at);
                at += note->bytes;
                if (note->number < first)
                    continue;
                unpack(note, &row);
                visit(note->number, &row, user);
            }
        }
}

// The last piece is its thread's.
void recorder_drop_notes(uint32_t first)
{
    for (struct thread_notes *notes = recorder.notes; notes; notes = notes->next)
        while (notes->first && notes->first->next && notes->first->last < first) {
            struct note_piece *piece = notes->first;
            notes->first = piece->next;
            recorder.noted_bytes -= piece->bytes;
            braid_free(piece);
        }
}

// SPDX-License-Identifier: Apache-2.0
// The notes of each thread: its operations, one behind another, in memory of its own.
//
// A thread adds to its notes without a lock. The holder of the recorder's lock may read the notes
// of all threads: an operation is there once its thread has published it.
#ifndef BRAID_RECORD_NOTES_H
#define BRAID_RECORD_NOTES_H

#include "record/recorder.h"

// The parameters of a kernel, as a launch copies them. It stays where it is.
struct kernel_layout {
    uint32_t kernel;
    uint32_t num; // BRAID_RECORD_NONE: the driver cannot tell them
    uint32_t bytes;
    bool has_gaps; // bytes between parameters, which are zero
    braid_record_parameter parameters[];
};

struct note_piece;

enum { KNOWN_STREAMS = 8, KNOWN_KERNELS = 64 }; // powers of two

struct thread_notes {
    struct thread_notes *next;
    uint32_t thread;
    uint32_t generation; // that the known handles below have
    struct note_piece *first, *last;
    struct {
        word stream, context;
        uint32_t number_and_1; // 0: none
    } streams[KNOWN_STREAMS];
    struct {
        word function;
        const struct kernel_layout *layout; // NULL: none
    } kernels[KNOWN_KERNELS];
};

// The notes of this thread; NULL: memory ran out. Without the lock.
struct thread_notes *recorder_notes(void);
// Forgets the handles that it knows if a handle of the program was destroyed meanwhile.
void recorder_refresh_notes(struct thread_notes *notes);

// The layout of a function, or NULL. Without the lock.
const struct kernel_layout *recorder_layout(struct thread_notes *notes, word function);

struct launch {
    uint32_t sizes[7], cluster[3];
    bool is_cooperative, starts_early, has_unknown_attributes;
};

// The bytes that parameters need; false: there are none that can be told. Then copies them.
bool recorder_measure_parameters(const struct kernel_layout *layout, void **arguments, void **extra,
                                 size_t *out_bytes);
void recorder_copy_parameters(const struct kernel_layout *layout, void **arguments, void **extra,
                              void *to);

// Publish an operation that the driver has taken. Without the lock.
void recorder_note_launch(const struct begun *begun, const struct launch *launch, uint64_t end_ns,
                          const struct kernel_layout *layout, void **arguments, void **extra);
void recorder_note_work(const struct begun *begun, const braid_record_work *work, uint64_t end_ns);

// ---- under the lock ----

// Calls `visit` for each operation from number `first` on, thread by thread. Parameters of
// launches stay in the notes.
void recorder_visit_notes(uint32_t first,
                          void (*visit)(uint32_t number, const braid_record_operation *operation,
                                        void *user),
                          void *user);
// Frees notes that have no operation from number `first` on.
void recorder_drop_notes(uint32_t first);

#endif

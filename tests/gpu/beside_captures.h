// SPDX-License-Identifier: Apache-2.0
// The driver's captures, by either vendor's names, and each public call with work in flight.
#ifndef BRAID_TESTS_GPU_BESIDE_CAPTURES_H
#define BRAID_TESTS_GPU_BESIDE_CAPTURES_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/braid.h>

enum { GLOBAL, THREAD_LOCAL, RELAXED, NUM_MODES };
enum { BLOCKING, NON_BLOCKING };

// The driver's functions; of the two that fill, the vendor has one.
extern struct driver {
    int (*make_current)(void);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*graph_destroy)(void *graph);
    int (*exchange)(int *mode);
    int (*fill)(void *to, unsigned value, size_t num, void *stream);
    int (*fill_hip)(void *to, int value, size_t num, void *stream);
} driver;

// Exits where the driver lacks one. Braid has loaded it.
void find_driver(bool hip);

// The thread's mode for captures; -1: the driver does not tell.
int get_mode(void);

// A capture by this thread or by another one, between begin_capture and end_capture.
struct capture {
    void *stream;
    uint32_t *words;
    int mode;
    int begun, ended;
    bool has_graph;
    sem_t go_on, is_begun;
    pthread_t thread;
};

void begin_capture(struct capture *capture, bool apart);
void end_capture(struct capture *capture, bool apart);

// What the calls are made with. Work is in flight on the stream and of both execs.
struct world {
    const char *backend;
    braid_exec_mode mode;
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec, *other; // one frame in flight, and three
    braid_stream *stream, *wrapped;
    braid_event *start, *end;
    uint32_t *words, *read;
    void *theirs;  // the handle of `wrapped`
    void *capture; // a stream that captures
    atomic_int num_late;
    atomic_bool is_held; // frames do not end
    int mode_inside;     // that the queue call saw; -1: none was made
};

braid_status open_world(struct world *world);
braid_status queue_work(struct world *world);
braid_status close_world(struct world *world); // that of closing the device

typedef braid_status make_call(struct world *world);

enum answer {
    DONE,
    EARLY,    // or BRAID_NOT_READY
    CUDA_ONLY // on HIP BRAID_UNSUPPORTED
};

extern const struct call {
    const char *name;
    make_call *make;
    enum answer answer;
} calls[], calls_of_execs[], calls_of_others[];

extern const size_t num_calls, num_calls_of_execs, num_calls_of_others;

make_call make_and_destroy, launch, launch_default, synchronize_default; // among them

#endif

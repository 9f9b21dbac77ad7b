// SPDX-License-Identifier: Apache-2.0
// What the files of the stand-in HSA runtime share: its one lock, signals, and what a loaded kernel
// is.
#ifndef BRAID_TESTS_STANDIN_HSA_STANDIN_H
#define BRAID_TESTS_STANDIN_HSA_STANDIN_H

#include <hsa/hsa.h>
// hsa.h decides the byte order for the headers after it.
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../standin_kernel.h"

// One lock guards every list of the stand-in, and every change of a signal happens under it and is
// followed by a broadcast of `standin_changed`. A queue, the copy engine and the host all wait for
// signals on this one condition. A queue without packets waits on a condition of its own, which its
// doorbell signals. Kernels, copies and handlers run with the lock released, so they do overlap.
extern pthread_mutex_t standin_lock;
extern pthread_cond_t standin_changed;

// The two agents and the memory pools, by the value of their handles.
enum {
    STANDIN_AGENT_HOST = 1,
    STANDIN_AGENT_GPU = 2,
    STANDIN_POOL_HOST_FINE = 1,
    STANDIN_POOL_HOST_KERNARG = 2,
    STANDIN_POOL_HOST_COARSE = 3,
    STANDIN_POOL_GPU = 4,
    STANDIN_POOL_GROUP = 5,
};

// Nanoseconds of the monotonic clock, which is the stand-in's GPU clock too.
uint64_t standin_now(void);

// Whether BRAID_STANDIN_HSA_TRACE is set: each packet and copy then prints a line to stderr.
bool standin_tracing(void);

// How much memory a pool can give in all, in bytes: BRAID_STANDIN_HSA_MEMORY, or 4 GiB.
size_t standin_memory_limit(void);

// Starts a thread that runs to the end of the process. False if there is no thread to be had.
bool standin_start_thread(void *(*run)(void *), void *argument);

// The body of the copy engine and of the thread that calls signal handlers.
void *standin_run_copies(void *unused);
void *standin_run_handlers(void *unused);

// Signals. A null handle is allowed where the HSA specification allows it.
int64_t standin_signal_value(hsa_signal_t signal);
// From now on a change of the signal wakes `rung` alone.
void standin_signal_become_doorbell(hsa_signal_t signal, pthread_cond_t *rung);
bool standin_signal_satisfies(int64_t value, hsa_signal_condition_t condition, int64_t wanted);
// Stamps the signal with begin and end, then decrements it. Takes the lock.
void standin_signal_finish(hsa_signal_t signal, uint64_t started);

// A kernel of a loaded code object. Its address is the "kernel object" of dispatch packets.
struct loaded_kernel {
    char *name;
    // What runs in its place, NULL if the program has no such function.
    standin_kernel function;
    uint32_t static_shared_bytes;
    uint32_t num_arguments;
    // Byte offsets into the kernarg segment, explicit arguments only.
    uint32_t *argument_offsets;
    bool reads_grid; // the last one is the address of three words, as Braid has it
};

// Runs what a dispatch packet asks for on the calling thread.
void standin_kernel_run(const hsa_kernel_dispatch_packet_t *packet);

// The host function for one of the kernels with which AMD's runtime fills and copies memory, or
// NULL if `name` is none of them.
standin_kernel standin_builtin_kernel(const char *name);

#endif

// SPDX-License-Identifier: Apache-2.0
// All of Braid: build a graph once, plan it onto a few streams, replay it every frame.
#ifndef BRAID_BRAID_H
#define BRAID_BRAID_H

#include <braid/costs.h>
#include <braid/device.h>
#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/kernel.h>
#include <braid/rank.h>
#include <braid/region.h>
#include <braid/schedule.h>
#include <braid/status.h>
#include <braid/stream.h>
#include <braid/timeline.h>
#include <braid/timings.h>
#include <braid/tune.h>

// Cancelling threads (pthread_cancel). No call that waits for work of the CPU is a cancellation
// point, nor are kernels and host calls that it runs. Other calls may open files, write messages or
// be in a driver: a thread that may be cancelled must disable cancellation round them
// (pthread_setcancelstate). A thread with asynchronous cancellation, or a signal handler, must not
// call Braid.
//
// Calling Braid from code that Braid calls: each function type says which calls it may make
// (braid_cpu_function, braid_host_function, braid_queue_function, braid_log_function).

#ifdef __cplusplus
extern "C" {
#endif

// The version of these headers. It stands here alone: the build reads it from these lines.
#define BRAID_VERSION_MAJOR 0
#define BRAID_VERSION_MINOR 1
#define BRAID_VERSION_PATCH 0

// The version of the library in use, for example "0.1.0". Thread-safety: any thread.
BRAID_API const char *braid_version(void);

#ifdef __cplusplus
}
#endif

#endif

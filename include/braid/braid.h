// SPDX-License-Identifier: Apache-2.0
// All of Braid: build a graph once, plan it onto a few streams, replay it every frame.
#ifndef BRAID_BRAID_H
#define BRAID_BRAID_H

#include <braid/audit.h>
#include <braid/capture.h>
#include <braid/costs.h>
#include <braid/device.h>
#include <braid/exec.h>
#include <braid/export.h>
#include <braid/external.h>
#include <braid/graph.h>
#include <braid/import.h>
#include <braid/kernel.h>
#include <braid/managed.h>
#include <braid/pool.h>
#include <braid/rank.h>
#include <braid/record.h>
#include <braid/region.h>
#include <braid/schedule.h>
#include <braid/status.h>
#include <braid/stream.h>
#include <braid/timeline.h>
#include <braid/timings.h>
#include <braid/tune.h>

// Each function type says which calls its functions may make: braid_cpu_function,
// braid_host_function, braid_queue_function, braid_log_function. A signal handler calls
// braid_exec_get_running only. docs/book/reliability.md has the rules for pthread_cancel.

#ifdef __cplusplus
extern "C" {
#endif

// The version of these headers. It stands here alone: the build reads it from these lines.
#define BRAID_VERSION_MAJOR 0
#define BRAID_VERSION_MINOR 2
#define BRAID_VERSION_PATCH 0

// The version of the library in use, for example "0.2.0".
BRAID_API const char *braid_get_version(void);

#ifdef __cplusplus
}
#endif

#endif

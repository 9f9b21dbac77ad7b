// SPDX-License-Identifier: Apache-2.0
// All of Braid: build a graph once, plan it onto a few streams, replay it every frame.
#ifndef BRAID_BRAID_H
#define BRAID_BRAID_H

#include <braid/device.h>
#include <braid/exec.h>
#include <braid/graph.h>
#include <braid/kernel.h>
#include <braid/schedule.h>
#include <braid/status.h>
#include <braid/stream.h>

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

// SPDX-License-Identifier: Apache-2.0
// What braid run found out, as text or JSON.
#ifndef BRAID_TOOL_RUN_REPORT_H
#define BRAID_TOOL_RUN_REPORT_H

#include <braid/exec.h>

#include "dot_file.h"
#include "frames.h"
#include "run_arguments.h"

enum { KEPT_FRAMES = 16 };

struct run {
    const struct dot_file *file;
    braid_device *device;
    braid_device *group; // NULL: one device
    struct frame_memory memory;
    braid_graph *graph;
    braid_exec *exec;
    braid_schedule_options plan; // that the exec planned with: of the arguments, or of a way
    struct frame *frames;        // num_frames of the arguments
    // When the nodes of the last frames ran; frame i is at i % KEPT_FRAMES. NULL: nobody asked.
    braid_interval *kept;
    // With --profile: when the host launched these frames, and by how much its clock may be off.
    braid_interval launches[KEPT_FRAMES];
    uint64_t error_ns;
    bool has_launches;
};

enum exit_status run_report(const struct run_arguments *arguments, const struct run *run);

#endif

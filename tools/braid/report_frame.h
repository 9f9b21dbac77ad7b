// SPDX-License-Identifier: Apache-2.0
// The timelines of a recorded frame in its page: as it ran, and as planned.
#ifndef BRAID_TOOL_REPORT_FRAME_H
#define BRAID_TOOL_REPORT_FRAME_H

#include <stdbool.h>
#include <stdio.h>

#include <braid/record.h>
#include <braid/schedule.h>

struct report_frame {
    const braid_record_contents *contents;
    uint32_t first, end;            // operations
    const braid_schedule *schedule; // its plan
    bool is_measured;               // the record has times of the device
};

braid_status report_frame_write(const struct report_frame *frame, FILE *file);

#endif

// SPDX-License-Identifier: Apache-2.0
// A report of a recorded frame: what its orders are for, and how it could be planned.
#ifndef BRAID_TOOL_REPORT_RECORD_H
#define BRAID_TOOL_REPORT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#define REPORT_LAST_FRAME UINT64_MAX

struct report_record {
    const char *path, *page, *json; // NULL: no such output; without either, text is printed
    uint64_t frame;                 // from 0, or REPORT_LAST_FRAME
    bool is_unwatched;              // as in braid_import_options
    const char *setter;             // NULL: none
};

// Whether a file is a record. One that cannot be read is none.
bool report_is_record(const char *path);

enum exit_status report_record_write(const struct report_record *report);

#endif

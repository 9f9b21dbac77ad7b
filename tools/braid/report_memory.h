// SPDX-License-Identifier: Apache-2.0
// The part of a report that tells of memory.
#ifndef BRAID_TOOL_REPORT_MEMORY_H
#define BRAID_TOOL_REPORT_MEMORY_H

#include <stdio.h>

#include "report_facts.h"

// Writes a section of HTML, or nothing where the graph declares no bytes: what it declares, and how
// much of its transient buffers is alive over the frame. Errors: EXIT_FAILED (no memory).
enum exit_status report_memory_write(const struct report *report, FILE *file);

#endif

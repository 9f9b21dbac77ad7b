// SPDX-License-Identifier: Apache-2.0
// A plan as a table: which node runs on which lane, when, and behind which waits.
#ifndef BRAID_TOOL_PLAN_TABLE_H
#define BRAID_TOOL_PLAN_TABLE_H

#include <braid/schedule.h>

#include "dot_file.h"
#include "message.h"

// Prints it to standard output, lane by lane, in the order of issue and the file's unit. The graph
// has the file's nodes in their order.
enum exit_status plan_table_print(const struct dot_file *file, const braid_schedule *schedule,
                                  const braid_graph *graph);

#endif

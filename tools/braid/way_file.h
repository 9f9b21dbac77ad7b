// SPDX-License-Identifier: Apache-2.0
// Files that keep how a graph is best played on a device, and what its nodes cost there.
#ifndef BRAID_TOOL_WAY_FILE_H
#define BRAID_TOOL_WAY_FILE_H

#include <braid/tune.h>

#include <jansson.h>

#include "message.h"

// With all that is known of the graph's costs. `trials` is kept in the file for people to read, and
// taken over.
enum exit_status way_file_write(const char *path, const braid_device *device,
                                const braid_graph *graph, const braid_exec_options *way,
                                json_t *trials);

// Gives the graph's nodes the costs of the file. Refused, with the reason, where the file is of
// another graph, device or version of Braid.
enum exit_status way_file_read(const char *path, const braid_device *device, braid_graph *graph,
                               braid_exec_options *out_way);

#endif

// SPDX-License-Identifier: Apache-2.0
// The nodes of a capture.
#ifndef BRAID_TOOL_CAPTURE_NODES_H
#define BRAID_TOOL_CAPTURE_NODES_H

#include "capture_reader.h"

// Behind the resources and kernels.
void capture_read_nodes(struct capture_reader *reader);

#endif

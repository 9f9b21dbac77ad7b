// SPDX-License-Identifier: Apache-2.0
// Accesses from code: the table that the core asks, where the add-on 'accesses' is left out.
#include "graph/code.h"

const struct graph_code_doors *const braid_graph_code = NULL;

// SPDX-License-Identifier: Apache-2.0
// Braid's kernels that copy and fill inside islands, done by host functions.
#ifndef BRAID_STANDIN_MOVES_H
#define BRAID_STANDIN_MOVES_H

#include "module.h"

// NULL: it is another kernel.
standin_kernel moves_find_body(const char *name);

#endif

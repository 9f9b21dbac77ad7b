// SPDX-License-Identifier: Apache-2.0
// Writing checked values to the master copy. The caller holds the exec's lock.
#ifndef BRAID_EXEC_EXEC_SET_CHECK_H
#define BRAID_EXEC_EXEC_SET_CHECK_H

#include "exec/exec.h"

// Writes values, those of each node together, or refuses them all. It allocates nothing and calls
// no driver. Errors, which name the node: BRAID_INVALID_ARGUMENT (a value that the graph would not
// take), BRAID_UNSUPPORTED (the player says that it never takes it).
braid_status braid_exec_put_values(braid_exec *exec, const struct value_edit *edits, uint32_t num);

// Writes one that needs no check.
void braid_exec_write_value(braid_exec *exec, const struct value_edit *edit);

#endif

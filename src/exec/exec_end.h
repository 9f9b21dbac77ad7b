// SPDX-License-Identifier: Apache-2.0
// The part that tells the program when a frame has ended.
#ifndef BRAID_EXEC_EXEC_END_H
#define BRAID_EXEC_EXEC_END_H

#include <braid/exec.h>

// Does nothing if the options name no function. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_add_end(braid_exec *exec, const braid_exec_options *options);

#endif

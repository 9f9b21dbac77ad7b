// SPDX-License-Identifier: Apache-2.0
// The part that tells of frames that have not ended by their deadline: such frames are late.
#ifndef BRAID_EXEC_DEADLINE_H
#define BRAID_EXEC_DEADLINE_H

#include <stdbool.h>

#include <braid/exec.h>

// Does nothing if the options have no deadline. Behind all that its callback
// asks. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_add_deadline(braid_exec *exec, const braid_exec_options *options);

// Ends the thread, if there is one. It reads the other parts, so this comes before they go.
void braid_exec_stop_deadline(const braid_exec *exec);

// 0: the exec has none.
uint64_t braid_exec_deadline_ns(const braid_exec *exec);

// The late frames up to `last` of which no wait has told, from *out_first to *out_last. Of several
// threads one takes them. False: there are none.
bool braid_exec_take_late(const braid_exec *exec, uint64_t last, uint64_t *out_first,
                          uint64_t *out_last);

#endif

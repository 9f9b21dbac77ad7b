// SPDX-License-Identifier: Apache-2.0
// How an audit runs nodes and reaches memory: the CPU's on the calling thread, those of other
// devices by one stream.
#ifndef BRAID_AUDIT_AUDIT_REACH_H
#define BRAID_AUDIT_AUDIT_REACH_H

#include "exec/exec.h"

enum { AUDIT_PIECE_BYTES = 1 << 20 };

struct audit_reach {
    braid_exec *exec;
    braid_stream *stream;   // NULL: the calling thread
    unsigned char *staging; // a piece of memory that host and device reach; likewise
};

// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_audit_reach_open(braid_exec *exec, struct audit_reach *out_reach);
void braid_audit_reach_close(struct audit_reach *reach);

// Each of these returns once the stream has ended, also if it fails. Errors: those of the backend.
// Runs one node. Errors: those of queue calls, too.
braid_status braid_audit_reach_run(const struct audit_reach *reach,
                                   const struct backend_task *task);
// On devices.
braid_status braid_audit_reach_copy(const struct audit_reach *reach, void *to, const void *from,
                                    uint64_t bytes);
// At most a piece, which the thread can read until the next call.
braid_status braid_audit_reach_read(const struct audit_reach *reach, const void *memory,
                                    uint64_t bytes, const unsigned char **out_bytes);
braid_status braid_audit_reach_write(const struct audit_reach *reach, void *memory,
                                     const void *from, uint64_t bytes);

// Whether the memory is the host's, so that a page of it that cannot be read ends the process.
braid_status braid_audit_reach_is_hosts(const struct audit_reach *reach, const void *memory,
                                        bool *out_is_hosts);

#endif

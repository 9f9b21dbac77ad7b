// SPDX-License-Identifier: Apache-2.0
// Runs of a frame in given orders, whose results are compared with those of a first run.
#ifndef BRAID_EXEC_AUDIT_RUNS_H
#define BRAID_EXEC_AUDIT_RUNS_H

#include "exec/audit_scopes.h"
#include "exec/audit_state.h"

struct audit_runs {
    const struct audit_reach *reach;
    struct audit_scopes scopes; // with the orders
    struct audit_state state;
    struct audit_loops loops;
    uint32_t endless;                   // of the first run
    struct audit_difference difference; // of the latest run that had one
};

// Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR, BRAID_UNSUPPORTED (too many nodes), those of the nodes
// and of copies.
braid_status braid_audit_runs_create(const struct audit_reach *reach, struct audit_runs *out_runs);
// Behind it buffers have their contents of before. `status` is that of the runs, which it returns
// unless that is success and giving back the contents fails.
braid_status braid_audit_runs_finish(struct audit_runs *runs, braid_status status);

// Errors of both: those of the nodes and of copies.
braid_status braid_audit_run_first(struct audit_runs *runs);
braid_status braid_audit_run_again(struct audit_runs *runs, bool *out_differs);

#endif

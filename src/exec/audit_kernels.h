// SPDX-License-Identifier: Apache-2.0
// The kernels of an audit that tell of their accesses.
#ifndef BRAID_EXEC_AUDIT_KERNELS_H
#define BRAID_EXEC_AUDIT_KERNELS_H

#include "base/array.h"
#include "exec/audit.h"

struct audit_kernels {
    struct backend *backend;
    struct backend_audit audit;
    struct array items; // struct audited
};

// A kernel as a node launches it.
struct audited {
    const braid_kernel *kernel;
    bool grid_from;
    struct backend_kernel *loaded; // NULL: for the reason
    char *reason;
};

// Errors: BRAID_NO_MEMORY, those of the driver.
braid_status braid_audit_kernels_get(struct audit_kernels *kernels, const braid_kernel *kernel,
                                     const struct backend_launch *launch,
                                     const struct audited **out_audited);
// The name of the file with that line of a kernel that was got. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_kernels_file(const struct audit_kernels *kernels,
                                      const braid_kernel *kernel,
                                      const struct backend_launch *launch, uint32_t line,
                                      char **out_file);
void braid_audit_kernels_finish(struct audit_kernels *kernels);

#endif

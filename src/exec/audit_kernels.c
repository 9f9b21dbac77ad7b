// SPDX-License-Identifier: Apache-2.0
// The kernels of an audit that tell of their accesses.
#include "exec/audit_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static struct audited *find(const struct audit_kernels *kernels, const braid_kernel *kernel,
                            const struct backend_launch *launch)
{
    struct audited *items = kernels->items.items;
    for (size_t i = 0; i < kernels->items.num; i++) {
        if (items[i].kernel == kernel && items[i].grid_from == launch->grid_from)
            return &items[i];
    }
    return NULL;
}

// A kernel that cannot tell is none that fails.
static braid_status load(const struct audit_kernels *kernels, const struct backend_launch *launch,
                         struct audited *audited)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = kernels->backend->ops->kernel_load_audited(
        kernels->backend, audited->kernel, launch, &kernels->audit, &audited->loaded);
    bool cannot = status == BRAID_UNSUPPORTED;
    if (cannot)
        audited->reason = strdup(braid_error_message());
    braid_error_end_attempt(&attempt, cannot ? BRAID_OK : status);
    if (cannot && !audited->reason)
        return braid_error_no_memory("an audit");
    return cannot ? BRAID_OK : status;
}

braid_status braid_audit_kernels_get(struct audit_kernels *kernels, const braid_kernel *kernel,
                                     const struct backend_launch *launch,
                                     const struct audited **out_audited)
{
    struct audited made = { kernel, launch->grid_from, NULL, NULL };
    *out_audited = find(kernels, kernel, launch);
    if (*out_audited)
        return BRAID_OK;
    if (!braid_array_reserve(&kernels->items, 1, sizeof(made)))
        return braid_error_no_memory("an audit");
    braid_status status = load(kernels, launch, &made);
    if (status)
        return status;
    struct audited *slot = braid_array_append(&kernels->items, 1, sizeof(made));
    *slot = made;
    *out_audited = slot;
    return BRAID_OK;
}

braid_status braid_audit_kernels_file(const struct audit_kernels *kernels,
                                      const braid_kernel *kernel,
                                      const struct backend_launch *launch, uint32_t line,
                                      char **out_file)
{
    return kernels->backend->ops->kernel_file(
        kernels->backend, find(kernels, kernel, launch)->loaded, line >> AUDIT_LINE_BITS, out_file);
}

void braid_audit_kernels_finish(struct audit_kernels *kernels)
{
    struct audited *items = kernels->items.items;
    for (size_t i = 0; i < kernels->items.num; i++) {
        kernels->backend->ops->kernel_unload(kernels->backend, items[i].loaded);
        free(items[i].reason);
    }
    braid_array_finish(&kernels->items);
}

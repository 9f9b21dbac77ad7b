// SPDX-License-Identifier: Apache-2.0
// Kernels: on the CPU, a pointer to the program's function.
#include "backends/cpu/cpu.h"

#include <stdlib.h>

#include "base/error.h"

struct cpu_kernel {
    struct backend_kernel base;
    braid_cpu_function *call;
    void *user;
    _Atomic uint64_t block_ns;
};

void braid_cpu_kernel_fill_work(struct backend_kernel *base, struct cpu_work *work)
{
    struct cpu_kernel *kernel = (struct cpu_kernel *)base;
    work->call = kernel->call;
    work->blocks.user = kernel->user;
    work->block_ns = &kernel->block_ns;
}

braid_status braid_cpu_kernel_load(struct backend *base, const braid_kernel *kernel,
                                   unsigned changes, const struct backend_change *change,
                                   const uint32_t *arg_bytes, uint32_t num_args,
                                   struct backend_kernel **out_kernel)
{
    (void)base;
    (void)changes; // a launch tells of its grid
    (void)change;
    (void)arg_bytes;
    (void)num_args;
    if (!kernel->cpu)
        return braid_error(BRAID_UNSUPPORTED, "cpu: kernel '%s' has no CPU function", kernel->name);
    struct cpu_kernel *loaded = calloc(1, sizeof(*loaded));
    if (!loaded)
        return braid_error_no_memory("a kernel");
    loaded->call = kernel->cpu;
    loaded->user = kernel->user;
    *out_kernel = &loaded->base;
    return BRAID_OK;
}

void braid_cpu_kernel_unload(struct backend *base, struct backend_kernel *kernel)
{
    (void)base;
    free(kernel);
}

// SPDX-License-Identifier: Apache-2.0
// Loaded modules: one for each image or source, counted.
//
// To unload a module a driver waits for all work in its context, and destroying an exec may wait
// for its own only. So an unused module is retired. Look-ups do not see it, since the program may
// put another image at its address. If many have gathered, they are unloaded when another module is
// loaded, which may wait anyway; otherwise when the device is closed.
#ifndef BRAID_BACKENDS_GPU_GPU_MODULE_H
#define BRAID_BACKENDS_GPU_GPU_MODULE_H

#include <string.h>

#include "backends/gpu/gpu_backend.h"

struct gpu_module {
    struct gpu_module *next;
    struct gpu_code code; // as one of its kernels has it: `entry` is not the module's
    gpu_module handle;
    char *entry;         // the compiler's name for its source's expression; NULL: none
    char *text;          // PTX made from its source, once somebody asked; guarded by load_lock
    bool waits_first;    // all its kernels wait before they do anything: see gpu_ptx_early.h
    uint32_t references; // guarded by gpu_backend.lock
};

// Where the code of a kernel comes from. No key: it has none for the backend's vendor.
struct gpu_code braid_gpu_find_code(const struct gpu_backend *gpu, const braid_kernel *kernel);

// BRAID_UNSUPPORTED: the kernel cannot have the changes of the code.
braid_status braid_gpu_refuse_changes(const braid_kernel *kernel, const struct gpu_code *code,
                                      const char *reason);

// Whether both share one loaded module, apart from their entries.
static inline bool gpu_code_is_one(const struct gpu_code *a, const struct gpu_code *b)
{
    return a->key == b->key && a->changes == b->changes && a->change == b->change &&
           memcmp(&a->build, &b->build, sizeof(a->build)) == 0;
}

// Whether a driver that answers so to text cannot take this text, or any: other text or machine
// code may do. Any other failure says nothing of the text.
bool braid_gpu_refuses_text(gpu_result result);

// Finds the module of the code or loads it, and counts one reference to it. Called with
// gpu_backend.load_lock held and the device current. Errors: also BRAID_UNSUPPORTED, where it is to
// be changed and cannot be.
braid_status braid_gpu_module_acquire(struct gpu_backend *gpu, const braid_kernel *kernel,
                                      const struct gpu_code *code, struct gpu_module **out_module);

// On CUDA, the PTX of a loaded kernel's module, which lives as long as the kernel. Compiles where
// the module was made from source in another way. *out_reason: why there is none, a constant.
// Errors: as of braid_gpu_compile.
braid_status braid_gpu_find_text(struct gpu_backend *gpu, const struct gpu_kernel *kernel,
                                 const char **out_text, const char **out_reason);
// The name of a loaded kernel in its module.
const char *braid_gpu_entry_of(const struct gpu_kernel *kernel);

// Drops a reference, without any driver call. NULL is released to no effect.
void braid_gpu_module_release(struct gpu_backend *gpu, struct gpu_module *module);

// Unloads retired modules, before the device is closed. If the device could not be made current, it
// only forgets them. All references are gone.
void braid_gpu_modules_finish(struct gpu_backend *gpu, bool current);

#endif

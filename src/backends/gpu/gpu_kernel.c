// SPDX-License-Identifier: Apache-2.0
// Kernels: one function for each module and entry, counted.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_module.h"
#include "backends/gpu/gpu_ptx_passes.h"
#include "base/error.h"

// Counts the function's parameters. Past the last one the driver says that the index is invalid.
static gpu_result count_parameters(const struct gpu_backend *gpu, gpu_function function,
                                   uint32_t *out_num)
{
    size_t offset, bytes;
    gpu_result result = GPU_SUCCESS;
    uint32_t num = 0;
    while ((result = gpu->api->function_parameter(function, num, &offset, &bytes)) == GPU_SUCCESS)
        num++;
    *out_num = num;
    return result == GPU_INVALID_VALUE ? GPU_SUCCESS : result;
}

static braid_status read_sizes(const struct gpu_backend *gpu, struct gpu_kernel *kernel,
                               uint32_t num)
{
    uint32_t *all = calloc((size_t)num + 1, sizeof(*all));
    if (!all)
        return braid_error_no_memory("a kernel's parameters");
    gpu_result result = GPU_SUCCESS;
    for (uint32_t i = 0; i < num && !result; i++) {
        size_t offset = 0, bytes = 0;
        result = gpu->api->function_parameter(kernel->function, i, &offset, &bytes);
        all[i] = (uint32_t)bytes;
    }
    kernel->parameter_bytes = all;
    kernel->num_parameters = num;
    return braid_gpu_check(gpu, result, &gpu->api->function_parameter,
                           "reading a kernel's parameters");
}

// A driver that does not support the call does not tell, and nothing is checked then.
static braid_status read_parameters(const struct gpu_backend *gpu, struct gpu_kernel *kernel)
{
    uint32_t num = 0;
    if (!gpu->api->function_parameter)
        return BRAID_OK;
    gpu_result result = count_parameters(gpu, kernel->function, &num);
    if (result == GPU_NOT_SUPPORTED)
        return BRAID_OK;
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->function_parameter,
                               "counting a kernel's parameters");
    return read_sizes(gpu, kernel, num);
}

// If the driver gives no limit, 48 KB holds: every driver allows that unasked.
static braid_status read_shared_limit(const struct gpu_backend *gpu, struct gpu_kernel *kernel)
{
    int limit = 48 * 1024;
    gpu_result result = braid_gpu_read_shared_limit(gpu, kernel->function, &limit);
    atomic_init(&kernel->max_dynamic_shared, limit);
    return braid_gpu_check(gpu, result, &gpu->api->function_get,
                           "reading a kernel's limit of shared memory");
}

static braid_status find_function(struct gpu_backend *gpu, const braid_kernel *kernel,
                                  const struct gpu_code *code, struct gpu_kernel *loaded)
{
    if (code->function) {
        loaded->function = code->function;
        return BRAID_OK;
    }
    braid_status status = braid_gpu_module_acquire(gpu, kernel, code, &loaded->module);
    if (status)
        return status;
    const char *entry = loaded->module->entry ? loaded->module->entry : code->entry;
    gpu_result result = gpu->api->module_function(&loaded->function, loaded->module->handle, entry);
    loaded->base.waits_first = loaded->module->waits_first;
    loaded->base.notes_end = code->changes & KERNEL_NOTES;
    loaded->base.notes_begin = code->changes & (KERNEL_NOTES | KERNEL_NOTES_BEGIN);
    if (result == GPU_SUCCESS)
        return BRAID_OK;
    char what[256];
    snprintf(what, sizeof(what), "finding '%.90s' in the module of kernel '%.90s'", entry,
             kernel->name);
    return braid_gpu_check(gpu, result, &gpu->api->module_function, what);
}

// Frees a kernel that is on no list.
static void destroy_kernel(struct gpu_backend *gpu, struct gpu_kernel *kernel)
{
    braid_gpu_module_release(gpu, kernel->module);
    free(atomic_load_explicit(&kernel->callable, memory_order_relaxed));
    free(kernel->parameter_bytes);
    free(kernel->entry);
    free(kernel);
}

static void drop_reference(struct gpu_backend *gpu, struct gpu_kernel *kernel)
{
    pthread_mutex_lock(&gpu->lock);
    bool unused = --kernel->references == 0;
    if (unused) {
        struct gpu_kernel **link = &gpu->kernels;
        while (*link != kernel)
            link = &(*link)->next;
        *link = kernel->next;
    }
    pthread_mutex_unlock(&gpu->lock);
    if (unused)
        destroy_kernel(gpu, kernel);
}

static void insert_kernel(struct gpu_backend *gpu, struct gpu_kernel *kernel)
{
    pthread_mutex_lock(&gpu->lock);
    kernel->next = gpu->kernels;
    gpu->kernels = kernel;
    pthread_mutex_unlock(&gpu->lock);
}

static braid_status create_kernel(struct gpu_backend *gpu, const braid_kernel *kernel,
                                  const struct gpu_code *code, struct gpu_kernel **out_kernel)
{
    struct gpu_kernel *loaded = calloc(1, sizeof(*loaded));
    if (!loaded)
        return braid_error_no_memory("a kernel");
    loaded->entry = strdup(code->entry);
    loaded->code = *code;
    loaded->code.entry = loaded->entry;
    braid_status status = loaded->entry ? BRAID_OK : braid_error_no_memory("a kernel");
    if (!status)
        status = find_function(gpu, kernel, code, loaded);
    if (!status)
        status = read_parameters(gpu, loaded);
    if (!status)
        status = read_shared_limit(gpu, loaded);
    if (status) {
        destroy_kernel(gpu, loaded);
        return status;
    }
    loaded->references = 1;
    insert_kernel(gpu, loaded);
    *out_kernel = loaded;
    return BRAID_OK;
}

static braid_status check_args(const struct gpu_kernel *loaded, const braid_kernel *kernel,
                               const uint32_t *arg_bytes, uint32_t num_args)
{
    uint32_t num = loaded->num_parameters - braid_gpu_ptx_parameters(&loaded->code);
    if (!loaded->parameter_bytes)
        return BRAID_OK;
    if (num_args != num)
        return braid_error_invalid("kernel '%s' takes %u arguments and is given %u", kernel->name,
                                   num, num_args);
    for (uint32_t i = 0; i < num_args; i++) {
        if (arg_bytes[i] != loaded->parameter_bytes[i])
            return braid_error_invalid("argument %u of kernel '%s' has %u bytes and is given %u", i,
                                       kernel->name, loaded->parameter_bytes[i], arg_bytes[i]);
    }
    return BRAID_OK;
}

// A loaded kernel, with one more reference to it, or NULL.
static struct gpu_kernel *find_kernel(struct gpu_backend *gpu, const struct gpu_code *code)
{
    pthread_mutex_lock(&gpu->lock);
    struct gpu_kernel *kernel = gpu->kernels;
    while (kernel &&
           (!gpu_code_is_one(&kernel->code, code) || strcmp(kernel->entry, code->entry) != 0))
        kernel = kernel->next;
    if (kernel)
        kernel->references++;
    pthread_mutex_unlock(&gpu->lock);
    return kernel;
}

static const char *why_unchanged(const struct gpu_backend *gpu, const struct gpu_code *code)
{
    return code->changes & ~gpu->ops.kernel_changes ? "its device changes no kernels"
           : code->changes && code->function        ? "it is the program's own function"
                                                    : NULL;
}

// A kernel that is loaded is found also while another thread loads something else.
static braid_status find_or_load(struct gpu_backend *gpu, const braid_kernel *kernel,
                                 const struct gpu_code *code, struct gpu_kernel **out_kernel)
{
    const char *reason = why_unchanged(gpu, code);
    if (reason)
        return braid_gpu_refuse_changes(kernel, code, reason);
    struct gpu_kernel *loaded = find_kernel(gpu, code);
    braid_status status = BRAID_OK;
    if (!loaded) {
        pthread_mutex_lock(&gpu->load_lock);
        loaded = find_kernel(gpu, code);
        if (!loaded)
            status = create_kernel(gpu, kernel, code, &loaded);
        pthread_mutex_unlock(&gpu->load_lock);
    }
    *out_kernel = loaded;
    return status;
}

braid_status braid_gpu_kernel_load(struct backend *backend, const braid_kernel *kernel,
                                   unsigned changes, const struct backend_change *change,
                                   const uint32_t *arg_bytes, uint32_t num_args,
                                   struct backend_kernel **out_kernel)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_code code = braid_gpu_find_code(gpu, kernel);
    struct gpu_kernel *loaded = NULL;
    struct gpu_scope scope;
    if (!code.key)
        return braid_error(
            BRAID_UNSUPPORTED,
            "kernel '%s' has no code for %s: neither a function, nor an image, nor source",
            kernel->name, gpu->label);
    code.changes = changes;
    code.change = change;
    braid_status status = braid_gpu_enter(gpu, &scope, "loading a kernel");
    if (status)
        return status;
    status = find_or_load(gpu, kernel, &code, &loaded);
    braid_gpu_leave(gpu, &scope);
    if (status)
        return status;
    status = check_args(loaded, kernel, arg_bytes, num_args);
    if (status) {
        drop_reference(gpu, loaded);
        return status;
    }
    *out_kernel = &loaded->base;
    return BRAID_OK;
}

braid_status braid_gpu_kernel_text(struct backend *backend, struct backend_kernel *kernel,
                                   const char **out_text)
{
    const char *reason;
    return braid_gpu_find_text(gpu_from(backend), gpu_kernel_from(kernel), out_text, &reason);
}

braid_status braid_gpu_kernel_load_changed(struct gpu_backend *gpu, struct gpu_kernel *kernel,
                                           enum kernel_change change,
                                           struct gpu_kernel **out_kernel)
{
    const braid_kernel named = { .name = kernel->entry };
    const bool is_changed = kernel->code.changes & ~(unsigned)KERNEL_WRITES_TIMES;
    struct gpu_code code = kernel->code;
    struct error_attempt attempt;
    *out_kernel = NULL;
    if (atomic_load_explicit(&kernel->cannot, memory_order_relaxed) & change)
        return BRAID_OK;
    braid_error_begin_attempt(&attempt);
    code.changes |= change;
    braid_status status = is_changed
                              ? braid_gpu_refuse_changes(&named, &code, "it is changed already")
                              : find_or_load(gpu, &named, &code, out_kernel);
    if (status != BRAID_UNSUPPORTED) {
        braid_error_end_attempt(&attempt, status);
        return status;
    }
    // Nothing that is told so changes while the kernel is loaded.
    atomic_fetch_or_explicit(&kernel->cannot, change, memory_order_relaxed);
    const char *so = change == KERNEL_WRITES_TIMES ? "timed around" : "prefetches nothing";
    braid_error_end_noted(&attempt, braid_error(status, "%s: %s", so, braid_error_message()));
    return BRAID_OK;
}

void braid_gpu_kernel_unload(struct backend *backend, struct backend_kernel *kernel)
{
    if (kernel)
        drop_reference(gpu_from(backend), gpu_kernel_from(kernel));
}

// SPDX-License-Identifier: Apache-2.0
// Loaded modules: one for each image or source, counted.
#include "backends/gpu/gpu_module.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/gpu/gpu_ptx.h"
#include "base/error.h"

enum { MAX_RETIRED = 64 }; // modules kept loaded for nobody, when another is loaded

struct gpu_code braid_gpu_find_code(const struct gpu_backend *gpu, const braid_kernel *kernel)
{
    const braid_image *image = gpu->vendor->index == GPU_CUDA ? &kernel->cuda : &kernel->hip;
    const char *entry = image->entry ? image->entry : kernel->name;
    if (image->function)
        return (
            struct gpu_code){ .key = image->function, .entry = entry, .function = image->function };
    if (image->data)
        return (struct gpu_code){ .key = image->data, .entry = entry, .image = image->data };
    return (
        struct gpu_code){ .key = kernel->source, .entry = kernel->name, .source = kernel->source };
}

static braid_status load_image(const struct gpu_backend *gpu, const braid_kernel *kernel,
                               const void *image, gpu_module *out_handle)
{
    braid_status status = gpu->vendor->check_image(gpu, kernel, image);
    if (status)
        return status;
    gpu_result result = gpu->api->module_load(out_handle, image);
    if (result == GPU_SUCCESS)
        return BRAID_OK;
    char what[160];
    snprintf(what, sizeof(what), "loading the module of kernel '%.120s'", kernel->name);
    return braid_gpu_check(gpu, result, &gpu->api->module_load, what);
}

// The text with its kernels waiting first. False: it stays as it is, or the driver does not take
// it, be it because its compiler is older than the text.
static bool load_waiting(const struct gpu_backend *gpu, const char *text, gpu_module *out_handle)
{
    const char *reason = NULL;
    char *changed = braid_gpu_ptx_with_early_start(text, &reason);
    bool loaded = changed && gpu->api->module_load(out_handle, changed) == GPU_SUCCESS;
    free(changed);
    return loaded;
}

// Text costs no more than machine code: then the driver assembles it, and keeps what it made.
static bool compile_waiting(const struct gpu_backend *gpu, const braid_kernel *kernel,
                            gpu_module *out_handle)
{
    char *text = NULL;
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    bool loaded = braid_gpu_compile(gpu, kernel, true, &text) == BRAID_OK &&
                  load_waiting(gpu, text, out_handle);
    free(text);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return loaded;
}

static braid_status compile_and_load(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                     gpu_module *out_handle)
{
    char *image = NULL;
    braid_status status = braid_gpu_compile(gpu, kernel, false, &image);
    if (status)
        return status;
    status = load_image(gpu, kernel, image, out_handle);
    free(image);
    return status;
}

static bool may_start_early(const struct gpu_backend *gpu)
{
    return gpu->vendor->index == GPU_CUDA && gpu->attributes[GPU_MAJOR] >= 9;
}

static braid_status load_code(const struct gpu_backend *gpu, const braid_kernel *kernel,
                              const struct gpu_code *code, struct gpu_module *module)
{
    if (code->image) {
        module->waits_first = may_start_early(gpu) && braid_gpu_is_ptx(code->image) &&
                              load_waiting(gpu, code->image, &module->handle);
        return module->waits_first ? BRAID_OK
                                   : load_image(gpu, kernel, code->image, &module->handle);
    }
    module->waits_first = may_start_early(gpu) && compile_waiting(gpu, kernel, &module->handle);
    return module->waits_first ? BRAID_OK : compile_and_load(gpu, kernel, &module->handle);
}

static struct gpu_module *find_module(struct gpu_backend *gpu, const struct gpu_code *code)
{
    pthread_mutex_lock(&gpu->lock);
    struct gpu_module *module = gpu->modules;
    while (module && module->key != code->key)
        module = module->next;
    if (module)
        module->references++;
    pthread_mutex_unlock(&gpu->lock);
    return module;
}

static void insert_module(struct gpu_backend *gpu, struct gpu_module *module)
{
    pthread_mutex_lock(&gpu->lock);
    module->next = gpu->modules;
    gpu->modules = module;
    pthread_mutex_unlock(&gpu->lock);
}

// The retired modules, when there are at least so many, or none.
static struct gpu_module *take_retired(struct gpu_backend *gpu, uint32_t least)
{
    struct gpu_module *module = NULL;
    pthread_mutex_lock(&gpu->lock);
    if (gpu->num_retired >= least) {
        module = gpu->retired;
        gpu->retired = NULL;
        gpu->num_retired = 0;
    }
    pthread_mutex_unlock(&gpu->lock);
    return module;
}

static void unload_all(const struct gpu_backend *gpu, struct gpu_module *module, bool current)
{
    while (module) {
        struct gpu_module *next = module->next;
        if (current)
            braid_gpu_check_freed(gpu, gpu->api->module_unload(module->handle),
                                  &gpu->api->module_unload, "unloading a module");
        free(module);
        module = next;
    }
}

void braid_gpu_modules_finish(struct gpu_backend *gpu, bool current)
{
    unload_all(gpu, take_retired(gpu, 0), current);
}

braid_status braid_gpu_module_acquire(struct gpu_backend *gpu, const braid_kernel *kernel,
                                      const struct gpu_code *code, struct gpu_module **out_module)
{
    struct gpu_module *module = find_module(gpu, code);
    if (module) {
        *out_module = module;
        return BRAID_OK;
    }
    module = calloc(1, sizeof(*module));
    if (!module)
        return braid_error_no_memory("a module");
    unload_all(gpu, take_retired(gpu, MAX_RETIRED), true);
    braid_status status = load_code(gpu, kernel, code, module);
    if (status) {
        free(module);
        return status;
    }
    module->key = code->key;
    module->references = 1;
    insert_module(gpu, module);
    *out_module = module;
    return BRAID_OK;
}

void braid_gpu_module_release(struct gpu_backend *gpu, struct gpu_module *module)
{
    if (!module)
        return;
    pthread_mutex_lock(&gpu->lock);
    if (--module->references == 0) {
        struct gpu_module **link = &gpu->modules;
        while (*link != module)
            link = &(*link)->next;
        *link = module->next;
        module->next = gpu->retired;
        gpu->retired = module;
        gpu->num_retired++;
    }
    pthread_mutex_unlock(&gpu->lock);
}

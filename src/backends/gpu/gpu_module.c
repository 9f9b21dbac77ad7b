// SPDX-License-Identifier: Apache-2.0
// Loaded modules: one for each image or source, counted.
#include "backends/gpu/gpu_module.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/gpu/gpu_ptx_passes.h"
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
    struct gpu_code code = { .key = kernel->source,
                             .entry = kernel->name,
                             .source = kernel->source };
    code.build = (struct gpu_build){ kernel->options,         kernel->num_options,
                                     kernel->include_folders, kernel->num_include_folders,
                                     kernel->headers,         kernel->num_headers,
                                     kernel->name_expression };
    return code;
}

// The image, for the caller to free; the module takes the entry's name.
static braid_status compile(const struct gpu_backend *gpu, const braid_kernel *kernel,
                            const struct gpu_code *code, bool as_text, struct gpu_module *module,
                            char **out_image)
{
    struct gpu_compiled compiled;
    braid_status status = braid_gpu_compile(gpu, kernel->name, code, as_text, &compiled);
    if (status)
        return status;
    free(module->entry);
    module->entry = *compiled.entry ? strdup(compiled.entry) : NULL;
    if (*compiled.entry && !module->entry) {
        free(compiled.image);
        return braid_error_no_memory("a kernel's name");
    }
    *out_image = compiled.image;
    return BRAID_OK;
}

bool braid_gpu_refuses_text(gpu_result result)
{
    return result == GPU_NO_BINARY || result == GPU_INVALID_TEXT ||
           result == GPU_COMPILER_NOT_FOUND || result == GPU_UNSUPPORTED_TEXT_VERSION ||
           result == GPU_COMPILING_DISABLED || result == GPU_NOT_SUPPORTED;
}

static braid_status check_loaded(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                 gpu_result result)
{
    char what[160];
    snprintf(what, sizeof(what), "loading the module of kernel '%.120s'", kernel->name);
    return braid_gpu_check(gpu, result, &gpu->api->module_load, what);
}

static braid_status load_image(const struct gpu_backend *gpu, const braid_kernel *kernel,
                               const void *image, gpu_module *out_handle)
{
    braid_status status = BRAID_OK;
    if (gpu->vendor->check_image) // else the driver refuses by itself an image that it cannot run
        status = gpu->vendor->check_image(gpu, kernel, image);
    return status ? status : check_loaded(gpu, kernel, gpu->api->module_load(out_handle, image));
}

static void note_unknown(const braid_kernel *kernel, const struct ptx_reason *reason)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_error(BRAID_UNSUPPORTED, "kernel '%s' is loaded as it is: %s",
                                      kernel->name, reason->text);
    braid_error_end_noted(&attempt, status);
}

static braid_status compile_and_load(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                     const struct gpu_code *code, struct gpu_module *module)
{
    char *image = NULL;
    braid_status status = compile(gpu, kernel, code, false, module, &image);
    if (status)
        return status;
    status = load_image(gpu, kernel, image, &module->handle);
    free(image);
    return status;
}

braid_status braid_gpu_refuse_changes(const braid_kernel *kernel, const struct gpu_code *code,
                                      const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "kernel '%s' cannot %s: %s", kernel->name,
                       braid_gpu_ptx_describe(code), reason);
}

// Loads the text with the changes. The wait that all kernels of new devices get is no must: without
// other changes this loads nothing if the wait cannot be put in. It also loads nothing if the
// driver does not take the text, be it because its compiler is older than the text.
static braid_status load_text(const struct gpu_backend *gpu, const braid_kernel *kernel,
                              const struct gpu_code *code, const char *text, unsigned changes,
                              struct gpu_module *module)
{
    struct ptx_reason reason = { 0 };
    char *changed = braid_gpu_ptx_change(text, code, &changes, &reason);
    if (!(changes & KERNEL_WAITS_FIRST) && reason.is_unknown)
        note_unknown(kernel, &reason);
    if (!changed && !*reason.text)
        return braid_error_no_memory("a kernel's text");
    if (!changed)
        return code->changes ? braid_gpu_refuse_changes(kernel, code, reason.text) : BRAID_OK;
    gpu_result result = gpu->api->module_load(&module->handle, changed);
    free(changed);
    module->waits_first = result == GPU_SUCCESS && changes & KERNEL_WAITS_FIRST;
    if (!braid_gpu_refuses_text(result))
        return check_loaded(gpu, kernel, result);
    if (!code->changes)
        return BRAID_OK;
    if (changes & KERNEL_WAITS_FIRST && !(changes & KERNEL_PREFETCHES))
        return load_text(gpu, kernel, code, text, code->changes, module);
    return braid_gpu_refuse_changes(kernel, code, "the driver does not take its text");
}

// Text costs no more than machine code: then the driver assembles it, and keeps the result. Where
// the compiler fails it would fail for machine code too.
static braid_status find_and_load_text(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                       const struct gpu_code *code, unsigned changes,
                                       struct gpu_module *module)
{
    const char *text = code->image;
    if (text && !braid_gpu_is_ptx(text))
        return code->changes ? braid_gpu_refuse_changes(kernel, code, "it is machine code")
                             : BRAID_OK;
    braid_status status = text ? BRAID_OK : compile(gpu, kernel, code, true, module, &module->text);
    return status ? status
                  : load_text(gpu, kernel, code, text ? text : module->text, changes, module);
}

static braid_status load_code(const struct gpu_backend *gpu, const braid_kernel *kernel,
                              const struct gpu_code *code, struct gpu_module *module)
{
    const bool may_wait = gpu->vendor->index == GPU_CUDA && gpu->attributes[GPU_MAJOR] >= 9;
    const unsigned changes = code->changes | (may_wait ? KERNEL_WAITS_FIRST : 0);
    braid_status status =
        changes ? find_and_load_text(gpu, kernel, code, changes, module) : BRAID_OK;
    if (status || code->changes || module->waits_first)
        return status;
    return code->image ? load_image(gpu, kernel, code->image, &module->handle)
                       : compile_and_load(gpu, kernel, code, module);
}

static struct gpu_module *find_module(struct gpu_backend *gpu, const struct gpu_code *code)
{
    pthread_mutex_lock(&gpu->lock);
    struct gpu_module *module = gpu->modules;
    while (module && !gpu_code_is_one(&module->code, code))
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

static void free_module(struct gpu_module *module)
{
    free(module->entry);
    free(module->text);
    free(module);
}

static void unload_all(const struct gpu_backend *gpu, struct gpu_module *module, bool current)
{
    while (module) {
        struct gpu_module *next = module->next;
        if (current)
            braid_gpu_check_freed(gpu, gpu->api->module_unload(module->handle),
                                  &gpu->api->module_unload, "unloading a module");
        free_module(module);
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
        free_module(module);
        return status;
    }
    module->code = *code;
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

// ---- text ----

const char *braid_gpu_entry_of(const struct gpu_kernel *kernel)
{
    return kernel->module && kernel->module->entry ? kernel->module->entry : kernel->code.entry;
}

static braid_status compile_text(struct gpu_backend *gpu, const struct gpu_kernel *kernel)
{
    struct gpu_module *module = kernel->module;
    struct gpu_compiled compiled = { 0 };
    braid_status status = BRAID_OK;
    pthread_mutex_lock(&gpu->load_lock);
    if (!module->text)
        status = braid_gpu_compile(gpu, kernel->entry, &kernel->code, true, &compiled);
    if (!status && !module->text)
        module->text = compiled.image;
    pthread_mutex_unlock(&gpu->load_lock);
    return status;
}

braid_status braid_gpu_find_text(struct gpu_backend *gpu, const struct gpu_kernel *kernel,
                                 const char **out_text, const char **out_reason)
{
    const char *image = kernel->code.image;
    *out_text = *out_reason = NULL;
    if (kernel->code.function)
        *out_reason = "it is the program's own function";
    else if (image && !braid_gpu_is_ptx(image))
        *out_reason = "it is machine code";
    if (*out_reason)
        return BRAID_OK;
    braid_status status = image ? BRAID_OK : compile_text(gpu, kernel);
    if (!status)
        *out_text = image ? image : kernel->module->text;
    return status;
}

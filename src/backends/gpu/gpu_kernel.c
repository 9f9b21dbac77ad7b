// SPDX-License-Identifier: Apache-2.0
// Loaded modules and kernels, counted: a module for each image or source, and a kernel for each
// entry.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_assemble.h"
#include "backends/gpu/gpu_claim.h"
#include "backends/gpu/gpu_ptx_passes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"

struct gpu_module {
    struct gpu_module *next;
    struct gpu_code code; // as one of its kernels has it: `entry` is not the module's
    gpu_module handle;
    char *entry;         // the compiler's name for its source's expression; NULL: none
    char *text;          // PTX made from its source, once somebody asked; guarded by a claim
    bool waits_first;    // all its kernels wait before they do anything: see gpu_ptx_early.h
    uint32_t references; // guarded by gpu_backend.lock
};

// Whether both share one loaded module, apart from their entries. In place of functions a text is
// loaded only with its changes.
static bool is_one_module(const struct gpu_code *a, const struct gpu_code *b)
{
    return a->key == b->key && !a->function == !b->function && a->changes == b->changes &&
           a->change == b->change && memcmp(&a->build, &b->build, sizeof(a->build)) == 0;
}

// Two codes of one module have the same claim. Those of one image with other changes have another.
static void claim_module(struct gpu_backend *gpu, struct gpu_claim *claim,
                         const struct gpu_code *code)
{
    uint64_t what = hash_bytes(&code->key, sizeof(code->key));
    what = hash_more(what, &code->changes, sizeof(code->changes));
    what = hash_more(what, &code->change, sizeof(code->change));
    braid_gpu_claim(gpu, claim, what);
}

// ---- loaded modules: one for each image or source, counted ----

// To unload a module a driver waits for all work in its context, and destroying an exec may wait
// for its own only. So an unused module is retired. Look-ups do not see it, since the program may
// put another image at its address. If many have gathered, they are unloaded when another module is
// loaded, which may wait anyway; otherwise when the device is closed.

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
    braid_free(module->entry);
    module->entry = *compiled.entry ? braid_copy_text(compiled.entry) : NULL;
    if (*compiled.entry && !module->entry) {
        braid_free(compiled.image);
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
    braid_free(image);
    return status;
}

// The changes without which the code is not loaded.
static unsigned needed_changes(const struct gpu_code *code)
{
    return code->changes & ~(unsigned)KERNEL_WAITS_FIRST;
}

// BRAID_UNSUPPORTED: the kernel cannot have the changes of the code.
static braid_status refuse_changes(const braid_kernel *kernel, const struct gpu_code *code,
                                   const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "kernel '%s' cannot %s: %s", kernel->name,
                       braid_gpu_ptx_describe(code), reason);
}

// Loads the text with the changes. The wait is no must: without other changes this loads nothing if
// the wait cannot be put in. It also loads nothing if the driver does not take the text, be it
// because its compiler is older than the text.
static braid_status load_text(struct gpu_backend *gpu, const braid_kernel *kernel,
                              const struct gpu_code *code, const char *text, unsigned changes,
                              struct gpu_module *module)
{
    const unsigned needed = needed_changes(code);
    struct ptx_reason reason = { 0 };
    char *changed = braid_gpu_ptx_change(text, code, &changes, &reason);
    if ((changed || !needed) && !(changes & KERNEL_WAITS_FIRST) && reason.is_unknown)
        note_unknown(kernel, &reason);
    if (!changed && !*reason.text)
        return braid_error_no_memory("a kernel's text");
    if (!changed)
        return needed ? refuse_changes(kernel, code, reason.text) : BRAID_OK;
    gpu_result result = braid_gpu_load_text(gpu, kernel->name, changed, &module->handle);
    braid_free(changed);
    module->waits_first = result == GPU_SUCCESS && changes & KERNEL_WAITS_FIRST;
    if (!braid_gpu_refuses_text(result))
        return check_loaded(gpu, kernel, result);
    if (!needed)
        return BRAID_OK;
    if (changes & KERNEL_WAITS_FIRST && !(changes & KERNEL_PREFETCHES))
        return load_text(gpu, kernel, code, text, needed, module);
    return refuse_changes(kernel, code, "the driver does not take its text");
}

// Text costs no more than machine code: then the driver assembles it, and keeps the result. Where
// the compiler fails it would fail for machine code too.
static braid_status find_and_load_text(struct gpu_backend *gpu, const braid_kernel *kernel,
                                       const struct gpu_code *code, struct gpu_module *module)
{
    const char *text = code->image;
    if (text && !braid_ptx_is_text(text))
        return needed_changes(code) ? refuse_changes(kernel, code, "it is machine code") : BRAID_OK;
    braid_status status = text ? BRAID_OK : compile(gpu, kernel, code, true, module, &module->text);
    return status ? status
                  : load_text(gpu, kernel, code, text ? text : module->text, code->changes, module);
}

static braid_status load_code(struct gpu_backend *gpu, const braid_kernel *kernel,
                              const struct gpu_code *code, struct gpu_module *module)
{
    braid_status status = code->changes ? find_and_load_text(gpu, kernel, code, module) : BRAID_OK;
    if (status || needed_changes(code) || module->waits_first || code->function)
        return status;
    return code->image ? load_image(gpu, kernel, code->image, &module->handle)
                       : compile_and_load(gpu, kernel, code, module);
}

static struct gpu_module *find_module(struct gpu_backend *gpu, const struct gpu_code *code)
{
    pthread_mutex_lock(&gpu->lock);
    struct gpu_module *module = gpu->modules;
    while (module && !is_one_module(&module->code, code))
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
    braid_free(module->entry);
    braid_free(module->text);
    braid_free(module);
}

static void unload_all(const struct gpu_backend *gpu, struct gpu_module *module, bool current)
{
    while (module) {
        struct gpu_module *next = module->next;
        if (current && module->handle)
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

// Finds the module of the code or loads it, and counts one reference to it. Called with
// a claim on the module and the device current. Errors: also BRAID_UNSUPPORTED, where it is to
// be changed and cannot be.
static braid_status acquire_module(struct gpu_backend *gpu, const braid_kernel *kernel,
                                   const struct gpu_code *code, struct gpu_module **out_module)
{
    struct gpu_module *module = find_module(gpu, code);
    if (module) {
        *out_module = module;
        return BRAID_OK;
    }
    module = braid_allocate_zeroed(1, sizeof(*module));
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

// Drops a reference, without any driver call. NULL is released to no effect.
static void release_module(struct gpu_backend *gpu, struct gpu_module *module)
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

// ---- their text ----

const char *braid_gpu_entry_of(const struct gpu_kernel *kernel)
{
    return kernel->module && kernel->module->entry ? kernel->module->entry : kernel->code.entry;
}

static braid_status compile_text(struct gpu_backend *gpu, const struct gpu_kernel *kernel)
{
    struct gpu_module *module = kernel->module;
    struct gpu_compiled compiled = { 0 };
    struct gpu_claim claim;
    braid_status status = BRAID_OK;
    claim_module(gpu, &claim, &kernel->code);
    if (!module->text)
        status = braid_gpu_compile(gpu, kernel->entry, &kernel->code, true, &compiled);
    if (!status && !module->text)
        module->text = compiled.image;
    braid_gpu_end_claim(gpu, &claim);
    return status;
}

braid_status braid_gpu_find_text(struct gpu_backend *gpu, const struct gpu_kernel *kernel,
                                 const char **out_text, const char **out_reason)
{
    const char *image = kernel->code.image;
    *out_text = *out_reason = NULL;
    if (kernel->code.function && !kernel->code.stand_in)
        *out_reason = "it is the program's own function";
    else if (kernel->code.function)
        image = kernel->code.stand_in;
    else if (image && !braid_ptx_is_text(image))
        *out_reason = "it is machine code";
    if (*out_reason)
        return BRAID_OK;
    braid_status status = image ? BRAID_OK : compile_text(gpu, kernel);
    if (!status)
        *out_text = image ? image : kernel->module->text;
    return status;
}

// ---- kernels ----

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
    uint32_t *all = braid_allocate_zeroed((size_t)num + 1, sizeof(*all));
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

// The function of the text plays in place of the program's, if it can do as much. The log has the
// reason if the driver refuses an attribute.
static void replace_function(const struct gpu_backend *gpu, const braid_kernel *kernel,
                             struct gpu_kernel *loaded)
{
    struct error_attempt attempt;
    bool can_replace = false;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        braid_gpu_copy_attributes(gpu, loaded->code.function, loaded->function,
                                  needed_changes(&loaded->code) != 0, &can_replace);
    if (status) {
        char why[512];
        snprintf(why, sizeof(why), "%s", braid_error_get_message());
        status = braid_error(status, "kernel '%s' plays the program's own function: %s",
                             kernel->name, why);
    }
    braid_error_end_noted(&attempt, status);
    if (status || !can_replace) {
        loaded->function = loaded->code.function;
        loaded->base.waits_first = false;
    }
}

static braid_status find_function(struct gpu_backend *gpu, const braid_kernel *kernel,
                                  const struct gpu_code *code, struct gpu_kernel *loaded)
{
    braid_status status = BRAID_OK;
    loaded->function = code->function;
    if (!code->function || code->image)
        status = acquire_module(gpu, kernel, code, &loaded->module);
    const bool is_text =
        code->image && !status && (loaded->module->waits_first || needed_changes(code));
    if (status || (code->function && !is_text))
        return status;
    const char *entry = loaded->module->entry ? loaded->module->entry : code->entry;
    gpu_result result = gpu->api->module_function(&loaded->function, loaded->module->handle, entry);
    loaded->base.waits_first = loaded->module->waits_first;
    loaded->base.notes_end = code->changes & KERNEL_NOTES;
    loaded->base.notes_begin = code->changes & (KERNEL_NOTES | KERNEL_NOTES_BEGIN);
    if (result == GPU_SUCCESS && code->function)
        replace_function(gpu, kernel, loaded);
    if (result == GPU_SUCCESS && needed_changes(code) && loaded->function == code->function)
        return refuse_changes(kernel, code, "its text cannot replace the program's own function");
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
    release_module(gpu, kernel->module);
    braid_free(atomic_load_explicit(&kernel->callable, memory_order_relaxed));
    braid_free(kernel->parameter_bytes);
    braid_free(kernel->entry);
    braid_free(kernel);
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
    struct gpu_kernel *loaded = braid_allocate_zeroed(1, sizeof(*loaded));
    if (!loaded)
        return braid_error_no_memory("a kernel");
    loaded->entry = braid_copy_text(code->entry);
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
           (!is_one_module(&kernel->code, code) || kernel->code.function != code->function ||
            kernel->code.stand_in != code->stand_in || strcmp(kernel->entry, code->entry) != 0))
        kernel = kernel->next;
    if (kernel)
        kernel->references++;
    pthread_mutex_unlock(&gpu->lock);
    return kernel;
}

static bool has_text(const braid_image *image)
{
    return image->data && braid_ptx_is_text(image->data);
}

// An audit may load the text of the program's own function.
static const char *why_unchanged(const struct gpu_backend *gpu, const struct gpu_code *code)
{
    const unsigned of_texts = code->image ? needed_changes(code) & KERNEL_CHANGED : 0;
    return code->changes & ~gpu->ops.kernel_changes             ? "its device changes no kernels"
           : code->function && needed_changes(code) != of_texts ? "it is the program's own function"
                                                                : NULL;
}

// A kernel that is loaded is found also while another thread loads something else.
static braid_status find_or_load(struct gpu_backend *gpu, const braid_kernel *kernel,
                                 const struct gpu_code *code, struct gpu_kernel **out_kernel)
{
    const char *reason = why_unchanged(gpu, code);
    if (reason)
        return refuse_changes(kernel, code, reason);
    struct gpu_kernel *loaded = find_kernel(gpu, code);
    braid_status status = BRAID_OK;
    if (!loaded) {
        struct gpu_claim claim;
        claim_module(gpu, &claim, code);
        loaded = find_kernel(gpu, code);
        if (!loaded)
            status = create_kernel(gpu, kernel, code, &loaded);
        braid_gpu_end_claim(gpu, &claim);
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
    if (code.function && has_text(&kernel->cuda))
        code.stand_in = kernel->cuda.data;
    if (code.stand_in && changes & (KERNEL_WAITS_FIRST | KERNEL_CHANGED))
        code.key = code.image = code.stand_in;
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
                                   const char **out_text, const char **out_entry)
{
    const char *reason;
    *out_entry = braid_gpu_entry_of(gpu_kernel_from(kernel));
    return braid_gpu_find_text(gpu_from(backend), gpu_kernel_from(kernel), out_text, &reason);
}

braid_status braid_gpu_kernel_load_changed(struct gpu_backend *gpu, struct gpu_kernel *kernel,
                                           enum kernel_change change,
                                           struct gpu_kernel **out_kernel)
{
    const braid_kernel named = { .name = kernel->entry };
    const bool is_changed = needed_changes(&kernel->code) & ~(unsigned)KERNEL_WRITES_TIMES;
    struct gpu_code code = kernel->code;
    struct error_attempt attempt;
    *out_kernel = NULL;
    if (atomic_load_explicit(&kernel->cannot, memory_order_relaxed) & change)
        return BRAID_OK;
    braid_error_begin_attempt(&attempt);
    code.changes |= change;
    braid_status status = is_changed ? refuse_changes(&named, &code, "it is changed already")
                                     : find_or_load(gpu, &named, &code, out_kernel);
    if (status != BRAID_UNSUPPORTED) {
        braid_error_end_attempt(&attempt, status);
        return status;
    }
    // Nothing that is told so changes while the kernel is loaded.
    atomic_fetch_or_explicit(&kernel->cannot, change, memory_order_relaxed);
    const char *so = change == KERNEL_WRITES_TIMES ? "timed around" : "prefetches nothing";
    braid_error_end_noted(&attempt, braid_error(status, "%s: %s", so, braid_error_get_message()));
    return BRAID_OK;
}

void braid_gpu_kernel_unload(struct backend *backend, struct backend_kernel *kernel)
{
    if (kernel)
        drop_reference(gpu_from(backend), gpu_kernel_from(kernel));
}

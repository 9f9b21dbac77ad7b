// SPDX-License-Identifier: Apache-2.0
// Modules: PTX text whose entries are host functions found by name in the running program.
#include "module.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ptx/ptx_code.h"
#include "../standin_code.h"
#include "../standin_control.h"
#include "context.h"
#include "entry.h"
#include "handles.h"
#include "instead.h"
#include "island.h"
#include "memory.h"
#include "moves.h"
#include "report.h"
#include "settings.h"
#include "stamps.h"
#include "stream.h"
#include "world.h"

static standin_module_watcher *watcher; // guarded by the world's lock

void standin_watch_modules(standin_module_watcher *watch)
{
    world_lock();
    watcher = watch;
    world_unlock();
}

void module_hold(CUmodule module)
{
    module->references++;
}

void module_drop(CUmodule module)
{
    if (--module->references > 0)
        return;
    for (size_t i = 0; i < module->num_functions; i++) {
        if (module->functions[i].code != NULL)
            code_finish(module->functions[i].code);
        free(module->functions[i].code);
    }
    if (module->globals != NULL)
        memory_bury(module->globals);
    variables_finish(&module->variables);
    handles_free(module->functions, module->num_functions * sizeof(*module->functions));
    free(module->island_calls);
    free(module);
}

standin_kernel module_find_body(const char *name)
{
    char symbol[MAX_ENTRY_NAME + 32];
    snprintf(symbol, sizeof(symbol), "braid_standin_%s", name);
    void *found = dlsym(RTLD_DEFAULT, symbol);
    standin_kernel body = NULL;
    memcpy(&body, &found, sizeof(body)); // ISO C has no cast from an object pointer
    return body != NULL ? body : moves_find_body(name);
}

// Stands for Braid's kernel that only waits, which is not the body's to do.
static void do_nothing(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **arguments)
{
    (void)grid, (void)block, (void)shared_bytes, (void)arguments;
}

// The entry as PTX. An entry that is not understood is one that cannot be found.
static struct code *read_code(CUmodule module, const char *image, const char *name)
{
    struct text error = { 0 };
    struct code *code = calloc(1, sizeof(*code));
    if (code != NULL && !code_read_with(image, name, module->globals, code, &error)) {
        complain("entry '%s' cannot run: %s", name, error.bytes ? error.bytes : "no memory");
        free(code);
        code = NULL;
    }
    text_finish(&error);
    return code;
}

static bool add_function(CUmodule module, const struct ptx_entry *entry, const char *image)
{
    size_t bytes = (module->num_functions + 1) * sizeof(*module->functions);
    struct CUfunc_st *functions = handles_allocate(bytes);
    if (functions == NULL)
        return false;
    if (module->num_functions > 0)
        memcpy(functions, module->functions, bytes - sizeof(*functions));
    handles_free(module->functions, bytes - sizeof(*functions));
    module->functions = functions;
    struct CUfunc_st *function = &functions[module->num_functions++];
    *function = (struct CUfunc_st){ .module = module, .body = module_find_body(entry->name) };
    memcpy(function->name, entry->name, sizeof(function->name));
    memcpy(function->parameters, entry->parameters, sizeof(function->parameters));
    function->num_parameters = entry->num_parameters;
    function->argument_bytes = entry->argument_bytes;
    function->most_threads = entry->most_threads;
    function->waits = entry->waits;
    function->triggers = entry->triggers;
    function->reads_grid = entry->reads_grid && entry->returns;
    function->notes = entry->notes;
    function->notes_end = entry->notes_end;
    function->stamps = entry->num_clock_reads == 2 ? entry->stamps : 0;
    if (function->body == NULL)
        function->body = stamps_find_body(entry->name);
    if (function->body == NULL &&
        (strcmp(entry->name, "braid_wait") == 0 || setting(SETTING_PTX) == 3))
        function->body = do_nothing;
    function->carveout = -1;
    bool is_walked = island_is(function) && island_has_bodies(module) && setting(SETTING_PTX) < 2;
    bool is_read = entry->sets_conditions || strcmp(entry->name, "braid_tally") == 0;
    if (function->body == NULL && (setting(SETTING_PTX) || is_read) && !is_walked)
        function->code = read_code(module, image, entry->name);
    return true;
}

static CUresult read_entries(CUmodule module, const char *text, const char **out_error)
{
    struct ptx_entry entry;
    const char *image = text;
    while (ptx_next_entry(&text, &entry, out_error))
        if (!add_function(module, &entry, image))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return *out_error == NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

// Machine code for another machine: an ELF file or a bundle of them.
static bool is_binary(const char *image)
{
    static const unsigned char bundle[] = { 0x50, 0xed, 0x55, 0xba };
    return memcmp(image, "\177ELF", 4) == 0 || memcmp(image, bundle, 4) == 0;
}

// Functions can be used once they are in the set of handles. Expects the world's lock.
static bool publish(CUmodule module)
{
    bool added = handles_add(HANDLE_MODULE, module);
    for (size_t i = 0; added && i < module->num_functions; i++)
        added = handles_add(HANDLE_FUNCTION, &module->functions[i]);
    return added;
}

static void unpublish(CUmodule module)
{
    handles_remove(module);
    for (size_t i = 0; i < module->num_functions; i++)
        handles_remove(&module->functions[i]);
}

static CUresult make_variables(CUmodule module, const char *image)
{
    if (!code_read_variables(image, &module->variables))
        return CUDA_SUCCESS;
    size_t bytes = module->variables.bytes;
    world_lock();
    CUresult result =
        memory_allocate(module->context, MEMORY_DEVICE, MEMORY_LIVE, bytes, &module->globals);
    world_unlock();
    if (result != CUDA_SUCCESS)
        return result;
    memset(module->globals, 0, bytes);
    memcpy(module->globals, module->variables.values,
           bytes < CODE_GLOBAL_BYTES ? bytes : CODE_GLOBAL_BYTES);
    return CUDA_SUCCESS;
}

// The digits behind .target sm_; 0: none.
static int read_target(const char *image)
{
    const char *target = strstr(image, ".target");
    const char *name = target == NULL ? NULL : strstr(target, "sm_");
    return name == NULL ? 0 : (int)strtol(name + strlen("sm_"), NULL, 10);
}

// PTX 9.0 came with CUDA 13.0. Texts that are older, the driver is taken to read.
static bool is_too_new(const char *image)
{
    const char *version = strstr(image, ".version");
    const double number = version == NULL ? 0 : strtod(version + strlen(".version"), NULL);
    const uint64_t driver = setting(SETTING_VERSION);
    const double newest = 9 + (double)(driver % 1000 / 10) / 10;
    return number >= 9 && (driver < 13000 || number > newest + 0.01);
}

static CUresult load(CUcontext context, const char *image, CUmodule *out_module,
                     const char **out_error)
{
    *out_error = "machine code, and the stand-in runs PTX only";
    if (is_binary(image))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *out_error = "neither PTX (.version and .target) nor machine code";
    if (!ptx_recognise(image))
        return CUDA_ERROR_INVALID_IMAGE;
    *out_error = "its PTX is newer than the driver";
    if (is_too_new(image))
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    CUmodule module = calloc(1, sizeof(*module));
    if (module == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->references = 1;
    module->context = context;
    module->target = read_target(image);
    CUresult result = make_variables(module, image);
    if (result == CUDA_SUCCESS && !island_read_calls(module, image))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = read_entries(module, image, out_error);
    world_lock();
    if (result == CUDA_SUCCESS && !publish(module))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        unpublish(module);
        module_drop(module);
    } else {
        *out_module = module;
        if (watcher != NULL)
            watcher(image);
    }
    world_unlock();
    return result;
}

CUresult module_load(CUcontext context, const char *image, CUmodule *out_module,
                     const char **out_error)
{
    *out_error = "no image";
    if (out_module == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (strncmp(image, STANDIN_CODE_MARK, strlen(STANDIN_CODE_MARK)) == 0)
        return load(context, image + strlen(STANDIN_CODE_MARK), out_module, out_error);
    char *text = instead_of(image);
    CUresult result = load(context, text != NULL ? text : image, out_module, out_error);
    free(text);
    return result;
}

CUresult cuModuleLoadData(CUmodule *out_module, const void *image)
{
    const char *error;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    return module_load(context_current(), image, out_module, &error);
}

// Writes the reason of a failure where the caller asked for the log.
static void write_log(unsigned num_options, const CUjit_option *options, void **values,
                      const char *error)
{
    char *buffer = NULL;
    size_t bytes = 0;
    for (unsigned i = 0; i < num_options; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            buffer = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            bytes = (size_t)(unsigned)(uintptr_t)values[i];
    }
    if (buffer != NULL && bytes > 0)
        snprintf(buffer, bytes, "standin cuda: %s", error == NULL ? "" : error);
}

CUresult cuModuleLoadDataEx(CUmodule *out_module, const void *image, unsigned num_options,
                            CUjit_option *options, void **values)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    const char *error = NULL;
    result = module_load(context_current(), image, out_module, &error);
    write_log(num_options, options, values, result == CUDA_SUCCESS ? NULL : error);
    return result;
}

void module_unload(CUmodule module)
{
    unpublish(module);
    module->unloaded = true;
    module_drop(module);
}

// Waits for the context's work first, as the driver does.
CUresult cuModuleUnload(CUmodule module)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (!handles_known(HANDLE_MODULE, module)) {
        world_unlock();
        return CUDA_ERROR_INVALID_HANDLE;
    }
    result = capture_refuse_unsafe();
    if (result == CUDA_SUCCESS) {
        stream_wait_all(module->context);
        module_unload(module);
        result = sticky;
    }
    world_unlock();
    return result;
}

bool module_can_run(CUfunction function)
{
    return function->body != NULL || function->code != NULL ||
           (island_is(function) && island_has_bodies(function->module));
}

CUfunction module_find(CUmodule module, const char *name)
{
    for (size_t i = 0; i < module->num_functions; i++)
        if (strcmp(module->functions[i].name, name) == 0 && module_can_run(&module->functions[i]))
            return &module->functions[i];
    return NULL;
}

CUresult cuModuleGetFunction(CUfunction *out_function, CUmodule module, const char *name)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_function == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (!handles_known(HANDLE_MODULE, module)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    } else {
        CUfunction function = module_find(module, name);
        if (function != NULL)
            *out_function = function;
        result = function == NULL ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
    }
    world_unlock();
    return result;
}

CUresult module_find_variable(CUmodule module, const char *name, CUdeviceptr *out_memory,
                              size_t *out_bytes)
{
    for (size_t i = 0; i < module->variables.num; i++) {
        const struct variable *variable = &module->variables.all[i];
        if (strcmp(variable->name, name) != 0)
            continue;
        if (out_memory != NULL)
            *out_memory = (CUdeviceptr)(uintptr_t)module->globals + variable->offset;
        if (out_bytes != NULL)
            *out_bytes = variable->bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

// Kernels that run as PTX see it. Host functions, which stand for others, cannot.
CUresult cuModuleGetGlobal_v2(CUdeviceptr *out_memory, size_t *out_bytes, CUmodule module,
                              const char *name)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (name == NULL || (out_memory == NULL && out_bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = handles_known(HANDLE_MODULE, module)
                 ? module_find_variable(module, name, out_memory, out_bytes)
                 : CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

// Lists up to `room` functions that can run, and counts all of them.
static unsigned list(CUmodule module, CUfunction *functions, unsigned room)
{
    unsigned count = 0;
    for (size_t i = 0; i < module->num_functions; i++) {
        if (!module_can_run(&module->functions[i]))
            continue;
        if (count < room)
            functions[count] = &module->functions[i];
        count++;
    }
    return count;
}

CUresult cuModuleGetFunctionCount(unsigned *out_count, CUmodule module)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (handles_known(HANDLE_MODULE, module))
        *out_count = list(module, NULL, 0);
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned num_functions, CUmodule module)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (functions == NULL || num_functions == 0)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (handles_known(HANDLE_MODULE, module))
        list(module, functions, num_functions);
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

// SPDX-License-Identifier: Apache-2.0
// Loading text that Braid wrote, as machine code where something beside the driver can assemble it.
#include "backends/gpu/gpu_assemble.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_disk_cache.h"
#include "base/error.h"
#include "base/host_memory.h"

// Counted up whenever Braid uses its inputs in another way.
#define KEY_FORMAT "braid assembled 1"

// ---- nvJitLink's library, loaded once for the process ----

struct assembler {
    pthread_mutex_t lock;
    bool tried, loaded;           // guarded by lock
    struct gpu_assembler_api api; // constant once loaded
    char reason[512];             // why it could not be loaded
    char identity[96];            // for keys of its results; "": not known; constant once loaded
};

static struct assembler assembler = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct gpu_assembler_api *const api = &assembler.api;

// The log is told, since no call fails.
static void note(const char *name, const char *reason)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        braid_error(BRAID_UNSUPPORTED, "the driver compiles the text of %s: %s", name, reason);
    braid_error_end_noted(&attempt, status);
}

// BRAID_NVJITLINK: "off", of which the log is not told, or the path of the library.
static void load_assembler(const struct gpu_backend *gpu)
{
    const char *named = secure_getenv("BRAID_NVJITLINK");
    const char *const one[] = { named, NULL };
    const bool is_named = named && *named;
    if (is_named && strcmp(named, "off") == 0)
        return;
    if (is_named && named[0] != '/')
        snprintf(assembler.reason, sizeof(assembler.reason),
                 "BRAID_NVJITLINK is '%.100s', and a path must be absolute", named);
    else
        assembler.loaded =
            braid_gpu_load(&braid_gpu_assembler_symbols, gpu->vendor->index,
                           is_named ? one : gpu->vendor->assembler_libraries, &assembler.api,
                           assembler.reason, sizeof(assembler.reason));
}

// The version, and the date and size of its file: a bug fix does not change the version.
static void identify(void)
{
    unsigned major = 0, minor = 0;
    Dl_info info;
    struct stat file;
    void *address = NULL;
    memcpy(&address, &assembler.api.complete, sizeof(address));
    if (!assembler.api.version || assembler.api.version(&major, &minor) ||
        !dladdr(address, &info) || stat(info.dli_fname, &file) != 0)
        return;
    snprintf(assembler.identity, sizeof(assembler.identity), "%u.%u, %lld bytes of %lld", major,
             minor, (long long)file.st_size, (long long)file.st_mtime);
}

// The first text without one is told to the log.
static bool find_assembler(const struct gpu_backend *gpu, const char *name)
{
    pthread_mutex_lock(&assembler.lock);
    const bool is_first = !assembler.tried;
    if (is_first)
        load_assembler(gpu);
    if (is_first && assembler.loaded)
        identify();
    assembler.tried = true;
    const bool loaded = assembler.loaded;
    pthread_mutex_unlock(&assembler.lock);
    if (is_first && !loaded && *assembler.reason)
        note(name, assembler.reason);
    return loaded;
}

// ---- one run of it ----

struct assembly {
    const char *name, *text;
    char option[32];
    gpu_assembly handle;
    char *code; // NULL: there is none
    size_t bytes;
};

// The target of the text may be an architecture with all its own instructions, such as sm_90a.
static void choose_option(const struct gpu_backend *gpu, struct assembly *assembly)
{
    const char *target = strstr(assembly->text, ".target");
    target = target ? strstr(target, "sm_") : NULL;
    const char *behind = target ? target + strspn(target + 3, "0123456789") + 3 : "";
    snprintf(assembly->option, sizeof(assembly->option), "-arch=sm_%.20s%s", gpu->architecture,
             isalpha((unsigned char)*behind) ? "a" : "");
}

// The first call that fails, or that memory ran out.
static void refuse(const struct assembly *assembly, const char *call, gpu_result result)
{
    char reason[900];
    size_t bytes = 0;
    char *log = !assembly->handle || api->log_bytes(assembly->handle, &bytes) || bytes < 2
                    ? NULL
                    : braid_allocate_zeroed(bytes + 1, 1);
    const bool has_log = log && api->log(assembly->handle, log) == GPU_SUCCESS;
    snprintf(reason, sizeof(reason), "%s returned %d%s%.700s", call, (int)result,
             has_log ? ": " : "", has_log ? log : "");
    braid_free(log);
    note(assembly->name, reason);
}

static void read_code(struct assembly *assembly)
{
    size_t bytes = 0;
    gpu_result result = api->code_bytes(assembly->handle, &bytes);
    if (result || bytes == 0) {
        refuse(assembly, "nvJitLinkGetLinkedCubinSize", result);
        return;
    }
    char *code = braid_allocate_zeroed(bytes, 1);
    if (!code) {
        note(assembly->name, "memory ran out");
        return;
    }
    result = api->code(assembly->handle, code);
    if (result) {
        refuse(assembly, "nvJitLinkGetLinkedCubin", result);
        braid_free(code);
        return;
    }
    assembly->code = code;
    assembly->bytes = bytes;
}

// No lock is held, and the driver does nothing meanwhile.
static void assemble(struct assembly *assembly)
{
    enum { INPUT_PTX = 2 }; // nvJitLinkInputType
    const char *const options[] = { assembly->option };
    gpu_result result = api->create(&assembly->handle, 1, options);
    if (result) {
        assembly->handle = NULL;
        refuse(assembly, "nvJitLinkCreate", result);
        return;
    }
    const char *call = "nvJitLinkAddData";
    result = api->add(assembly->handle, INPUT_PTX, assembly->text, strlen(assembly->text) + 1,
                      assembly->name);
    if (!result) {
        call = "nvJitLinkComplete";
        result = api->complete(assembly->handle);
    }
    if (result)
        refuse(assembly, call, result);
    else
        read_code(assembly);
    result = api->destroy(&assembly->handle);
    if (result)
        note(assembly->name, "nvJitLink keeps its memory");
}

// ---- results, which are kept on disk from process to process ----

// NULL: it has no key, and is neither looked for nor kept.
static char *make_key(const struct gpu_backend *gpu, const struct assembly *assembly)
{
    return gpu->cache && *assembler.identity
               ? braid_print_text("%s\n%s\n%s\n%s", KEY_FORMAT, assembler.identity,
                                  assembly->option, assembly->text)
               : NULL;
}

static void find_or_assemble(const struct gpu_backend *gpu, struct assembly *assembly)
{
    choose_option(gpu, assembly);
    char *key = make_key(gpu, assembly);
    const size_t bytes = key ? strlen(key) : 0;
    if (key)
        assembly->code = braid_disk_cache_read(gpu->cache, key, bytes, &assembly->bytes);
    if (!assembly->code) {
        assemble(assembly);
        if (key && assembly->code)
            braid_disk_cache_write(gpu->cache, key, bytes, assembly->code, assembly->bytes);
    }
    braid_free(key);
}

// A driver that is older than nvJitLink may refuse its machine code.
static bool refuses_code(gpu_result result)
{
    enum { INVALID_IMAGE = 200 };
    return result == (gpu_result)INVALID_IMAGE || braid_gpu_refuses_text(result);
}

// The driver lacks a function that this code calls by name. printf and assert call such ones.
static bool lacks_symbol(gpu_result result)
{
    enum { NO_SYMBOL = 302 };
    return result == (gpu_result)NO_SYMBOL || result == GPU_NOT_FOUND;
}

gpu_result braid_gpu_load_text(struct gpu_backend *gpu, const char *name, const char *text,
                               gpu_module *out_module)
{
    struct assembly assembly = { .name = name, .text = text };
    if (!gpu->vendor->assembler_libraries ||
        atomic_load_explicit(&gpu->code_refused, memory_order_relaxed) ||
        !find_assembler(gpu, name))
        return gpu->api->module_load(out_module, text);
    find_or_assemble(gpu, &assembly);
    if (!assembly.code)
        return gpu->api->module_load(out_module, text);
    gpu_result result = gpu->api->module_load(out_module, assembly.code);
    braid_free(assembly.code);
    const bool refuses = refuses_code(result);
    if (!refuses && !lacks_symbol(result))
        return result;
    note(name, "it does not take nvJitLink's machine code");
    result = gpu->api->module_load(out_module, text);
    if (result == GPU_SUCCESS && refuses)
        atomic_store_explicit(&gpu->code_refused, true, memory_order_relaxed);
    return result;
}

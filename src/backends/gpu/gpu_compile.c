// SPDX-License-Identifier: Apache-2.0
// Compiling CUDA C, which is also HIP C++, at load time through NVRTC or hiprtc.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/gpu/gpu_code_cache.h"

#include "base/error.h"

// The compiler's library, loaded once for the process.
struct compiler {
    pthread_mutex_t lock;
    bool tried, loaded;          // guarded by lock
    struct gpu_compiler_api api; // constant once loaded
    char reason[512];            // why it could not be loaded
    char identity[96];           // for keys of its results; "": not known; constant once loaded
};

static struct compiler compilers[GPU_NUM_VENDORS] = {
    [GPU_CUDA] = { .lock = PTHREAD_MUTEX_INITIALIZER },
    [GPU_HIP] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

// What to compile for: a device's own code, or text that the driver compiles further.
struct target {
    char option[96];
    bool text;
};

static bool load_compiler(const struct gpu_backend *gpu, struct compiler *compiler)
{
    // HIP's runtime has hiprtc inside up to version 6: no second library then.
    const char *missing = NULL;
    enum gpu_vendor_index vendor = gpu->vendor->index;
    const struct gpu_symbol_table *table = &braid_gpu_compiler_symbols;
    if (vendor == GPU_HIP && braid_gpu_fill(table, vendor, gpu->library, &compiler->api, &missing))
        return true;
    return braid_gpu_load(table, vendor, gpu->vendor->compiler_libraries, &compiler->api,
                          compiler->reason, sizeof(compiler->reason)) != NULL;
}

// The version and, since those after a bug fix have the same, what tells its file from another.
static void identify(struct compiler *compiler)
{
    int major = 0, minor = 0;
    Dl_info info;
    struct stat file;
    void *address = NULL;
    memcpy(&address, &compiler->api.compile, sizeof(address));
    if (!compiler->api.version || compiler->api.version(&major, &minor) ||
        !dladdr(address, &info) || stat(info.dli_fname, &file) != 0)
        return;
    snprintf(compiler->identity, sizeof(compiler->identity), "%d.%d, %lld bytes of %lld", major,
             minor, (long long)file.st_size, (long long)file.st_mtime);
}

static const struct compiler *find_compiler(const struct gpu_backend *gpu,
                                            const braid_kernel *kernel)
{
    struct compiler *compiler = &compilers[gpu->vendor->index];
    pthread_mutex_lock(&compiler->lock);
    if (!compiler->tried)
        compiler->loaded = load_compiler(gpu, compiler);
    if (!compiler->tried && compiler->loaded)
        identify(compiler);
    compiler->tried = true;
    bool loaded = compiler->loaded;
    pthread_mutex_unlock(&compiler->lock);
    if (loaded)
        return compiler;
    braid_error(BRAID_UNSUPPORTED,
                "kernel '%s' has only source for %s and there is no run-time compiler: %s",
                kernel->name, gpu->label, compiler->reason);
    return NULL;
}

// The newest architecture that the compiler knows and the device runs. A compiler that is too old
// to list what it knows is asked for what the device is.
static gpu_result best_architecture(const struct gpu_compiler_api *api, int wanted, int *out_best)
{
    int known[128], num = 0, best = 0;
    *out_best = wanted;
    if (!api->num_architectures || !api->architectures)
        return GPU_SUCCESS;
    gpu_result result = api->num_architectures(&num);
    if (result || num < 1 || num > (int)(sizeof(known) / sizeof(known[0])))
        return result;
    result = api->architectures(known);
    for (int i = 0; i < num && !result; i++) {
        if (known[i] <= wanted && known[i] > best)
            best = known[i];
    }
    *out_best = best ? best : wanted;
    return result;
}

// A compiler older than the device gives text for the newest architecture it knows, which the
// driver compiles for the device.
static gpu_result choose_target(const struct gpu_backend *gpu, const struct gpu_compiler_api *api,
                                bool as_text, struct target *target)
{
    *target = (struct target){ .text = false };
    if (gpu->vendor->index == GPU_HIP) {
        snprintf(target->option, sizeof(target->option), "--offload-arch=%s", gpu->architecture);
        return GPU_SUCCESS;
    }
    int wanted = atoi(gpu->architecture), best = wanted;
    gpu_result result = best_architecture(api, wanted, &best);
    target->text = as_text || best != wanted || !api->code || !api->code_bytes;
    snprintf(target->option, sizeof(target->option), "--gpu-architecture=%s_%d",
             target->text ? "compute" : "sm", best);
    return result;
}

// The first lines of the compiler's log, on one line, as far as they fit.
static void read_log(const struct gpu_compiler_api *api, gpu_compilation program, char *text,
                     size_t size)
{
    size_t bytes = 0;
    *text = '\0';
    if (api->log_bytes(program, &bytes) || bytes < 2)
        return;
    char *log = calloc(bytes + 1, 1);
    if (log && api->log(program, log) == GPU_SUCCESS) {
        for (char *c = log; *c; c++) {
            if (*c == '\n' || *c == '\r')
                *c = ' ';
        }
        snprintf(text, size, "%s", log);
    }
    free(log);
}

static gpu_result code_bytes(const struct gpu_compiler_api *api, gpu_compilation program,
                             bool as_text, size_t *out_bytes)
{
    *out_bytes = 0;
    return as_text ? api->text_bytes(program, out_bytes) : api->code_bytes(program, out_bytes);
}

static braid_status read_code(const struct gpu_compiler_api *api, gpu_compilation program,
                              const braid_kernel *kernel, bool as_text, char **out_image,
                              size_t *out_bytes)
{
    size_t bytes = 0;
    gpu_result result = code_bytes(api, program, as_text, &bytes);
    // A compiler without an assembler says that there are no bytes, and gives text.
    if (result == GPU_SUCCESS && bytes == 0 && !as_text && api->text_bytes) {
        as_text = true;
        result = code_bytes(api, program, as_text, &bytes);
    }
    bool has_code = result == GPU_SUCCESS && bytes > 0;
    char *image = has_code ? calloc(bytes + 1, 1) : NULL;
    if (has_code && !image)
        return braid_error_no_memory("a compiled kernel");
    if (image)
        result = as_text ? api->text(program, image) : api->code(program, image);
    if (image && result == GPU_SUCCESS) {
        *out_image = image;
        *out_bytes = bytes;
        return BRAID_OK;
    }
    free(image);
    return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' gave no code: %s", kernel->name,
                       api->error_string(result));
}

static braid_status compile_program(const struct gpu_backend *gpu,
                                    const struct gpu_compiler_api *api, gpu_compilation program,
                                    const braid_kernel *kernel, const struct target *target,
                                    char **out_image, size_t *out_bytes)
{
    const char *options[] = { target->option };
    gpu_result result = api->compile(program, 1, options);
    if (result) {
        char log[800];
        read_log(api, program, log, sizeof(log));
        return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s, %s) failed: %s: %s",
                           kernel->name, gpu->label, target->option, api->error_string(result),
                           log);
    }
    return read_code(api, program, kernel, target->text, out_image, out_bytes);
}

// The code is there, or not: that does not change.
static void note_kept(const struct gpu_backend *gpu, const struct gpu_compiler_api *api,
                      const braid_kernel *kernel, gpu_result result)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_error(
        BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s): the compiler keeps its memory: %s",
        kernel->name, gpu->label, api->error_string(result));
    braid_error_end_noted(&attempt, status);
}

static braid_status compile(const struct gpu_backend *gpu, const struct gpu_compiler_api *api,
                            const braid_kernel *kernel, const struct target *target,
                            char **out_image, size_t *out_bytes)
{
    gpu_compilation program = NULL;
    gpu_result result = api->create(&program, kernel->source, kernel->name, 0, NULL, NULL);
    if (result)
        return braid_error(BRAID_DEVICE_ERROR, "compiling kernel '%s' (%s) failed: %s",
                           kernel->name, gpu->label, api->error_string(result));
    braid_status status = compile_program(gpu, api, program, kernel, target, out_image, out_bytes);
    result = api->destroy(&program);
    if (result)
        note_kept(gpu, api, kernel, result);
    return status;
}

static braid_status find_or_compile(const struct gpu_backend *gpu, const struct compiler *compiler,
                                    const braid_kernel *kernel, const struct target *target,
                                    char **out_image)
{
    const struct gpu_code_inputs inputs = { compiler->identity, target->option, kernel->name,
                                            kernel->source };
    struct gpu_code_key key = braid_gpu_code_key(gpu, &inputs);
    char *image = braid_gpu_code_read(gpu, &key);
    braid_status status = BRAID_OK;
    if (!image) {
        size_t bytes = 0;
        status = compile(gpu, &compiler->api, kernel, target, &image, &bytes);
        if (!status)
            braid_gpu_code_write(gpu, &key, image, bytes);
    }
    free(key.bytes);
    if (!status)
        *out_image = image;
    return status;
}

braid_status braid_gpu_compile(const struct gpu_backend *gpu, const braid_kernel *kernel,
                               bool as_text, char **out_image)
{
    const struct compiler *compiler = find_compiler(gpu, kernel);
    if (!compiler)
        return BRAID_UNSUPPORTED;
    struct target target;
    gpu_result result = choose_target(gpu, &compiler->api, as_text, &target);
    if (result)
        return braid_error(BRAID_DEVICE_ERROR,
                           "compiling kernel '%s' (%s) failed: %s from asking what the compiler "
                           "can compile for",
                           kernel->name, gpu->label, compiler->api.error_string(result));
    return find_or_compile(gpu, compiler, kernel, &target, out_image);
}

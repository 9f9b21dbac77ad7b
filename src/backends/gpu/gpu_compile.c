// SPDX-License-Identifier: Apache-2.0
// Compiling CUDA C, which is also HIP C++, at load time through NVRTC or hiprtc.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/gpu/gpu_code_cache.h"
#include "backends/gpu/gpu_program.h"
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

// The version, and the date and size of its file: a bug fix does not change the version.
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

static const struct compiler *find_compiler(const struct gpu_backend *gpu, const char *name)
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
                "kernel '%s' has only source for %s and there is no run-time compiler: %s", name,
                gpu->label, compiler->reason);
    return NULL;
}

// The newest architecture that the compiler knows and the device runs. A compiler too old to list
// its architectures is asked for the device's.
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
                                bool as_text, struct gpu_target *target)
{
    *target = (struct gpu_target){ .text = false };
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

static braid_status find_or_compile(const struct gpu_backend *gpu, const struct compiler *compiler,
                                    const char *name, const struct gpu_code *code,
                                    const struct gpu_target *target, char **out_block,
                                    size_t *out_bytes)
{
    const struct gpu_code_inputs inputs = { compiler->identity, target->option, name, code->source,
                                            &code->build };
    struct gpu_code_key key = braid_gpu_code_key(gpu, &inputs);
    *out_block = braid_gpu_code_read(gpu, &key, out_bytes);
    if (*out_block) {
        free(key.bytes);
        return BRAID_OK;
    }
    braid_status status =
        braid_gpu_program_compile(gpu, &compiler->api, name, code, target, out_block, out_bytes);
    // A file that changed meanwhile may have been compiled as it was before or after.
    struct gpu_code_key now =
        key.bytes && !status ? braid_gpu_code_key(gpu, &inputs) : (struct gpu_code_key){ 0 };
    if (now.bytes && now.num == key.num && memcmp(now.bytes, key.bytes, key.num) == 0)
        braid_gpu_code_write(gpu, &key, *out_block, *out_bytes);
    free(now.bytes);
    free(key.bytes);
    return status;
}

braid_status braid_gpu_compile(const struct gpu_backend *gpu, const char *name,
                               const struct gpu_code *code, bool as_text,
                               struct gpu_compiled *out_compiled)
{
    const struct compiler *compiler = find_compiler(gpu, name);
    if (!compiler)
        return BRAID_UNSUPPORTED;
    struct gpu_target target;
    gpu_result result = choose_target(gpu, &compiler->api, as_text, &target);
    if (result)
        return braid_error(
            BRAID_DEVICE_ERROR,
            "compiling kernel '%s' (%s) failed: %s from asking for the compiler's targets", name,
            gpu->label, compiler->api.error_string(result));
    char *block = NULL;
    size_t bytes = 0;
    braid_status status = find_or_compile(gpu, compiler, name, code, &target, &block, &bytes);
    if (status)
        return status;
    const char *entry = block + bytes - 1; // the last of its strings
    while (entry[-1])
        entry--;
    *out_compiled = (struct gpu_compiled){ block, entry };
    return BRAID_OK;
}

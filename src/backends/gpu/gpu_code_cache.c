// SPDX-License-Identifier: Apache-2.0
// Outputs of the run-time compiler, kept on disk from process to process.
#include "backends/gpu/gpu_code_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/gpu/gpu_code_reads.h"
#include "base/disk_cache.h"
#include "base/error.h"

// Counted up whenever Braid uses its inputs in another way.
#define KEY_FORMAT "braid code 2"

static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value ? value : "";
}

// hiprtc and NVRTC add the contents of these to their options.
static const char *const more_options[GPU_NUM_VENDORS][2] = {
    [GPU_CUDA] = { "NVRTC_APPEND_FLAGS" },
    [GPU_HIP] = { "HIPRTC_COMPILE_OPTIONS_APPEND", "HIPRTC_LINK_OPTIONS_APPEND" },
};

static void note_reason(const char *name, const char *reason)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_error(
        BRAID_UNSUPPORTED, "the compiled code of kernel '%s' is not kept: %s", name, reason);
    braid_error_end_noted(&attempt, status);
}

// All parts of the key; false: it has none, and *out_reason may say why.
static bool put_key(FILE *file, const struct gpu_backend *gpu, const struct gpu_code_inputs *inputs,
                    const char **out_reason)
{
    enum gpu_vendor_index vendor = gpu->vendor->index;
    for (int i = 0; i < 2 && more_options[vendor][i]; i++) {
        if (*environment(more_options[vendor][i])) {
            *out_reason = "the environment adds options to it";
            return false;
        }
    }
    fprintf(file, "%s\n%s\ndriver %d\n", KEY_FORMAT, gpu->vendor->name, gpu->version);
    braid_gpu_put_part(file, "compiler", inputs->compiler);
    braid_gpu_put_part(file, "device", gpu->architecture);
    braid_gpu_put_part(file, "target", inputs->option);
    braid_gpu_put_part(file, "name", inputs->name);
    braid_gpu_put_part(file, "source", inputs->source);
    if (inputs->build->expression)
        braid_gpu_put_part(file, "entry", inputs->build->expression);
    return braid_gpu_put_reads(file, inputs->source, inputs->build, vendor == GPU_CUDA, out_reason);
}

struct gpu_code_key braid_gpu_code_key(const struct gpu_backend *gpu,
                                       const struct gpu_code_inputs *inputs)
{
    struct gpu_code_key key = { 0 };
    FILE *file = gpu->cache && *inputs->compiler ? open_memstream(&key.bytes, &key.num) : NULL;
    if (!file)
        return key;
    const char *reason = NULL;
    bool known = put_key(file, gpu, inputs, &reason), failed = ferror(file);
    if (reason)
        note_reason(inputs->name, reason);
    if (fclose(file) || failed || !known) {
        free(key.bytes);
        key = (struct gpu_code_key){ 0 };
    }
    return key;
}

char *braid_gpu_code_read(const struct gpu_backend *gpu, const struct gpu_code_key *key,
                          size_t *out_bytes)
{
    return key->bytes ? braid_disk_cache_read(gpu->cache, key->bytes, key->num, out_bytes) : NULL;
}

void braid_gpu_code_write(const struct gpu_backend *gpu, const struct gpu_code_key *key,
                          const char *image, size_t bytes)
{
    if (key->bytes)
        braid_disk_cache_write(gpu->cache, key->bytes, key->num, image, bytes);
}

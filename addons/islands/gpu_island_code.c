// SPDX-License-Identifier: Apache-2.0
// Loaded code of islands, shared by the text of its parts.
#include "islands/gpu_island_code.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_kept_memory.h"
#include "backends/gpu/gpu_module.h"
#include "base/error.h"

enum { MOST_UNUSED = 16 }; // codes kept for nobody when another is loaded

static void free_code(const struct gpu_backend *gpu, struct gpu_island_code *code, bool current)
{
    if (code->module && current)
        braid_gpu_check_freed(gpu, gpu->api->module_unload(code->module), &gpu->api->module_unload,
                              "unloading an island");
    free(code->key);
    free(code);
}

// With load_lock held.
static uint32_t count_unused(struct gpu_backend *gpu)
{
    uint32_t num = 0;
    pthread_mutex_lock(&gpu->lock);
    for (const struct gpu_island_code *code = gpu->island_codes; code; code = code->next)
        num += code->references == 0;
    pthread_mutex_unlock(&gpu->lock);
    return num;
}

static bool is_unused(struct gpu_backend *gpu, const struct gpu_island_code *code)
{
    pthread_mutex_lock(&gpu->lock);
    bool unused = code->references == 0;
    pthread_mutex_unlock(&gpu->lock);
    return unused;
}

// With load_lock held, so that nobody finds a code that is about to go. If the device could not be
// made current, it only forgets them.
static void free_unused(struct gpu_backend *gpu, bool current)
{
    struct gpu_island_code **link = &gpu->island_codes;
    while (*link) {
        struct gpu_island_code *code = *link;
        if (is_unused(gpu, code)) {
            *link = code->next;
            free_code(gpu, code, current);
        } else {
            link = &code->next;
        }
    }
}

static braid_status paste_and_load(struct gpu_backend *gpu, const struct island_parts *parts,
                                   const char *walker, struct gpu_island_code *code)
{
    char *text = braid_island_parts_paste(parts, walker);
    if (!text)
        return braid_error_no_memory("the code of an island");
    gpu_result result = gpu->api->module_load(&code->module, text);
    free(text);
    if (result)
        code->module = NULL;
    if (braid_gpu_refuses_text(result))
        return braid_error(BRAID_UNSUPPORTED, "%s does not take the PTX of an island", gpu->label);
    return braid_gpu_check(gpu, result, &gpu->api->module_load, "loading an island");
}

static braid_status load(struct gpu_backend *gpu, const struct island_parts *parts,
                         struct gpu_island_code *code)
{
    const struct gpu_api *api = gpu->api;
    const struct gpu_code source = { .source = parts->walker };
    struct gpu_compiled compiled;
    if (braid_gpu_compile(gpu, "braid_island", &source, true, &compiled))
        return braid_error(BRAID_UNSUPPORTED, "an island cannot be compiled: %s",
                           braid_error_message());
    braid_status status = paste_and_load(gpu, parts, compiled.image, code);
    free(compiled.image);
    if (status)
        return status;
    gpu_result result = api->module_function(&code->function, code->module, "braid_island");
    return braid_gpu_check(gpu, result, &api->module_function, "loading an island");
}

static struct gpu_island_code *find(struct gpu_backend *gpu, const char *key)
{
    struct gpu_island_code *code = gpu->island_codes;
    while (code && strcmp(code->key, key) != 0)
        code = code->next;
    if (code) {
        pthread_mutex_lock(&gpu->lock);
        code->references++;
        pthread_mutex_unlock(&gpu->lock);
    }
    return code;
}

// The key is taken over, also on failure.
static braid_status create(struct gpu_backend *gpu, const struct island_parts *parts, char *key,
                           struct gpu_island_code **out_code)
{
    struct gpu_island_code *code = calloc(1, sizeof(*code));
    if (!code) {
        free(key);
        return braid_error_no_memory("the code of an island");
    }
    braid_gpu_kept_memory_free(gpu, true);
    if (count_unused(gpu) >= MOST_UNUSED)
        free_unused(gpu, true);
    code->key = key;
    code->references = 1;
    braid_status status = load(gpu, parts, code);
    if (status) {
        free_code(gpu, code, true);
        return status;
    }
    code->next = gpu->island_codes;
    gpu->island_codes = code;
    gpu->finish_island_codes = free_unused; // as the device is closed
    *out_code = code;
    return BRAID_OK;
}

braid_status braid_gpu_island_code_acquire(struct gpu_backend *gpu,
                                           const struct island_parts *parts,
                                           struct gpu_island_code **out_code)
{
    braid_status status = BRAID_OK;
    char *key = braid_island_parts_key(parts);
    if (!key)
        return braid_error_no_memory("the code of an island");
    pthread_mutex_lock(&gpu->load_lock);
    struct gpu_island_code *code = find(gpu, key);
    if (code)
        free(key);
    else
        status = create(gpu, parts, key, &code);
    pthread_mutex_unlock(&gpu->load_lock);
    if (!status)
        *out_code = code;
    return status;
}

void braid_gpu_island_code_release(struct gpu_backend *gpu, struct gpu_island_code *code)
{
    if (!code)
        return;
    pthread_mutex_lock(&gpu->lock);
    code->references--;
    pthread_mutex_unlock(&gpu->lock);
}

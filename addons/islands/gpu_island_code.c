// SPDX-License-Identifier: Apache-2.0
// The code of an island: the text of its walker, its kernels as blocks, and both loaded.
#include "islands/gpu_island_code.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_assemble.h"
#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_claim.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "islands/gpu_ptx_callable.h"

// ---- the text of the walker ----

// The copies of the loop over calls, if there are few bodies. On an H200 an empty call then takes
// 46 ns instead of 59.
enum { UNROLLED = 4, MOST_UNROLLED = 4 };

extern const char braid_gpu_island_words_cu[], braid_gpu_island_steps_cu[],
    braid_gpu_island_walker_cu[];

static void put_layout(FILE *file, const struct island_layout *layout, uint32_t num_kernels)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        { "GROUP", layout->group_threads },
        { "GROUPS", layout->num_groups },
        { "BLOCKS", layout->num_blocks },
        { "TEAM", layout->team },
        { "LANES", layout->num_blocks * island_lanes_of_a_block(layout) },
        { "WARPS", layout->num_blocks == 1 && layout->group_threads == 32 && layout->team == 1 },
        { "CHAIN", layout->chain },
        { "FLAT", layout->flat },
        { "WIDE", layout->wide },
        { "WHOLE", layout->whole },
        { "THREADS", layout->num_threads },
        { "ARGS", layout->num_args },
        { "AT_ONCE", layout->num_at_once },
        { "EARLY", layout->early },
        { "SMALL", layout->small },
        { "GRIDS", layout->grids_vary },
        { "APART", layout->apart ? layout->num_groups : 0 },
        { "SHARED", layout->lane_shared },
        { "LOOPS", layout->loops },
        { "CANCELS", layout->cancels },
        { "TIMED", layout->timed },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        fprintf(file, "#define BRAID_%s %u\n", numbers[i].name, numbers[i].value);
    fprintf(file, "#define BRAID_UNROLL %u\n",
            layout->small && num_kernels <= MOST_UNROLLED ? UNROLLED : 1);
    fprintf(file, "#define BRAID_STEP %u\n", 1 + (island_lanes_of_a_block(layout) + 1) / 2);
    fprintf(file, "typedef struct { unsigned long long bytes[%u]; } braid_island_args;\n",
            layout->is_away ? 2 : 2 * layout->num_args);
    fprintf(file, "typedef %s braid_island_small;\n",
            layout->small <= 4   ? "unsigned"
            : layout->small == 8 ? "uint2"
                                 : "uint4");
    fputs(layout->small ? "#define BRAID_CALL const braid_island_small &\n"
                          "#define BRAID_HERE held_args\n"
                        : "#define BRAID_CALL const char *\n#define BRAID_HERE args_here\n",
          file);
}

static void put_calls(FILE *file, const struct island_layout *layout, uint32_t num_kernels)
{
    static const char *const args[] = {
        "\"r\"(braid_island_address(args))",
        "\"r\"(args)",
        "\"r\"(args.x), \"r\"(args.y)",
        "\"r\"(args.x), \"r\"(args.y), \"r\"(args.z), \"r\"(args.w)",
    };
    static const char *const operands[] = { "%4", "%4", "%4, %5", "%4, %5, %6, %7" };
    // Barriers are of one number of threads: where those of a kernel may be of fewer than its
    // group's, they have others.
    fputs("static __device__ __forceinline__ void braid_island_call(unsigned entry, BRAID_CALL "
          "args)\n"
          "{\n"
          "    const unsigned group = braid_island_group(), index = braid_island_index();\n"
          "    const unsigned here = braid_island_address(&braid_island_here[group]);\n"
          "    const unsigned barrier = 1 + BRAID_APART + group;\n"
          "    const unsigned shared =\n"
          "        braid_island_address(braid_island_memory) + group * BRAID_SHARED;\n"
          "    switch (entry) {\n",
          file);
    int which = layout->small == 0 ? 0 : layout->small <= 4 ? 1 : layout->small == 8 ? 2 : 3;
    for (uint32_t i = 0; i < num_kernels; i++)
        fprintf(file,
                "    case %u:\n        asm volatile(\"braid_call_%u %%0, %%1, %%2, %%3, %s;\"\n"
                "                     ::\"r\"(index), \"r\"(here), \"r\"(barrier), "
                "\"r\"(shared), %s : \"memory\");\n        break;\n",
                i, i, operands[which], args[which]);
    fputs("    }\n}\n", file);
}

char *braid_island_text(const struct island_layout *layout, uint32_t num_kernels)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = braid_open_text(&text, &bytes);
    if (!file)
        return NULL;
    put_layout(file, layout, num_kernels);
    fputs(braid_gpu_island_words_cu, file);
    put_calls(file, layout, num_kernels);
    fputs(braid_gpu_island_steps_cu, file);
    fputs(braid_gpu_island_walker_cu, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return text;
    braid_free(text);
    return NULL;
}

// ---- its parts ----

struct maker {
    const struct island_layout *layout;
    const struct island_kernel *kernels;
    struct island_parts *parts;
    struct ptx_symbols symbols; // the module's at hand
    struct ptx_site site;
    char prefix[32]; // before the names of the module at hand
};

static bool close_text(FILE *file, char **text, bool written)
{
    bool failed = ferror(file) != 0 || !written;
    if (fclose(file) == 0 && !failed)
        return true;
    braid_free(*text);
    *text = NULL;
    return false;
}

static char *write_note(const struct island_kernel *kernel)
{
    char *note = NULL;
    size_t bytes = 0;
    FILE *file = braid_open_text(&note, &bytes);
    if (!file)
        return NULL;
    fputs(kernel->entry, file);
    for (uint32_t i = 0; i < kernel->needs->num_args; i++)
        fprintf(file, " %u", kernel->needs->arg_bytes[i]);
    return close_text(file, &note, true) ? note : NULL;
}

static bool make_block(struct maker *maker, uint32_t index)
{
    struct ptx_pasted *block = &maker->parts->blocks[index];
    size_t bytes = 0;
    FILE *file = braid_open_text(&block->block, &bytes);
    if (!file)
        return false;
    bool written = braid_ptx_write_callable(&maker->symbols, maker->kernels[index].entry,
                                            maker->kernels[index].needs, &maker->site, file);
    block->note = write_note(&maker->kernels[index]);
    return close_text(file, &block->block, written) && block->note;
}

// The blocks of its kernels, and the rest of the module that they need.
static bool make_of_module(struct maker *maker, uint32_t module)
{
    struct island_parts *parts = maker->parts;
    size_t bytes = 0;
    bool made = true;
    snprintf(maker->prefix, sizeof(maker->prefix), "braid_m%u_", module);
    maker->site.prefix = maker->prefix;
    for (uint32_t i = 0; i < parts->num_blocks && made; i++) {
        if (maker->kernels[i].module == module)
            made = make_block(maker, i);
    }
    struct ptx_reason reason;
    FILE *file = made && braid_ptx_close_symbols(&maker->symbols, &reason)
                     ? braid_open_text(&parts->needed[module], &bytes)
                     : NULL;
    if (!file)
        return false;
    braid_ptx_write_needed(&maker->symbols, maker->prefix, file);
    return close_text(file, &parts->needed[module], true);
}

// They were read before, so only memory can be short.
static bool read_and_make(struct maker *maker, uint32_t module)
{
    struct ptx ptx;
    struct ptx_reason reason;
    bool made = false;
    if (!braid_ptx_read(maker->parts->modules[module], &ptx, &reason))
        return false;
    if (braid_ptx_find_symbols(&ptx, &maker->symbols, &reason)) {
        made = make_of_module(maker, module);
        braid_ptx_symbols_finish(&maker->symbols);
    }
    braid_ptx_finish(&ptx);
    return made;
}

braid_status braid_island_parts_create(const struct island_layout *layout,
                                       const char *const *modules, uint32_t num_modules,
                                       const struct island_kernel *kernels, uint32_t num_kernels,
                                       struct island_parts *out_parts)
{
    struct island_parts parts = { .modules = modules,
                                  .num_modules = num_modules,
                                  .num_blocks = num_kernels,
                                  .small = layout->small };
    struct maker maker = { .layout = layout,
                           .kernels = kernels,
                           .parts = &parts,
                           .site = { .group_threads = layout->group_threads,
                                     .num_groups = layout->num_groups,
                                     .flat = layout->flat,
                                     .whole = layout->whole,
                                     .small = layout->small,
                                     .numbers = layout->numbers } };
    parts.walker = braid_island_text(layout, num_kernels);
    parts.blocks = braid_allocate_zeroed(num_kernels, sizeof(*parts.blocks));
    parts.needed = braid_allocate_zeroed(num_modules, sizeof(*parts.needed));
    bool made = parts.walker && parts.blocks && parts.needed;
    for (uint32_t i = 0; i < num_modules && made; i++)
        made = read_and_make(&maker, i);
    if (!made) {
        braid_island_parts_finish(&parts);
        return braid_error_no_memory("the code of an island");
    }
    *out_parts = parts;
    return BRAID_OK;
}

void braid_island_parts_finish(struct island_parts *parts)
{
    for (uint32_t i = 0; parts->blocks && i < parts->num_blocks; i++) {
        braid_free(parts->blocks[i].block);
        braid_free(parts->blocks[i].note);
    }
    for (uint32_t i = 0; parts->needed && i < parts->num_modules; i++)
        braid_free(parts->needed[i]);
    braid_free(parts->walker);
    braid_free(parts->blocks);
    braid_free(parts->needed);
    *parts = (struct island_parts){ 0 };
}

// All of it as one text, by which code is found again; NULL: memory ran out.
static char *parts_key(const struct island_parts *parts)
{
    char *key = NULL;
    size_t bytes = 0;
    FILE *file = braid_open_text(&key, &bytes);
    if (!file)
        return NULL;
    fputs(parts->walker, file);
    for (uint32_t i = 0; i < parts->num_blocks; i++)
        fprintf(file, "%s\n%s", parts->blocks[i].note, parts->blocks[i].block);
    for (uint32_t i = 0; i < parts->num_modules; i++)
        fputs(parts->needed[i], file);
    return close_text(file, &key, true) ? key : NULL;
}

char *braid_island_parts_paste(const struct island_parts *parts, const char *text)
{
    const struct ptx_paste paste = { .blocks = parts->blocks,
                                     .num_blocks = parts->num_blocks,
                                     .small = parts->small,
                                     .modules = parts->modules,
                                     .needed = (const char *const *)parts->needed,
                                     .num_modules = parts->num_modules };
    return braid_ptx_paste(text, &paste);
}

// ---- loaded code ----

enum { MOST_UNUSED = 16 }; // codes kept for nobody when another is loaded

static void free_code(const struct gpu_backend *gpu, struct gpu_island_code *code, bool current)
{
    if (code->module && current)
        braid_gpu_check_freed(gpu, gpu->api->module_unload(code->module), &gpu->api->module_unload,
                              "unloading an island");
    braid_free(code->key);
    braid_free(code);
}

// Frees codes that are on no list. If the device could not be made current, it only forgets them.
static void free_codes(struct gpu_backend *gpu, struct gpu_island_code *code, bool current)
{
    while (code) {
        struct gpu_island_code *next = code->next;
        free_code(gpu, code, current);
        code = next;
    }
}

// Takes the codes that nobody uses off the list, if there are at least so many.
static struct gpu_island_code *take_unused(struct gpu_backend *gpu, uint32_t least)
{
    struct gpu_island_code *unused = NULL, **link = &gpu->island_codes;
    uint32_t num = 0;
    pthread_mutex_lock(&gpu->lock);
    for (const struct gpu_island_code *code = *link; code; code = code->next)
        num += code->references == 0;
    while (num >= least && *link) {
        struct gpu_island_code *code = *link;
        if (code->references > 0) {
            link = &code->next;
            continue;
        }
        *link = code->next;
        code->next = unused;
        unused = code;
    }
    pthread_mutex_unlock(&gpu->lock);
    return unused;
}

static void free_unused(struct gpu_backend *gpu, bool current)
{
    free_codes(gpu, take_unused(gpu, 0), current);
}

static braid_status paste_and_load(struct gpu_backend *gpu, const struct island_parts *parts,
                                   const char *walker, struct gpu_island_code *code)
{
    char *text = braid_island_parts_paste(parts, walker);
    if (!text)
        return braid_error_no_memory("the code of an island");
    gpu_result result = braid_gpu_load_text(gpu, "an island", text, &code->module);
    braid_free(text);
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
                           braid_error_get_message());
    braid_status status = paste_and_load(gpu, parts, compiled.image, code);
    braid_free(compiled.image);
    if (status)
        return status;
    gpu_result result = api->module_function(&code->function, code->module, "braid_island");
    return braid_gpu_check(gpu, result, &api->module_function, "loading an island");
}

static struct gpu_island_code *find(struct gpu_backend *gpu, const char *key)
{
    pthread_mutex_lock(&gpu->lock);
    struct gpu_island_code *code = gpu->island_codes;
    while (code && strcmp(code->key, key) != 0)
        code = code->next;
    if (code)
        code->references++;
    pthread_mutex_unlock(&gpu->lock);
    return code;
}

static void insert(struct gpu_backend *gpu, struct gpu_island_code *code)
{
    pthread_mutex_lock(&gpu->lock);
    code->next = gpu->island_codes;
    gpu->island_codes = code;
    gpu->finish_island_codes = free_unused; // as the device is closed
    pthread_mutex_unlock(&gpu->lock);
}

// The key is taken over, also on failure.
static braid_status create(struct gpu_backend *gpu, const struct island_parts *parts, char *key,
                           struct gpu_island_code **out_code)
{
    struct gpu_island_code *code = braid_allocate_zeroed(1, sizeof(*code));
    if (!code) {
        braid_free(key);
        return braid_error_no_memory("the code of an island");
    }
    braid_gpu_kept_memory_free(gpu, true);
    free_codes(gpu, take_unused(gpu, MOST_UNUSED), true);
    code->key = key;
    code->references = 1;
    braid_status status = load(gpu, parts, code);
    if (status) {
        free_code(gpu, code, true);
        return status;
    }
    insert(gpu, code);
    *out_code = code;
    return BRAID_OK;
}

braid_status braid_gpu_island_code_acquire(struct gpu_backend *gpu,
                                           const struct island_parts *parts,
                                           struct gpu_island_code **out_code)
{
    struct gpu_claim claim;
    braid_status status = BRAID_OK;
    char *key = parts_key(parts);
    if (!key)
        return braid_error_no_memory("the code of an island");
    braid_gpu_claim(gpu, &claim, hash_bytes(key, strlen(key)));
    struct gpu_island_code *code = find(gpu, key);
    if (code)
        braid_free(key);
    else
        status = create(gpu, parts, key, &code);
    braid_gpu_end_claim(gpu, &claim);
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

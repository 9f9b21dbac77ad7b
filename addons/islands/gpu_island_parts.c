// SPDX-License-Identifier: Apache-2.0
// The parts of an island's code: the text of its walker, and its kernels as blocks.
#include "islands/gpu_island_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "islands/gpu_island_text.h"
#include "islands/gpu_ptx_callable.h"

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
    free(*text);
    *text = NULL;
    return false;
}

static char *write_note(const struct island_kernel *kernel)
{
    char *note = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&note, &bytes);
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
    FILE *file = open_memstream(&block->block, &bytes);
    if (!file)
        return false;
    bool written =
        braid_ptx_write_callable(&maker->symbols, maker->kernels[index].entry, &maker->site, file);
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
                     ? open_memstream(&parts->needed[module], &bytes)
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
        free(parts->blocks[i].block);
        free(parts->blocks[i].note);
    }
    for (uint32_t i = 0; parts->needed && i < parts->num_modules; i++)
        free(parts->needed[i]);
    free(parts->walker);
    free(parts->blocks);
    free(parts->needed);
    *parts = (struct island_parts){ 0 };
}

char *braid_island_parts_key(const struct island_parts *parts)
{
    char *key = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&key, &bytes);
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

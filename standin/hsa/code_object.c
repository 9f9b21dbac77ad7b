// SPDX-License-Identifier: Apache-2.0
// Loads gfx90a code objects: ELF images of which only symbols, kernel descriptors and metadata
// count.
#include "hsa_standin.h"
#include "metadata.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_AMDGPU = 224,
    NOTE_AMDGPU_METADATA = 32,
    PAGE_BYTES = 4096,
};

// What hsa_code_object_reader_t points to. The bytes stay the caller's.
struct reader {
    const char *bytes;
    size_t num_bytes;
};

struct symbol {
    char *name; // a kernel's ends in ".kd"
    bool is_kernel;
    void *address;
    uint32_t num_bytes;
    uint32_t kernarg_bytes;
    uint32_t private_bytes;
    struct loaded_kernel kernel;
};

// What hsa_executable_t points to: one loaded code object, or none yet.
struct executable {
    char *image;
    struct symbol *symbols;
    size_t num_symbols;
};

// The start of a kernel descriptor, as LLVM's AMDGPU documentation lays it out.
struct kernel_descriptor {
    uint32_t group_bytes;
    uint32_t private_bytes;
    uint32_t kernarg_bytes;
};

hsa_status_t hsa_code_object_reader_create_from_memory(const void *bytes, size_t num_bytes,
                                                       hsa_code_object_reader_t *out_reader)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *reader = (struct reader){ bytes, num_bytes };
    out_reader->handle = (uintptr_t)reader;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader)
{
    free((struct reader *)(uintptr_t)reader.handle);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_create_alt(hsa_profile_t profile,
                                       hsa_default_float_rounding_mode_t mode, const char *options,
                                       hsa_executable_t *out_executable)
{
    (void)profile;
    (void)mode;
    (void)options;
    struct executable *executable = calloc(1, sizeof(*executable));
    if (!executable)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    out_executable->handle = (uintptr_t)executable;
    return HSA_STATUS_SUCCESS;
}

static void unload(struct executable *executable)
{
    for (size_t i = 0; i < executable->num_symbols; i++) {
        free(executable->symbols[i].name);
        free(executable->symbols[i].kernel.name);
        free(executable->symbols[i].kernel.argument_offsets);
    }
    free(executable->symbols);
    free(executable->image);
    *executable = (struct executable){ NULL, NULL, 0 };
}

hsa_status_t hsa_executable_destroy(hsa_executable_t handle)
{
    struct executable *executable = (struct executable *)(uintptr_t)handle.handle;
    unload(executable);
    free(executable);
    return HSA_STATUS_SUCCESS;
}

static bool in_file(const struct reader *file, uint64_t offset, uint64_t num_bytes)
{
    return offset <= file->num_bytes && num_bytes <= file->num_bytes - offset;
}

// The ELF header, or NULL if this is no AMDGPU ELF file with whole header tables.
static const Elf64_Ehdr *elf_header(const struct reader *file)
{
    const Elf64_Ehdr *header = (const void *)file->bytes;
    if (file->num_bytes < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != MACHINE_AMDGPU)
        return NULL;
    if (!in_file(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)) ||
        !in_file(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return NULL;
    return header;
}

// Copies the loadable segments to where their addresses, counted from the image's start, say.
// Relocations are not applied: no code of the image ever runs.
static char *load_image(const struct reader *file, const Elf64_Ehdr *header,
                        uint64_t *out_num_bytes)
{
    const Elf64_Phdr *segments = (const void *)(file->bytes + header->e_phoff);
    uint64_t num_bytes = 0;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t end = segment->p_vaddr + segment->p_memsz;
        if (!in_file(file, segment->p_offset, segment->p_filesz) || end < segment->p_vaddr ||
            segment->p_filesz > segment->p_memsz || end > UINT32_MAX)
            return NULL;
        if (end > num_bytes)
            num_bytes = end;
    }
    num_bytes = (num_bytes + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;
    char *image = aligned_alloc(PAGE_BYTES, num_bytes);
    if (!image)
        return NULL;
    memset(image, 0, num_bytes);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD)
            memcpy(image + segments[i].p_vaddr, file->bytes + segments[i].p_offset,
                   segments[i].p_filesz);
    *out_num_bytes = num_bytes;
    return image;
}

// Finds the metadata's note. Returns NULL if there is none.
static const char *find_metadata(const struct reader *file, const Elf64_Ehdr *header,
                                 size_t *out_num_bytes)
{
    const Elf64_Shdr *sections = (const void *)(file->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        uint64_t offset = sections[i].sh_offset;
        if (sections[i].sh_type != SHT_NOTE || !in_file(file, offset, sections[i].sh_size))
            continue;
        uint64_t end = offset + sections[i].sh_size;
        while (end - offset >= sizeof(Elf64_Nhdr)) {
            const Elf64_Nhdr *note = (const void *)(file->bytes + offset);
            uint64_t text = offset + sizeof(*note) + (note->n_namesz + 3ull) / 4 * 4;
            if (text > end || note->n_descsz > end - text)
                break;
            if (note->n_type == NOTE_AMDGPU_METADATA) {
                *out_num_bytes = note->n_descsz;
                return file->bytes + text;
            }
            offset = text + (note->n_descsz + 3ull) / 4 * 4;
            if (offset > end)
                break;
        }
    }
    return NULL;
}

// dlsym gives an object pointer; copying it is how POSIX and ISO C can both be kept.
static standin_kernel find_function(const char *kernel_name)
{
    standin_kernel function = standin_builtin_kernel(kernel_name);
    if (function)
        return function;
    char name[512];
    int length = snprintf(name, sizeof(name), "braid_standin_%s", kernel_name);
    if (length < 0 || (size_t)length >= sizeof(name))
        return NULL;
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(&function, &address, sizeof(function));
    return function;
}

// Fills in what only kernels have. `symbol` has its name, address and size.
static bool describe_kernel(struct symbol *symbol, const char *metadata, size_t num_metadata_bytes)
{
    struct loaded_kernel *kernel = &symbol->kernel;
    struct kernel_descriptor descriptor;
    if (symbol->num_bytes < sizeof(descriptor))
        return false;
    memcpy(&descriptor, symbol->address, sizeof(descriptor));
    symbol->is_kernel = true;
    symbol->kernarg_bytes = descriptor.kernarg_bytes;
    symbol->private_bytes = descriptor.private_bytes;
    kernel->static_shared_bytes = descriptor.group_bytes;
    kernel->name = strndup(symbol->name, strlen(symbol->name) - strlen(".kd"));
    if (!kernel->name)
        return false;
    // Without a description of its arguments a kernel can be found but not run.
    if (metadata &&
        standin_metadata_find_arguments(metadata, num_metadata_bytes, symbol->name,
                                        &kernel->argument_offsets, &kernel->num_arguments))
        kernel->function = find_function(kernel->name);
    return true;
}

static bool is_kernel_name(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".kd") == 0;
}

// The dynamic symbols of an ELF file: the symbols, their number, and the table of their names.
struct symbol_table {
    const Elf64_Sym *entries;
    size_t num_entries;
    const char *names;
    uint64_t num_name_bytes;
};

static bool find_symbol_table(const struct reader *file, const Elf64_Ehdr *header,
                              struct symbol_table *out_table)
{
    const Elf64_Shdr *sections = (const void *)(file->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type != SHT_DYNSYM || section->sh_link >= header->e_shnum)
            continue;
        const Elf64_Shdr *names = &sections[section->sh_link];
        if (!in_file(file, section->sh_offset, section->sh_size) ||
            !in_file(file, names->sh_offset, names->sh_size) || names->sh_size == 0 ||
            file->bytes[names->sh_offset + names->sh_size - 1] != '\0')
            return false;
        *out_table = (struct symbol_table){
            (const void *)(file->bytes + section->sh_offset),
            section->sh_size / sizeof(Elf64_Sym),
            file->bytes + names->sh_offset,
            names->sh_size,
        };
        return true;
    }
    return false;
}

static bool load_symbols(struct executable *executable, uint64_t image_bytes,
                         const struct reader *file, const Elf64_Ehdr *header)
{
    struct symbol_table table;
    if (!find_symbol_table(file, header, &table))
        return false;
    size_t num_metadata_bytes = 0;
    bool reads_grid = false; // Braid has changed the source so
    const char *metadata = find_metadata(file, header, &num_metadata_bytes);
    executable->symbols = calloc(table.num_entries + 1, sizeof(*executable->symbols));
    if (!executable->symbols)
        return false;
    for (size_t i = 0; i < table.num_entries; i++) {
        const Elf64_Sym *entry = &table.entries[i];
        if (ELF64_ST_TYPE(entry->st_info) != STT_OBJECT)
            continue;
        if (entry->st_name >= table.num_name_bytes || entry->st_value > image_bytes ||
            entry->st_size > image_bytes - entry->st_value)
            return false;
        struct symbol *symbol = &executable->symbols[executable->num_symbols++];
        symbol->name = strdup(table.names + entry->st_name);
        symbol->address = executable->image + entry->st_value;
        symbol->num_bytes = (uint32_t)entry->st_size;
        if (!symbol->name)
            return false;
        if (is_kernel_name(symbol->name) && !describe_kernel(symbol, metadata, num_metadata_bytes))
            return false;
        reads_grid |= strcmp(symbol->name, "braid_grid_is_read") == 0;
    }
    for (size_t i = 0; i < executable->num_symbols; i++)
        executable->symbols[i].kernel.reads_grid = reads_grid;
    return true;
}

hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle, hsa_agent_t agent,
                                                   hsa_code_object_reader_t reader,
                                                   const char *options,
                                                   hsa_loaded_code_object_t *out_loaded)
{
    (void)agent;
    (void)options;
    struct executable *executable = (struct executable *)(uintptr_t)handle.handle;
    const struct reader *file = (const struct reader *)(uintptr_t)reader.handle;
    const Elf64_Ehdr *header = elf_header(file);
    uint64_t image_bytes = 0;
    if (!header || executable->image)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    executable->image = load_image(file, header, &image_bytes);
    if (!executable->image || !load_symbols(executable, image_bytes, file, header)) {
        unload(executable);
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    }
    if (out_loaded)
        out_loaded->handle = handle.handle;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
    (void)executable;
    (void)options;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t executable,
                                                         hsa_agent_t agent, const char *name,
                                                         void *address)
{
    (void)executable;
    (void)agent;
    (void)name;
    (void)address;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char *name,
                                               const hsa_agent_t *agent,
                                               hsa_executable_symbol_t *out_symbol)
{
    (void)agent;
    struct executable *executable = (struct executable *)(uintptr_t)handle.handle;
    for (size_t i = 0; i < executable->num_symbols; i++) {
        if (strcmp(executable->symbols[i].name, name) == 0) {
            out_symbol->handle = (uintptr_t)&executable->symbols[i];
            return HSA_STATUS_SUCCESS;
        }
    }
    return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
}

hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle,
                                            hsa_executable_symbol_info_t attribute, void *out_value)
{
    struct symbol *symbol = (struct symbol *)(uintptr_t)handle.handle;
    switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
        *(hsa_symbol_kind_t *)out_value =
            symbol->is_kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
        *(uint32_t *)out_value = symbol->num_bytes;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
        *(uint64_t *)out_value = (uintptr_t)symbol->address;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
        *(uint64_t *)out_value = (uintptr_t)&symbol->kernel;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        *(uint32_t *)out_value = symbol->kernarg_bytes;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        *(uint32_t *)out_value = symbol->kernel.static_shared_bytes;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        *(uint32_t *)out_value = symbol->private_bytes;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
        *(bool *)out_value = false;
        return HSA_STATUS_SUCCESS;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

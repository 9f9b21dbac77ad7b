// SPDX-License-Identifier: Apache-2.0
// Which architectures a HIP code object is for: hipModuleLoadData aborts the process when it is
// given a bundle without the device's.
#include "backends/hip/hip_vendor.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "base/error.h"

// A bundle begins with the magic and the number of entries; an entry is an offset, a size, the
// length of its id, and the id: "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-". All numbers have 64 bits.
static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

enum {
    BUNDLE_MAGIC_BYTES = sizeof(bundle_magic) - 1,
    BUNDLE_ENTRY_BYTES = 24,
    BUNDLE_MAX_ENTRIES = 1024,
    ELF_MACHINE_OFFSET = 18,
    ELF_FLAGS_OFFSET = 48,
    ELF_MACHINE_AMDGPU = 224,
    ELF_FLAGS_ARCHITECTURE = 0xff,
};

// EF_AMDGPU_MACH of the LLVM AMDGPU ABI. An architecture that is not here is left to the runtime.
struct machine {
    uint32_t flag;
    const char *name;
};

static const struct machine machines[] = {
    { 0x2c, "gfx900" },  { 0x2d, "gfx902" },  { 0x2e, "gfx904" },  { 0x2f, "gfx906" },
    { 0x30, "gfx908" },  { 0x31, "gfx909" },  { 0x32, "gfx90c" },  { 0x3f, "gfx90a" },
    { 0x40, "gfx940" },  { 0x4b, "gfx941" },  { 0x4c, "gfx942" },  { 0x33, "gfx1010" },
    { 0x34, "gfx1011" }, { 0x35, "gfx1012" }, { 0x36, "gfx1030" }, { 0x37, "gfx1031" },
    { 0x38, "gfx1032" }, { 0x39, "gfx1033" }, { 0x3e, "gfx1034" }, { 0x3d, "gfx1035" },
    { 0x45, "gfx1036" }, { 0x41, "gfx1100" }, { 0x46, "gfx1101" }, { 0x47, "gfx1102" },
    { 0x44, "gfx1103" }, { 0x48, "gfx1200" }, { 0x4e, "gfx1201" },
};

static uint64_t read_u64(const char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

// The length of a name up to its features.
static size_t base_length(const char *name, size_t length)
{
    const char *colon = memchr(name, ':', length);
    return colon ? (size_t)(colon - name) : length;
}

static bool same_base(const char *a, size_t a_length, const char *b)
{
    size_t length = base_length(a, a_length);
    return length == base_length(b, strlen(b)) && memcmp(a, b, length) == 0;
}

// The architecture in an entry's id: what stands after the last '-' that is not a feature's.
static const char *find_name(const char *id, size_t length, size_t *out_length)
{
    size_t end = base_length(id, length), start = end;
    while (start > 0 && id[start - 1] != '-')
        start--;
    *out_length = length - start;
    return id + start;
}

static void append_name(char *found, size_t size, const char *name, size_t length)
{
    size_t used = strlen(found);
    snprintf(found + used, size - used, "%s%.*s", used ? ", " : "", (int)length, name);
}

static braid_status find_in_bundle(const char *image, const char *architecture, char *found,
                                   size_t found_size)
{
    uint64_t num = read_u64(image + BUNDLE_MAGIC_BYTES);
    const char *entry = image + BUNDLE_MAGIC_BYTES + sizeof(num);
    for (uint64_t i = 0; i < num && i < BUNDLE_MAX_ENTRIES; i++) {
        size_t length = (size_t)read_u64(entry + 16), name_length;
        const char *id = entry + BUNDLE_ENTRY_BYTES;
        const char *name = find_name(id, length, &name_length);
        entry = id + length;
        if (length < 4 || strncmp(id, "host", 4) == 0)
            continue;
        if (same_base(name, name_length, architecture))
            return BRAID_OK;
        append_name(found, found_size, name, name_length);
    }
    return BRAID_UNSUPPORTED;
}

static braid_status find_in_elf(const char *image, const char *architecture, char *found,
                                size_t found_size)
{
    uint16_t machine;
    uint32_t flags;
    memcpy(&machine, image + ELF_MACHINE_OFFSET, sizeof(machine));
    memcpy(&flags, image + ELF_FLAGS_OFFSET, sizeof(flags));
    if (machine != ELF_MACHINE_AMDGPU) {
        snprintf(found, found_size, "another kind of machine (%u)", machine);
        return BRAID_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        const char *name = machines[i].name;
        if (machines[i].flag != (flags & ELF_FLAGS_ARCHITECTURE))
            continue;
        if (same_base(name, strlen(name), architecture))
            return BRAID_OK;
        append_name(found, found_size, name, strlen(name));
        return BRAID_UNSUPPORTED;
    }
    return BRAID_OK;
}

braid_status braid_hip_find_architecture(const void *image, const char *architecture, char *found,
                                         size_t found_size)
{
    const char *bytes = image;
    *found = '\0';
    if (strncmp(bytes, bundle_magic, BUNDLE_MAGIC_BYTES) == 0)
        return find_in_bundle(bytes, architecture, found, found_size);
    if (strncmp(bytes, "\177ELF", 4) == 0)
        return find_in_elf(bytes, architecture, found, found_size);
    return BRAID_OK; // another format: the runtime refuses what it does not know
}

braid_status braid_hip_check_image(const struct gpu_backend *gpu, const braid_kernel *kernel,
                                   const void *image)
{
    char found[200];
    // A runtime that is not AMD's own names no AMD architecture, and knows its own images.
    if (strncmp(gpu->architecture, "gfx", 3) != 0)
        return BRAID_OK;
    braid_status status =
        braid_hip_find_architecture(image, gpu->architecture, found, sizeof(found));
    if (status)
        return braid_error(status, "the image of kernel '%s' has no code for %s (%s): it has %s",
                           kernel->name, gpu->label, gpu->architecture, *found ? found : "none");
    return BRAID_OK;
}

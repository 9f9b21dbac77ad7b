// SPDX-License-Identifier: Apache-2.0
// Which architectures a HIP code object is for: hipModuleLoadData aborts the process when it is
// given a bundle without the device's.
#include "backends/hip/hip_vendor.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "base/append.h"
#include "base/error.h"

// A bundle begins with the magic and the number of entries. An entry is an offset, a size, the
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
    ELF_ABI_VERSION_OFFSET = 8,
    ELF_ABI_VERSION_FEATURES = 2, // from code object version 4 on, the flags tell the features so
    ELF_FEATURE_OFF = 2,
    ELF_FEATURE_ON = 3,
};

// Where the flags have a feature: two bits.
struct feature {
    const char *name;
    unsigned shift;
};

static const struct feature features[] = { { "sramecc", 10 }, { "xnack", 8 } };

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

// Whether a name states the feature: ":xnack+" is somewhere behind its base.
static bool has_feature(const char *name, const char *feature, size_t feature_length)
{
    for (const char *at = strchr(name, ':'); at; at = strchr(at + 1, ':')) {
        size_t length = strcspn(at + 1, ":");
        if (length == feature_length && memcmp(at + 1, feature, length) == 0)
            return true;
    }
    return false;
}

// Code runs where the device has all features that it states; one that it does not state may be
// either.
static bool runs_on(const char *name, size_t length, const char *architecture)
{
    if (!same_base(name, length, architecture))
        return false;
    size_t start = base_length(name, length);
    while (start < length) {
        const char *feature = name + start + 1;
        size_t left = length - start - 1, feature_length = base_length(feature, left);
        if (!has_feature(architecture, feature, feature_length))
            return false;
        start += 1 + feature_length;
    }
    return true;
}

// Whether the name is of no one architecture: "gfx9-4-generic", "amdgcnspirv".
static bool is_generic(const char *name, size_t length)
{
    static const char *const words[] = { "generic", "spirv" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t word_length = strlen(words[i]), base = base_length(name, length);
        if (base >= word_length && memcmp(name + base - word_length, words[i], word_length) == 0)
            return true;
    }
    return false;
}

static const char *find_last(const char *text, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (size_t start = length; start-- > 0;) {
        if (length - start >= word_length && memcmp(text + start, word, word_length) == 0)
            return text + start;
    }
    return NULL;
}

// The architecture in an entry's id: from the last "gfx" on, since names of generic ones have '-'
// inside. In an id without "gfx", it is the text behind the last '-' that is not a feature's.
static const char *find_name(const char *id, size_t length, size_t *out_length)
{
    size_t end = base_length(id, length);
    const char *name = find_last(id, end, "gfx");
    const char *dash = find_last(id, end, "-");
    if (!name)
        name = dash ? dash + 1 : id;
    *out_length = length - (size_t)(name - id);
    return name;
}

static void append_name(char *found, size_t size, const char *name, size_t length)
{
    // From which version on HIP loads those is not known to Braid, and older ones abort.
    const char *note = is_generic(name, length) ? " (generic code is not supported)" : "";
    braid_append(found, size, "%s%.*s%s", *found ? ", " : "", (int)length, name, note);
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
        if (runs_on(name, name_length, architecture))
            return BRAID_OK;
        append_name(found, found_size, name, name_length);
    }
    return BRAID_UNSUPPORTED;
}

// The name of an ELF file's architecture with the features that its flags state.
static void name_with_features(const char *image, uint32_t flags, const char *base, char *name,
                               size_t size)
{
    snprintf(name, size, "%s", base);
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        uint32_t state = flags >> features[i].shift & 3;
        if (image[ELF_ABI_VERSION_OFFSET] >= ELF_ABI_VERSION_FEATURES && state >= ELF_FEATURE_OFF)
            braid_append(name, size, ":%s%c", features[i].name,
                         state == ELF_FEATURE_ON ? '+' : '-');
    }
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
        char name[64];
        if (machines[i].flag != (flags & ELF_FLAGS_ARCHITECTURE))
            continue;
        name_with_features(image, flags, machines[i].name, name, sizeof(name));
        if (runs_on(name, strlen(name), architecture))
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
    return BRAID_OK; // another format: the runtime refuses unknown ones
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

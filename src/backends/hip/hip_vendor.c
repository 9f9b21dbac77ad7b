// SPDX-License-Identifier: Apache-2.0
// HIP: library names, devices, attribute numbers, limits of its versions, and the driver's row in
// the table of backends.
#include "backends/hip/hip_vendor.h"

#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "base/append.h"
#include "base/error.h"

// ---- which architectures a code object is for ----

// hipModuleLoadData aborts the process when it is given a bundle without the device's.

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

// Whether the image has code for the backend's architecture, as far as its format is known: loading
// one that has none would abort the process.
static braid_status check_image(const struct gpu_backend *gpu, const braid_kernel *kernel,
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

// ---- the vendor ----

// Only development packages have the plain name.
static const char *const libraries[] = {
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL,
};

static const char *const compiler_libraries[] = {
    "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", NULL,
};

// hipRuntimeGetVersion: major * 10000000 + minor * 100000 + patch.
enum {
    DEFAULT_LANES = 4,               // hardware queues that a process gets by default
    VERSION_MEMORY_TYPES = 60000000, // see find_memory
    PROPERTIES_BYTES = 8192,         // more than hipDeviceProp_t of any version has
};

// hipMemoryType: of versions before 6, and since.
enum { HIP_5_HOST = 0, HIP_HOST = 1 };

enum { HIP_INVALID_DEVICE_POINTER = 17 };

static gpu_result enter(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    gpu_result result = gpu->api->device_get_current(&scope->device);
    int wanted = (int)gpu->info.ordinal;
    if (result || scope->device == wanted)
        return result;
    result = gpu->api->device_set_current(wanted);
    scope->changed = result == GPU_SUCCESS;
    return result;
}

static gpu_result leave(const struct gpu_backend *gpu, const struct gpu_scope *scope,
                        const void **out_slot)
{
    *out_slot = &gpu->api->device_set_current;
    return gpu->api->device_set_current(scope->device);
}

static void describe(const struct gpu_api *api, gpu_result result, const char **out_name,
                     const char **out_text)
{
    *out_name = api->hip_error_name(result);
    *out_text = api->hip_error_string(result);
    // HIP 5 gives the name as the text as well.
    if (*out_name && *out_text && strcmp(*out_name, *out_text) == 0)
        *out_text = NULL;
}

static braid_status open_device(struct gpu_backend *gpu)
{
    static const char what[] = "opening the device";
    gpu_result result = gpu->api->runtime_version(&gpu->version);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->runtime_version, what);
    result = gpu->api->device_get(&gpu->device, (int)gpu->info.ordinal);
    return braid_gpu_check(gpu, result, &gpu->api->device_get, what);
}

// No attribute tells the architecture's full name; hipGetDeviceProperties does, in a struct whose
// layout changed between versions. The name is looked for in its bytes instead of at an offset.
static const char *find_architecture(const char *bytes, size_t size)
{
    for (size_t i = 0; i + 4 < size; i++) {
        bool at_start = i == 0 || bytes[i - 1] == '\0';
        if (at_start && (strncmp(bytes + i, "gfx", 3) == 0 || strncmp(bytes + i, "sm_", 3) == 0))
            return bytes + i;
    }
    return NULL;
}

static braid_status read_architecture(struct gpu_backend *gpu)
{
    _Alignas(16) char properties[PROPERTIES_BYTES] = { 0 };
    if (!gpu->api->device_properties)
        return BRAID_OK; // not known
    gpu_result result = gpu->api->device_properties(properties, (int)gpu->info.ordinal);
    if (result == GPU_NOT_SUPPORTED)
        return BRAID_OK; // not known either
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->device_properties,
                               "reading the device's architecture");
    const char *name = find_architecture(properties, sizeof(properties) - 64);
    snprintf(gpu->architecture, sizeof(gpu->architecture), "%.63s", name ? name : "");
    return BRAID_OK;
}

// Whether the runtime knows the address at all. It must be asked first: hipPointerGetAttribute of
// 5.2.3 may crash where it does not.
static gpu_result find_range(const struct gpu_backend *gpu, const void *memory, bool *out_known)
{
    void *base = NULL;
    size_t bytes = 0;
    gpu_result result = gpu->api->hip_address_range(&base, &bytes, (void *)(uintptr_t)memory);
    bool unknown = result == HIP_INVALID_DEVICE_POINTER || result == GPU_INVALID_VALUE ||
                   result == GPU_NOT_FOUND;
    *out_known = result == GPU_SUCCESS;
    return unknown ? GPU_SUCCESS : result;
}

// The numbers of the types are others since version 6. Errors that do not mean "not known" say
// nothing of the memory.
static gpu_result find_memory(const struct gpu_backend *gpu, const void *memory,
                              enum gpu_memory_kind *out_kind, const void **out_slot)
{
    int type = 0;
    bool known = false;
    *out_kind = GPU_ELSEWHERE;
    if (!gpu->api->hip_address_range || !gpu->api->pointer_attribute)
        return GPU_SUCCESS;
    *out_slot = &gpu->api->hip_address_range;
    gpu_result result = find_range(gpu, memory, &known);
    if (result || !known) {
        *out_kind = GPU_PAGEABLE;
        return result;
    }
    *out_slot = &gpu->api->pointer_attribute;
    result = gpu->api->pointer_attribute(&type, GPU_POINTER_MEMORY_TYPE, (void *)(uintptr_t)memory);
    if (type == (gpu->version < VERSION_MEMORY_TYPES ? HIP_5_HOST : HIP_HOST))
        *out_kind = GPU_PINNED;
    return result;
}

static gpu_result copy(const struct gpu_backend *gpu, const struct work_copy *copy,
                       gpu_stream stream, const void **out_slot)
{
    *out_slot = &gpu->api->hip_copy;
    return gpu->api->hip_copy(copy->to, copy->from, copy->bytes, GPU_COPY_DEFAULT, stream);
}

// HIP 5.2 declares hipLaunchHostFunc and does not export it.
static gpu_result host_call(struct gpu_backend *gpu, gpu_stream stream, gpu_host_function *call,
                            void *user, const void **out_slot)
{
    *out_slot = &gpu->api->host_call;
    if (gpu->api->host_call)
        return gpu->api->host_call(stream, call, user);
    *out_slot = &gpu->api->stream_callback;
    return braid_gpu_host_call_by_callback(gpu, stream, call, user);
}

// Not measured: no AMD device was at hand. The lanes are as many as a process has hardware queues.
static void cost_model(const struct gpu_backend *gpu, braid_cost_model *out_model)
{
    (void)gpu;
    *out_model = (braid_cost_model){
        .default_cost_ns = 5000,
        .node_ns = 1500,
        .wait_ns = 2500,
        .root_ns = 500,
        .max_concurrent = DEFAULT_LANES,
    };
}

const struct gpu_vendor braid_gpu_hip = {
    .index = GPU_HIP,
    .name = "hip",
    .libraries = libraries,
    .compiler_libraries = compiler_libraries,
    // hipDeviceAttribute_t
    .attributes = {
        [GPU_MAX_THREADS] = 56,
        [GPU_MAX_BLOCK_X] = 26,
        [GPU_MAX_BLOCK_Y] = 27,
        [GPU_MAX_BLOCK_Z] = 28,
        [GPU_MAX_GRID_X] = 29,
        [GPU_MAX_GRID_Y] = 30,
        [GPU_MAX_GRID_Z] = 31,
        [GPU_MAX_SHARED] = 74,
        [GPU_NUM_UNITS] = 63,
        [GPU_UNIT_THREADS] = 57,
        [GPU_MAJOR] = 23,
        [GPU_MINOR] = 61,
        [GPU_MAX_SHARED_OPTIN] = GPU_NO_ATTRIBUTE,
        [GPU_CLUSTERS] = GPU_NO_ATTRIBUTE,
        [GPU_STREAM_WAITS] = 10013,
        [GPU_COOPERATIVE] = 10,
    },
    .players = braid_hip_players,
    // hip::Event::synchronize() keeps the event's lock until the event has happened. Recording it,
    // asking for it and making a stream wait for it take the same lock.
    .waiting_locks_events = true,
    .enter = enter,
    .leave = leave,
    .describe = describe,
    .open_device = open_device,
    .read_architecture = read_architecture,
    .check_image = check_image,
    .find_memory = find_memory,
    .fills_of_host_memory_wait = true, // the runtime writes such memory with the CPU
    .copy = copy,
    .host_call = host_call,
    // Before 5.4 a graph that is launched again in flight loses host nodes, and its launch may block
    // the host (seen with 5.2.3). Before 7.3 a node of more than four successors may lose edges
    // (ROCm/rocm-systems issue 11499).
    .why_no_graphs = "HIP's driver graphs lose edges or block in some versions",
    .stream_cost_model = cost_model,
};

const struct backend_driver braid_hip_driver = {
    .name = "hip",
    .own = &braid_gpu_hip,
    .query = braid_gpu_query,
    .find = braid_gpu_find,
    .open = braid_gpu_open,
};

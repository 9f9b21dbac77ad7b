// SPDX-License-Identifier: Apache-2.0
// Finds the tools that listen to ranges, as NVTX 3's headers do, and roctx's two functions.
#include "base/ranges.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/library.h"

// NVTX is a protocol, not a library (NVTX 3, nvtxDetail/nvtxTypes.h). The program calls the tool's
// InitializeInjectionNvtx2 with a function that hands out tables of slots for function pointers.
// The tool writes its own pointers there. Numbers of tables, modules and slots never change.
enum {
    TABLE_OF_CALLBACKS = 1,
    TABLE_OF_VERSION = 3,
    NVTX_VERSION = 3,
    MODULE_CORE = 1,
    MODULE_CORE2 = 5,
    NUM_SLOTS = 16, // each of these modules has so many, the first of which is none
    SLOT_DOMAIN_BEGIN = 4,
    SLOT_DOMAIN_END = 5,
    SLOT_CREATE_DOMAIN = 12,
    MESSAGE_IS_CHARS = 1,
};

typedef void any_function(void);

struct nvtx_callbacks {
    size_t bytes;
    int (*get_slots)(uint32_t module, any_function ****out_slots, uint32_t *out_num);
};

struct nvtx_version {
    size_t bytes;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
};

// nvtxEventAttributes_t.
struct nvtx_event {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
};

typedef const void *get_table_function(uint32_t table);
typedef int initialize_function(get_table_function *get_table);
typedef void *create_domain_function(const char *name);
typedef int begin_function(void *domain, const struct nvtx_event *event);
typedef int end_function(void *domain);
typedef int roctx_begin_function(const char *name);
typedef int roctx_end_function(void);

_Atomic(const struct range_tool *) braid_range_tools[RANGE_NUM_TOOLS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The functions that the tools wrote; constant once they are in braid_range_tools.
static any_function *core[NUM_SLOTS], *core2[NUM_SLOTS];
static any_function **core_slots[NUM_SLOTS], **core2_slots[NUM_SLOTS];
static void *nvtx_domain;
static begin_function *nvtx_begin;
static end_function *nvtx_end;
static roctx_begin_function *roctx_begin;
static roctx_end_function *roctx_end;

static void fill_slots(any_function ***slots, any_function **functions)
{
    for (int i = 1; i < NUM_SLOTS; i++)
        slots[i] = &functions[i];
}

static int get_slots(uint32_t module, any_function ****out_slots, uint32_t *out_num)
{
    if (module != MODULE_CORE && module != MODULE_CORE2)
        return 0;
    fill_slots(core_slots, core);
    fill_slots(core2_slots, core2);
    if (out_slots)
        *out_slots = module == MODULE_CORE ? core_slots : core2_slots;
    if (out_num)
        *out_num = NUM_SLOTS;
    return 1;
}

static void ignore_tool_version(uint32_t version)
{
    (void)version;
}

static const void *get_table(uint32_t table)
{
    static const struct nvtx_callbacks callbacks = { sizeof(callbacks), get_slots };
    static const struct nvtx_version version = { sizeof(version), NVTX_VERSION, 0,
                                                 ignore_tool_version };
    if (table == TABLE_OF_CALLBACKS)
        return &callbacks;
    return table == TABLE_OF_VERSION ? &version : NULL;
}

static void begin_nvtx(const char *name)
{
    const struct nvtx_event event = { .version = NVTX_VERSION,
                                      .bytes = sizeof(event),
                                      .message_type = MESSAGE_IS_CHARS,
                                      .message = name };
    (void)nvtx_begin(nvtx_domain, &event);
}

static void end_nvtx(void)
{
    (void)nvtx_end(nvtx_domain);
}

static void begin_roctx(const char *name)
{
    (void)roctx_begin(name);
}

static void end_roctx(void)
{
    (void)roctx_end();
}

// POSIX has functions among the addresses that dlsym returns; ISO C has not.
static any_function *find_function(void *library, const char *name)
{
    union {
        void *address;
        any_function *function;
    } found = { dlsym(library, name) };
    return found.function;
}

static bool open_nvtx(void)
{
    static const char name[] = "InitializeInjectionNvtx2";
    any_function *initialize = find_function(RTLD_DEFAULT, name);
    const char *path = secure_getenv("NVTX_INJECTION64_PATH");
    if (!initialize && path) {
        // It stays: its functions are called.
        void *library = braid_library_open(path, RTLD_LAZY | RTLD_LOCAL, NULL, 0);
        initialize = library ? find_function(library, name) : NULL;
    }
    if (!initialize || !((initialize_function *)initialize)(get_table))
        return false;
    nvtx_begin = (begin_function *)core2[SLOT_DOMAIN_BEGIN];
    nvtx_end = (end_function *)core2[SLOT_DOMAIN_END];
    if (!nvtx_begin || !nvtx_end)
        return false;
    if (core2[SLOT_CREATE_DOMAIN])
        nvtx_domain = ((create_domain_function *)core2[SLOT_CREATE_DOMAIN])("Braid");
    return true;
}

static bool open_roctx(void)
{
    static const char *const names[] = { "librocprofiler-sdk-roctx.so.1",
                                         "librocprofiler-sdk-roctx.so.0", "libroctx64.so.4" };
    any_function *begin = find_function(RTLD_DEFAULT, "roctxRangePushA");
    any_function *end = find_function(RTLD_DEFAULT, "roctxRangePop");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && (!begin || !end); i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        begin = library ? find_function(library, "roctxRangePushA") : NULL;
        end = library ? find_function(library, "roctxRangePop") : NULL;
    }
    roctx_begin = (roctx_begin_function *)begin;
    roctx_end = (roctx_end_function *)end;
    return begin && end;
}

static void find(bool *is_tried, bool (*open)(void), const struct range_tool *tool)
{
    pthread_mutex_lock(&lock);
    if (!*is_tried && open()) {
        int index = 0;
        while (atomic_load_explicit(&braid_range_tools[index], memory_order_relaxed))
            index++;
        atomic_store_explicit(&braid_range_tools[index], tool, memory_order_release);
    }
    *is_tried = true;
    pthread_mutex_unlock(&lock);
}

void braid_ranges_find_nvtx(void)
{
    static const struct range_tool nvtx = { begin_nvtx, end_nvtx };
    static bool is_tried;
    find(&is_tried, open_nvtx, &nvtx);
}

void braid_ranges_find_roctx(void)
{
    static const struct range_tool roctx = { begin_roctx, end_roctx };
    static bool is_tried;
    find(&is_tried, open_roctx, &roctx);
}

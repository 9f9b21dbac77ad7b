// SPDX-License-Identifier: Apache-2.0
// All that the recorder knows of the program: its modules, kernels, memory, contexts and events.
#include <elf.h>
#include <pthread.h>
#include <string.h>

#include "record/recorder.h"

struct recorder recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

void recorder_lock(void)
{
    pthread_mutex_lock(&recorder.lock);
}

void recorder_unlock(void)
{
    pthread_mutex_unlock(&recorder.lock);
}

static const void *key_of(word handle)
{
    return (const void *)(uintptr_t)handle;
}

void *recorder_row(struct array *array, uint32_t number, size_t bytes)
{
    return array->items ? (char *)array->items + number * bytes : NULL;
}

// ---- bytes ----

void *recorder_keep(const void *bytes, uint64_t num)
{
    char *copy = braid_store_take(&recorder.store, 1, num + 1);
    recorder.failed = recorder.failed || !copy;
    if (copy && num > 0)
        memcpy(copy, bytes, num);
    return copy;
}

const char *recorder_keep_text(const char *text)
{
    const char *copy = text && *text ? recorder_keep(text, strlen(text)) : "";
    return copy ? copy : "";
}

// ---- numbers ----

static uint32_t put(struct pointer_map *map, word handle, uint32_t number)
{
    braid_pointer_map_take(map, key_of(handle));
    if (!braid_pointer_map_reserve(map)) {
        recorder.failed = true;
        return BRAID_RECORD_NONE;
    }
    braid_pointer_map_put(map, key_of(handle), number);
    return number;
}

static uint32_t number(struct pointer_map *map, word handle, uint32_t *num)
{
    const uint32_t known = braid_pointer_map_get(map, key_of(handle));
    if (known != POINTER_MAP_NONE)
        return known;
    const uint32_t next = put(map, handle, *num);
    *num += next != BRAID_RECORD_NONE;
    return next;
}

// No context is one, too: the map takes no NULL.
uint32_t recorder_number_context(word context)
{
    return number(&recorder.context_of, context + 1, &recorder.num_contexts);
}

// The handle of a context. 0: it is none.
word recorder_find_context(uint32_t number)
{
    for (size_t i = 0; i < recorder.context_of.num_slots; i++) {
        const struct pointer_slot slot = recorder.context_of.slots[i];
        if (slot.key && slot.value == number)
            return POINTER(slot.key) - 1;
    }
    return 0;
}

uint32_t recorder_number_event(word event, uint32_t context)
{
    const uint32_t known = number(&recorder.event_of, event + 1, &recorder.num_events);
    const uint32_t none = BRAID_RECORD_NONE;
    bool has_room = true;
    while (recorder.context_of_event.num < recorder.num_events && has_room)
        has_room = braid_array_put(&recorder.context_of_event, &none, sizeof(none));
    recorder.failed = recorder.failed || !has_room;
    if (context != none && known < recorder.context_of_event.num)
        ((uint32_t *)recorder.context_of_event.items)[known] = context;
    return known;
}

// Threads read the number without the lock, where their program has ordered them.
void recorder_forget_handles(void)
{
    atomic_fetch_add_explicit(&recorder.generation, 1, memory_order_release);
}

void recorder_note_capture(word key, word context)
{
    put(&recorder.capture_of, key, recorder_number_context(context));
}

static void *append(struct array *array, size_t bytes, uint32_t *out_number)
{
    void *row = braid_array_append(array, 1, bytes);
    recorder.failed = recorder.failed || !row;
    *out_number = row ? (uint32_t)(array->num - 1) : BRAID_RECORD_NONE;
    return row;
}

// ---- modules ----

static uint64_t bytes_of_elf(const void *image)
{
    const Elf64_Ehdr *head = image;
    uint64_t end = head->e_shoff + (uint64_t)head->e_shnum * head->e_shentsize;
    const uint64_t segments = head->e_phoff + (uint64_t)head->e_phnum * head->e_phentsize;
    return end > segments ? end : segments;
}

// The text behind a fatbin's head, or behind a wrapper of one.
static const void *find_text(const void *image, braid_record_text_kind *out_kind, uint64_t *out_num)
{
    struct {
        uint32_t magic, version;
        const void *data;
    } wrapper;
    struct {
        uint32_t magic;
        uint16_t version, bytes;
        uint64_t rest;
    } fatbin;
    *out_kind = BRAID_RECORD_OTHER_TEXT;
    *out_num = 0;
    memcpy(&wrapper.magic, image, 4);
    if (wrapper.magic == 0x466243b1) {
        memcpy(&wrapper, image, sizeof(wrapper));
        return find_text(wrapper.data, out_kind, out_num);
    }
    if (wrapper.magic == 0xba55ed50) {
        memcpy(&fatbin, image, sizeof(fatbin));
        *out_kind = BRAID_RECORD_FATBIN;
        *out_num = fatbin.bytes + fatbin.rest;
    } else if (memcmp(image, ELFMAG, SELFMAG) == 0) {
        *out_kind = BRAID_RECORD_CUBIN;
        *out_num = bytes_of_elf(image);
    } else {
        *out_num = strlen(image);
        if (strstr(image, ".version"))
            *out_kind = BRAID_RECORD_PTX;
    }
    return image;
}

uint32_t recorder_add_module(word handle, bool is_library, word context, const char *file,
                             const void *image)
{
    uint32_t number;
    braid_record_module *module = append(&recorder.modules, sizeof(*module), &number);
    if (!module)
        return number;
    *module = (braid_record_module){
        .file = recorder_keep_text(file),
        .is_library = is_library,
        .context = is_library ? BRAID_RECORD_NONE : recorder_number_context(context),
    };
    if (image) {
        const void *text = find_text(image, &module->kind, &module->all_bytes);
        if (module->all_bytes <= recorder.most_text)
            module->text = recorder_keep(text, module->all_bytes);
        module->text_bytes = module->text ? module->all_bytes : 0;
    }
    return put(&recorder.module_of, handle, number);
}

void recorder_join_module(word handle, uint32_t module)
{
    put(&recorder.module_of, handle, module);
}

uint32_t recorder_find_module(word handle)
{
    return braid_pointer_map_get(&recorder.module_of, key_of(handle));
}

// ---- handles that go ----

uint32_t recorder_lose(struct pointer_map *map, word key, struct array *lost)
{
    const struct lost_handle row = { map, key, braid_pointer_map_take(map, key_of(key)) };
    if (row.number != POINTER_MAP_NONE && !braid_array_put(lost, &row, sizeof(row)))
        recorder.failed = true;
    return row.number;
}

word recorder_settle(struct array *lost, word answer)
{
    const struct lost_handle *rows = lost->items;
    for (size_t i = 0; i < lost->num && answer == SUCCEEDED; i++)
        if (rows[i].map == &recorder.capture_of)
            atomic_fetch_sub(&recorder.captures, 1);
    if (lost->num > 0 && answer != SUCCEEDED) {
        recorder_lock();
        for (size_t i = 0; i < lost->num; i++)
            put(rows[i].map, rows[i].key, rows[i].number);
        recorder_forget_handles();
        recorder_unlock();
    }
    braid_array_finish(lost);
    return answer;
}

typedef bool row_test(uint32_t row, uint32_t of);

// Forgets all handles of rows that pass the test. A key that moves comes to a slot that is looked
// at again, or later.
static void lose_rows(struct pointer_map *map, row_test *is_gone, uint32_t of, struct array *lost)
{
    for (size_t i = 0; i < map->num_slots; i++)
        while (map->slots[i].key && is_gone(map->slots[i].value, of))
            recorder_lose(map, POINTER(map->slots[i].key), lost);
}

static bool is_row(uint32_t row, uint32_t of)
{
    return row == of;
}

static uint32_t module_of_kernel(uint32_t kernel)
{
    return ((const braid_record_kernel *)recorder.kernels.items)[kernel].module;
}

static bool is_kernel_of_module(uint32_t kernel, uint32_t module)
{
    return module_of_kernel(kernel) == module;
}

static bool is_module_of_context(uint32_t module, uint32_t context)
{
    return ((const braid_record_module *)recorder.modules.items)[module].context == context;
}

// Libraries have no context, but functions of their kernels have. Nobody knows which. The same
// holds for functions without a module that is known.
static bool is_kernel_of_context(uint32_t kernel, uint32_t context)
{
    const uint32_t module = module_of_kernel(kernel);
    return module == BRAID_RECORD_NONE || is_module_of_context(module, context) ||
           is_module_of_context(module, BRAID_RECORD_NONE);
}

static bool is_stream_of_context(uint32_t stream, uint32_t context)
{
    return ((const braid_record_stream *)recorder.streams.items)[stream].context == context;
}

static bool is_event_of_context(uint32_t event, uint32_t context)
{
    return event < recorder.context_of_event.num && // else memory ran out
           ((const uint32_t *)recorder.context_of_event.items)[event] == context;
}

static const braid_record_allocation *allocation(uint32_t memory)
{
    return recorder_row(&recorder.allocations, memory, sizeof(braid_record_allocation));
}

static bool is_variable_of_module(uint32_t memory, uint32_t module)
{
    return allocation(memory)->kind == BRAID_RECORD_VARIABLE &&
           allocation(memory)->module == module;
}

// Pools and mappings outlive the context.
static bool is_memory_of_context(uint32_t memory, uint32_t context)
{
    const braid_record_memory_kind kind = allocation(memory)->kind;
    return allocation(memory)->context == context && kind != BRAID_RECORD_POOL &&
           kind != BRAID_RECORD_MAPPED && kind != BRAID_RECORD_FOREIGN &&
           kind != BRAID_RECORD_OF_GRAPH;
}

void recorder_lose_memory_of(uint32_t module, uint32_t context, struct array *lost)
{
    if (module != BRAID_RECORD_NONE)
        lose_rows(&recorder.allocation_at, is_variable_of_module, module, lost);
    if (context != BRAID_RECORD_NONE)
        lose_rows(&recorder.allocation_at, is_memory_of_context, context, lost);
}

void recorder_lose_mappings(word begin, uint64_t bytes, struct array *lost)
{
    const struct pointer_map *map = &recorder.allocation_at;
    for (size_t i = 0; i < map->num_slots; i++)
        while (map->slots[i].key && POINTER(map->slots[i].key) - begin < bytes &&
               allocation(map->slots[i].value)->kind == BRAID_RECORD_MAPPED)
            recorder_lose(&recorder.allocation_at, POINTER(map->slots[i].key), lost);
}

void recorder_lose_module(uint32_t module, struct array *lost)
{
    lose_rows(&recorder.module_of, is_row, module, lost);
    lose_rows(&recorder.kernel_of, is_kernel_of_module, module, lost);
    recorder_forget_handles();
}

void recorder_lose_context(uint32_t context, struct array *lost)
{
    lose_rows(&recorder.kernel_of, is_kernel_of_context, context, lost);
    lose_rows(&recorder.module_of, is_module_of_context, context, lost);
    lose_rows(&recorder.stream_of, is_stream_of_context, context, lost);
    lose_rows(&recorder.event_of, is_event_of_context, context, lost);
    lose_rows(&recorder.capture_of, is_row, context, lost);
    lose_rows(&recorder.context_of, is_row, context, lost);
    recorder_lose_times(context, true);
    recorder_forget_handles();
}

// ---- kernels ----

uint32_t recorder_add_kernel(word handle, uint32_t module, const char *name)
{
    uint32_t number;
    braid_record_kernel *kernel = append(&recorder.kernels, sizeof(*kernel), &number);
    if (!kernel)
        return number;
    *kernel = (braid_record_kernel){
        .name = recorder_keep_text(name),
        .module = module,
        .num_parameters = BRAID_RECORD_NONE,
        .first_parameter = BRAID_RECORD_NONE, // nobody has asked the driver
    };
    return put(&recorder.kernel_of, handle, number);
}

void recorder_join_kernel(word handle, uint32_t kernel)
{
    put(&recorder.kernel_of, handle, kernel);
}

// ---- memory ----

// Before the record a row is used again, when its memory is freed.
uint32_t recorder_add_memory(const braid_record_allocation *allocation)
{
    uint32_t number;
    braid_record_allocation *row;
    if (recorder.free_allocations.num > 0) {
        number = ((uint32_t *)recorder.free_allocations.items)[--recorder.free_allocations.num];
        row = recorder_row(&recorder.allocations, number, sizeof(*row));
    } else {
        row = append(&recorder.allocations, sizeof(*row), &number);
    }
    if (!row)
        return number;
    *row = *allocation;
    row->born = row->freed_at = BRAID_RECORD_NONE;
    row->name = row->name ? row->name : "";
    put(&recorder.allocation_at, allocation->address, number);
    return number;
}

uint32_t recorder_find_memory(word address)
{
    return braid_pointer_map_get(&recorder.allocation_at, key_of(address));
}

// Before the record no operation that is kept has the memory, even if the first mark came after it.
void recorder_free_memory(uint32_t memory, uint32_t operation)
{
    braid_record_allocation *row = recorder_row(&recorder.allocations, memory, sizeof(*row));
    if (operation != BRAID_RECORD_NONE)
        row->freed_at = operation;
    else if (recorder.keeps_rows)
        row->born = BRAID_RECORD_NONE - 1; // after all operations
    else if (!is_recording() &&
             !braid_array_put(&recorder.free_allocations, &memory, sizeof(memory)))
        recorder.failed = true;
}

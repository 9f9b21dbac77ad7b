// SPDX-License-Identifier: Apache-2.0
// Makes a recorded frame one that can run again, where its memory is at the recorded addresses.
//
// No pointer moves. The program's own functions are taken where it gives them. Other functions come
// from the texts of their modules. Pageable memory of the program may be gone, and only copies
// touch it. Each copy gets a place in memory of the import, with the bytes that the record has.
#include "import/rerun.h"

#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"

enum { ALIGNMENT = 256 };

static const char too_large[] = "it has more bytes than there can be";

struct rerunner {
    struct captured_graph *captured;
    const struct import_memory *memory;
    const braid_import_options *options;
    const braid_record_contents *record;
    const struct gpu_api *api;
    struct import_rerun *rerun;
    bool is_last_walk;   // over the copies
    uint64_t num_staged; // bytes of the staging so far; without staging they are only counted
};

static braid_status refuse(const struct captured_node *node, const char *why)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s of the record, a %s, cannot run again: %s",
                       node->place, braid_captured_kind(node->type), why);
}

// ---- functions ----

static braid_status load_module(const struct rerunner *rerunner, uint32_t module)
{
    const braid_record_module *of = &rerunner->record->modules[module];
    const struct gpu_backend *gpu = rerunner->rerun->gpu;
    gpu_module *handle = &rerunner->rerun->modules[module];
    if (*handle)
        return BRAID_OK;
    // Bytes of a record are not aligned, and drivers read a cubin by words.
    void *image = braid_allocate(of->text_bytes + 1);
    if (!image)
        return braid_error_no_memory("a module of a record");
    memcpy(image, of->text, of->text_bytes);
    ((char *)image)[of->text_bytes] = '\0';
    const gpu_result result = rerunner->api->module_load(handle, image);
    braid_free(image);
    return braid_gpu_check(gpu, result, &rerunner->api->module_load, "loading a recorded module");
}

// The most dynamic shared memory that the program allowed it.
static braid_status allow_memory(const struct rerunner *rerunner, const braid_record_kernel *kernel,
                                 gpu_function function)
{
    const struct gpu_api *api = rerunner->api;
    const struct gpu_backend *gpu = rerunner->rerun->gpu;
    int now = 0;
    braid_status status =
        braid_gpu_check(gpu, api->function_get(&now, GPU_FUNCTION_MAX_DYNAMIC_SHARED, function),
                        &api->function_get, "asking for the shared memory of a recorded kernel");
    if (status || now >= (int)kernel->dynamic_shared_bytes)
        return status;
    return braid_gpu_check(gpu,
                           api->function_set(function, GPU_FUNCTION_MAX_DYNAMIC_SHARED,
                                             (int)kernel->dynamic_shared_bytes),
                           &api->function_set, "allowing shared memory of a recorded kernel");
}

static braid_status find_function(const struct rerunner *rerunner, const struct captured_node *node)
{
    const braid_record_kernel *kernel = &rerunner->record->kernels[node->recorded->kernel];
    struct captured_function *function =
        (struct captured_function *)rerunner->captured->functions.items + node->kernel.function;
    const braid_import_options *options = rerunner->options;
    if (node->recorded->kernel < options->num_functions && !function->function)
        function->function = options->functions[node->recorded->kernel];
    if (function->function)
        return BRAID_OK;
    if (kernel->module == BRAID_RECORD_NONE || !rerunner->record->modules[kernel->module].text)
        return refuse(node, "the record does not have the code of its module");
    braid_status status = load_module(rerunner, kernel->module);
    if (!status)
        status = braid_gpu_check(
            rerunner->rerun->gpu,
            rerunner->api->module_function(&function->function,
                                           rerunner->rerun->modules[kernel->module], kernel->name),
            &rerunner->api->module_function, "finding a recorded kernel");
    return status ? status : allow_memory(rerunner, kernel, function->function);
}

static braid_status take_kernel(const struct rerunner *rerunner, const struct captured_node *node)
{
    const struct captured_function *function = captured_function_of(rerunner->captured, node);
    if (function->why)
        return refuse(node, function->why);
    if (node->recorded->has_unknown_attributes)
        return refuse(node, "its launch has attributes that the record does not have");
    return find_function(rerunner, node);
}

// ---- variables ----

// The addresses of variables of modules that were loaded here.
static braid_status find_variables(const struct rerunner *rerunner)
{
    const braid_record_contents *record = rerunner->record;
    struct import_rerun *rerun = rerunner->rerun;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < record->num_allocations && !status; i++) {
        const braid_record_allocation *of = &record->allocations[i];
        void *begin = NULL;
        size_t bytes = 0;
        if (of->kind != BRAID_RECORD_VARIABLE || of->module == BRAID_RECORD_NONE ||
            !rerun->modules[of->module])
            continue;
        status = braid_gpu_check(
            rerun->gpu,
            rerunner->api->module_variable(&begin, &bytes, rerun->modules[of->module], of->name),
            &rerunner->api->module_variable, "finding a recorded variable");
        if (!status && bytes < of->bytes)
            status = braid_error(BRAID_UNSUPPORTED, "variable '%s' has lost bytes", of->name);
        rerun->variables[i] = (uintptr_t)begin;
    }
    return status;
}

// The variable that the record has at an address, if it is elsewhere now; else NONE.
static uint32_t find_moved(const struct rerunner *rerunner, uint64_t address)
{
    const braid_record_contents *record = rerunner->record;
    for (uint32_t i = 0; i < record->num_allocations; i++) {
        const uint64_t now = rerunner->rerun->variables[i];
        if (now && now != record->allocations[i].address &&
            address - record->allocations[i].address < record->allocations[i].bytes)
            return i;
    }
    return BRAID_RECORD_NONE;
}

// No word may point to a variable that is elsewhere now.
static braid_status check_words(const struct rerunner *rerunner, const void *bytes, uint64_t num,
                                const char *where)
{
    for (uint64_t at = 0; bytes && at + sizeof(uint64_t) <= num; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + at, sizeof(word));
        const uint32_t variable =
            braid_import_may_point(word) ? find_moved(rerunner, word) : BRAID_RECORD_NONE;
        if (variable != BRAID_RECORD_NONE)
            return braid_error(
                BRAID_UNSUPPORTED,
                "%s of the record points to variable '%s', which has another address "
                "here",
                where, rerunner->record->allocations[variable].name);
    }
    return BRAID_OK;
}

static braid_status check_pointers(const struct rerunner *rerunner)
{
    const struct captured_node *nodes = captured_nodes(rerunner->captured);
    const braid_record_contents *record = rerunner->record;
    bool has_moved = false;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < record->num_allocations; i++)
        has_moved |= rerunner->rerun->variables[i] != 0;
    for (uint32_t i = 0; i < rerunner->captured->nodes.num && has_moved && !status; i++) {
        if (nodes[i].type == GPU_NODE_KERNEL)
            status = check_words(rerunner, nodes[i].recorded->parameters,
                                 nodes[i].recorded->parameter_bytes, "an argument");
    }
    for (uint32_t i = 0; i < record->num_memory && has_moved && !status; i++) {
        const braid_record_memory *kept = &record->memory[i];
        if (!kept->is_of_end)
            status = check_words(rerunner, kept->bytes, kept->num_bytes, "memory");
    }
    return status;
}

static void move_address(const struct rerunner *rerunner, uint64_t begin, uint64_t *address)
{
    const uint32_t variable = find_moved(rerunner, begin);
    if (variable != BRAID_RECORD_NONE)
        *address +=
            rerunner->rerun->variables[variable] - rerunner->record->allocations[variable].address;
}

// ---- ends of copies ----

// The memory that the record has there; NULL: the program's own, which the driver does not know.
static const braid_record_allocation *find_memory(const struct rerunner *rerunner, uint32_t node,
                                                  uint64_t address)
{
    uint32_t buffer;
    if (braid_import_memory_find_recorded(rerunner->memory, node, address, &buffer) != PLACE_BUFFER)
        return NULL;
    return &rerunner->record->allocations[import_buffers(rerunner->memory)[buffer].node];
}

// A file may name any sizes.
static bool is_too_large(const struct cuda_copy_parameters *copy, const struct cuda_copy_side *side)
{
    uint64_t rows, bytes;
    return __builtin_mul_overflow(copy->depth - 1, side->height, &rows) ||
           __builtin_add_overflow(rows, copy->height, &rows) ||
           __builtin_mul_overflow(rows, side->pitch, &bytes) ||
           __builtin_add_overflow(bytes, copy->width, &bytes);
}

// The driver takes addresses behind pinned memory as pageable ones, and would write there.
static bool is_beyond(const braid_record_allocation *of, uint64_t begin, uint64_t bytes)
{
    const uint64_t at =
        begin - of->address < of->bytes ? begin - of->address : begin - of->device_address;
    return bytes > of->bytes - at;
}

static braid_status stage(struct rerunner *rerunner, uint32_t index, struct cuda_copy_side *side,
                          uint64_t bytes, const void *content)
{
    const struct captured_node *node = &captured_nodes(rerunner->captured)[index];
    const uint64_t begin = braid_import_side_begin(side);
    uint64_t end;
    if (__builtin_add_overflow(rerunner->num_staged, bytes, &end) || end > UINT64_MAX - ALIGNMENT)
        return refuse(node, too_large);
    unsigned char *staging = rerunner->rerun->staging;
    if (staging) {
        side->device += (uintptr_t)(staging + rerunner->num_staged) - begin;
        if (content)
            memcpy(staging + rerunner->num_staged, content, bytes);
    }
    rerunner->num_staged = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return BRAID_OK;
}

static braid_status check_end(const struct captured_node *node, const struct cuda_copy_side *side,
                              const braid_record_allocation *of)
{
    return is_beyond(of, braid_import_side_begin(side), braid_import_copy_span(&node->copy, side))
               ? refuse(node, "its pinned memory ends before it")
               : BRAID_OK;
}

// Whether the record has the bytes of memory where the frame begins.
static bool has_bytes(const struct rerunner *rerunner, const braid_record_allocation *of)
{
    const braid_record_contents *record = rerunner->record;
    bool has = false;
    for (uint32_t i = 0; i < record->num_memory && !has; i++)
        has = !record->memory[i].is_of_end &&
              &record->allocations[record->memory[i].allocation] == of;
    return has;
}

// Work of the frame may have written pinned memory that a copy sends: it stays. The host wrote all
// else, at a time that is over. Memory that is made has all bytes that it wrote before the frame,
// if the record has them. Digests tell if it wrote others within.
static braid_status stage_source(struct rerunner *rerunner, uint32_t index,
                                 const braid_record_allocation *of)
{
    struct captured_node *node = (struct captured_node *)rerunner->captured->nodes.items + index;
    struct cuda_copy_side *side = &node->copy.from;
    const braid_record_work *whole = &rerunner->record->operations[node->operation].work;
    const bool is_own = node->recorded == whole && whole->bytes;
    const void *bytes =
        is_own ? braid_import_memory_sent_bytes(rerunner->memory, node->operation) : NULL;
    if (bytes)
        return stage(rerunner, index, side, whole->num_bytes, bytes);
    if (!of || (!is_own && !(rerunner->options->makes_memory && has_bytes(rerunner, of))))
        return refuse(node, "the record does not have the bytes that it sends");
    return check_end(node, side, of);
}

static braid_status take_copy(struct rerunner *rerunner, uint32_t index)
{
    struct captured_node *node = (struct captured_node *)rerunner->captured->nodes.items + index;
    struct cuda_copy_side *sides[] = { &node->copy.from, &node->copy.to };
    braid_status status = BRAID_OK;
    for (int i = 0; i < 2 && !status; i++) {
        const uint64_t begin = braid_import_side_begin(sides[i]);
        const braid_record_allocation *of = find_memory(rerunner, index, begin);
        if (is_too_large(&node->copy, sides[i]))
            return refuse(node, too_large);
        if (of && of->kind == BRAID_RECORD_FOREIGN)
            return refuse(node, "another process or interface has its memory");
        const bool is_device =
            of && of->kind != BRAID_RECORD_PINNED && of->kind != BRAID_RECORD_HOST;
        if (is_device && rerunner->is_last_walk)
            move_address(rerunner, begin, &sides[i]->device);
        if (sides[i]->memory_type == GPU_MEMORY_ARRAY || is_device)
            continue;
        if (!of && sides[i]->memory_type == GPU_MEMORY_DEVICE)
            return refuse(node, "the record does not have its memory");
        if (i == 0)
            status = stage_source(rerunner, index, of);
        else if (of)
            status = check_end(node, sides[i], of);
        else
            status = stage(rerunner, index, sides[i], braid_import_copy_span(&node->copy, sides[i]),
                           NULL);
    }
    return status;
}

static void move_fill(const struct rerunner *rerunner, uint32_t index)
{
    struct captured_node *node = (struct captured_node *)rerunner->captured->nodes.items + index;
    move_address(rerunner, node->fill.to, &node->fill.to);
}

// The first walk counts bytes, and the second puts them.
static braid_status take_copies(struct rerunner *rerunner)
{
    const struct captured_node *nodes = captured_nodes(rerunner->captured);
    braid_status status = BRAID_OK;
    for (int walk = 0; walk < 2 && !status; walk++) {
        const uint64_t num = rerunner->num_staged;
        void *staging = NULL;
        rerunner->is_last_walk = walk == 1;
        if (walk == 1 && num)
            status = braid_gpu_check(rerunner->rerun->gpu,
                                     rerunner->api->host_allocate(&staging, num, 0),
                                     &rerunner->api->host_allocate,
                                     "allocating memory for the copies of a recorded frame");
        rerunner->rerun->staging = staging;
        rerunner->num_staged = 0;
        for (uint32_t i = 0; i < rerunner->captured->nodes.num && !status; i++) {
            if (nodes[i].type == GPU_NODE_COPY)
                status = take_copy(rerunner, i);
            else if (nodes[i].type == GPU_NODE_FILL && walk == 1)
                move_fill(rerunner, i);
        }
    }
    return status;
}

// ---- memory ----

// The driver tells the program's memory as the record has it. A buffer may be bytes of a given one.
static braid_status check_memory(const struct rerunner *rerunner, uint32_t buffer)
{
    const struct import_buffer *of = &import_buffers(rerunner->memory)[buffer];
    const braid_record_allocation *told =
        of->node == IMPORT_NONE ? NULL : &rerunner->record->allocations[of->node];
    const struct gpu_api *api = rerunner->api;
    void *begin = NULL, *at = (void *)of->begin; // NOLINT
    size_t bytes = 0;
    if (!told)
        return BRAID_OK;
    if (told->kind == BRAID_RECORD_VARIABLE && rerunner->options->makes_memory)
        return rerunner->rerun->variables[of->node]
                   ? BRAID_OK
                   : braid_error(BRAID_UNSUPPORTED,
                                 "no kernel of the recorded frame has the module of variable '%s'",
                                 told->name);
    if (told->kind == BRAID_RECORD_VARIABLE && rerunner->rerun->variables[of->node])
        return BRAID_OK;
    const bool is_of_host = told->kind == BRAID_RECORD_PINNED || told->kind == BRAID_RECORD_HOST;
    const bool is_older =
        told->born == BRAID_RECORD_NONE || told->born < rerunner->memory->recorded.first;
    // The recorder leaves pinned memory that it cannot read.
    if (rerunner->options->makes_memory && is_of_host && is_older && !has_bytes(rerunner, told))
        return braid_error(BRAID_UNSUPPORTED,
                           "the recorded frame uses pinned memory at 0x%llx, and the record does "
                           "not have its bytes",
                           (unsigned long long)told->address);
    if (rerunner->options->makes_memory) // it was just made
        return BRAID_OK;
    const gpu_result result =
        api->address_range ? api->address_range(&begin, &bytes, at) : GPU_SUCCESS;
    if (result && result != GPU_NOT_FOUND && result != GPU_INVALID_VALUE)
        return braid_gpu_check(rerunner->rerun->gpu, result, &api->address_range,
                               "asking for the memory of a record");
    const bool is_there =
        !result && (!api->address_range || ((uintptr_t)begin <= of->begin &&
                                            of->begin - (uintptr_t)begin + of->bytes <= bytes));
    if (told->freed_at == BRAID_RECORD_NONE && (is_there || told->kind == BRAID_RECORD_HOST))
        return BRAID_OK;
    return braid_error_invalid("the %llu bytes at 0x%llx, which the recorded frame uses, are no "
                               "longer memory of this process",
                               (unsigned long long)of->bytes, (unsigned long long)of->begin);
}

static braid_status check_all_memory(const struct rerunner *rerunner,
                                     const struct import_uses *uses)
{
    const struct import_access *accesses = uses->accesses.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < uses->accesses.num && !status; i++) {
        if (accesses[i].buffer >= USE_FIRST_BUFFER)
            status = check_memory(rerunner, accesses[i].buffer - USE_FIRST_BUFFER);
    }
    return status;
}

// ---- all ----

static braid_status take_nodes(struct rerunner *rerunner, const struct import_uses *uses)
{
    const struct captured_node *nodes = captured_nodes(rerunner->captured);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < rerunner->captured->nodes.num && !status; i++) {
        if (!uses->is_work[i])
            continue;
        if (nodes[i].type == GPU_NODE_KERNEL)
            status = take_kernel(rerunner, &nodes[i]);
        else if (nodes[i].type == GPU_NODE_CONDITIONAL && nodes[i].conditional.why)
            status = refuse(&nodes[i], nodes[i].conditional.why);
        else if (nodes[i].type == GPU_NODE_CONDITIONAL)
            continue; // braid_import_take_conditions has looked at it
        else if (nodes[i].type != GPU_NODE_COPY && nodes[i].type != GPU_NODE_FILL)
            status = refuse(&nodes[i], "the record does not have what it does");
    }
    if (!status)
        status = find_variables(rerunner);
    if (!status)
        status = check_pointers(rerunner);
    if (!status)
        status = check_all_memory(rerunner, uses);
    return status ? status : take_copies(rerunner);
}

// The memory of a frame is there: made, or the program's own.
static braid_status take_memory(const struct rerunner *rerunner)
{
    const struct import_recorded *recorded = &rerunner->memory->recorded;
    if (!rerunner->options->makes_memory)
        return BRAID_OK;
    if (!braid_import_has_contents(recorded))
        return braid_error(BRAID_UNSUPPORTED, "the record does not have the memory of this frame: "
                                              "record it with --memory begin:N");
    return braid_import_rerun_make_memory(rerunner->memory, rerunner->rerun);
}

braid_status braid_import_rerun(struct captured_graph *captured, const struct import_memory *memory,
                                const struct import_uses *uses, const braid_import_options *options,
                                struct import_rerun *out_rerun)
{
    struct gpu_backend *gpu = captured->members.gpu[0];
    struct import_rerun rerun = { .gpu = gpu };
    struct rerunner rerunner = { .captured = captured,
                                 .memory = memory,
                                 .options = options,
                                 .record = memory->recorded.record,
                                 .api = gpu->api,
                                 .rerun = &rerun };
    rerun.num_modules = rerunner.record->num_modules;
    rerun.modules = braid_allocate_zeroed((size_t)rerun.num_modules + 1, sizeof(*rerun.modules));
    rerun.variables =
        braid_allocate_zeroed((size_t)rerunner.record->num_allocations + 1, sizeof(uint64_t));
    braid_status status = rerun.modules && rerun.variables
                              ? take_memory(&rerunner)
                              : braid_error_no_memory("a recorded frame to run");
    if (!status)
        status = take_nodes(&rerunner, uses);
    *out_rerun = rerun; // also what is to be freed
    return status;
}

void braid_import_rerun_finish(struct import_rerun *rerun)
{
    struct gpu_backend *gpu = rerun->gpu;
    struct gpu_scope scope;
    if (gpu && braid_gpu_enter_to_free(gpu, &scope, "freeing a recorded frame")) {
        for (uint32_t i = 0; i < rerun->num_modules && rerun->modules; i++) {
            if (rerun->modules[i])
                braid_gpu_check_freed(gpu, gpu->api->module_unload(rerun->modules[i]),
                                      &gpu->api->module_unload, "unloading a recorded module");
        }
        if (rerun->staging)
            braid_gpu_check_freed(gpu, gpu->api->host_free(rerun->staging), &gpu->api->host_free,
                                  "freeing memory for the copies of a recorded frame");
        braid_import_rerun_free_memory(rerun);
        braid_gpu_leave(gpu, &scope);
    }
    braid_array_finish(&rerun->ranges);
    braid_array_finish(&rerun->reserved);
    braid_free(rerun->variables);
    braid_free(rerun->modules);
    *rerun = (struct import_rerun){ 0 };
}

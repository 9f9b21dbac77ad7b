// SPDX-License-Identifier: Apache-2.0
// Imports: captured graphs and recorded frames, read into graphs of Braid.
#include "import/import.h"

#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "device/device.h"
#include "import/conditions.h"
#include "import/proof.h"
#include "import/statements.h"

// ---- orders ----

struct import_order braid_import_order(const braid_import *import)
{
    return (struct import_order){
        .num_nodes = (uint32_t)import->captured.nodes.num,
        .num_buffers = (uint32_t)import->memory.buffers.num + USE_FIRST_BUFFER,
        .is_work = import->uses.is_work,
        .proven = import->uses.proven,
        .edges = import->captured.edges.items,
        .num_edges = import->captured.edges.num,
        .accesses = import->uses.accesses.items,
        .num_accesses = import->uses.accesses.num,
        .region = import->uses.region,
        .regions = import->captured.regions.items,
        .num_regions = import->captured.regions.num,
    };
}

static braid_status find_orders(braid_import *import)
{
    const struct import_order order = braid_import_order(import);
    struct import_fault fault;
    bool failed;
    if (!braid_import_find_all_orders(&order, &import->orders))
        return braid_error_no_memory("the orders of a captured graph");
    if (braid_import_prove(&order, import->orders.edges.items, import->orders.edges.num, &fault,
                           &failed))
        return BRAID_OK;
    if (failed)
        return braid_error_no_memory("the proof of an import");
    return braid_error(BRAID_INTERNAL,
                       "the import %s nodes %s and %s of the captured graph, which that %s",
                       fault.is_lost ? "does not order" : "orders",
                       captured_nodes(&import->captured)[fault.from].place,
                       captured_nodes(&import->captured)[fault.to].place,
                       fault.is_lost ? "orders, and which may conflict" : "leaves unordered");
}

// ---- making ----

static void tell(braid_import *import)
{
    braid_import_info *info = &import->info;
    info->num_nodes = (uint32_t)import->captured.nodes.num;
    info->num_stated = import->uses.num_stated;
    info->num_pointers = import->uses.num_pointers;
    info->num_allocations = import->memory.num_allocations;
    info->num_unproven = (uint32_t)import->uses.reasons.num;
    info->num_races = (uint32_t)import->orders.races.num;
    info->num_rewritten = (uint32_t)import->uses.patches.num;
    info->longest_captured = import->orders.longest_captured;
    info->longest_kept = import->orders.longest_kept;
    for (size_t i = 0; i < import->captured.functions.num && import->reloads.functions; i++)
        info->num_reloadable += import->reloads.functions[i].text != NULL;
    info->num_captured = import->orders.num_captured;
    info->num_kept = import->orders.num_kept;
    for (uint32_t i = 0; i < info->num_nodes; i++)
        info->num_conditionals += captured_nodes(&import->captured)[i].type == GPU_NODE_CONDITIONAL;
}

static braid_status find_variables(braid_import *import, const struct captured_function *function,
                                   struct import_code *code)
{
    const struct gpu_backend *gpu = import->captured.members.gpu[function->member];
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "import");
    if (status)
        return status;
    status = braid_import_memory_add_variables(&import->memory, function->function,
                                               &code->variables, &code->watches_variables);
    braid_gpu_leave(gpu, &scope);
    return status;
}

braid_status braid_import_find_accesses(const braid_import_options *options,
                                        struct import_code *code, braid_import *import)
{
    const struct captured_function *functions = import->captured.functions.items;
    braid_status status =
        braid_import_memory_create(&import->captured, &import->recorded, options, &import->memory);
    for (size_t i = 0; i < import->captured.functions.num && !status && !import->recorded.record;
         i++)
        status = find_variables(import, &functions[i], &code[i]);
    if (!status && import->recorded.record)
        status = braid_import_read_conditions(&import->memory, &import->captured, code);
    if (!status)
        status = braid_import_find_uses(&import->memory, code, &import->uses);
    if (!status && import->recorded.record)
        status =
            braid_import_take_conditions(&import->memory, &import->captured, &import->uses, code);
    else if (!status)
        status = braid_import_check_conditions(&import->captured, &import->uses, code, options);
    import->memory.options = NULL; // the program's
    return status;
}

// The first member is current.
static braid_status read_captured(const struct import_members *members, gpu_graph captured,
                                  const braid_import_options *options, braid_import *import)
{
    const int version = members->gpu[0]->version;
    braid_status status = braid_captured_read(members, captured, options, &import->captured);
    if (!status)
        status = braid_import_read_code(&import->captured, options, &import->code);
    if (!status)
        status = braid_import_find_accesses(options, import->code, import);
    if (!status)
        status = braid_import_choose_reloads(&import->captured, options, import->code,
                                             braid_import_newest_ptx(version), &import->reloads);
    return status;
}

static braid_status make(const struct import_members *members, gpu_graph captured,
                         const braid_import_options *options, braid_import *import)
{
    struct gpu_backend *gpu = members->gpu[0];
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "import");
    if (status)
        return status;
    status = read_captured(members, captured, options, import);
    braid_gpu_leave(gpu, &scope);
    if (!status)
        status = find_orders(import);
    if (!status)
        status = braid_import_build(gpu, import);
    if (!status)
        tell(import);
    return status;
}

bool braid_import_has_cuda(const braid_device *device)
{
    return strcmp(device->backend->ops->name, "cuda") == 0;
}

static braid_status check_members(const char *function, braid_device *device)
{
    const struct places places = braid_device_places(device);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < places.num && !status; i++)
        status = braid_device_check(function, places.devices[i]);
    return status;
}

braid_status braid_import_check_lists(const char *function, const braid_import_options *options)
{
    if ((options->num_texts && !options->texts) || (options->num_files && !options->files) ||
        (options->num_buffers && !options->buffers) ||
        (options->num_conditionals && !options->conditionals) ||
        (options->num_setters && !options->setters) ||
        (options->num_reloaded && !options->reloaded) ||
        (options->num_statements && !options->statements) ||
        (options->num_functions && !options->functions))
        return braid_error_invalid("%s: a list of the options is NULL", function);
    return braid_import_check_confined(function, options);
}

static braid_status check(braid_device *device, const void *captured,
                          const braid_import_options *options, braid_import **out_import)
{
    if (!device || !captured || !out_import)
        return braid_error_null("braid_import_create", !device     ? "device"
                                                       : !captured ? "captured"
                                                                   : "out_import");
    braid_status status = braid_import_check_lists("braid_import_create", options);
    if (!status)
        status = braid_device_check_open("braid_import_create", device);
    if (status)
        return status;
    if (!braid_import_has_cuda(device))
        return braid_error(BRAID_UNSUPPORTED,
                           "device '%s' has no captured graphs: an import needs "
                           "CUDA devices",
                           device->label);
    if (device->group && device->group->places.num > 1 && options->num_reloaded)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_import_create: '%s' is a group, which loads no texts: leave out "
                           ".reloaded",
                           device->label);
    return check_members("braid_import_create", device);
}

// By malloc, as each graph: it may outlive the device.
static braid_status create(braid_device *device, void *captured,
                           const braid_import_options *options, braid_import **out_import)
{
    braid_import *import = braid_allocate_zeroed(1, sizeof(*import));
    if (!import)
        return braid_error_no_memory("an import");
    const struct places places = braid_device_places(device);
    const struct import_members members = braid_import_members_of(&places);
    braid_status status = make(&members, captured, options, import);
    if (status)
        braid_import_destroy(import);
    else
        *out_import = import;
    return status;
}

braid_status braid_import_create_sized(braid_device *device, void *captured,
                                       const braid_import_options *options,
                                       braid_import **out_import, size_t size)
{
    braid_import_options own;
    braid_status status =
        braid_sized_take("braid_import_create: options", options, size, &own, sizeof(own));
    if (!status)
        status = check(device, captured, &own, out_import);
    return status ? status : create(device, captured, &own, out_import);
}

// ---- records ----

static braid_status check_runner(const char *function, const braid_device *device)
{
    const braid_status status = braid_device_check_open(function, device);
    if (status)
        return status;
    if (!braid_import_has_cuda(device) || (device->group && device->group->places.num > 1))
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: '%s' is no single CUDA device, and a record is of one", function,
                           device->label);
    return BRAID_OK;
}

static braid_status check_recorded(const braid_record_contents *record, uint32_t frame,
                                   const braid_import_options *options, braid_import **out_import)
{
    static const char name[] = "braid_import_create_recorded";
    if (!record || !out_import)
        return braid_error_null(name, record ? "out_import" : "record");
    braid_status status = braid_import_check_lists(name, options);
    if (!status && frame != BRAID_RECORD_NONE && frame >= record->num_frames)
        status = braid_error_invalid("%s: there is no frame %u: the record has %u", name, frame,
                                     record->num_frames);
    if (!status && (options->num_conditionals || options->num_statements || options->num_reloaded))
        status = braid_error_invalid("%s: a record has no conditional nodes, statements or "
                                     "reloaded texts of the options",
                                     name);
    if (!status && !options->device && (options->num_functions || options->makes_memory))
        status = braid_error_invalid("%s: functions and memory are of a frame to run: set .device",
                                     name);
    if (!status && options->leaves_constants && options->makes_memory)
        status = braid_error_invalid("%s: constants are left out in the recorded process alone, "
                                     "whose memory has their results",
                                     name);
    return status || !options->device ? status : check_runner(name, options->device);
}

// Its functions and copies, then the graph.
static braid_status build_to_run(const braid_import_options *options, braid_import *import)
{
    struct gpu_backend *gpu = import->captured.members.gpu[0];
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "import");
    if (status)
        return status;
    status = braid_import_rerun(&import->captured, &import->memory, &import->uses, options,
                                &import->rerun);
    braid_gpu_leave(gpu, &scope);
    return status ? status : braid_import_build(gpu, import);
}

static braid_status make_recorded(const braid_import_options *options, braid_import *import)
{
    braid_status status = braid_import_read_recorded(&import->recorded, options, &import->captured);
    if (!status)
        status = braid_import_read_code(&import->captured, options, &import->code);
    if (!status)
        status = braid_import_find_accesses(options, import->code, import);
    if (!status)
        status = braid_import_find_constants(import, options->leaves_constants);
    if (!status)
        status = find_orders(import);
    if (!status && options->device) {
        const struct places places = braid_device_places(options->device);
        import->captured.members = braid_import_members_of(&places);
        status = build_to_run(options, import);
    } else if (!status) {
        status = braid_import_build_recorded(import);
    }
    if (!status) {
        tell(import);
        status = braid_import_tell_recorded(import);
        import->info.moved_bytes = import->rerun.moved_bytes;
    }
    return status;
}

braid_status braid_import_create_recorded_sized(const braid_record_contents *record, uint32_t frame,
                                                const braid_import_options *options,
                                                braid_import **out_import, size_t size)
{
    braid_import_options own;
    braid_status status =
        braid_sized_take("braid_import_create_recorded: options", options, size, &own, sizeof(own));
    if (!status)
        status = check_recorded(record, frame, &own, out_import);
    if (status)
        return status;
    braid_import *import = braid_allocate_zeroed(1, sizeof(*import));
    if (!import)
        return braid_error_no_memory("an import");
    import->recorded = (struct import_recorded){ record, 0, record->num_operations };
    if (frame != BRAID_RECORD_NONE) {
        import->recorded.first = record->frames[frame].first_operation;
        import->recorded.end = import->recorded.first + record->frames[frame].num_operations;
    }
    status = make_recorded(&own, import);
    if (status)
        braid_import_destroy(import);
    else
        *out_import = import;
    return status;
}

void braid_import_destroy(braid_import *import)
{
    if (!import)
        return;
    braid_graph_destroy(import->graph);
    braid_import_code_finish(import->code, import->captured.functions.num);
    braid_free(import->kernels);
    braid_free(import->nodes);
    braid_import_reloads_finish(&import->reloads);
    braid_import_rerun_finish(&import->rerun);
    braid_import_finish(import);
    braid_free(import);
}

void braid_import_finish(braid_import *import)
{
    braid_import_orders_finish(&import->orders);
    braid_import_uses_finish(&import->uses);
    braid_import_memory_finish(&import->memory);
    braid_captured_finish(&import->captured);
}

braid_graph *braid_import_get_graph(braid_import *import)
{
    return import ? import->graph : NULL;
}

void braid_import_get_info_sized(const braid_import *import, braid_import_info *out_info,
                                 size_t size)
{
    static const braid_import_info none;
    braid_sized_give(import ? &import->info : &none, sizeof(none), out_info, size);
}

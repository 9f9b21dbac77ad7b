// SPDX-License-Identifier: Apache-2.0
// The graph of an import. Its edges are its order; accesses tell who uses which memory.
#include <braid/region.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "device/device.h"
#include "graph/addresses.h"
#include "graph/extents.h"
#include "import/import.h"

enum { ALIGNMENT = 512 }; // the driver aligns allocations so

struct builder {
    braid_import *import;
    struct gpu_backend *gpu;
    braid_resource *resources; // by number in struct import_access; { 0 }: it has none yet
    uint32_t num_named;
    uint32_t node; // which is added
    struct array accesses, after, args;
    bool *has_word;      // by number: a conditional node has its word there
    size_t first_access; // the node's
    size_t next_access, next_hold, next_edge, next_patch, next_word; // behind those of nodes before
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("an imported graph");
}

static const struct captured_node *node_of(const struct builder *builder)
{
    return &captured_nodes(&builder->import->captured)[builder->node];
}

static const struct import_buffer *buffer_of(const struct builder *builder, uint32_t number)
{
    return &import_buffers(&builder->import->memory)[number - USE_FIRST_BUFFER];
}

static braid_status refuse(const struct builder *builder, const char *why)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s of the captured graph, a %s, %s",
                       node_of(builder)->place, braid_captured_kind(node_of(builder)->type), why);
}

// ---- resources ----

static bool is_allocation(const struct builder *builder, uint32_t number)
{
    return number >= USE_FIRST_BUFFER && buffer_of(builder, number)->kind == BUFFER_ALLOCATION;
}

// For audits. The memory of a record need not be there, nor that of another device within reach.
static braid_status tell_memory(const struct builder *builder, struct extent extent)
{
    const bool is_here =
        !builder->import->recorded.record && builder->import->captured.members.num == 1;
    return !is_here || braid_array_put(&builder->import->graph->known, &extent, sizeof(extent))
               ? BRAID_OK
               : no_memory();
}

static braid_status add_memory(struct builder *builder, const struct import_buffer *of,
                               const char *name, braid_resource *out_resource)
{
    const uintptr_t last = of->begin + of->bytes - 1;
    braid_status status = braid_graph_add_resource(builder->import->graph, name, out_resource);
    if (status || !of->bytes)
        return status;
    return tell_memory(builder, (struct extent){ of->begin, last, out_resource->index });
}

static braid_status add_resource(struct builder *builder, uint32_t number)
{
    static const char *const others[] = {
        [USE_HOST] = "memory of the host",
        [USE_VARIABLES] = "variables of modules",
        [USE_MAPPED] = "mapped memory",
        [USE_CONDITIONS] = "conditions",
    };
    const struct import_buffer *of = NULL;
    braid_graph *graph = builder->import->graph;
    char name[80];
    if (number < USE_FIRST_BUFFER)
        return braid_graph_add_resource(graph, others[number], &builder->resources[number]);
    of = buffer_of(builder, number);
    if (of->kind == BUFFER_ALLOCATION) {
        snprintf(name, sizeof(name), "allocation %s",
                 captured_nodes(&builder->import->captured)[of->node].place);
        return braid_graph_add_transient(graph, name, of->bytes, ALIGNMENT,
                                         &builder->resources[number]);
    }
    snprintf(name, sizeof(name), "memory %u", ++builder->num_named);
    if (builder->has_word[number])
        return braid_graph_add_buffer(graph, of->name ? of->name : name,
                                      (const void *)of->begin, // NOLINT
                                      of->bytes, &builder->resources[number]);
    return add_memory(builder, of, of->name ? of->name : name, &builder->resources[number]);
}

// Whether one arm of a branch has the one node, and another arm the other.
static bool are_in_two_arms(const struct builder *builder, uint32_t one, uint32_t other)
{
    const struct captured_graph *captured = &builder->import->captured;
    const struct captured_node *nodes = captured_nodes(captured);
    const struct import_region *regions = captured_regions(captured);
    for (uint32_t a = nodes[one].region; a; a = nodes[regions[a].owner].region) {
        for (uint32_t b = nodes[other].region; b; b = nodes[regions[b].owner].region) {
            if (a != b && regions[a].owner == regions[b].owner)
                return true;
        }
    }
    return false;
}

static bool is_touched(const struct builder *builder, uint32_t number, const struct array *list,
                       size_t end)
{
    const struct import_access *all = list->items;
    for (size_t i = 0; i < end; i++) {
        if (all[i].buffer == number && all[i].node != builder->node &&
            !are_in_two_arms(builder, all[i].node, builder->node))
            return true;
    }
    return false;
}

// No node that runs before the one at hand touches the allocation.
static bool is_first_touch(const struct builder *builder, uint32_t number)
{
    const struct import_uses *uses = &builder->import->uses;
    const struct import_patch *patches = uses->patches.items;
    if (!builder->resources[number].graph || builder->import->captured.regions.num == 1)
        return !builder->resources[number].graph;
    for (size_t i = 0; i < builder->next_patch; i++) {
        if (patches[i].buffer + USE_FIRST_BUFFER == number && patches[i].node != builder->node &&
            !are_in_two_arms(builder, patches[i].node, builder->node))
            return false;
    }
    return !is_touched(builder, number, &uses->accesses, builder->next_access) &&
           !is_touched(builder, number, &uses->holds, builder->next_hold);
}

// Nobody may read an allocation before its first access.
static braid_status add_access(struct builder *builder, uint32_t number, bool writes)
{
    const bool is_new = !builder->resources[number].graph;
    braid_access_mode mode = writes ? BRAID_READ_WRITE : BRAID_READ;
    braid_status status = is_new ? add_resource(builder, number) : BRAID_OK;
    if (is_allocation(builder, number) && (is_new || is_first_touch(builder, number)))
        mode = writes ? BRAID_WRITE : BRAID_EXCLUSIVE;
    braid_access *known = builder->accesses.items;
    for (size_t i = 0; i < builder->accesses.num && !status; i++) {
        if (known[i].resource.index != builder->resources[number].index)
            continue;
        if (known[i].mode == BRAID_READ)
            known[i].mode = mode;
        return BRAID_OK;
    }
    const braid_access access = { builder->resources[number], mode };
    if (!status && !braid_array_put(&builder->accesses, &access, sizeof(access)))
        status = no_memory();
    return status;
}

static braid_status take_accesses(struct builder *builder, const struct array *list, size_t *next)
{
    const struct import_access *all = list->items;
    braid_status status = BRAID_OK;
    for (; *next < list->num && all[*next].node == builder->node && !status; ++*next)
        status = add_access(builder, all[*next].buffer, all[*next].writes);
    return status;
}

// Kernels reach variables by name, and nodes that are not proven reach any word.
static braid_status take_words(struct builder *builder)
{
    const struct import_access *known = builder->import->uses.accesses.items;
    const uint32_t num = (uint32_t)builder->import->memory.buffers.num + USE_FIRST_BUFFER;
    const bool is_proven = builder->import->uses.proven[builder->node];
    bool has_variables = false;
    braid_status status = BRAID_OK;
    for (size_t i = builder->next_access; i-- > 0 && known[i].node == builder->node;)
        has_variables = has_variables || (known[i].buffer == USE_VARIABLES && known[i].writes);
    for (uint32_t i = USE_FIRST_BUFFER; i < num && !status; i++) {
        const bool is_reached =
            !is_proven || (has_variables && buffer_of(builder, i)->kind == BUFFER_VARIABLE);
        if (builder->has_word[i] && is_reached && !is_allocation(builder, i))
            status = add_access(builder, i, true);
    }
    return status;
}

static braid_status take_patches(struct builder *builder, size_t *out_first)
{
    const struct array *list = &builder->import->uses.patches;
    const struct import_patch *all = list->items;
    braid_status status = BRAID_OK;
    *out_first = builder->next_patch;
    for (; builder->next_patch < list->num && all[builder->next_patch].node == builder->node &&
           !status;
         builder->next_patch++)
        status = add_access(builder, all[builder->next_patch].buffer + USE_FIRST_BUFFER, false);
    return status;
}

static braid_status take_edges(struct builder *builder)
{
    const struct array *list = &builder->import->orders.edges;
    const struct import_edge *all = list->items;
    for (; builder->next_edge < list->num && all[builder->next_edge].to == builder->node;
         builder->next_edge++) {
        if (!braid_array_put(&builder->after, &builder->import->nodes[all[builder->next_edge].from],
                             sizeof(braid_node)))
            return no_memory();
    }
    return BRAID_OK;
}

static braid_node_options options_of(const struct builder *builder)
{
    const uint32_t member = node_of(builder)->member;
    const bool is_placed = builder->import->captured.members.num > 1 && member != MEMBER_NONE;
    return (braid_node_options){ .place = is_placed ? graph_place_number(member) : 0,
                                 .after = builder->after.items,
                                 .num_after = builder->after.num,
                                 .accesses = builder->accesses.items,
                                 .num_accesses = builder->accesses.num };
}

// ---- kernels ----

static braid_dim3 dim3_of(const uint32_t *sizes)
{
    return (braid_dim3){ sizes[0], sizes[1], sizes[2] };
}

// Words that become addresses of allocations are zeros until a frame has them.
static void clear_patches(struct builder *builder, size_t first, unsigned char *const *arguments)
{
    const struct import_patch *all = builder->import->uses.patches.items;
    for (size_t i = first; i < builder->next_patch; i++)
        memset(arguments[all[i].argument] + all[i].offset, 0, sizeof(uint64_t));
}

static braid_status make_args(struct builder *builder, size_t first_patch)
{
    struct captured_graph *captured = &builder->import->captured;
    const struct captured_function *function = captured_function_of(captured, node_of(builder));
    const struct captured_param *params = captured_params_of(captured, function);
    struct store store = { 0 };
    builder->args.num = 0;
    if (!function->num_params)
        return BRAID_OK;
    unsigned char *at =
        (unsigned char *)captured->bytes.items + node_of(builder)->kernel.first_byte;
    unsigned char **arguments = braid_store_take(&store, function->num_params, sizeof(*arguments));
    braid_arg *args = braid_array_append(&builder->args, function->num_params, sizeof(*args));
    const bool is_done = arguments && args;
    for (uint32_t i = 0; i < function->num_params && is_done; i++) {
        arguments[i] = at;
        args[i] = (braid_arg){ at, params[i].bytes, BRAID_ARG_VALUE, BRAID_NO_ACCESS };
        if (params[i].bytes == sizeof(void *))
            args[i].kind = BRAID_ARG_UNCHECKED_POINTER;
        at += (params[i].bytes + 15U) / 16 * 16;
    }
    if (is_done)
        clear_patches(builder, first_patch, arguments);
    braid_store_finish(&store);
    return is_done ? BRAID_OK : no_memory();
}

// For the node that was added last.
static braid_status add_words(struct builder *builder)
{
    const struct array *list = &builder->import->uses.words;
    braid_graph *graph = builder->import->graph;
    for (; builder->next_word < list->num; builder->next_word++) {
        struct code_word word = ((const struct code_word *)list->items)[builder->next_word];
        if (word.node != builder->node)
            break;
        word.node = graph_num_nodes(graph) - 1;
        if (!braid_array_put(&graph->words, &word, sizeof(word)))
            return no_memory();
    }
    return BRAID_OK;
}

static braid_status add_kernel(struct builder *builder, size_t first_patch, braid_node *out_node)
{
    const struct captured_kernel *kernel = &node_of(builder)->kernel;
    const struct import_patch *patches = builder->import->uses.patches.items;
    braid_status status = make_args(builder, first_patch);
    if (status)
        return status;
    status = braid_graph_add_kernel(
        builder->import->graph,
        &(braid_kernel_node){ .node = options_of(builder),
                              .kernel = &builder->import->kernels[kernel->function],
                              .grid = dim3_of(kernel->grid),
                              .block = dim3_of(kernel->block),
                              .cluster = dim3_of(kernel->cluster),
                              .shared_bytes = kernel->shared_bytes,
                              .priority = kernel->priority,
                              .cooperative = kernel->cooperative,
                              .args = builder->args.items,
                              .num_args = builder->args.num,
                              .code_use = BRAID_CODE_UNREAD },
        out_node);
    for (size_t i = first_patch; i < builder->next_patch && !status; i++)
        status = braid_graph_add_address(
            builder->import->graph, patches[i].argument, patches[i].offset,
            builder->resources[patches[i].buffer + USE_FIRST_BUFFER], patches[i].addend);
    return status ? status : add_words(builder);
}

// ---- copies and fills ----

// An address in an allocation is that of a part of its buffer.
static braid_status place_in(struct builder *builder, uint64_t begin, uint64_t bytes,
                             const void **out_address, braid_resource *out_resource)
{
    const struct import_buffer *of = import_buffers(&builder->import->memory);
    const uint32_t first = builder->import->memory.num_given;
    for (uint32_t index = first; index < first + builder->import->memory.num_allocations; index++) {
        if (begin - of[index].begin < of[index].bytes &&
            braid_import_memory_lives(&of[index], builder->node))
            return braid_graph_add_range(builder->import->graph,
                                         builder->resources[index + USE_FIRST_BUFFER],
                                         begin - of[index].begin, bytes, out_resource);
    }
    *out_address = (const void *)(uintptr_t)begin; // NOLINT
    return BRAID_OK;
}

// On the device of the exec, which need not be the import's.
static braid_status add_queue_call(struct builder *builder, braid_node *out_node)
{
    return braid_graph_add_queue_call(
        builder->import->graph,
        &(braid_queue_call){ .node = options_of(builder),
                             .call = braid_import_queue,
                             .user = (struct captured_node *)builder->import->captured.nodes.items +
                                     builder->node },
        out_node);
}

// The driver knows more kinds of memory than Braid's rows do.
static braid_status add_rows(struct builder *builder, braid_node *out_node)
{
    const struct gpu_api *api = builder->gpu->api;
    if (!api->copy_rows || !api->fill_rows8 || !api->fill_rows16 || !api->fill_rows32)
        return refuse(builder, "has several rows, for which the driver has no call");
    return add_queue_call(builder, out_node);
}

static braid_status check_rows(const struct builder *builder, bool is_flat, uint64_t most)
{
    if (!is_flat && node_of(builder)->region)
        return refuse(builder, "has several rows in a body of a conditional node");
    return most > UINT32_MAX ? refuse(builder, "has rows too far apart") : BRAID_OK;
}

// Memory of an allocation moves, so that a node of Braid's copies it.
static braid_status make_rows(const struct builder *builder,
                              const struct cuda_copy_parameters *copy, braid_rows *out_rows)
{
    const struct cuda_copy_side *to = &copy->to, *from = &copy->from;
    const bool has_layers = copy->depth > 1;
    *out_rows = (braid_rows){
        .num = (uint32_t)copy->height,
        .layers = (uint32_t)copy->depth,
        .to_pitch = (uint32_t)to->pitch,
        .from_pitch = (uint32_t)from->pitch,
        .to_height = has_layers ? (uint32_t)to->height : 0,
        .from_height = has_layers ? (uint32_t)from->height : 0,
    };
    return check_rows(builder, false,
                      to->pitch | from->pitch | to->height | from->height | copy->height |
                          copy->depth);
}

static braid_status add_copy(struct builder *builder, braid_node *out_node)
{
    const struct cuda_copy_parameters *copy = &node_of(builder)->copy;
    braid_copy added = { .node = options_of(builder) };
    const void *to = NULL;
    if (copy->from.memory_type == GPU_MEMORY_ARRAY || copy->to.memory_type == GPU_MEMORY_ARRAY)
        return refuse(builder, "copies an array");
    const bool is_flat = braid_import_is_flat(node_of(builder), &added.bytes);
    const uint64_t bytes = added.bytes;
    braid_status status = check_rows(builder, is_flat, 0);
    if (!status)
        status = place_in(builder, braid_import_side_begin(&copy->from),
                          is_flat ? bytes : braid_import_copy_span(copy, &copy->from), &added.from,
                          &added.from_resource);
    if (!status)
        status = place_in(builder, braid_import_side_begin(&copy->to),
                          is_flat ? bytes : braid_import_copy_span(copy, &copy->to), &to,
                          &added.to_resource);
    if (!status && !is_flat && !added.from_resource.graph && !added.to_resource.graph)
        return add_rows(builder, out_node);
    if (!status && !is_flat) {
        added.bytes = copy->width;
        status = make_rows(builder, copy, &added.rows);
    }
    added.to = (void *)(uintptr_t)to; // NOLINT
    return status ? status : braid_graph_add_copy(builder->import->graph, &added, out_node);
}

static braid_status add_fill(struct builder *builder, braid_node *out_node)
{
    const struct cuda_fill_parameters *fill = &node_of(builder)->fill;
    braid_fill added = { .node = options_of(builder),
                         .value = fill->value,
                         .value_bytes = fill->value_bytes };
    const void *to = NULL;
    uint64_t bytes;
    const bool is_flat = braid_import_is_flat(node_of(builder), &bytes);
    if (!is_flat)
        bytes = (fill->height - 1) * fill->pitch + fill->width * fill->value_bytes;
    braid_status status = check_rows(builder, is_flat, is_flat ? 0 : fill->pitch | fill->height);
    if (!status)
        status = place_in(builder, fill->to, bytes, &to, &added.to_resource);
    if (!status && !is_flat && !added.to_resource.graph)
        return add_rows(builder, out_node);
    added.to = (void *)(uintptr_t)to; // NOLINT
    added.num_values = is_flat ? fill->width * fill->height : fill->width;
    if (!is_flat)
        added.rows =
            (braid_rows){ .num = (uint32_t)fill->height, .to_pitch = (uint32_t)fill->pitch };
    return status ? status : braid_graph_add_fill(builder->import->graph, &added, out_node);
}

// ---- the walk ----

static braid_status add_host(struct builder *builder, braid_node *out_node)
{
    return braid_graph_add_host_call(builder->import->graph,
                                     &(braid_host_call){ .node = options_of(builder),
                                                         .call = node_of(builder)->host.call,
                                                         .user = node_of(builder)->host.user },
                                     out_node);
}

static braid_status add_node(struct builder *builder);

// The nodes as far as `end`. An arm of a branch has one at least.
static braid_status add_nodes(struct builder *builder, uint32_t end)
{
    braid_status status = BRAID_OK;
    for (; builder->node < end && !status; builder->node++)
        status = add_node(builder);
    return status;
}

static braid_status add_body(struct builder *builder, uint32_t region)
{
    const struct import_region *body = &captured_regions(&builder->import->captured)[region];
    braid_graph *graph = builder->import->graph;
    const uint32_t num = graph_num_nodes(graph);
    braid_status status = region ? add_nodes(builder, body->first + body->num) : BRAID_OK;
    if (!status && graph_num_nodes(graph) == num)
        status = braid_graph_add_empty(graph, &(braid_empty){ { 0 } }, NULL);
    return status;
}

static braid_status find_word(struct builder *builder, const struct captured_conditional *of,
                              braid_resource *out_word)
{
    const struct import_access *all = builder->import->uses.accesses.items;
    const uint32_t number = all[builder->first_access].buffer;
    braid_status status =
        builder->resources[number].graph ? BRAID_OK : add_resource(builder, number);
    if (status)
        return status;
    return braid_graph_add_range(builder->import->graph, builder->resources[number],
                                 of->word - buffer_of(builder, number)->begin, sizeof(uint32_t),
                                 out_word);
}

// The bodies stand right behind the node, which is the last one of them afterwards.
static braid_status add_conditional(struct builder *builder, braid_node *out_node)
{
    const struct captured_conditional of = node_of(builder)->conditional;
    const braid_node_options node = { .after = builder->after.items,
                                      .num_after = builder->after.num };
    braid_graph *graph = builder->import->graph;
    braid_resource word;
    braid_status status = find_word(builder, &of, &word);
    if (!status && of.is_loop)
        status = braid_graph_begin_loop(
            graph,
            &(braid_loop){
                .node = node, .condition = word, .unbounded = true, .tests_first = !of.runs_first },
            out_node);
    else if (!status)
        status =
            braid_graph_begin_if(graph, &(braid_if){ .node = node, .condition = word }, out_node);
    builder->node++;
    if (!status)
        status = add_body(builder, of.regions[0]);
    if (!status && of.regions[1])
        status = braid_graph_else(graph);
    if (!status && of.regions[1])
        status = add_body(builder, of.regions[1]);
    builder->node--;
    return status ? status : braid_graph_end(graph);
}

// A conditional node has no accesses of its own.
static braid_status take_all(struct builder *builder, size_t *out_first_patch)
{
    const bool is_conditional = node_of(builder)->type == GPU_NODE_CONDITIONAL;
    builder->accesses.num = builder->after.num = 0;
    builder->first_access = builder->next_access;
    braid_status status =
        take_accesses(builder, &builder->import->uses.accesses, &builder->next_access);
    if (!status && !is_conditional)
        status = take_accesses(builder, &builder->import->uses.holds, &builder->next_hold);
    if (!status && !is_conditional && builder->import->uses.is_work[builder->node])
        status = take_words(builder);
    if (!status)
        status = take_patches(builder, out_first_patch);
    return status ? status : take_edges(builder);
}

static braid_status add_node(struct builder *builder)
{
    braid_import_info *info = &builder->import->info;
    braid_node *node = &builder->import->nodes[builder->node];
    size_t first_patch;
    braid_status status = take_all(builder, &first_patch);
    if (status || !builder->import->uses.is_work[builder->node])
        return status;
    switch (node_of(builder)->type) {
    case GPU_NODE_KERNEL:
        info->num_kernels++;
        return add_kernel(builder, first_patch, node);
    case GPU_NODE_COPY:
        info->num_copies++;
        return add_copy(builder, node);
    case GPU_NODE_FILL:
        info->num_fills++;
        return add_fill(builder, node);
    case GPU_NODE_HOST:
        info->num_host_calls++;
        return add_host(builder, node);
    case GPU_NODE_CONDITIONAL:
        return add_conditional(builder, node);
    default:
        return add_queue_call(builder, node);
    }
}

// Such a node keeps all its captured orders, wherever it reaches.
static braid_status tell_blind(const struct builder *builder)
{
    const bool *blind = builder->import->uses.blind;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < builder->import->captured.nodes.num && !status; i++) {
        if (blind[i] && builder->import->nodes[i].graph)
            status =
                tell_memory(builder, (struct extent){ .buffer = builder->import->nodes[i].index });
    }
    return status;
}

static void find_words(struct builder *builder)
{
    const struct array *list = &builder->import->uses.accesses;
    const struct import_access *all = list->items;
    for (size_t i = list->num; i-- > 0;) {
        const bool is_first = i == 0 || all[i - 1].node != all[i].node;
        if (is_first &&
            captured_nodes(&builder->import->captured)[all[i].node].type == GPU_NODE_CONDITIONAL)
            builder->has_word[all[i].buffer] = true;
    }
}

static bool begin(struct builder *builder)
{
    braid_import *import = builder->import;
    const size_t num_nodes = import->captured.nodes.num;
    const size_t num_functions = import->captured.functions.num;
    const struct captured_function *functions = import->captured.functions.items;
    import->nodes = braid_allocate_zeroed(num_nodes, sizeof(*import->nodes));
    builder->resources = braid_allocate_zeroed(import->memory.buffers.num + USE_FIRST_BUFFER,
                                               sizeof(*builder->resources));
    import->kernels = braid_allocate_zeroed(num_functions, sizeof(*import->kernels));
    builder->has_word = braid_allocate_zeroed(import->memory.buffers.num + USE_FIRST_BUFFER,
                                              sizeof(*builder->has_word));
    if (!import->nodes || !builder->resources || !import->kernels || !builder->has_word)
        return false;
    find_words(builder);
    const struct import_reload *reloads = import->reloads.functions;
    for (size_t i = 0; i < num_functions; i++)
        import->kernels[i] = (braid_kernel){ .name = functions[i].name, .cuda = {
                                                .data = reloads ? reloads[i].text : NULL,
                                                .function = functions[i].function
                                            } };
    return true;
}

braid_status braid_import_build(struct gpu_backend *gpu, braid_import *import)
{
    struct builder builder = { .import = import, .gpu = gpu };
    braid_status status = braid_graph_create(&import->graph);
    if (!status && !begin(&builder))
        status = no_memory();
    if (!status)
        status = add_nodes(&builder, (uint32_t)import->captured.nodes.num);
    if (!status)
        status = tell_blind(&builder);
    if (!status)
        import->graph->imported_places = import->captured.members.num;
    braid_free(builder.resources);
    braid_free(builder.has_word);
    braid_array_finish(&builder.accesses);
    braid_array_finish(&builder.after);
    braid_array_finish(&builder.args);
    return status;
}

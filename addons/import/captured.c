// SPDX-License-Identifier: Apache-2.0
// Reads a graph of the CUDA driver.
#include "import/captured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"

// A graph within graphs in more is refused.
enum { MOST_DEPTH = 16, MOST_NODES = 40000 };

// Attributes of kernel nodes that no node of Braid has. Each is a number at an offset of its value.
// A memory-sync domain is not among them: a fence of the default domain, where Braid plays all
// kernels, waits for no fewer writes.
static const struct {
    int id, offset;
    const char *text;
} refused[] = {
    { 1, 8, "an access-policy window" },
    { 13, 0, "updates by the device" },
    { 14, 0, "a carve-out of its launch" },
};

struct reader {
    const struct gpu_backend *gpu;
    const struct gpu_api *api;
    const braid_import_options *options;
    struct captured_graph *captured;
};

// A graph that is read: the graph itself, a child graph or a body.
struct place {
    const char *prefix;
    int depth;
    uint32_t region;
};

// A node of the graph that is read, by its number there, and its first and last node in the list.
struct read_node {
    gpu_node handle;
    uint32_t number, first, last;
};

const char *braid_captured_kind(int type)
{
    static const char *const kinds[] = {
        "kernel",
        "copy",
        "fill",
        "host call",
        "child graph",
        "empty node",
        "wait for an event",
        "record of an event",
        "signal of a semaphore",
        "wait for a semaphore",
        "allocation",
        "free",
        "batch of memory operations",
        "conditional node",
    };
    return type >= 0 && (size_t)type < sizeof(kinds) / sizeof(kinds[0]) ? kinds[type]
                                                                        : "node of unknown kind";
}

static braid_status no_memory(void)
{
    return braid_error_no_memory("a captured graph");
}

static braid_status refuse(const struct captured_node *node, const char *why)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s of the captured graph, a %s, %s", node->place,
                       braid_captured_kind(node->type), why);
}

static braid_status refuse_size(void)
{
    return braid_error(BRAID_UNSUPPORTED, "the captured graph has more than %d nodes", MOST_NODES);
}

// ---- kernels ----

// A copy of the driver's bytes; NULL: memory ran out.
static void *keep(const struct reader *reader, const void *told, size_t num, size_t bytes)
{
    void *kept = braid_store_take(&reader->captured->store, num, bytes);
    if (kept)
        memcpy(kept, told, num * bytes);
    return kept;
}

static braid_status read_params(const struct reader *reader, struct captured_function *function)
{
    struct captured_graph *captured = reader->captured;
    gpu_result result;
    size_t offset, bytes;
    function->first_param = (uint32_t)captured->params.num;
    while (!(result = reader->api->function_parameter(function->function, function->num_params,
                                                      &offset, &bytes))) {
        const struct captured_param param = { (uint32_t)offset, (uint32_t)bytes };
        if (!braid_array_put(&captured->params, &param, sizeof(param)))
            return no_memory();
        function->num_params++;
    }
    if (result == GPU_INVALID_VALUE) // there are no more
        result = GPU_SUCCESS;
    return braid_gpu_check(reader->gpu, result, &reader->api->function_parameter,
                           "reading a kernel's parameters");
}

static braid_status add_function(const struct reader *reader, gpu_function function,
                                 uint32_t member, uint32_t *out_index)
{
    struct captured_graph *captured = reader->captured;
    const struct captured_function *known = captured->functions.items;
    struct captured_function added = { .function = function, .member = member };
    const char *name = NULL;
    for (*out_index = 0; *out_index < captured->functions.num; ++*out_index) {
        if (known[*out_index].function == function && known[*out_index].member == member)
            return BRAID_OK;
    }
    braid_status status = braid_gpu_check(reader->gpu, reader->api->function_name(&name, function),
                                          &reader->api->function_name, "reading a kernel's name");
    if (status)
        return status;
    added.name = keep(reader, name, strlen(name) + 1, 1);
    if (!added.name)
        return no_memory();
    status = read_params(reader, &added);
    if (!status && !braid_array_put(&captured->functions, &added, sizeof(added)))
        status = no_memory();
    return status;
}

// Where the driver keeps the bytes of a parameter, and how many; NULL: nowhere. A buffer may end
// before the last parameters do.
static const unsigned char *find_argument(const struct cuda_kernel_parameters *told, uint32_t index,
                                          const struct captured_param *param, size_t *out_bytes)
{
    enum { END = 0, BUFFER = 1, BUFFER_BYTES = 2 };
    const unsigned char *buffer = NULL;
    size_t bytes = (size_t)param->offset + param->bytes;
    *out_bytes = param->bytes;
    if (told->args)
        return told->args[index];
    for (size_t i = 0; told->extra && told->extra[i] != (void *)END; i += 2) {
        if (told->extra[i] == (void *)BUFFER)
            buffer = told->extra[i + 1];
        else if (told->extra[i] == (void *)BUFFER_BYTES)
            bytes = *(const size_t *)told->extra[i + 1];
    }
    const size_t left = bytes > param->offset ? bytes - param->offset : 0;
    *out_bytes = left < param->bytes ? left : param->bytes;
    return buffer ? buffer + param->offset : NULL;
}

static braid_status read_arguments(const struct reader *reader,
                                   const struct cuda_kernel_parameters *told,
                                   struct captured_node *node)
{
    struct captured_graph *captured = reader->captured;
    const struct captured_function *function = captured_function_of(captured, node);
    node->kernel.first_byte = captured->bytes.num;
    for (uint32_t i = 0; i < function->num_params; i++) {
        const struct captured_param *param = captured_params_of(captured, function) + i;
        size_t bytes;
        const unsigned char *from = find_argument(told, i, param, &bytes);
        const size_t stride = (param->bytes + 15U) / 16 * 16;
        unsigned char *to = braid_array_append(&captured->bytes, stride, 1);
        if (!from)
            return refuse(node, "does not tell its arguments");
        if (!to)
            return no_memory();
        memset(to, 0, stride);
        memcpy(to, from, bytes);
    }
    return BRAID_OK;
}

// A driver that does not know the attribute says so: the node does not have it.
static braid_status read_attribute(const struct reader *reader, gpu_node handle, int id,
                                   union gpu_attribute_value *out_value)
{
    memset(out_value, 0, sizeof(*out_value));
    const gpu_result result = reader->api->node_attribute(handle, id, out_value);
    if (result == GPU_INVALID_VALUE || result == GPU_NOT_SUPPORTED)
        return BRAID_OK;
    return braid_gpu_check(reader->gpu, result, &reader->api->node_attribute,
                           "reading an attribute of a captured kernel");
}

static braid_status refuse_attributes(const struct reader *reader, gpu_node handle,
                                      const struct captured_node *node)
{
    union gpu_attribute_value value;
    char text[96];
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        int32_t number;
        braid_status status = read_attribute(reader, handle, refused[i].id, &value);
        if (status)
            return status;
        memcpy(&number, value.pad + refused[i].offset, sizeof(number));
        snprintf(text, sizeof(text), "has %s, which Braid's nodes do not have", refused[i].text);
        if (number && number != -1)
            return refuse(node, text);
    }
    return BRAID_OK;
}

static braid_status read_attributes(const struct reader *reader, gpu_node handle,
                                    struct captured_node *node)
{
    union gpu_attribute_value value;
    braid_status status = refuse_attributes(reader, handle, node);
    if (!status)
        status = read_attribute(reader, handle, GPU_LAUNCH_CLUSTER, &value);
    if (status)
        return status;
    node->kernel.cluster[0] = value.cluster.x;
    node->kernel.cluster[1] = value.cluster.y;
    node->kernel.cluster[2] = value.cluster.z;
    status = read_attribute(reader, handle, GPU_LAUNCH_PRIORITY, &value);
    node->kernel.priority = value.priority;
    if (!status)
        status = read_attribute(reader, handle, GPU_LAUNCH_COOPERATIVE, &value);
    node->kernel.cooperative = value.cooperative;
    return status;
}

static braid_status find_member(const struct reader *reader, gpu_context context,
                                struct captured_node *node)
{
    const struct import_members *members = &reader->captured->members;
    node->member = context ? braid_import_member_with(members, context) : 0;
    if (members->num > 1 && !context)
        return refuse(node, "does not tell its context");
    if (node->member == MEMBER_NONE)
        return refuse(node, members->num > 1 ? "is of a context of no member of the group"
                                             : "is of another context than the device's");
    return BRAID_OK;
}

// A kernel of a library has a function for each context.
static braid_status find_function(const struct reader *reader,
                                  const struct cuda_kernel_parameters *told, uint32_t member,
                                  gpu_function *out_function)
{
    const struct gpu_backend *gpu = reader->captured->members.gpu[member];
    struct gpu_scope scope;
    *out_function = told->function;
    if (told->function)
        return BRAID_OK;
    braid_status status = braid_gpu_enter(gpu, &scope, "import");
    if (status)
        return status;
    status = braid_gpu_check(gpu, reader->api->kernel_function(out_function, told->kernel),
                             &reader->api->kernel_function, "reading a captured kernel");
    braid_gpu_leave(gpu, &scope);
    return status;
}

static bool is_setter(const struct reader *reader, const struct captured_node *node)
{
    const char *name = captured_function_of(reader->captured, node)->name;
    for (size_t i = 0; i < reader->options->num_setters; i++) {
        if (strcmp(reader->options->setters[i], name) == 0)
            return true;
    }
    return false;
}

static braid_status read_kernel(const struct reader *reader, gpu_node handle,
                                struct captured_node *node)
{
    struct cuda_kernel_parameters told = { 0 };
    gpu_function function;
    braid_status status = braid_gpu_check(reader->gpu, reader->api->node_kernel(handle, &told),
                                          &reader->api->node_kernel, "reading a captured kernel");
    if (!status)
        status = find_member(reader, told.context, node);
    if (!status)
        status = find_function(reader, &told, node->member, &function);
    if (!status)
        status = add_function(reader, function, node->member, &node->kernel.function);
    if (status)
        return status;
    memcpy(node->kernel.grid, told.grid, sizeof(told.grid));
    memcpy(node->kernel.block, told.block, sizeof(told.block));
    node->kernel.shared_bytes = told.shared_bytes;
    status = read_attributes(reader, handle, node);
    if (!status)
        status = read_arguments(reader, &told, node);
    node->is_setter = is_setter(reader, node);
    if (!status && node->is_setter)
        node->type = GPU_NODE_EMPTY;
    return status;
}

// ---- other nodes ----

static braid_status read_allocation(const struct reader *reader, gpu_node handle,
                                    struct captured_node *node)
{
    struct cuda_allocation_parameters told = { 0 };
    const gpu_result result = reader->api->node_allocation(handle, &told);
    node->memory.address = told.memory;
    node->memory.bytes = told.bytes;
    return braid_gpu_check(reader->gpu, result, &reader->api->node_allocation,
                           "reading a captured allocation");
}

static braid_status read_free(const struct reader *reader, gpu_node handle,
                              struct captured_node *node)
{
    void *memory = NULL;
    const gpu_result result = reader->api->node_free(handle, &memory);
    node->memory.address = (uintptr_t)memory;
    return braid_gpu_check(reader->gpu, result, &reader->api->node_free, "reading a captured free");
}

static braid_status read_event(const struct reader *reader, gpu_node handle,
                               struct captured_node *node)
{
    const struct gpu_api *api = reader->api;
    const bool records = node->type == GPU_NODE_RECORD;
    if (!api->node_record || !api->node_wait || !api->event_record_with)
        return refuse(node, "is of a kind that this driver does not tell");
    if (records)
        return braid_gpu_check(reader->gpu, api->node_record(handle, &node->event),
                               &api->node_record, "reading a captured record");
    return braid_gpu_check(reader->gpu, api->node_wait(handle, &node->event), &api->node_wait,
                           "reading a captured wait");
}

// The node owns the operations that the driver tells.
static braid_status read_batch(const struct reader *reader, gpu_node handle,
                               struct captured_node *node)
{
    const struct gpu_api *api = reader->api;
    struct cuda_operation_parameters *batch = &node->batch;
    if (!api->node_operations || !api->stream_operations)
        return refuse(node, "is of a kind that this driver does not tell");
    braid_status status = braid_gpu_check(reader->gpu, api->node_operations(handle, batch),
                                          &api->node_operations, "reading a captured batch");
    if (!status)
        status = find_member(reader, batch->context, node);
    if (status || !batch->num)
        return status;
    batch->operations = keep(reader, batch->operations, batch->num, sizeof(*batch->operations));
    return batch->operations ? BRAID_OK : no_memory();
}

static braid_status read_semaphores(const struct reader *reader, gpu_node handle,
                                    struct captured_node *node)
{
    const struct gpu_api *api = reader->api;
    struct cuda_semaphore_parameters *of = &node->semaphores.told;
    if (!api->node_signal || !api->node_await || !api->semaphore_signal || !api->semaphore_wait)
        return refuse(node, "is of a kind that this driver does not tell");
    braid_status status = node->type == GPU_NODE_SIGNAL
                              ? braid_gpu_check(reader->gpu, api->node_signal(handle, of),
                                                &api->node_signal, "reading a captured signal")
                              : braid_gpu_check(reader->gpu, api->node_await(handle, of),
                                                &api->node_await, "reading a captured wait");
    if (status || !of->num)
        return status;
    of->semaphores = keep(reader, of->semaphores, of->num, sizeof(*of->semaphores));
    of->values = keep(reader, of->values, of->num, sizeof(*of->values));
    return of->semaphores && of->values ? BRAID_OK : no_memory();
}

uint64_t braid_import_side_begin(const struct cuda_copy_side *side)
{
    const uint64_t base =
        side->memory_type == GPU_MEMORY_HOST ? (uintptr_t)side->host : side->device;
    return base + side->x + (side->y + side->z * side->height) * side->pitch;
}

uint64_t braid_import_copy_span(const struct cuda_copy_parameters *copy,
                                const struct cuda_copy_side *side)
{
    const uint64_t rows = (copy->depth - 1) * side->height + copy->height - 1;
    return rows * side->pitch + copy->width;
}

static bool is_side_flat(const struct cuda_copy_parameters *copy, const struct cuda_copy_side *side)
{
    return (copy->height == 1 || side->pitch == copy->width) &&
           (copy->depth == 1 || (side->pitch == copy->width && side->height == copy->height));
}

bool braid_import_is_flat(const struct captured_node *node, uint64_t *out_bytes)
{
    const struct cuda_copy_parameters *copy = &node->copy;
    const struct cuda_fill_parameters *fill = &node->fill;
    if (node->type == GPU_NODE_COPY) {
        *out_bytes = copy->width * copy->height * copy->depth;
        return is_side_flat(copy, &copy->from) && is_side_flat(copy, &copy->to);
    }
    *out_bytes = fill->width * fill->value_bytes * fill->height;
    return fill->height == 1 || fill->pitch == fill->width * fill->value_bytes;
}

// A graph of the driver keeps the kinds of memory that it was made with. The driver knows no
// address of memory that the host has not given it.
static braid_status read_kind(const struct reader *reader, uint64_t address, uint64_t *out_kind)
{
    void *at = (void *)(uintptr_t)address; // NOLINT
    int type = 0, ordinal = 0;
    gpu_result result = reader->api->pointer_attribute(&type, GPU_POINTER_MEMORY_TYPE, at);
    if (result == GPU_INVALID_VALUE)
        return BRAID_OK;
    if (!result)
        result = reader->api->pointer_attribute(&ordinal, GPU_POINTER_DEVICE, at);
    *out_kind = (uint64_t)(uint32_t)type << 32 | (uint32_t)ordinal;
    return braid_gpu_check(reader->gpu, result, &reader->api->pointer_attribute,
                           "asking for the kind of a captured node's memory");
}

// One of no bytes does nothing.
static braid_status read_copy(const struct reader *reader, gpu_node handle,
                              struct captured_node *node)
{
    struct cuda_copy_parameters *told = &node->copy;
    const gpu_result result = reader->api->node_copy(handle, told);
    if (!result && (!told->width || !told->height || !told->depth))
        node->type = GPU_NODE_EMPTY;
    braid_status status =
        braid_gpu_check(reader->gpu, result, &reader->api->node_copy, "reading a captured copy");
    if (!status)
        status = read_kind(reader, braid_import_side_begin(&told->from), &node->kinds[0]);
    return status ? status : read_kind(reader, braid_import_side_begin(&told->to), &node->kinds[1]);
}

static braid_status read_fill(const struct reader *reader, gpu_node handle,
                              struct captured_node *node)
{
    struct cuda_fill_parameters *told = &node->fill;
    const gpu_result result = reader->api->node_fill(handle, told);
    if (!result && (!told->width || !told->height))
        node->type = GPU_NODE_EMPTY;
    braid_status status =
        braid_gpu_check(reader->gpu, result, &reader->api->node_fill, "reading a captured fill");
    return status ? status : read_kind(reader, told->to, &node->kinds[1]);
}

static braid_status read_work(const struct reader *reader, gpu_node handle,
                              struct captured_node *node)
{
    switch (node->type) {
    case GPU_NODE_KERNEL:
        return read_kernel(reader, handle, node);
    case GPU_NODE_COPY:
        return read_copy(reader, handle, node);
    case GPU_NODE_FILL:
        return read_fill(reader, handle, node);
    case GPU_NODE_HOST:
        return braid_gpu_check(reader->gpu, reader->api->node_host(handle, &node->host),
                               &reader->api->node_host, "reading a captured host call");
    case GPU_NODE_ALLOCATION:
        return read_allocation(reader, handle, node);
    case GPU_NODE_FREE:
        return read_free(reader, handle, node);
    case GPU_NODE_RECORD:
    case GPU_NODE_WAIT:
        return read_event(reader, handle, node);
    case GPU_NODE_OPERATIONS:
        return read_batch(reader, handle, node);
    case GPU_NODE_SIGNAL:
    case GPU_NODE_AWAIT:
        return read_semaphores(reader, handle, node);
    case GPU_NODE_EMPTY:
        return BRAID_OK;
    default:
        return refuse(node, "is of a kind that Braid does not import");
    }
}

static braid_status read_graph(const struct reader *reader, gpu_graph graph,
                               const struct place *place);

static braid_status put_node(const struct reader *reader, const struct captured_node *node,
                             uint32_t *out_index)
{
    struct array *nodes = &reader->captured->nodes;
    *out_index = (uint32_t)nodes->num;
    if (nodes->num >= MOST_NODES)
        return refuse_size();
    return braid_array_put(nodes, node, sizeof(*node)) ? BRAID_OK : no_memory();
}

static braid_status put_edge(const struct reader *reader, uint32_t from, uint32_t to)
{
    const struct import_edge edge = { from, to };
    return braid_array_put(&reader->captured->edges, &edge, sizeof(edge)) ? BRAID_OK : no_memory();
}

// Its nodes stand between two empty ones.
static braid_status read_child(const struct reader *reader, gpu_node handle,
                               const struct place *place, struct captured_node *node,
                               struct read_node *out_read)
{
    const struct place inside = { node->place, place->depth + 1, place->region };
    gpu_graph child;
    braid_status status = braid_gpu_check(reader->gpu, reader->api->node_child(handle, &child),
                                          &reader->api->node_child, "reading a child graph");
    node->type = GPU_NODE_EMPTY;
    if (!status)
        status = put_node(reader, node, &out_read->first);
    const uint32_t first = (uint32_t)reader->captured->nodes.num;
    if (!status)
        status = read_graph(reader, child, &inside);
    const uint32_t end = (uint32_t)reader->captured->nodes.num;
    if (!status)
        status = put_node(reader, node, &out_read->last);
    for (uint32_t i = first; !status && i < end; i++) {
        if (captured_nodes(reader->captured)[i].region != place->region)
            continue;
        status = put_edge(reader, out_read->first, i);
        if (!status)
            status = put_edge(reader, i, out_read->last);
    }
    return status ? status : put_edge(reader, out_read->first, out_read->last);
}

// ---- conditional nodes ----

static const braid_import_conditional *find_told(const struct reader *reader, gpu_node handle,
                                                 bool *out_is_otherwise)
{
    const braid_import_conditional *told = reader->options->conditionals;
    for (size_t i = 0; i < reader->options->num_conditionals; i++) {
        *out_is_otherwise = told[i].otherwise && told[i].otherwise == handle;
        if (told[i].node == handle || *out_is_otherwise)
            return &told[i];
    }
    return NULL;
}

static braid_status read_body(const struct reader *reader, const struct captured_node *node,
                              uint32_t owner, int which, const struct place *place)
{
    struct array *regions = &reader->captured->regions;
    const uint32_t number = (uint32_t)regions->num;
    const struct import_region body = { owner, (uint32_t)reader->captured->nodes.num, 0 };
    char prefix[sizeof(node->place) + 1];
    snprintf(prefix, sizeof(prefix), "%s%s", node->place, which ? "e" : "");
    const struct place inside = { prefix, place->depth + 1, number };
    if (!braid_array_put(regions, &body, sizeof(body)))
        return no_memory();
    ((struct captured_node *)reader->captured->nodes.items)[owner].conditional.regions[which] =
        number;
    braid_status status = read_graph(reader, node->conditional.told->bodies[which], &inside);
    ((struct import_region *)regions->items)[number].num =
        (uint32_t)reader->captured->nodes.num - body.first;
    return status;
}

static braid_status read_conditional(const struct reader *reader, gpu_node handle,
                                     const struct place *place, struct captured_node *node,
                                     struct read_node *read)
{
    bool is_otherwise = false;
    const braid_import_conditional *told = find_told(reader, handle, &is_otherwise);
    if (!told)
        return refuse(node, "is not in the list of the options, and no driver tells its bodies");
    node->conditional.told = told;
    node->conditional.is_loop = told->kind == BRAID_IMPORT_WHILE;
    node->conditional.word = (uintptr_t)told->condition;
    if (is_otherwise) {
        node->is_otherwise = told;
        node->type = GPU_NODE_EMPTY;
    }
    braid_status status = put_node(reader, node, &read->first);
    read->last = read->first;
    for (int i = 0; i < 2 && !status && !is_otherwise; i++) {
        if (told->bodies[i])
            status = read_body(reader, node, read->first, i, place);
    }
    return status;
}

// The driver takes no others.
static bool may_be_in_body(int type)
{
    return type == GPU_NODE_KERNEL || type == GPU_NODE_COPY || type == GPU_NODE_FILL ||
           type == GPU_NODE_EMPTY || type == GPU_NODE_CHILD || type == GPU_NODE_CONDITIONAL;
}

// Memory of allocations would have to be on one member, and loops run on one.
static bool may_be_in_group(int type)
{
    return type != GPU_NODE_ALLOCATION && type != GPU_NODE_FREE && type != GPU_NODE_CONDITIONAL;
}

static braid_status read_node(const struct reader *reader, const struct place *place,
                              struct read_node *read)
{
    struct captured_node node = { .region = place->region,
                                  .member = reader->captured->members.num > 1 ? MEMBER_NONE : 0,
                                  .handle = read->handle };
    snprintf(node.place, sizeof(node.place), "%.24s%s%u", place->prefix,
             place->prefix[0] ? "." : "", read->number);
    braid_status status =
        braid_gpu_check(reader->gpu, reader->api->node_type(read->handle, &node.type),
                        &reader->api->node_type, "reading a captured node");
    if (!status && place->region && !may_be_in_body(node.type))
        status = refuse(&node, "stands in a body of a conditional node");
    if (!status && reader->captured->members.num > 1 && !may_be_in_group(node.type))
        status = refuse(&node, "cannot be imported into a group of several devices");
    const bool has_graphs = node.type == GPU_NODE_CHILD || node.type == GPU_NODE_CONDITIONAL;
    if (!status && has_graphs && place->depth >= MOST_DEPTH)
        status = refuse(&node, "stands in too many others");
    if (!status && node.type == GPU_NODE_CHILD)
        return read_child(reader, read->handle, place, &node, read);
    if (!status && node.type == GPU_NODE_CONDITIONAL)
        return read_conditional(reader, read->handle, place, &node, read);
    if (!status)
        status = read_work(reader, read->handle, &node);
    if (!status)
        status = put_node(reader, &node, &read->first);
    read->last = read->first;
    return status;
}

// ---- edges ----

static int compare_handles(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct read_node *)left)->handle;
    const uintptr_t b = (uintptr_t)((const struct read_node *)right)->handle;
    return (a > b) - (a < b);
}

static const struct read_node *find_node(const struct read_node *nodes, size_t num, gpu_node handle)
{
    const struct read_node wanted = { .handle = handle };
    return bsearch(&wanted, nodes, num, sizeof(*nodes), compare_handles);
}

static braid_status take_edges(const struct read_node *nodes, size_t num_nodes,
                               const gpu_node *from, const gpu_node *to, size_t num,
                               struct array *out_edges)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < num && !status; i++) {
        const struct read_node *a = find_node(nodes, num_nodes, from[i]);
        const struct read_node *b = find_node(nodes, num_nodes, to[i]);
        if (!a || !b)
            return braid_error(BRAID_DEVICE_ERROR, "an edge of the captured graph leads out of it");
        const struct import_edge edge = { a->number, b->number };
        status = braid_array_put(out_edges, &edge, sizeof(edge)) ? BRAID_OK : no_memory();
    }
    return status;
}

// By numbers of nodes, which are sorted by their handles. An edge of any kind counts as a whole
// one.
static braid_status read_edges(const struct reader *reader, gpu_graph graph,
                               const struct read_node *nodes, size_t num_nodes,
                               struct array *out_edges)
{
    struct store store = { 0 };
    size_t num = 0;
    gpu_result result = reader->api->graph_edges(graph, NULL, NULL, NULL, &num);
    gpu_node *from = braid_store_take(&store, num, sizeof(gpu_node));
    gpu_node *to = braid_store_take(&store, num, sizeof(gpu_node));
    struct gpu_edge_data *data = braid_store_take(&store, num, sizeof(*data));
    braid_status status = store.failed ? no_memory() : BRAID_OK;
    if (!status && !result && num)
        result = reader->api->graph_edges(graph, from, to, data, &num);
    if (!status)
        status = braid_gpu_check(reader->gpu, result, &reader->api->graph_edges,
                                 "reading the edges of a captured graph");
    if (!status)
        status = take_edges(nodes, num_nodes, from, to, num, out_edges);
    braid_store_finish(&store);
    return status;
}

// ---- sorting ----

struct sorter {
    const struct import_edge *edges;
    size_t num_edges;
    uint32_t num_nodes;
    uint32_t *first, *to; // successors of each node
    uint32_t *waits;      // edges that are not followed yet, by node
    uint32_t *order;      // nodes in turn
    uint32_t num_sorted;
};

static void make_successors(struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->num_edges; i++) {
        sorter->first[sorter->edges[i].from + 2]++;
        sorter->waits[sorter->edges[i].to]++;
    }
    for (uint32_t i = 1; i <= sorter->num_nodes; i++)
        sorter->first[i + 1] += sorter->first[i];
    for (size_t i = 0; i < sorter->num_edges; i++)
        sorter->to[sorter->first[sorter->edges[i].from + 1]++] = sorter->edges[i].to;
}

// As captures are.
static bool is_sorted(const struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->num_edges; i++) {
        if (sorter->edges[i].from > sorter->edges[i].to)
            return false;
    }
    return true;
}

// Nodes follow when `waits` has counted down.
static void sort_nodes(struct sorter *sorter)
{
    for (uint32_t i = 0; i < sorter->num_nodes; i++) {
        if (!sorter->waits[i])
            sorter->order[sorter->num_sorted++] = i;
    }
    for (uint32_t i = 0; i < sorter->num_sorted; i++) {
        const uint32_t node = sorter->order[i];
        for (uint32_t k = sorter->first[node]; k < sorter->first[node + 1]; k++) {
            if (--sorter->waits[sorter->to[k]] == 0)
                sorter->order[sorter->num_sorted++] = sorter->to[k];
        }
    }
}

static braid_status sort(struct store *store, uint32_t num, const struct array *edges,
                         const uint32_t **out_order)
{
    struct sorter sorter = {
        .edges = edges->items,
        .num_edges = edges->num,
        .num_nodes = num,
        .first = braid_store_take(store, (size_t)num + 2, sizeof(uint32_t)),
        .to = braid_store_take(store, edges->num, sizeof(uint32_t)),
        .waits = braid_store_take(store, num, sizeof(uint32_t)),
        .order = braid_store_take(store, num, sizeof(uint32_t)),
    };
    if (store->failed)
        return no_memory();
    *out_order = sorter.order;
    for (uint32_t i = 0; i < num && is_sorted(&sorter); i++)
        sorter.order[i] = i;
    if (is_sorted(&sorter))
        return BRAID_OK;
    make_successors(&sorter);
    sort_nodes(&sorter);
    return sorter.num_sorted == num ? BRAID_OK
                                    : braid_error_invalid("the captured graph has a cycle");
}

// ---- graphs ----

static braid_status put_edges(const struct reader *reader, const struct read_node *nodes,
                              const struct array *edges)
{
    const struct import_edge *all = edges->items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < edges->num && !status; i++)
        status = put_edge(reader, nodes[all[i].from].last, nodes[all[i].to].first);
    return status;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct read_node *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

// Reads nodes so that each edge leads to a later one.
static braid_status read_all(const struct reader *reader, const struct place *place,
                             gpu_graph graph, struct read_node *nodes, size_t num)
{
    struct store store = { 0 };
    struct array edges = { 0 };
    const uint32_t *order = NULL;
    qsort(nodes, num, sizeof(*nodes), compare_handles);
    braid_status status = read_edges(reader, graph, nodes, num, &edges);
    qsort(nodes, num, sizeof(*nodes), compare_numbers);
    if (!status)
        status = sort(&store, (uint32_t)num, &edges, &order);
    for (size_t i = 0; i < num && !status; i++)
        status = read_node(reader, place, &nodes[order[i]]);
    if (!status)
        status = put_edges(reader, nodes, &edges);
    braid_array_finish(&edges);
    braid_store_finish(&store);
    return status;
}

static braid_status read_graph(const struct reader *reader, gpu_graph graph,
                               const struct place *place)
{
    struct store store = { 0 };
    size_t num = 0;
    gpu_result result = reader->api->graph_nodes(graph, NULL, &num);
    gpu_node *handles = braid_store_take(&store, num, sizeof(gpu_node));
    struct read_node *nodes = braid_store_take(&store, num, sizeof(*nodes));
    braid_status status = store.failed ? no_memory() : BRAID_OK;
    if (!status && !result && num)
        result = reader->api->graph_nodes(graph, handles, &num);
    if (!status)
        status = braid_gpu_check(reader->gpu, result, &reader->api->graph_nodes,
                                 "reading a captured graph");
    for (size_t i = 0; i < num && !status; i++)
        nodes[i] = (struct read_node){ .handle = handles[i], .number = (uint32_t)i };
    if (!status && num > MOST_NODES)
        status = refuse_size();
    if (!status && num)
        status = read_all(reader, place, graph, nodes, num);
    braid_store_finish(&store);
    return status;
}

static int compare_edges(const void *left, const void *right)
{
    const struct import_edge *a = left, *b = right;
    return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
                              : (a->to > b->to) - (a->to < b->to);
}

// ---- nodes in order ----

void braid_captured_mark_behind(const struct captured_graph *captured, uint32_t from,
                                uint64_t *bits)
{
    const struct import_edge *edges = captured->edges.items;
    const struct captured_node *nodes = captured_nodes(captured);
    const struct import_region *regions = captured_regions(captured);
    captured_set(bits, from);
    for (size_t i = 0; i < captured->edges.num; i++) {
        if (captured_has(bits, edges[i].from))
            captured_set(bits, edges[i].to);
    }
    bits[from / 64] &= ~(UINT64_C(1) << from % 64);
    for (uint32_t i = 0; i < captured->nodes.num; i++) {
        const uint32_t owner = regions[nodes[i].region].owner;
        if (owner != IMPORT_NONE && captured_has(bits, owner))
            captured_set(bits, i);
    }
}

void braid_captured_mark_before(const struct captured_graph *captured, uint32_t to, uint64_t *bits)
{
    const struct import_edge *edges = captured->edges.items;
    captured_set(bits, to);
    for (size_t i = captured->edges.num; i-- > 0;) {
        if (captured_has(bits, edges[i].to))
            captured_set(bits, edges[i].from);
    }
    bits[to / 64] &= ~(UINT64_C(1) << to % 64);
}

bool braid_captured_runs_beside(const struct captured_graph *captured, uint32_t node, bool *near)
{
    const struct import_edge *edges = captured->edges.items;
    memset(near, 0, captured->nodes.num * sizeof(*near));
    near[node] = true;
    for (size_t i = 0; i < captured->edges.num; i++) // sorted, and each leads up
        near[edges[i].to] |= edges[i].from >= node && near[edges[i].from];
    for (size_t i = captured->edges.num; i-- > 0;)
        near[edges[i].from] |= edges[i].to <= node && near[edges[i].to];
    for (uint32_t i = 0; i < captured->nodes.num; i++) {
        if (!near[i] && !captured_nodes(captured)[i].region) // bodies are where their node is
            return true;
    }
    return false;
}

const unsigned char *braid_captured_argument(const struct captured_graph *captured,
                                             const struct captured_node *node, uint32_t index)
{
    const struct captured_param *params =
        captured_params_of(captured, captured_function_of(captured, node));
    size_t at = node->kernel.first_byte;
    for (uint32_t i = 0; i < index; i++)
        at += (params[i].bytes + 15U) / 16 * 16;
    return (const unsigned char *)captured->bytes.items + at;
}

// ---- the whole ----

static bool has_calls(const struct gpu_api *api)
{
    return api->graph_edges && api->node_kernel && api->node_fill && api->node_host &&
           api->node_child && api->node_allocation && api->node_free && api->node_attribute &&
           api->function_name && api->function_parameter && api->kernel_function &&
           api->function_module && api->module_variable && api->address_range;
}

static int compare_pointers(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t) * (void *const *)left, b = (uintptr_t) * (void *const *)right;
    return (a > b) - (a < b);
}

// Work of a node or body that stands in the list twice would run twice.
static braid_status check_twins(const braid_import_options *options)
{
    const braid_import_conditional *told = options->conditionals;
    struct store store = { 0 };
    size_t num = 0;
    const void **all = braid_store_take(&store, 4 * options->num_conditionals, sizeof(*all));
    for (size_t i = 0; i < options->num_conditionals && all; i++) {
        const void *own[] = { told[i].node, told[i].otherwise, told[i].bodies[0],
                              told[i].bodies[1] };
        for (size_t k = 0; k < 4; k++) {
            if (own[k])
                all[num++] = own[k];
        }
    }
    braid_status status = store.failed ? no_memory() : BRAID_OK;
    if (num)
        qsort(all, num, sizeof(*all), compare_pointers);
    for (size_t i = 1; i < num && !status; i++) {
        if (all[i] == all[i - 1])
            status = braid_error_invalid("braid_import_create: the list of conditional nodes has "
                                         "the node or body %p twice",
                                         all[i]);
    }
    braid_store_finish(&store);
    return status;
}

static braid_status check_list(const braid_import_options *options)
{
    const braid_import_conditional *told = options->conditionals;
    for (size_t i = 0; i < options->num_setters; i++) {
        if (!options->setters[i])
            return braid_error_invalid("braid_import_create: setter %zu is NULL", i);
    }
    for (size_t i = 0; i < options->num_conditionals; i++) {
        const int num_bodies = (told[i].bodies[0] != NULL) + (told[i].bodies[1] != NULL);
        const bool is_loop = told[i].kind == BRAID_IMPORT_WHILE;
        if (told[i].kind != BRAID_IMPORT_WHILE && told[i].kind != BRAID_IMPORT_IF)
            return braid_error_invalid("braid_import_create: conditional %zu has no known kind", i);
        if (!told[i].node || (uintptr_t)told[i].condition % sizeof(uint32_t) ||
            (is_loop ? !told[i].bodies[0] || told[i].bodies[1] || told[i].otherwise
                     : num_bodies < (told[i].otherwise ? 2 : 1)))
            return braid_error_invalid("braid_import_create: conditional %zu lacks its node or a "
                                       "body, or has one too many, or its word is not aligned",
                                       i);
    }
    return check_twins(options);
}

static braid_status read_whole(const struct reader *reader, gpu_graph graph)
{
    struct array *regions = &reader->captured->regions;
    const struct import_region all = { IMPORT_NONE, 0, 0 };
    const struct place place = { "", 0, 0 };
    if (!braid_array_put(regions, &all, sizeof(all)))
        return no_memory();
    braid_status status = read_graph(reader, graph, &place);
    ((struct import_region *)regions->items)[0].num = (uint32_t)reader->captured->nodes.num;
    return status;
}

braid_status braid_captured_read(const struct import_members *members, gpu_graph graph,
                                 const braid_import_options *options,
                                 struct captured_graph *out_captured)
{
    const struct gpu_backend *gpu = members->gpu[0];
    struct captured_graph captured = { .members = *members };
    const struct reader reader = { gpu, gpu->api, options, &captured };
    if (!has_calls(gpu->api))
        return braid_error(BRAID_UNSUPPORTED, "an import needs the driver of CUDA 12.4 or later");
    braid_status status = check_list(options);
    if (!status)
        status = read_whole(&reader, graph);
    if (!status && captured.edges.num)
        qsort(captured.edges.items, captured.edges.num, sizeof(struct import_edge), compare_edges);
    if (!status && members->num > 1)
        status = braid_captured_place(&captured);
    if (status)
        braid_captured_finish(&captured);
    else
        *out_captured = captured;
    return status;
}

void braid_captured_finish(struct captured_graph *captured)
{
    braid_array_finish(&captured->nodes);
    braid_array_finish(&captured->edges);
    braid_array_finish(&captured->regions);
    braid_array_finish(&captured->functions);
    braid_array_finish(&captured->params);
    braid_array_finish(&captured->bytes);
    braid_store_finish(&captured->store);
    *captured = (struct captured_graph){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// Kernel nodes: launches with their arguments' bytes.
#include <stdint.h>
#include <string.h>

#include <braid/graph.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/sized.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/code.h"
#include "graph/graph.h"
#include "graph/graph_ranks.h"

// An argument without faults.
struct graph_argument {
    braid_arg_kind kind;
    braid_access_mode access; // or 0
    size_t bytes;             // that the kernel takes
    const void *data;         // as given
    braid_resource resource;  // if the argument is one
    const void *address;      // its address, once it is found; NULL: each frame has its own
};

// The arguments of one node, and its accesses with those of the arguments behind.
struct graph_arguments {
    struct graph_argument *items;
    braid_access *accesses;
    size_t num, num_accesses;
};

// ---- arguments ----

struct argument_fault braid_graph_find_fault(const braid_arg *arg)
{
    static const size_t bytes[] = { [BRAID_ARG_UNCHECKED_POINTER] = sizeof(void *),
                                    [BRAID_ARG_RESOURCE] = sizeof(braid_resource),
                                    [BRAID_ARG_TRAP] = 0 };
    const int kind = (int)arg->kind, access = (int)arg->access;
    struct argument_fault fault = { "" };
    if (kind < BRAID_ARG_VALUE || kind > BRAID_ARG_TRAP)
        snprintf(fault.text, sizeof(fault.text), "has the unknown kind %d", kind);
    else if (access && kind != BRAID_ARG_RESOURCE)
        snprintf(fault.text, sizeof(fault.text), "has an access, and is no resource");
    else if (access < 0 || access > BRAID_ACCUMULATE)
        snprintf(fault.text, sizeof(fault.text), "has the unknown access %d", access);
    else if (!arg->data != (kind == BRAID_ARG_TRAP))
        snprintf(fault.text, sizeof(fault.text), arg->data ? "is a trap with data" : "is NULL");
    else if (kind == BRAID_ARG_VALUE && (!arg->bytes || arg->bytes > INT32_MAX))
        snprintf(fault.text, sizeof(fault.text), "has %zu bytes", arg->bytes);
    else if (kind != BRAID_ARG_VALUE && arg->bytes && arg->bytes != bytes[kind])
        snprintf(fault.text, sizeof(fault.text), "has %zu bytes, and its kind %zu", arg->bytes,
                 bytes[kind]);
    return fault;
}

// For an argument without faults.
static struct graph_argument read_argument(const braid_arg *arg)
{
    struct graph_argument argument = {
        .kind = arg->kind, .access = arg->access, .bytes = sizeof(void *), .data = arg->data
    };
    if (arg->kind == BRAID_ARG_VALUE)
        argument.bytes = arg->bytes;
    if (arg->kind == BRAID_ARG_RESOURCE)
        argument.resource = *(const braid_resource *)arg->data;
    return argument;
}

static braid_status check_resource(const braid_graph *graph, const char *name, size_t index,
                                   braid_resource resource)
{
    if (resource.graph == graph->id && resource.index < graph->resources.num)
        return BRAID_OK;
    return braid_error_invalid(
        "node '%s': argument %zu (resource %u of graph %u) is not a resource of this graph", name,
        index, resource.index, resource.graph);
}

// Behind the accesses that the node was given.
static braid_status add_accesses(struct graph_arguments *arguments, const braid_graph *graph,
                                 const char *name)
{
    for (size_t i = 0; i < arguments->num; i++) {
        const struct graph_argument *argument = &arguments->items[i];
        if (!argument->access)
            continue;
        braid_status status = check_resource(graph, name, i, argument->resource);
        if (status)
            return status;
        arguments->accesses[arguments->num_accesses++] =
            (braid_access){ argument->resource, argument->access };
    }
    return BRAID_OK;
}

// Lists that the checks of any node refuse stay empty. `name` is the node's, for messages. The
// caller finishes the arguments, also after an error. Errors: BRAID_INVALID_ARGUMENT,
// BRAID_NO_MEMORY.
static braid_status graph_arguments_init(struct graph_arguments *arguments,
                                         const braid_graph *graph, const char *name,
                                         const braid_kernel_node *launch)
{
    const braid_node_options *node = &launch->node;
    const size_t given = node->num_accesses;
    *arguments = (struct graph_arguments){ 0 };
    if (!graph || !launch->args || !launch->num_args || launch->num_args >= GRAPH_MAX_ITEMS ||
        (given && !node->accesses))
        return BRAID_OK;
    if (given > GRAPH_MAX_ITEMS)
        return braid_error_invalid("node '%s': too many accesses", name);
    arguments->items = braid_allocate_zeroed(launch->num_args, sizeof(*arguments->items));
    arguments->accesses =
        braid_allocate_zeroed(given + launch->num_args, sizeof(*arguments->accesses));
    if (!arguments->items || !arguments->accesses)
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    arguments->num = launch->num_args;
    for (size_t i = 0; i < launch->num_args; i++) {
        const struct argument_fault fault = braid_graph_find_fault(&launch->args[i]);
        if (fault.text[0])
            return braid_error_invalid("node '%s': argument %zu %s", name, i, fault.text);
        arguments->items[i] = read_argument(&launch->args[i]);
    }
    for (size_t i = 0; i < given; i++)
        arguments->accesses[arguments->num_accesses++] = node->accesses[i];
    return add_accesses(arguments, graph, name);
}

// ---- accesses from code ----

static struct code_argument code_argument_of(const braid_graph *graph,
                                             const struct graph_argument *argument)
{
    struct code_argument made = { .kind = ARGUMENT_NOTHING, .bytes = (uint32_t)argument->bytes };
    if (argument->kind == BRAID_ARG_VALUE) {
        made.kind = ARGUMENT_VALUE;
        made.data = argument->data;
    } else if (argument->kind == BRAID_ARG_RESOURCE &&
               !graph_resource_at(graph, argument->resource.index)->is_scratch) {
        made.kind = ARGUMENT_RESOURCE;
        made.resource = argument->resource.index;
    }
    return made;
}

static struct code_argument code_grid_of(const braid_kernel_node *launch)
{
    if (launch->grid_from_resource.graph)
        return (struct code_argument){ .kind = ARGUMENT_RESOURCE,
                                       .resource = launch->grid_from_resource.index };
    return (struct code_argument){ .kind = launch->grid_from ? ARGUMENT_VALUE : ARGUMENT_NOTHING,
                                   .bytes = sizeof(launch->grid_from),
                                   .data = &launch->grid_from };
}

static braid_status find_derived(braid_graph *graph, const char *name,
                                 const braid_kernel_node *launch,
                                 const struct graph_arguments *arguments,
                                 struct derived_accesses *derived)
{
    struct code_argument *args = braid_allocate_zeroed(arguments->num + 1, sizeof(*args));
    if (!args)
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < arguments->num && !status; i++) {
        if (arguments->items[i].kind == BRAID_ARG_RESOURCE)
            status = check_resource(graph, name, i, arguments->items[i].resource);
        if (!status)
            args[i] = code_argument_of(graph, &arguments->items[i]);
    }
    const struct code_launch described = { .name = name,
                                           .kernel = launch->kernel,
                                           .args = args,
                                           .num_args = (uint32_t)arguments->num,
                                           .grid = code_grid_of(launch) };
    if (!status)
        status = braid_graph_code->derive(graph, &described, derived);
    braid_free(args);
    return status;
}

static bool is_inside(const struct graph_resource *inner, const struct graph_resource *outer)
{
    return inner->offset >= outer->offset &&
           inner->offset + inner->bytes <= outer->offset + outer->bytes;
}

// Whether a node declares an access to a resource itself. Then this stands: it may say more, such
// as that all bytes are written, or that the code touches a part only. Planning compares it.
static bool declares(const braid_graph *graph, const struct graph_arguments *arguments,
                     const braid_access *derived)
{
    const struct graph_resource *made = graph_resource_at(graph, derived->resource.index);
    for (size_t i = 0; i < arguments->num_accesses; i++) {
        const braid_access *declared = &arguments->accesses[i];
        if (declared->resource.graph != graph->id ||
            declared->resource.index >= graph->resources.num)
            continue;
        const struct graph_resource *own = graph_resource_at(graph, declared->resource.index);
        if (own->buffer == made->buffer && (is_inside(own, made) || is_inside(made, own)))
            return true;
    }
    return false;
}

// Adds the accesses of the code that the node does not declare, and makes room for its words.
static braid_status add_derived(struct graph_arguments *arguments, braid_graph *graph,
                                const char *name, const struct derived_accesses *derived)
{
    const braid_access *items = derived->accesses.items;
    const size_t most = arguments->num_accesses + derived->accesses.num;
    braid_access *all = braid_reallocate(arguments->accesses, (most + 1) * sizeof(*all));
    if (!all)
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    arguments->accesses = all;
    const size_t num_declared = arguments->num_accesses;
    size_t num = num_declared;
    for (size_t i = 0; i < derived->accesses.num; i++) {
        if (!declares(graph, arguments, &items[i]))
            all[num++] = items[i];
    }
    arguments->num_accesses = num;
    return braid_array_reserve(&graph->words, derived->words.num, sizeof(struct code_word))
               ? BRAID_OK
               : braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
}

static braid_status derive(struct graph_arguments *arguments, braid_graph *graph, const char *name,
                           const braid_kernel_node *launch, struct derived_accesses *derived)
{
    if (!braid_graph_code)
        return braid_error_left_out("BRAID_CODE_DECLARES", "accesses");
    braid_status status = find_derived(graph, name, launch, arguments, derived);
    return status ? status : add_derived(arguments, graph, name, derived);
}

// For the node that was added last. There is room.
static void append_words(braid_graph *graph, const struct derived_accesses *derived)
{
    const size_t num = derived->words.num;
    struct code_word *words = num ? braid_array_append(&graph->words, num, sizeof(*words)) : NULL;
    if (num)
        memcpy(words, derived->words.items, num * sizeof(*words));
    for (size_t i = 0; i < num; i++)
        words[i].node = graph_num_nodes(graph) - 1;
}

static void graph_arguments_finish(struct graph_arguments *arguments)
{
    braid_free(arguments->items);
    braid_free(arguments->accesses);
}

// ---- nodes ----

// A launch, and its arguments as classified.
struct kernel_node {
    const braid_kernel_node *launch;
    struct graph_arguments args;
    struct derived_accesses derived;
};

static const char *launch_name(const braid_kernel_node *launch)
{
    if (launch->node.name)
        return launch->node.name;
    return launch->kernel && launch->kernel->name ? launch->kernel->name : "kernel";
}

static braid_dim3 without_zeros(braid_dim3 dim)
{
    return (braid_dim3){ dim.x ? dim.x : 1, dim.y ? dim.y : 1, dim.z ? dim.z : 1 };
}

static uint8_t empty_sizes(const braid_kernel_node *launch)
{
    const braid_dim3 grid = work_grid(launch->grid);
    if (!launch->may_be_empty)
        return 0;
    return (uint8_t)((grid.x ? 0 : 1) | (grid.y ? 0 : 2) | (grid.z ? 0 : 4));
}

// Whether the grid is read from memory.
static bool reads_grid(const braid_kernel_node *launch)
{
    return launch->grid_from || launch->grid_from_resource.graph;
}

static braid_status check_sizes(const char *name, const braid_kernel_node *launch)
{
    braid_dim3 grid = without_zeros(launch->grid);
    braid_dim3 block = without_zeros(launch->block);
    if (!braid_grid_fits(grid, block))
        return braid_error_invalid("node '%s': grid %ux%ux%u of blocks %ux%ux%u overflows", name,
                                   grid.x, grid.y, grid.z, block.x, block.y, block.z);
    braid_dim3 cluster = launch->cluster;
    if (cluster.x > UINT8_MAX || cluster.y > UINT8_MAX || cluster.z > UINT8_MAX)
        return braid_error_invalid("node '%s': cluster %ux%ux%u is too large", name, cluster.x,
                                   cluster.y, cluster.z);
    if (launch->cooperative && (cluster.x || cluster.y || cluster.z || reads_grid(launch)))
        return braid_error_invalid("node '%s': .cooperative goes with neither .cluster nor "
                                   ".grid_from",
                                   name);
    return BRAID_OK;
}

static bool has_code(const braid_kernel *kernel)
{
    return kernel->cpu || kernel->source || kernel->cuda.data || kernel->cuda.function ||
           kernel->hip.data || kernel->hip.function;
}

static braid_status check_texts(const char *name, const braid_kernel *kernel, const char *what,
                                const char *const *texts, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        if (!texts || !texts[i])
            return braid_error_invalid("node '%s': %s %zu of kernel '%s' is NULL", name, what, i,
                                       kernel->name);
    }
    return BRAID_OK;
}

// How its source is compiled.
static braid_status check_build(const char *name, const braid_kernel *kernel)
{
    braid_status status = check_texts(name, kernel, "option", kernel->options, kernel->num_options);
    if (!status)
        status = check_texts(name, kernel, "include folder", kernel->include_folders,
                             kernel->num_include_folders);
    for (size_t i = 0; i < kernel->num_headers && !status; i++) {
        const braid_header *header = kernel->headers ? &kernel->headers[i] : NULL;
        if (!header || !header->name || !header->text)
            return braid_error_invalid(
                "node '%s': header %zu of kernel '%s' has no name or no text", name, i,
                kernel->name);
    }
    return status;
}

static braid_status check_kernel(const char *name, const braid_kernel_node *launch)
{
    if (!launch->kernel)
        return braid_error_invalid("node '%s': .kernel is NULL", name);
    if (!launch->kernel->name || !*launch->kernel->name)
        return braid_error_invalid("node '%s': its kernel has no name", name);
    if (!has_code(launch->kernel))
        return braid_error_invalid("node '%s': kernel '%s' has no code for any device", name,
                                   launch->kernel->name);
    return check_build(name, launch->kernel);
}

// Finds the address of an argument that is one.
static braid_status find_address(const braid_graph *graph, const char *name,
                                 const braid_kernel_node *launch, size_t index,
                                 struct graph_argument *argument)
{
    char what[32];
    snprintf(what, sizeof(what), "argument %zu", index);
    const struct address_request request = {
        .node = name,
        .what = what,
        .options = &launch->node,
        .resource = argument->resource,
    };
    return braid_graph_find_address(graph, &request, &argument->address);
}

// The address of the three words; NULL where frames find it.
static braid_status find_grid(const braid_graph *graph, const char *name,
                              const braid_kernel_node *launch, const void **out_address)
{
    const struct address_request request = {
        .node = name,
        .what = "grid_from",
        .options = &launch->node,
        .resource = launch->grid_from_resource,
        .bytes = 3 * sizeof(uint32_t),
    };
    return braid_graph_find_pointer(graph, &request, launch->grid_from, out_address);
}

// The room that the arguments need in the graph.
struct arg_needs {
    uint64_t bytes;
    size_t num_addresses, num_unchecked, num_traps;
};

static braid_status check_arg(const braid_graph *graph, const char *name,
                              const struct kernel_node *node, size_t index, struct arg_needs *needs)
{
    struct graph_argument *arg = &node->args.items[index];
    needs->bytes += graph_arg_stride((uint32_t)arg->bytes);
    needs->num_addresses += arg->kind == BRAID_ARG_RESOURCE;
    needs->num_unchecked += arg->kind == BRAID_ARG_UNCHECKED_POINTER;
    needs->num_traps += arg->kind == BRAID_ARG_TRAP;
    return arg->kind == BRAID_ARG_RESOURCE ? find_address(graph, name, node->launch, index, arg)
                                           : BRAID_OK;
}

// Adds up the room that the arguments need in the graph.
static braid_status check_args(const braid_graph *graph, const char *name,
                               const struct kernel_node *node, struct arg_needs *needs)
{
    const braid_kernel_node *launch = node->launch;
    if (launch->num_args && !launch->args)
        return braid_error_invalid("node '%s': .args is NULL, .num_args is %zu", name,
                                   launch->num_args);
    if (launch->num_args >= GRAPH_MAX_ITEMS - graph->arg_sizes.num)
        return braid_error_invalid("node '%s': too many arguments", name);
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < launch->num_args && !status; i++)
        status = check_arg(graph, name, node, i, needs);
    if (status || !reads_grid(launch))
        return status;
    const void *address = NULL;
    needs->bytes += graph_arg_stride(sizeof(address));
    needs->num_addresses++;
    return find_grid(graph, name, launch, &address);
}

// All nodes of a kernel give it arguments of the same sizes, since it has one list of parameters.
static braid_status check_same_args(const braid_graph *graph, const char *name,
                                    const struct kernel_node *node, uint32_t first)
{
    const braid_kernel_node *launch = node->launch;
    if (first == POINTER_MAP_NONE)
        return BRAID_OK;
    const struct graph_kernel *kernel = graph_kernel_of(graph, first);
    if (reads_grid(launch) != kernel->grid_from)
        return braid_error_invalid("node '%s': kernel '%s' has its grid %s here, and not so in "
                                   "node %s: use another braid_kernel for it",
                                   name, kernel->kernel->name,
                                   kernel->grid_from ? "given" : "read from memory",
                                   braid_node_text(first, braid_graph_name(graph, first)).text);
    uint32_t num_args = kernel->num_args - kernel->grid_from;
    if (launch->num_args != num_args)
        return braid_error_invalid(
            "node '%s': %zu arguments for kernel '%s', to which node %s gives %u", name,
            launch->num_args, kernel->kernel->name,
            braid_node_text(first, braid_graph_name(graph, first)).text, num_args);
    const uint32_t *sizes = graph->arg_sizes.items; // NULL where no kernel has any
    for (uint32_t i = 0; i < num_args; i++) {
        uint32_t bytes = sizes[kernel->first_arg + i];
        if (node->args.items[i].bytes != bytes)
            return braid_error_invalid(
                "node '%s': argument %u of kernel '%s' has %zu bytes, and %u in node %s", name, i,
                kernel->kernel->name, node->args.items[i].bytes, bytes,
                braid_node_text(first, braid_graph_name(graph, first)).text);
    }
    return BRAID_OK;
}

static void append_grid(braid_graph *graph, const braid_kernel_node *launch, unsigned char *to)
{
    const void *address = NULL;
    (void)find_grid(graph, "", launch, &address);
    memcpy(to, &address, sizeof(address));
    if (launch->grid_from_resource.graph)
        braid_graph_append_address(graph, (uint32_t)launch->num_args, launch->grid_from_resource);
}

static size_t count_args(const braid_kernel_node *launch)
{
    return launch->num_args + reads_grid(launch);
}

// Writes an argument's bytes. Those of a trap, and of an address that each frame has for itself,
// are zeros until then.
static void append_arg(braid_graph *graph, const struct graph_argument *arg, uint32_t index,
                       uint32_t at, unsigned char *to)
{
    if (arg->kind == BRAID_ARG_UNCHECKED_POINTER)
        *(uint32_t *)braid_array_append(&graph->unchecked, 1, sizeof(uint32_t)) = at;
    if (arg->kind == BRAID_ARG_TRAP) {
        *(struct graph_trap *)braid_array_append(&graph->traps, 1, sizeof(struct graph_trap)) =
            (struct graph_trap){ graph_num_nodes(graph), index };
    } else if (arg->kind == BRAID_ARG_RESOURCE) {
        memcpy(to, &arg->address, sizeof(arg->address));
        braid_graph_append_address(graph, index, arg->resource);
    } else {
        memcpy(to, arg->data, arg->bytes);
    }
}

static void append_args(braid_graph *graph, const struct kernel_node *node, uint64_t bytes)
{
    const braid_kernel_node *launch = node->launch;
    const uint32_t first = (uint32_t)graph->arg_sizes.num;
    uint32_t *sizes = braid_array_append(&graph->arg_sizes, count_args(launch), sizeof(*sizes));
    unsigned char *to = braid_array_append(&graph->arg_bytes, bytes, 1);
    memset(to, 0, bytes); // frames compare arguments and the gaps between them
    for (uint32_t i = 0; i < node->args.num; i++) {
        sizes[i] = (uint32_t)node->args.items[i].bytes;
        append_arg(graph, &node->args.items[i], i, first + i, to);
        to += graph_arg_stride(sizes[i]);
    }
    if (!reads_grid(launch))
        return;
    sizes[launch->num_args] = sizeof(void *);
    append_grid(graph, launch, to);
}

static bool reserve_kernel(braid_graph *graph, const braid_kernel_node *launch,
                           const struct arg_needs *needs)
{
    return braid_array_reserve(&graph->kernels, 1, sizeof(struct graph_kernel)) &&
           braid_array_reserve(&graph->arg_sizes, count_args(launch), sizeof(uint32_t)) &&
           braid_array_reserve(&graph->arg_bytes, needs->bytes, 1) &&
           braid_array_reserve(&graph->unchecked, needs->num_unchecked, sizeof(uint32_t)) &&
           braid_array_reserve(&graph->traps, needs->num_traps, sizeof(struct graph_trap)) &&
           braid_graph_reserve_addresses(graph, &launch->node, needs->num_addresses) &&
           braid_pointer_map_reserve(&graph->first_nodes);
}

static void append_kernel(braid_graph *graph, const struct kernel_node *node, uint64_t arg_bytes)
{
    const braid_kernel_node *launch = node->launch;
    struct graph_kernel kernel = {
        .kernel = launch->kernel,
        .arg_offset = graph->arg_bytes.num,
        .first_arg = (uint32_t)graph->arg_sizes.num,
        .num_args = (uint32_t)count_args(launch),
        .grid_from = reads_grid(launch),
        .grid = without_zeros(launch->grid),
        .block = without_zeros(launch->block),
        .empty = empty_sizes(launch),
        .cooperative = launch->cooperative,
        .priority = launch->priority,
        .shared_bytes = launch->shared_bytes,
    };
    if (launch->cluster.x || launch->cluster.y || launch->cluster.z) {
        braid_dim3 cluster = without_zeros(launch->cluster);
        kernel.cluster[0] = (uint8_t)cluster.x;
        kernel.cluster[1] = (uint8_t)cluster.y;
        kernel.cluster[2] = (uint8_t)cluster.z;
    }
    if (kernel.num_args)
        append_args(graph, node, arg_bytes);
    *(struct graph_kernel *)braid_array_append(&graph->kernels, 1, sizeof(kernel)) = kernel;
}

static braid_status add_kernel(braid_graph *graph, const char *name, const void *description,
                               braid_node *out_node)
{
    const struct kernel_node *node = description;
    const braid_kernel_node *launch = node->launch;
    braid_status status = braid_graph_check_node(graph, name, &launch->node);
    struct arg_needs needs = { 0 };
    if (!status)
        status = check_kernel(name, launch);
    if (!status)
        status = check_sizes(name, launch);
    if (!status)
        status = check_args(graph, name, node, &needs);
    if (status)
        return status;
    uint32_t first = braid_pointer_map_get(&graph->first_nodes, launch->kernel);
    status = check_same_args(graph, name, node, first);
    if (!status)
        status = braid_graph_reserve_node(graph, name, &launch->node);
    if (status)
        return status;
    if (!reserve_kernel(graph, launch, &needs))
        return braid_error(BRAID_NO_MEMORY, "out of host memory for node '%s'", name);
    if (first == POINTER_MAP_NONE)
        braid_pointer_map_put(&graph->first_nodes, launch->kernel, graph_num_nodes(graph));
    uint32_t payload = (uint32_t)graph->kernels.num;
    append_kernel(graph, node, needs.bytes);
    braid_graph_append_node(graph, WORK_KERNEL, payload, &launch->node, out_node);
    struct graph_node *added = (struct graph_node *)graph->nodes.items + graph->nodes.num - 1;
    added->may_rest = empty_sizes(launch);
    added->code_use = (unsigned)launch->code_use & 3U;
    append_words(graph, &node->derived);
    return BRAID_OK;
}

// Whether a node leaves the accesses to an argument to its code.
static bool leaves_accesses(const braid_graph *graph, const struct graph_arguments *arguments)
{
    for (size_t i = 0; i < arguments->num; i++) {
        const struct graph_argument *argument = &arguments->items[i];
        const braid_access read = { argument->resource, BRAID_READ };
        if (argument->kind == BRAID_ARG_RESOURCE && argument->resource.graph == graph->id &&
            argument->resource.index < graph->resources.num &&
            !graph_resource_at(graph, argument->resource.index)->is_scratch &&
            !declares(graph, arguments, &read))
            return true;
    }
    return false;
}

// BRAID_CODE_COMPLETES becomes another one.
static braid_status take_code_use(const braid_graph *graph, const char *name,
                                  const struct graph_arguments *arguments,
                                  braid_kernel_node *launch)
{
    const braid_kernel *kernel = launch->kernel;
    if ((unsigned)launch->code_use > BRAID_CODE_COMPLETES)
        return braid_error_invalid("node '%s': .code_use is %u, which is unknown", name,
                                   (unsigned)launch->code_use);
    if (launch->code_use == BRAID_CODE_COMPLETES)
        launch->code_use = kernel && !kernel->cuda.function &&
                                   (kernel->cuda.data || kernel->source) && graph &&
                                   leaves_accesses(graph, arguments)
                               ? BRAID_CODE_DECLARES
                               : BRAID_CODE_CHECKS;
    return launch->code_use == BRAID_CODE_DECLARES ? check_kernel(name, launch) : BRAID_OK;
}

static braid_status add_kernel_node(braid_graph *graph, const braid_kernel_node *launch,
                                    braid_node *out_node)
{
    const char *name = launch_name(launch);
    braid_kernel_node whole = *launch;
    struct kernel_node node = { .launch = &whole };
    braid_status status = graph_arguments_init(&node.args, graph, name, launch);
    if (!status)
        status = take_code_use(graph, name, &node.args, &whole);
    if (!status && graph && whole.code_use == BRAID_CODE_DECLARES)
        status = derive(&node.args, graph, name, launch, &node.derived);
    if (node.args.accesses) {
        whole.node.accesses = node.args.accesses;
        whole.node.num_accesses = node.args.num_accesses;
    }
    if (!status)
        status = braid_graph_add_task(graph, name, &whole.node, add_kernel, &node, out_node);
    if (status && node.derived.adds_resource)
        braid_graph_code->take_back(graph);
    graph_arguments_finish(&node.args);
    braid_derived_accesses_finish(&node.derived);
    return status;
}

braid_status braid_graph_add_kernel_sized(braid_graph *graph, const braid_kernel_node *launch,
                                          braid_node *out_node, size_t size, size_t node_size,
                                          size_t kernel_size)
{
    braid_kernel_node own;
    braid_status status = braid_sized_take_node("braid_graph_add_kernel", "launch", launch, size,
                                                node_size, &own, sizeof(own));
    if (!status)
        status = braid_sized_check("braid_graph_add_kernel: kernel", own.kernel, kernel_size,
                                   sizeof(*own.kernel));
    return status ? status : add_kernel_node(graph, &own, out_node);
}

// SPDX-License-Identifier: Apache-2.0
// Parameters: values that many nodes use, where they go, and the changes of each node.
#include "graph/changes.h"

#include "base/append.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/sized.h"
#include "graph/addresses.h"
#include "graph/code.h"

// ---- parameters ----

#define MOST_PARAMETER_BYTES 4096 // as much as CUDA's kernels take in all arguments together

braid_status braid_graph_add_parameter(braid_graph *graph, const char *name, uint64_t bytes,
                                       braid_parameter *out_parameter)
{
    if (!graph || !out_parameter)
        return braid_error_null("braid_graph_add_parameter", graph ? "out_parameter" : "graph");
    if (!name)
        return braid_error_null("braid_graph_add_parameter", "name");
    if (!*name)
        return braid_error_invalid("braid_graph_add_parameter: a parameter needs a name");
    if (bytes == 0 || bytes > MOST_PARAMETER_BYTES)
        return braid_error_invalid("parameter '%s': %llu bytes, not 1 to %d", name,
                                   (unsigned long long)bytes, MOST_PARAMETER_BYTES);
    if (graph->parameters.num >= GRAPH_MAX_ITEMS)
        return braid_error_invalid("too many parameters in one graph");
    if (!braid_array_reserve(&graph->parameters, 1, sizeof(struct graph_parameter)) ||
        !braid_names_reserve(&graph->names, name))
        return braid_error_no_memory("a parameter");
    struct graph_parameter *slot = braid_array_append(&graph->parameters, 1, sizeof(*slot));
    *slot = (struct graph_parameter){ .name = braid_names_store(&graph->names, name),
                                      .bytes = (uint32_t)bytes };
    *out_parameter =
        (braid_parameter){ .index = (uint32_t)graph->parameters.num - 1, .graph = graph->id };
    return BRAID_OK;
}

enum {
    OF_KERNELS = 1 << WORK_KERNEL,
    OF_COPIES = 1 << WORK_COPY,
    OF_FILLS = 1 << WORK_FILL,
    OF_CALLS = 1 << WORK_HOST | 1 << WORK_QUEUE,
    OF_LOOPS = 1 << WORK_LOOP,
    OF_ALL = OF_KERNELS | OF_COPIES | OF_FILLS | OF_CALLS | 1 << WORK_EMPTY,
};

// The name of a target, the kinds of nodes that have it, and its bytes.
struct target {
    const char *name;
    uint32_t kinds;
    uint32_t bytes;
    bool is_flag; // a number of 1, 2 or 4 bytes
};

static const struct target targets[] = {
    [BRAID_TARGET_ARGUMENT] = { "argument", OF_KERNELS, 0, false },
    [BRAID_TARGET_GRID] = { "grid", OF_KERNELS, sizeof(braid_dim3), false },
    [BRAID_TARGET_GRID_X] = { "grid.x", OF_KERNELS, sizeof(uint32_t), false },
    [BRAID_TARGET_GRID_Y] = { "grid.y", OF_KERNELS, sizeof(uint32_t), false },
    [BRAID_TARGET_GRID_Z] = { "grid.z", OF_KERNELS, sizeof(uint32_t), false },
    [BRAID_TARGET_TO] = { "to", OF_COPIES | OF_FILLS, sizeof(void *), false },
    [BRAID_TARGET_FROM] = { "from", OF_COPIES, sizeof(void *), false },
    [BRAID_TARGET_BYTES] = { "bytes", OF_COPIES, sizeof(uint64_t), false },
    [BRAID_TARGET_VALUE] = { "value", OF_FILLS, sizeof(uint32_t), false },
    [BRAID_TARGET_NUM_VALUES] = { "num_values", OF_FILLS, sizeof(uint64_t), false },
    [BRAID_TARGET_USER] = { "user", OF_CALLS, sizeof(void *), false },
    [BRAID_TARGET_ENABLED] = { "enabled", OF_ALL, sizeof(uint32_t), true },
    [BRAID_TARGET_COPY] = { "copy", OF_COPIES, 0, false }, // has several values: no parameter's
    [BRAID_TARGET_FILL] = { "fill", OF_FILLS, 0, false },
    [BRAID_TARGET_TIMES] = { "times", OF_LOOPS, sizeof(uint64_t), false },
};

const char *braid_graph_target_name(uint32_t target)
{
    return targets[target].name;
}

bool braid_graph_target_fits(uint32_t target, enum work_kind kind)
{
    return target < sizeof(targets) / sizeof(*targets) && targets[target].kinds & 1u << kind;
}

uint32_t braid_graph_target_bytes(uint32_t target)
{
    return targets[target].bytes;
}

static braid_status check_argument(const braid_graph *graph, const char *name,
                                   const braid_parameter_use *use)
{
    const struct graph_kernel *kernel = graph_kernel_of(graph, use->node.index);
    uint32_t num_args = kernel->num_args - kernel->grid_from;
    if (use->argument < num_args)
        return BRAID_OK;
    return braid_error_invalid("parameter '%s': node '%s' has %u arguments, there is no number %zu",
                               name, braid_graph_name(graph, use->node.index), num_args,
                               use->argument);
}

static braid_status check_target(const braid_graph *graph, const char *name,
                                 const braid_parameter_use *use)
{
    if (!graph_owns_node(graph, use->node))
        return braid_error_invalid(
            "parameter '%s': node %u of graph %u is not a node of this graph", name,
            use->node.index, use->node.graph);
    uint32_t index = (uint32_t)use->target, kind = graph_nodes(graph)[use->node.index].kind;
    const char *node = braid_graph_name(graph, use->node.index);
    if (index >= sizeof(targets) / sizeof(*targets))
        return braid_error_invalid("parameter '%s': node '%s': unknown target %u", name, node,
                                   index);
    if (!(targets[index].kinds & 1u << kind))
        return braid_error_invalid("parameter '%s': node '%s' is a %s, which has no %s", name, node,
                                   braid_work_words[kind].name, targets[index].name);
    if (index == BRAID_TARGET_ARGUMENT)
        return check_argument(graph, name, use);
    if (!targets[index].bytes)
        return braid_error_invalid(
            "parameter '%s': node '%s': all of a %s is set by braid_exec_set alone", name, node,
            targets[index].name);
    if (use->argument || use->argument_offset)
        return braid_error_invalid(
            "parameter '%s': node '%s': argument %zu at %llu, where the target is %s", name, node,
            use->argument, (unsigned long long)use->argument_offset, targets[index].name);
    return BRAID_OK;
}

// How many bytes the target takes, or may take.
static uint64_t target_bytes(const braid_graph *graph, const braid_parameter_use *use)
{
    const uint32_t *sizes = graph->arg_sizes.items;
    if (use->target == BRAID_TARGET_ARGUMENT)
        return sizes[graph_kernel_of(graph, use->node.index)->first_arg + use->argument];
    return targets[use->target].bytes;
}

// Fewer would leave the others as they were when the fill was added.
static uint64_t value_bytes(const braid_graph *graph, braid_node fill)
{
    return graph_work_of(graph, fill.index)->fill.value_bytes;
}

static bool fits_target(const braid_graph *graph, const braid_parameter_use *use, uint64_t bytes)
{
    uint64_t room = target_bytes(graph, use);
    if (use->target == BRAID_TARGET_ARGUMENT)
        return use->argument_offset <= room && bytes <= room - use->argument_offset;
    return bytes == room || (targets[use->target].is_flag && (bytes == 1 || bytes == 2)) ||
           (use->target == BRAID_TARGET_VALUE && bytes == value_bytes(graph, use->node));
}

static braid_status check_part(const braid_graph *graph, const char *name, uint64_t num_bytes,
                               const braid_parameter_use *use, uint64_t *out_bytes)
{
    if (use->offset >= num_bytes || use->bytes > num_bytes - use->offset)
        return braid_error_invalid("parameter '%s': %llu bytes at %llu end beyond its %llu bytes",
                                   name, (unsigned long long)use->bytes,
                                   (unsigned long long)use->offset, (unsigned long long)num_bytes);
    uint64_t bytes = use->bytes ? use->bytes : num_bytes - use->offset;
    uint64_t room = target_bytes(graph, use);
    bool is_argument = use->target == BRAID_TARGET_ARGUMENT;
    if (!is_argument && !use->bytes && bytes > room)
        bytes = room;
    *out_bytes = bytes;
    if (fits_target(graph, use, bytes))
        return BRAID_OK;
    const char *node = braid_graph_name(graph, use->node.index);
    if (!is_argument)
        return braid_error_invalid("parameter '%s': %llu bytes for %s of node '%s', which has %llu",
                                   name, (unsigned long long)bytes, targets[use->target].name, node,
                                   (unsigned long long)room);
    return braid_error_invalid(
        "parameter '%s': %llu bytes at %llu of argument %zu of node '%s' end beyond its %llu bytes",
        name, (unsigned long long)bytes, (unsigned long long)use->argument_offset, use->argument,
        node, (unsigned long long)room);
}

static bool is_given(const struct array *list, const braid_parameter_use *use)
{
    const struct graph_address *addresses = list->items;
    size_t i = braid_graph_first_address(list, use->node.index);
    for (; i < list->num && addresses[i].node == use->node.index; i++) {
        if (addresses[i].operand == use->argument)
            return true;
    }
    return false;
}

// Traps are in the order of their nodes, and most uses are of a node that was added last.
static bool is_trap(const braid_graph *graph, const braid_parameter_use *use)
{
    const struct graph_trap *traps = graph->traps.items;
    for (size_t i = graph->traps.num; i-- > 0 && traps[i].node >= use->node.index;) {
        if (traps[i].node == use->node.index && traps[i].argument == use->argument)
            return true;
    }
    return false;
}

// A part of an address that the graph gives would leave one that nobody chose.
static braid_status check_whole(const braid_graph *graph, const char *name,
                                const braid_parameter_use *use, uint64_t bytes)
{
    if (use->target != BRAID_TARGET_ARGUMENT || bytes == target_bytes(graph, use) ||
        (!is_given(&graph->addresses, use) && !is_given(&graph->given, use) &&
         !is_trap(graph, use)))
        return BRAID_OK;
    return braid_error_invalid("parameter '%s': %llu bytes at %llu are a part of argument %zu of "
                               "node '%s', which is an address of %zu bytes",
                               name, (unsigned long long)bytes,
                               (unsigned long long)use->argument_offset, use->argument,
                               braid_graph_name(graph, use->node.index), sizeof(void *));
}

// The accesses of a node that come from its code would change with an address that it uses.
static braid_status check_words(const braid_graph *graph, const char *name,
                                const braid_parameter_use *use, uint64_t bytes)
{
    size_t num;
    const struct code_word *words = braid_graph_words_of(&graph->words, use->node.index, &num);
    bool is_used = false;
    for (size_t i = 0; i < num && use->target == BRAID_TARGET_ARGUMENT; i++)
        is_used = is_used || (words[i].argument == use->argument &&
                              words[i].offset < use->argument_offset + bytes &&
                              use->argument_offset < (uint64_t)words[i].offset + words[i].bytes);
    if (!is_used)
        return BRAID_OK;
    const struct node_text node =
        braid_node_text(use->node.index, braid_graph_name(graph, use->node.index));
    return braid_error_invalid(
        "parameter '%s': the code of node %s uses argument %zu as an "
        "address, and declares accesses by it: declare them without the code",
        name, node.text, use->argument);
}

static braid_status use_parameter(braid_graph *graph, braid_parameter parameter,
                                  const braid_parameter_use *use)
{
    if (!graph || !use)
        return braid_error_null("braid_graph_use_parameter", graph ? "use" : "graph");
    if (parameter.graph != graph->id || parameter.index >= graph->parameters.num)
        return braid_error_invalid(
            "braid_graph_use_parameter: parameter %u of graph %u is not a parameter of this graph",
            parameter.index, parameter.graph);
    const struct graph_parameter *known =
        &((const struct graph_parameter *)graph->parameters.items)[parameter.index];
    const char *name = braid_names_at(&graph->names, known->name);
    uint64_t bytes = 0;
    if (graph_is_elsewhere(graph, use->node))
        return BRAID_OK;
    braid_status status = check_target(graph, name, use);
    if (!status)
        status = check_part(graph, name, known->bytes, use, &bytes);
    if (!status)
        status = check_whole(graph, name, use, bytes);
    if (!status)
        status = check_words(graph, name, use, bytes);
    if (status)
        return status;
    struct graph_parameter_use *slot = graph->uses.num < GRAPH_MAX_ITEMS
                                           ? braid_array_append(&graph->uses, 1, sizeof(*slot))
                                           : NULL;
    if (!slot)
        return braid_error_no_memory("a use of a parameter");
    *slot = (struct graph_parameter_use){ .parameter = parameter.index,
                                          .node = use->node.index,
                                          .target = (uint32_t)use->target,
                                          .argument = (uint32_t)use->argument,
                                          .argument_offset = (uint32_t)use->argument_offset,
                                          .offset = (uint32_t)use->offset,
                                          .bytes = (uint32_t)bytes };
    bool is_grid = use->target >= BRAID_TARGET_GRID && use->target <= BRAID_TARGET_GRID_Z;
    if (use->target == BRAID_TARGET_ENABLED || is_grid) // a grid may be empty
        ((struct graph_node *)graph->nodes.items)[use->node.index].may_rest = true;
    return BRAID_OK;
}

braid_status braid_graph_use_parameter_sized(braid_graph *graph, braid_parameter parameter,
                                             const braid_parameter_use *use, size_t size)
{
    braid_parameter_use own;
    if (!use)
        return braid_error_null("braid_graph_use_parameter", "use");
    braid_status status =
        braid_sized_take("braid_graph_use_parameter: use", use, size, &own, sizeof(own));
    return status ? status : use_parameter(graph, parameter, &own);
}

// ---- the changes of each node: the uses of parameters sorted by node, and as text ----

static const struct graph_parameter_use *use_at(const braid_graph *graph,
                                                const struct graph_changes *changes, uint32_t i)
{
    return &((const struct graph_parameter_use *)graph->uses.items)[changes->uses[i]];
}

// Counted by node; then each use takes the next place of its node, so that all are in order.
static void sort_uses(const braid_graph *graph, struct graph_changes *changes)
{
    const struct graph_parameter_use *uses = graph->uses.items;
    uint32_t num_nodes = graph_num_nodes(graph);
    for (size_t i = 0; i < graph->uses.num; i++)
        changes->first[uses[i].node + 1]++;
    for (uint32_t i = 0; i < num_nodes; i++)
        changes->first[i + 1] += changes->first[i];
    for (size_t i = 0; i < graph->uses.num; i++)
        changes->uses[changes->first[uses[i].node]++] = (uint32_t)i;
    for (uint32_t i = num_nodes; i > 0; i--)
        changes->first[i] = changes->first[i - 1];
    changes->first[0] = 0;
}

void braid_graph_changes_finish(struct graph_changes *changes)
{
    braid_free(changes->first);
    braid_free(changes->uses);
    *changes = (struct graph_changes){ 0 };
}

braid_status braid_graph_find_changes(const braid_graph *graph, struct graph_changes *out_changes)
{
    struct graph_changes changes = { 0 };
    if (graph->uses.num == 0) {
        *out_changes = changes;
        return BRAID_OK;
    }
    changes.first = braid_allocate_zeroed((size_t)graph_num_nodes(graph) + 1, sizeof(uint32_t));
    changes.uses = braid_allocate_zeroed(graph->uses.num, sizeof(uint32_t));
    if (!changes.first || !changes.uses) {
        braid_graph_changes_finish(&changes);
        return braid_error_no_memory("what a graph's parameters change");
    }
    sort_uses(graph, &changes);
    *out_changes = changes;
    return BRAID_OK;
}

void braid_graph_describe_changes(const braid_graph *graph, const struct graph_changes *changes,
                                  uint32_t node, char *text, size_t size)
{
    const struct graph_parameter *parameters = graph->parameters.items;
    uint32_t before = GRAPH_NONE; // the parameter at hand
    text[0] = '\0';
    if (!changes->first)
        return;
    for (uint32_t i = changes->first[node]; i < changes->first[node + 1]; i++) {
        const struct graph_parameter_use *use = use_at(graph, changes, i);
        if (use->parameter != before)
            braid_append(text, size, "%s%s: ", before == GRAPH_NONE ? "" : "; ",
                         braid_names_at(&graph->names, parameters[use->parameter].name));
        else
            braid_append(text, size, ", ");
        if (use->target == BRAID_TARGET_ARGUMENT)
            braid_append(text, size, "argument %u", use->argument);
        else
            braid_append(text, size, "%s", braid_graph_target_name(use->target));
        before = use->parameter;
    }
}

bool braid_graph_changes_launch(const braid_graph *graph, const struct graph_changes *changes,
                                uint32_t node)
{
    if (!changes->first)
        return false;
    for (uint32_t i = changes->first[node]; i < changes->first[node + 1]; i++) {
        uint32_t target = use_at(graph, changes, i)->target;
        if (target == BRAID_TARGET_ENABLED ||
            (target >= BRAID_TARGET_GRID && target <= BRAID_TARGET_GRID_Z))
            return true;
    }
    return false;
}

// SPDX-License-Identifier: Apache-2.0
// The accesses of kernel nodes, from the code of their kernels.
#include "accesses/accesses.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "graph/addresses.h"

// Devices and hosts have addresses below the last. Most numbers among a kernel's arguments, such as
// lengths and bit masks, are below the first, or not below the last.
#define FIRST_ADDRESS (UINT64_C(1) << 32)
#define LAST_ADDRESS (UINT64_C(1) << 57)

enum { WORD = 8, HALF = 4 };

// ---- reading a kernel ----

braid_status braid_accesses_read(const char *text, const char *entry,
                                 struct accesses_kernel *out_kernel)
{
    struct kernel_code code;
    struct accesses_kernel kernel = { .text = text };
    if (!braid_code_read(text, &code, &kernel.reason)) {
        *out_kernel = kernel;
        return kernel.reason.text[0] ? BRAID_OK : braid_error_no_memory("a kernel's code");
    }
    const uint32_t index = braid_code_find_entry(&code, entry);
    bool is_done = true;
    if (index == CODE_NONE)
        braid_ptx_refuse(&kernel.reason, "it has no kernel of the name");
    else
        is_done = braid_kernel_accesses_find(&code, index, &kernel.found);
    braid_code_finish(&code);
    if (!is_done)
        return braid_error_no_memory("a kernel's accesses");
    *out_kernel = kernel;
    return BRAID_OK;
}

void braid_accesses_finish(struct accesses_kernel *kernel)
{
    braid_kernel_accesses_finish(&kernel->found);
    *kernel = (struct accesses_kernel){ 0 };
}

// NULL: it is proven.
static const char *why_unproven(const struct accesses_kernel *kernel)
{
    return kernel->reason.text[0] ? kernel->reason.text : kernel->found.why;
}

static uint32_t line_of(const struct accesses_kernel *kernel, const char *at)
{
    return braid_ptx_line(kernel->text, at ? at : kernel->text);
}

static uint32_t unproven_line(const struct accesses_kernel *kernel)
{
    return line_of(kernel, kernel->reason.text[0] ? kernel->reason.at : kernel->found.at);
}

// ---- words of arguments ----

enum word_kind {
    WORD_OF_NOTHING,  // a number, or what counts for nothing
    WORD_OF_RESOURCE, // its address
    WORD_ELSEWHERE,   // an address in no declared buffer
    WORD_CHANGES,     // from frame to frame
};

struct word {
    enum word_kind kind;
    uint32_t resource; // the kind has it: WORD_OF_RESOURCE
    uint32_t before;   // the buffer whose end is the address where the resource begins; GRAPH_NONE
};

struct resolver {
    const struct accesses_graph *graph;
    const struct accesses_kernel *kernel;
    uint32_t node;
    const struct graph_kernel *launch;
};

static struct resolver make_resolver(const struct accesses_graph *graph, uint32_t node,
                                     const struct accesses_kernel *kernel)
{
    return (struct resolver){ graph, kernel, node, graph_kernel_of(graph->graph, node) };
}

static struct node_text name_of(const struct resolver *resolver)
{
    return braid_node_text(resolver->node,
                           braid_graph_name(resolver->graph->graph, resolver->node));
}

static uint32_t count_arguments(const struct resolver *resolver)
{
    return resolver->launch->num_args - resolver->launch->grid_from;
}

// The resource whose address an argument is; GRAPH_NONE: it is none.
static uint32_t find_given(const struct resolver *resolver, const struct array *list,
                           uint32_t argument)
{
    const struct graph_address *addresses = list->items;
    size_t i = braid_graph_first_address(list, resolver->node);
    for (; i < list->num && addresses[i].node == resolver->node; i++) {
        if (addresses[i].operand == argument)
            return addresses[i].resource;
    }
    return GRAPH_NONE;
}

static bool is_trap(const struct resolver *resolver, uint32_t argument)
{
    const struct graph_trap *traps = resolver->graph->graph->traps.items;
    size_t low = 0, high = resolver->graph->graph->traps.num;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (traps[middle].node == resolver->node && traps[middle].argument == argument)
            return true;
        if (traps[middle].node < resolver->node ||
            (traps[middle].node == resolver->node && traps[middle].argument < argument))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool is_unchecked(const struct resolver *resolver, uint32_t argument)
{
    const struct array *unchecked = &resolver->graph->graph->unchecked;
    const uint32_t *args = unchecked->items, wanted = resolver->launch->first_arg + argument;
    size_t low = 0, high = unchecked->num;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (args[middle] == wanted)
            return true;
        if (args[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

// Whether a parameter of the graph changes a byte of the word.
static bool changes(const struct resolver *resolver, uint32_t argument, uint32_t offset)
{
    const struct graph_changes *all = resolver->graph->changes;
    const struct graph_parameter_use *uses = resolver->graph->graph->uses.items;
    if (!all->first)
        return false;
    for (uint32_t i = all->first[resolver->node]; i < all->first[resolver->node + 1]; i++) {
        const struct graph_parameter_use *use = &uses[all->uses[i]];
        if (use->target == BRAID_TARGET_ARGUMENT && use->argument == argument &&
            use->argument_offset < offset + WORD && offset < use->argument_offset + use->bytes)
            return true;
    }
    return false;
}

static struct word find_by_value(const struct resolver *resolver, uint64_t value)
{
    const struct extents *extents = resolver->graph->extents;
    const struct extent *items = extents->items;
    const uint32_t i = braid_extents_find(extents, (const void *)(uintptr_t)value);
    struct word word = { WORD_OF_NOTHING, GRAPH_NONE, GRAPH_NONE };
    if (i == extents->num || items[i].begin > value) {
        word.kind = value >= FIRST_ADDRESS && value < LAST_ADDRESS ? WORD_ELSEWHERE : word.kind;
        return word;
    }
    word.kind = WORD_OF_RESOURCE;
    word.resource = items[i].buffer;
    if (i > 0 && items[i].begin == value && items[i - 1].last + 1 == value)
        word.before = items[i - 1].buffer;
    return word;
}

// The meaning of the eight bytes at an offset of an argument.
static struct word resolve(const struct resolver *resolver, uint32_t argument, uint32_t offset)
{
    const braid_graph *graph = resolver->graph->graph;
    const struct word nothing = { WORD_OF_NOTHING, GRAPH_NONE, GRAPH_NONE };
    if (is_trap(resolver, argument) || is_unchecked(resolver, argument))
        return nothing;
    uint32_t given = find_given(resolver, &graph->addresses, argument);
    if (given == GRAPH_NONE)
        given = find_given(resolver, &graph->given, argument);
    if (given != GRAPH_NONE && graph_resource_at(graph, given)->scratch != GRAPH_NONE)
        return nothing;
    if (given != GRAPH_NONE)
        return (struct word){ WORD_OF_RESOURCE, given, GRAPH_NONE };
    if (changes(resolver, argument, offset))
        return (struct word){ WORD_CHANGES, GRAPH_NONE, GRAPH_NONE };
    uint32_t bytes;
    uint64_t value;
    const unsigned char *at = braid_graph_arg(graph, resolver->launch, argument, &bytes);
    memcpy(&value, at + offset, sizeof(value));
    return find_by_value(resolver, value);
}

// ---- all words that the code uses ----

// Told of each word. An error ends the search.
typedef braid_status word_taker(const struct resolver *resolver, const struct kernel_access *access,
                                struct word word, void *user);

// Loads are aligned, so a pointer at an unknown offset is not at each of them.
static uint32_t step_of(const struct code_parameter *parameter, uint32_t offset)
{
    const uint32_t most = offset == SOURCE_ANYWHERE ? WORD : HALF;
    return parameter->align && parameter->align < most ? parameter->align : most;
}

static braid_status take_words(const struct resolver *resolver, const struct kernel_access *access,
                               word_taker *take, void *user)
{
    const struct code_parameter *parameter =
        (const struct code_parameter *)resolver->kernel->found.parameters.items + access->parameter;
    const bool is_anywhere = source_is_anywhere(access->offset);
    const uint32_t step = step_of(parameter, access->offset);
    uint32_t offset = is_anywhere ? 0 : access->offset;
    braid_status status = BRAID_OK;
    for (; !status && (uint64_t)offset + WORD <= parameter->bytes; offset += step) {
        const struct word word = resolve(resolver, access->parameter, offset);
        if (word.kind != WORD_OF_NOTHING)
            status = take(resolver, access, word, user);
        if (!is_anywhere)
            break;
    }
    return status;
}

static braid_status take_all(const struct resolver *resolver, word_taker *take, void *user)
{
    const struct array *found = &resolver->kernel->found.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < found->num && !status; i++)
        status = take_words(resolver, (const struct kernel_access *)found->items + i, take, user);
    return status;
}

// The first parameter that is unlike its argument, or how many there are; GRAPH_NONE: all are
// alike.
static uint32_t find_unlike(const struct resolver *resolver)
{
    const struct array *parameters = &resolver->kernel->found.parameters;
    const struct code_parameter *items = parameters->items;
    const uint32_t num = count_arguments(resolver);
    const uint32_t *sizes = resolver->graph->graph->arg_sizes.items;
    for (uint32_t i = 0; i < num && i < parameters->num; i++) {
        if (items[i].bytes != sizes[resolver->launch->first_arg + i])
            return i;
    }
    return num == parameters->num ? GRAPH_NONE : num;
}

static braid_status refuse_unlike(const struct resolver *resolver, uint32_t index)
{
    const struct array *parameters = &resolver->kernel->found.parameters;
    const uint32_t num = count_arguments(resolver);
    if (index == num || index >= parameters->num)
        return braid_error_invalid("node %s: it gives %u arguments to kernel '%s', which has %zu "
                                   "parameters in its PTX",
                                   name_of(resolver).text, num, resolver->launch->kernel->name,
                                   parameters->num);
    const struct code_parameter *parameter =
        (const struct code_parameter *)parameters->items + index;
    const uint32_t *sizes = resolver->graph->graph->arg_sizes.items;
    return braid_error_invalid("node %s: its argument %u has %u bytes, and %u in the PTX of kernel "
                               "'%s'",
                               name_of(resolver).text, index,
                               sizes[resolver->launch->first_arg + index], parameter->bytes,
                               resolver->launch->kernel->name);
}

// ---- derive ----

static uint32_t mode_of(unsigned acts)
{
    return acts & ACCESSES_WRITES ? BRAID_READ_WRITE : BRAID_READ;
}

static const char *place_of(const struct kernel_access *access)
{
    return access->written_at ? access->written_at : access->read_at;
}

static braid_status add_access(const struct resolver *resolver, const struct kernel_access *access,
                               uint32_t resource, struct array *items)
{
    struct derived_access *known = items->items;
    size_t i = 0;
    while (i < items->num && known[i].resource != resource)
        i++;
    if (i == items->num) {
        known = braid_array_append(items, 1, sizeof(*known));
        if (!known)
            return braid_error_no_memory("a node's accesses");
        *known = (struct derived_access){ .resource = resource };
        known = items->items;
    }
    if (!known[i].acts || ((access->acts & ~known[i].acts) & ACCESSES_WRITES)) {
        known[i].argument = access->parameter;
        known[i].line = line_of(resolver->kernel, place_of(access));
    }
    known[i].acts |= access->acts;
    known[i].mode = mode_of(known[i].acts);
    return BRAID_OK;
}

static braid_status derive_word(const struct resolver *resolver, const struct kernel_access *access,
                                struct word word, void *user)
{
    struct derived_accesses *accesses = user;
    const uint32_t line = line_of(resolver->kernel, place_of(access));
    if (word.kind == WORD_OF_RESOURCE)
        return add_access(resolver, access, word.resource, &accesses->items);
    if (word.kind == WORD_CHANGES)
        return braid_error_invalid(
            "node %s: a parameter changes argument %u, which is an address at line %u of the PTX "
            "of its kernel: declare the node's accesses",
            name_of(resolver).text, access->parameter, line);
    return braid_error_invalid(
        "node %s: argument %u has an address in no declared buffer, and line "
        "%u of its kernel's PTX uses it. Declare the buffer, or the node's "
        "accesses",
        name_of(resolver).text, access->parameter, line);
}

braid_status braid_accesses_derive(const struct accesses_graph *graph, uint32_t node,
                                   const struct accesses_kernel *kernel,
                                   struct derived_accesses *out_accesses)
{
    const struct resolver resolver = make_resolver(graph, node, kernel);
    struct derived_accesses accesses = { .of_variables = kernel->found.of_variables };
    if (why_unproven(kernel))
        return braid_error_invalid(
            "node %s: the accesses of kernel '%s' are not proven: line %u of "
            "its PTX: %s. Declare the node's accesses",
            name_of(&resolver).text, resolver.launch->kernel->name, unproven_line(kernel),
            why_unproven(kernel));
    const uint32_t unlike = find_unlike(&resolver);
    if (unlike != GRAPH_NONE)
        return refuse_unlike(&resolver, unlike);
    braid_status status = take_all(&resolver, derive_word, &accesses);
    if (status)
        braid_derived_accesses_finish(&accesses);
    else
        *out_accesses = accesses;
    return status;
}

void braid_derived_accesses_finish(struct derived_accesses *accesses)
{
    braid_array_finish(&accesses->items);
    *accesses = (struct derived_accesses){ 0 };
}

// ---- check ----

struct checker {
    struct array made; // struct derived_access, by buffer
    bool is_whole;     // no word changes from frame to frame
};

static unsigned acts_of_mode(uint32_t mode)
{
    return mode == BRAID_READ    ? ACCESSES_READS
           : mode == BRAID_WRITE ? ACCESSES_WRITES
                                 : ACCESSES_READS | ACCESSES_WRITES;
}

static const struct graph_access *accesses_of(const struct resolver *resolver, uint32_t *out_num)
{
    const struct graph_node *node = &graph_nodes(resolver->graph->graph)[resolver->node];
    const struct graph_access *all = resolver->graph->graph->accesses.items; // NULL: there are none
    *out_num = node->num_accesses;
    return all ? all + node->first_access : NULL;
}

static uint32_t buffer_of(const struct resolver *resolver, uint32_t resource)
{
    return graph_resource_at(resolver->graph->graph, resource)->buffer;
}

// All that a node declares for a buffer and its ranges.
static unsigned find_declared(const struct resolver *resolver, uint32_t buffer)
{
    uint32_t num;
    unsigned acts = 0;
    const struct graph_access *accesses = accesses_of(resolver, &num);
    for (uint32_t i = 0; i < num; i++) {
        if (buffer_of(resolver, accesses[i].resource) == buffer)
            acts |= acts_of_mode(accesses[i].mode);
    }
    return acts;
}

static braid_status check_word(const struct resolver *resolver, const struct kernel_access *access,
                               struct word word, void *user)
{
    struct checker *checker = user;
    char text[256];
    if (word.kind != WORD_OF_RESOURCE) {
        checker->is_whole = checker->is_whole && word.kind != WORD_CHANGES;
        return BRAID_OK;
    }
    uint32_t buffer = buffer_of(resolver, word.resource);
    if (!find_declared(resolver, buffer) && word.before != GRAPH_NONE &&
        find_declared(resolver, word.before))
        buffer = word.before; // the code goes backwards from its end
    const unsigned declared = find_declared(resolver, buffer);
    const char *name =
        braid_graph_resource_name(resolver->graph->graph, buffer, text, sizeof(text));
    if (!declared)
        return braid_error_invalid(
            "node %s: line %u of the PTX of its kernel %s '%s' through argument %u, and the node "
            "declares no access to it",
            name_of(resolver).text, line_of(resolver->kernel, place_of(access)),
            access->written_at ? "writes" : "reads", name, access->parameter);
    if ((access->acts & ACCESSES_WRITES) && !(declared & ACCESSES_WRITES))
        return braid_error_invalid(
            "node %s: it declares to read '%s', and line %u of the PTX of its kernel writes it, "
            "through argument %u",
            name_of(resolver).text, name, line_of(resolver->kernel, access->written_at),
            access->parameter);
    return add_access(resolver, access, buffer, &checker->made);
}

// The launch reads its grid itself.
static bool is_grid(const struct resolver *resolver, uint32_t resource)
{
    const braid_graph *graph = resolver->graph->graph;
    const uint32_t argument = count_arguments(resolver);
    return resolver->launch->grid_from &&
           (find_given(resolver, &graph->addresses, argument) == resource ||
            find_given(resolver, &graph->given, argument) == resource);
}

static braid_status add_remarks(const struct resolver *resolver, const struct checker *checker,
                                struct array *remarks)
{
    uint32_t num;
    const struct graph_access *accesses = accesses_of(resolver, &num);
    const struct derived_access *made = checker->made.items;
    for (uint32_t i = 0; i < num; i++) {
        const struct graph_resource *resource =
            graph_resource_at(resolver->graph->graph, accesses[i].resource);
        struct access_remark remark = { accesses[i].resource, acts_of_mode(accesses[i].mode) };
        if (!resource->bytes || resource->scratch != GRAPH_NONE ||
            is_grid(resolver, remark.resource))
            continue;
        for (size_t k = 0; k < checker->made.num; k++) {
            if (made[k].resource == resource->buffer)
                remark.acts &= ~made[k].acts;
        }
        if (remark.acts && !braid_array_put(remarks, &remark, sizeof(remark)))
            return braid_error_no_memory("a remark");
    }
    return BRAID_OK;
}

braid_status braid_accesses_check(const struct accesses_graph *graph, uint32_t node,
                                  const struct accesses_kernel *kernel, struct array *out_remarks)
{
    const struct resolver resolver = make_resolver(graph, node, kernel);
    struct checker checker = { .is_whole = true };
    struct array remarks = { 0 };
    if (why_unproven(kernel) || find_unlike(&resolver) != GRAPH_NONE) {
        *out_remarks = remarks;
        return BRAID_OK;
    }
    braid_status status = take_all(&resolver, check_word, &checker);
    if (!status && checker.is_whole)
        status = add_remarks(&resolver, &checker, &remarks);
    braid_array_finish(&checker.made);
    if (status)
        braid_array_finish(&remarks);
    else
        *out_remarks = remarks;
    return status;
}

// SPDX-License-Identifier: Apache-2.0
// The accesses of kernel nodes, from the code of their kernels.
#include "accesses/accesses.h"

#include <inttypes.h>
#include <string.h>

#include "accesses/argument.h"
#include "base/error.h"
#include "base/node_text.h"

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

struct resolver {
    const struct accesses_view *view;
    const struct accesses_kernel *kernel;
    uint32_t node;                    // GRAPH_NONE: it is about to be added
    const struct code_launch *launch; // then; NULL: the node is in the graph
};

static struct code_argument argument_of(const struct resolver *resolver, uint32_t index)
{
    return resolver->launch ? resolver->launch->args[index]
                            : braid_accesses_argument(resolver->view->graph, resolver->node, index);
}

static const struct graph_kernel *kernel_of(const struct resolver *resolver)
{
    return graph_kernel_of(resolver->view->graph, resolver->node);
}

static uint32_t count_arguments(const struct resolver *resolver)
{
    return resolver->launch ? resolver->launch->num_args
                            : kernel_of(resolver)->num_args - kernel_of(resolver)->grid_from;
}

static const char *kernel_name(const struct resolver *resolver)
{
    return resolver->launch ? resolver->launch->kernel->name : kernel_of(resolver)->kernel->name;
}

static struct node_text name_of(const struct resolver *resolver)
{
    return resolver->node == GRAPH_NONE
               ? braid_node_text(GRAPH_NONE, resolver->launch->name)
               : braid_node_text(resolver->node,
                                 braid_graph_name(resolver->view->graph, resolver->node));
}

// Whether a parameter of the graph changes a byte of the word.
static bool changes(const struct resolver *resolver, uint32_t argument, uint32_t offset)
{
    const struct graph_changes *all = resolver->view->changes;
    const struct graph_parameter_use *uses = resolver->view->graph->uses.items;
    if (resolver->node == GRAPH_NONE || !all->first)
        return false;
    for (uint32_t i = all->first[resolver->node]; i < all->first[resolver->node + 1]; i++) {
        const struct graph_parameter_use *use = &uses[all->uses[i]];
        if (use->target == BRAID_TARGET_ARGUMENT && use->argument == argument &&
            use->argument_offset < offset + WORD && offset < use->argument_offset + use->bytes)
            return true;
    }
    return false;
}

static struct word find_by_value(const struct accesses_view *view, uint64_t value)
{
    const struct extents *extents = view->extents;
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

struct word braid_accesses_find_word(const struct accesses_view *view,
                                     const struct code_argument *argument, uint32_t offset)
{
    uint64_t value;
    if (argument->kind == ARGUMENT_NOTHING)
        return (struct word){ WORD_OF_NOTHING, GRAPH_NONE, GRAPH_NONE };
    if (argument->kind == ARGUMENT_RESOURCE)
        return (struct word){ WORD_OF_RESOURCE, argument->resource, GRAPH_NONE };
    memcpy(&value, (const unsigned char *)argument->data + offset, sizeof(value));
    return find_by_value(view, value);
}

// The meaning of the eight bytes at an offset of an argument.
static struct word resolve(const struct resolver *resolver, uint32_t index, uint32_t offset)
{
    const struct code_argument argument = argument_of(resolver, index);
    if (argument.kind == ARGUMENT_VALUE && changes(resolver, index, offset))
        return (struct word){ WORD_CHANGES, GRAPH_NONE, GRAPH_NONE };
    return braid_accesses_find_word(resolver->view, &argument, offset);
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

static uint32_t bytes_of(const struct resolver *resolver, uint32_t index)
{
    const uint32_t *sizes = resolver->view->graph->arg_sizes.items;
    return resolver->launch ? resolver->launch->args[index].bytes
                            : sizes[kernel_of(resolver)->first_arg + index];
}

// The first parameter that is unlike its argument, or how many there are; GRAPH_NONE: all are
// alike.
static uint32_t find_unlike(const struct resolver *resolver)
{
    const struct array *parameters = &resolver->kernel->found.parameters;
    const struct code_parameter *items = parameters->items;
    const uint32_t num = count_arguments(resolver);
    for (uint32_t i = 0; i < num && i < parameters->num; i++) {
        if (items[i].bytes != bytes_of(resolver, i))
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
                                   name_of(resolver).text, num, kernel_name(resolver),
                                   parameters->num);
    return braid_error_invalid("node %s: its argument %u has %u bytes, and %u in the PTX of kernel "
                               "'%s'",
                               name_of(resolver).text, index, bytes_of(resolver, index),
                               ((const struct code_parameter *)parameters->items)[index].bytes,
                               kernel_name(resolver));
}

static braid_status refuse_unproven(const struct resolver *resolver)
{
    return braid_error_invalid("node %s: the accesses of kernel '%s' are not proven: line %u of "
                               "its PTX: %s. Declare the node's accesses",
                               name_of(resolver).text, kernel_name(resolver),
                               unproven_line(resolver->kernel), why_unproven(resolver->kernel));
}

// Whether all that the code does is known. The words of its arguments are then told.
static braid_status check_known(const struct resolver *resolver)
{
    const uint32_t unlike = find_unlike(resolver);
    if (why_unproven(resolver->kernel))
        return refuse_unproven(resolver);
    return unlike == GRAPH_NONE ? BRAID_OK : refuse_unlike(resolver, unlike);
}

static braid_status refuse_elsewhere(const struct resolver *resolver, uint32_t argument,
                                     uint32_t line)
{
    return braid_error_invalid(
        "node %s: argument %u has an address in no declared buffer, and line "
        "%u of its kernel's PTX uses it. Declare the buffer, or the node's "
        "accesses",
        name_of(resolver).text, argument, line);
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

static braid_status add_acts(const struct kernel_access *access, uint32_t resource, unsigned acts,
                             struct array *items)
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
    if (!known[i].acts || ((acts & ~known[i].acts) & ACCESSES_WRITES)) {
        known[i].argument = access->parameter;
        known[i].at = place_of(access);
    }
    known[i].acts |= acts;
    known[i].mode = mode_of(known[i].acts);
    return BRAID_OK;
}

static braid_status add_access(const struct kernel_access *access, uint32_t resource,
                               struct array *items)
{
    return add_acts(access, resource, access->acts, items);
}

static braid_status derive_word(const struct resolver *resolver, const struct kernel_access *access,
                                struct word word, void *user)
{
    if (word.kind == WORD_OF_RESOURCE) {
        const braid_status status = add_access(access, word.resource, user);
        return status || !access->below || word.before == GRAPH_NONE
                   ? status
                   : add_acts(access, word.before, access->below, user);
    }
    return refuse_elsewhere(resolver, access->parameter,
                            line_of(resolver->kernel, place_of(access)));
}

braid_status braid_accesses_derive(const struct accesses_view *view,
                                   const struct code_launch *launch,
                                   const struct accesses_kernel *kernel, struct array *out_accesses)
{
    const struct resolver resolver = { view, kernel, GRAPH_NONE, launch };
    struct array accesses = { 0 };
    braid_status status = check_known(&resolver);
    if (!status)
        status = take_all(&resolver, derive_word, &accesses);
    if (status)
        braid_array_finish(&accesses);
    else
        *out_accesses = accesses;
    return status;
}

// ---- check ----

static unsigned acts_of_mode(uint32_t mode)
{
    return mode == BRAID_READ    ? ACCESSES_READS
           : mode == BRAID_WRITE ? ACCESSES_WRITES
                                 : ACCESSES_READS | ACCESSES_WRITES;
}

static const struct graph_access *accesses_of(const struct resolver *resolver, uint32_t *out_num)
{
    const struct graph_node *node = &graph_nodes(resolver->view->graph)[resolver->node];
    const struct graph_access *all = resolver->view->graph->accesses.items; // NULL: there are none
    *out_num = node->num_accesses;
    return all ? all + node->first_access : NULL;
}

static uint32_t buffer_of(const struct resolver *resolver, uint32_t resource)
{
    return graph_resource_at(resolver->view->graph, resource)->buffer;
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

static braid_status refuse_access(const struct resolver *resolver,
                                  const struct kernel_access *access, uint32_t buffer,
                                  unsigned declared)
{
    char text[256];
    const char *name = braid_graph_resource_name(resolver->view->graph, buffer, text, sizeof(text));
    if (declared)
        return braid_error_invalid(
            "node %s: it declares to read '%s', and line %u of the PTX of its kernel writes it, "
            "through argument %u",
            name_of(resolver).text, name, line_of(resolver->kernel, access->written_at),
            access->parameter);
    return braid_error_invalid(
        "node %s: line %u of the PTX of its kernel %s '%s' through argument %u, and the node "
        "declares no access to it",
        name_of(resolver).text, line_of(resolver->kernel, place_of(access)),
        access->written_at ? "writes" : "reads", name, access->parameter);
}

// A node that declares any access may read.
static bool covers(unsigned declared, unsigned acts)
{
    return declared && (!(acts & ACCESSES_WRITES) || (declared & ACCESSES_WRITES));
}

static braid_status check_word(const struct resolver *resolver, const struct kernel_access *access,
                               struct word word, void *user)
{
    struct accesses_checker *checker = user;
    if (word.kind == WORD_ELSEWHERE && checker->is_derived)
        return refuse_elsewhere(resolver, access->parameter,
                                line_of(resolver->kernel, place_of(access)));
    if (word.kind != WORD_OF_RESOURCE) {
        checker->is_whole = checker->is_whole && word.kind != WORD_CHANGES;
        return BRAID_OK;
    }
    const uint32_t buffer = buffer_of(resolver, word.resource);
    const unsigned declared = find_declared(resolver, buffer);
    if (covers(declared, access->acts)) {
        const braid_status status = add_access(access, buffer, &checker->made);
        return status || !access->below || word.before == GRAPH_NONE
                   ? status
                   : add_acts(access, word.before, access->below, &checker->made);
    }
    if (word.before != GRAPH_NONE && covers(find_declared(resolver, word.before), access->acts))
        return add_access(access, word.before, &checker->made); // it goes backwards from its end
    return refuse_access(resolver, access, buffer, declared);
}

// The launch reads its grid itself.
static bool is_grid(const struct resolver *resolver, uint32_t resource)
{
    if (!kernel_of(resolver)->grid_from)
        return false;
    const struct code_argument grid = argument_of(resolver, count_arguments(resolver));
    const struct word word = braid_accesses_find_word(resolver->view, &grid, 0);
    return word.kind == WORD_OF_RESOURCE && word.resource == resource;
}

// Whether the code uses addresses that nobody looks at, so that it may make any access.
static bool has_unchecked(const struct resolver *resolver)
{
    const struct array *found = &resolver->kernel->found.items;
    const struct kernel_access *items = found->items;
    for (size_t i = 0; i < found->num; i++) {
        if (braid_accesses_is_unchecked(resolver->view->graph, resolver->node, items[i].parameter))
            return true;
    }
    return false;
}

static braid_status add_remarks(const struct resolver *resolver, struct accesses_checker *checker)
{
    uint32_t num;
    const struct graph_access *accesses = accesses_of(resolver, &num);
    const struct derived_access *made = checker->made.items;
    for (uint32_t i = 0; i < num; i++) {
        const struct graph_resource *resource =
            graph_resource_at(resolver->view->graph, accesses[i].resource);
        struct access_remark remark = { accesses[i].resource, acts_of_mode(accesses[i].mode) };
        if (!resource->bytes || resource->scratch != GRAPH_NONE ||
            is_grid(resolver, remark.resource))
            continue;
        for (size_t k = 0; k < checker->made.num; k++) {
            if (made[k].resource == resource->buffer)
                remark.acts &= ~made[k].acts;
        }
        // A write of a part, as most are, keeps the rest, and is rightly declared an update.
        if (remark.acts == ACCESSES_READS && accesses[i].mode != BRAID_READ)
            remark.acts = 0;
        if (remark.acts && !braid_array_put(&checker->remarks, &remark, sizeof(remark)))
            return braid_error_no_memory("a remark");
    }
    return BRAID_OK;
}

braid_status braid_accesses_check(struct accesses_checker *checker,
                                  const struct accesses_view *view, uint32_t node,
                                  const struct accesses_kernel *kernel)
{
    checker->made.num = checker->remarks.num = 0;
    checker->is_whole = true;
    checker->is_derived = graph_nodes(view->graph)[node].code_use == BRAID_CODE_DECLARES;
    const struct graph_node *of = &graph_nodes(view->graph)[node];
    const struct resolver resolver = { view, kernel, node, NULL };
    const bool is_known = !why_unproven(kernel) && find_unlike(&resolver) == GRAPH_NONE;
    braid_status status = checker->is_derived ? check_known(&resolver) : BRAID_OK;
    if (!status && is_known)
        status = take_all(&resolver, check_word, checker);
    if (!status && is_known && checker->is_whole && of->num_accesses && !has_unchecked(&resolver))
        status = add_remarks(&resolver, checker);
    return status;
}

void braid_accesses_checker_finish(struct accesses_checker *checker)
{
    braid_array_finish(&checker->made);
    braid_array_finish(&checker->remarks);
}

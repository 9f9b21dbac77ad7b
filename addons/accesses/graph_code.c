// SPDX-License-Identifier: Apache-2.0
// The code of a graph's kernels. Each text is found and read once. Nodes are compared with it once
// for each version of the graph.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "accesses/shared_kernel.h"
#include "accesses/text_facts.h"
#include "base/error.h"
#include "base/error_details.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/pointer_map.h"

// A kernel whose text was looked for.
struct code_kernel {
    const braid_kernel *kernel;
    struct shared_kernel *read; // NULL: it has no text
    char target[128];           // the finder's; "": it is the program's
    char *why;     // it has no text, and the nodes of the kernel are told so; NULL: it has one
    bool is_quiet; // it has no code for a GPU at all, and nobody is told
    size_t why_at; // in the texts of the latest comparison, if that number is its
    uint64_t why_in;
};

// The variables of a module are one resource.
struct module_variables {
    const void *module;
    uint32_t resource;
};

struct graph_code {
    atomic_uint num_users;
    pthread_mutex_t lock; // guards all that follows
    struct array kernels; // struct code_kernel *
    struct pointer_map kernel_at;
    uint32_t latest;        // the kernel that was looked for last
    struct extents extents; // with the first `num_seen` resources
    uint32_t num_seen;
    struct array variables; // struct module_variables

    // The latest comparison.
    bool is_checked;
    uint64_t number; // how many there were
    uint32_t graph_id;
    uint64_t version;
    size_t num_uses;
    char target[128];
    struct code_remarks remarks;
};

// The kernel has a text.
static const struct accesses_kernel *read_of(const struct code_kernel *kernel)
{
    return braid_shared_kernel_read(kernel->read);
}

// ---- making and sharing ----

static braid_status create(struct graph_code **out_code)
{
    struct graph_code *code = braid_allocate_zeroed(1, sizeof(*code));
    if (!code)
        return braid_error_no_memory("the code of a graph");
    atomic_init(&code->num_users, 1);
    pthread_mutex_init(&code->lock, NULL);
    *out_code = code;
    return BRAID_OK;
}

static void share(struct graph_code *code)
{
    atomic_fetch_add_explicit(&code->num_users, 1, memory_order_relaxed);
}

static void free_kernel(struct code_kernel *kernel)
{
    braid_shared_kernel_release(kernel->read);
    braid_free(kernel->why);
    braid_free(kernel);
}

static void finish(struct graph_code *code)
{
    if (!code || atomic_fetch_sub_explicit(&code->num_users, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < code->kernels.num; i++)
        free_kernel(((struct code_kernel **)code->kernels.items)[i]);
    braid_array_finish(&code->kernels);
    braid_pointer_map_finish(&code->kernel_at);
    braid_extents_finish(&code->extents);
    braid_array_finish(&code->variables);
    braid_code_remarks_finish(&code->remarks);
    pthread_mutex_destroy(&code->lock);
    braid_free(code);
}

// ---- texts of kernels ----

static bool is_source(const braid_kernel *kernel)
{
    return !kernel->cuda.function && !kernel->cuda.data && kernel->source;
}

static bool copy_reason(struct code_kernel *kernel, const char *reason)
{
    kernel->why = braid_copy_text(reason);
    return kernel->why;
}

// A source that no compiler takes is no error here: who loads the kernel tells of it. *out_text is
// for the caller to free; NULL: there is none.
static braid_status compile(struct code_kernel *kernel, uint32_t node,
                            const struct text_finder *finder, char **out_text,
                            const char **out_entry)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = finder->find(finder->user, node, kernel->kernel, out_text, out_entry);
    const bool is_fatal = status == BRAID_NO_MEMORY;
    if (status && !is_fatal)
        status = copy_reason(kernel, braid_error_get_message()) ? BRAID_OK : BRAID_NO_MEMORY;
    braid_error_end_attempt(&attempt, is_fatal ? status : BRAID_OK);
    if (status && !is_fatal)
        return braid_error_no_memory("a kernel's code");
    snprintf(kernel->target, sizeof(kernel->target), "%s", finder->target);
    return status;
}

static braid_status find_text(struct code_kernel *kernel, uint32_t node,
                              const struct text_finder *finder)
{
    const braid_kernel *of = kernel->kernel;
    const char *entry = of->cuda.entry ? of->cuda.entry : of->name, *text = of->cuda.data;
    const char *why = NULL;
    char *compiled = NULL;
    braid_status status = BRAID_OK;
    if (of->cuda.function) {
        why = "it is the program's own function";
    } else if (text && !braid_ptx_is_text(text)) {
        why = "its code is machine code";
    } else if (!text && !of->source) {
        why = "it has no code for CUDA";
        kernel->is_quiet = true;
    } else if (!text && !finder) {
        why = "its source was not compiled for CUDA, as an audit on the CPU does";
    } else if (!text) {
        status = compile(kernel, node, finder, &compiled, &entry);
        text = compiled;
    }
    if (why && !copy_reason(kernel, why))
        return braid_error_no_memory("a kernel's code");
    if (!status && !kernel->why)
        status = braid_shared_kernel_find(text, entry, &kernel->read);
    braid_free(compiled);
    return status;
}

static braid_status add_kernel(const braid_kernel *of, uint32_t node,
                               const struct text_finder *finder, struct code_kernel **slot)
{
    struct code_kernel *kernel = braid_allocate_zeroed(1, sizeof(*kernel));
    if (!kernel)
        return braid_error_no_memory("a kernel's code");
    kernel->kernel = of;
    braid_status status = find_text(kernel, node, finder);
    if (status)
        free_kernel(kernel);
    else
        *slot = kernel;
    return status;
}

// A text of another target is compiled again.
static bool serves(const struct code_kernel *kernel, const struct text_finder *finder)
{
    return !finder || !is_source(kernel->kernel) || strcmp(kernel->target, finder->target) == 0;
}

static braid_status find_kernel(struct graph_code *code, const braid_kernel *kernel, uint32_t node,
                                const struct text_finder *finder, struct code_kernel **out_kernel)
{
    struct code_kernel **kernels = code->kernels.items, *found = NULL;
    uint32_t index = code->latest;
    if (index >= code->kernels.num || kernels[index]->kernel != kernel)
        index = code->latest = braid_pointer_map_get(&code->kernel_at, kernel);
    if (index != POINTER_MAP_NONE && serves(kernels[index], finder)) {
        *out_kernel = kernels[index];
        return BRAID_OK;
    }
    if (!braid_array_reserve(&code->kernels, 1, sizeof(found)) ||
        !braid_pointer_map_reserve(&code->kernel_at))
        return braid_error_no_memory("a kernel's code");
    braid_status status = add_kernel(kernel, node, finder, &found);
    if (status)
        return status;
    kernels = code->kernels.items;
    if (index == POINTER_MAP_NONE) {
        index = (uint32_t)code->kernels.num;
        braid_pointer_map_put(&code->kernel_at, kernel, index);
        *(struct code_kernel **)braid_array_append(&code->kernels, 1, sizeof(found)) = found;
    } else {
        free_kernel(kernels[index]);
        kernels[index] = found;
    }
    code->latest = index;
    *out_kernel = found;
    return BRAID_OK;
}

// ---- variables of modules ----

static const void *module_of(const braid_kernel *kernel)
{
    return kernel->cuda.data ? kernel->cuda.data : kernel->source;
}

// GRAPH_NONE: no derived node uses them.
static uint32_t find_variables(const struct graph_code *code, const void *module)
{
    const struct module_variables *variables = code->variables.items;
    for (size_t i = 0; i < code->variables.num; i++) {
        if (variables[i].module == module)
            return variables[i].resource;
    }
    return GRAPH_NONE;
}

static braid_status add_variables(struct graph_code *code, braid_graph *graph,
                                  const braid_kernel *kernel, uint32_t *out_resource)
{
    char name[160];
    braid_resource resource;
    snprintf(name, sizeof(name), "variables of the module of %.100s", kernel->name);
    if (!braid_array_reserve(&code->variables, 1, sizeof(struct module_variables)))
        return braid_error_no_memory("a resource");
    braid_status status = braid_graph_add_resource(graph, name, &resource);
    if (status)
        return status;
    *out_resource = resource.index;
    *(struct module_variables *)braid_array_append(&code->variables, 1,
                                                   sizeof(struct module_variables)) =
        (struct module_variables){ module_of(kernel), resource.index };
    return BRAID_OK;
}

static void take_back(braid_graph *graph)
{
    pthread_mutex_lock(&graph->code->lock);
    graph->code->variables.num--;
    pthread_mutex_unlock(&graph->code->lock);
    graph->resources.num--;
    graph->version--;
}

// ---- derive ----

static braid_status add_access(const braid_graph *graph, uint32_t resource, uint32_t mode,
                               struct derived_accesses *derived)
{
    const braid_access access = { { resource, graph->id }, (braid_access_mode)mode };
    braid_access *known = derived->accesses.items;
    for (size_t i = 0; i < derived->accesses.num; i++) {
        if (known[i].resource.index != resource)
            continue;
        known[i].mode = known[i].mode == access.mode ? access.mode : BRAID_READ_WRITE;
        return BRAID_OK;
    }
    return braid_array_put(&derived->accesses, &access, sizeof(access))
               ? BRAID_OK
               : braid_error_no_memory("a node's accesses");
}

static braid_status add_grid(const struct accesses_view *view, const struct code_launch *launch,
                             struct derived_accesses *derived)
{
    const struct word word = braid_accesses_find_word(view, &launch->grid, 0);
    if (word.kind == WORD_OF_NOTHING)
        return BRAID_OK;
    if (word.kind == WORD_OF_RESOURCE)
        return add_access(view->graph, word.resource, BRAID_READ, derived);
    return braid_error_invalid("node '%s': .grid_from is an address in no declared buffer. Declare "
                               "the buffer",
                               launch->name);
}

// Every one that the code uses, also where it is no address now.
static braid_status add_words(const struct accesses_kernel *kernel,
                              const struct code_launch *launch, struct derived_accesses *derived)
{
    const struct kernel_access *accesses = kernel->found.items.items;
    const struct code_parameter *parameters = kernel->found.parameters.items;
    for (size_t i = 0; i < kernel->found.items.num; i++) {
        const bool is_anywhere = source_is_anywhere(accesses[i].offset);
        const struct code_word word = {
            .argument = accesses[i].parameter,
            .offset = is_anywhere ? 0 : accesses[i].offset,
            .bytes = is_anywhere ? parameters[accesses[i].parameter].bytes : sizeof(uint64_t),
        };
        if (launch->args[word.argument].kind != ARGUMENT_NOTHING &&
            !braid_array_put(&derived->words, &word, sizeof(word)))
            return braid_error_no_memory("a node's accesses");
    }
    return BRAID_OK;
}

static braid_status add_all(const struct accesses_view *view, const struct code_launch *launch,
                            const struct accesses_kernel *kernel, struct derived_accesses *derived)
{
    struct array found = { 0 };
    braid_status status = braid_accesses_derive(view, launch, kernel, &found);
    const struct derived_access *items = found.items;
    for (size_t i = 0; i < found.num && !status; i++)
        status = add_access(view->graph, items[i].resource, items[i].mode, derived);
    braid_array_finish(&found);
    if (!status)
        status = add_grid(view, launch, derived);
    return status ? status : add_words(kernel, launch, derived);
}

static braid_status derive_locked(struct graph_code *code, braid_graph *graph,
                                  const struct code_launch *launch,
                                  struct derived_accesses *derived)
{
    struct code_kernel *kernel;
    struct text_finder finder;
    braid_text_finder_make(&finder);
    braid_status status = braid_extents_extend(graph, &code->extents, &code->num_seen);
    if (!status)
        status = find_kernel(code, launch->kernel, GRAPH_NONE, &finder, &kernel);
    if (status)
        return status;
    if (kernel->why)
        return braid_error(
            BRAID_UNSUPPORTED,
            "node '%s': nobody can tell the accesses of kernel '%s': %s. Declare the "
            "node's accesses",
            launch->name, launch->kernel->name, kernel->why);
    const struct accesses_view view = { graph, &code->extents, NULL };
    status = add_all(&view, launch, read_of(kernel), derived);
    const unsigned acts = read_of(kernel)->found.of_variables;
    if (status || !acts)
        return status;
    if (!braid_array_reserve(&derived->accesses, 1, sizeof(braid_access)))
        return braid_error_no_memory("a node's accesses");
    uint32_t variables = find_variables(code, module_of(launch->kernel));
    derived->adds_resource = variables == GRAPH_NONE;
    if (derived->adds_resource)
        status = add_variables(code, graph, launch->kernel, &variables);
    return status ? status
                  : add_access(graph, variables,
                               acts & ACCESSES_WRITES ? BRAID_READ_WRITE : BRAID_READ, derived);
}

static braid_status derive(braid_graph *graph, const struct code_launch *launch,
                           struct derived_accesses *out_accesses)
{
    struct derived_accesses derived = { 0 };
    braid_status status = graph->code ? BRAID_OK : create(&graph->code);
    if (status)
        return status;
    pthread_mutex_lock(&graph->code->lock);
    status = derive_locked(graph->code, graph, launch, &derived);
    pthread_mutex_unlock(&graph->code->lock);
    if (status)
        braid_derived_accesses_finish(&derived);
    else
        *out_accesses = derived;
    return status;
}

// ---- check ----

static const char *why_unproven(const struct code_kernel *kernel)
{
    return kernel->why                       ? kernel->why
           : read_of(kernel)->reason.text[0] ? read_of(kernel)->reason.text
                                             : read_of(kernel)->found.why;
}

static braid_status add_remark(struct graph_code *code, struct code_remark remark)
{
    return braid_array_put(&code->remarks.items, &remark, sizeof(remark))
               ? BRAID_OK
               : braid_error_no_memory("a remark");
}

// All nodes of a kernel share the reason.
static braid_status remark_unchecked(struct graph_code *code, uint32_t node,
                                     struct code_kernel *kernel)
{
    if (kernel->why_in != code->number &&
        !braid_code_remarks_add_text(&code->remarks, why_unproven(kernel), &kernel->why_at))
        return braid_error_no_memory("a remark");
    kernel->why_in = code->number;
    return add_remark(
        code, (struct code_remark){ .node = node, .resource = GRAPH_NONE, .why = kernel->why_at });
}

// Another node's derived accesses tell of the variables, so all that use them must. Compiled for
// another device, source may use variables that it did not use when its node was added.
static braid_status check_variables(const struct graph_code *code, const braid_graph *graph,
                                    uint32_t node, const struct code_kernel *kernel)
{
    const unsigned acts = read_of(kernel)->found.of_variables;
    const uint32_t variables = acts ? find_variables(code, module_of(kernel->kernel)) : GRAPH_NONE;
    const struct graph_node *of = &graph_nodes(graph)[node];
    const bool is_derived = of->code_use == BRAID_CODE_DECLARES;
    const char *verb = acts & ACCESSES_WRITES ? "writes" : "reads";
    if (!acts || (variables == GRAPH_NONE && !is_derived))
        return BRAID_OK;
    for (uint32_t i = 0; i < of->num_accesses; i++) {
        const struct graph_access *access =
            (const struct graph_access *)graph->accesses.items + of->first_access + i;
        if (access->resource == variables &&
            (access->mode != BRAID_READ || !(acts & ACCESSES_WRITES)))
            return BRAID_OK;
    }
    const struct node_text name = braid_node_text(node, braid_graph_name(graph, node));
    if (is_derived)
        return braid_error_invalid("node %s: compiled for this device its kernel %s variables of "
                                   "its module, and not so when the node was added: declare the "
                                   "node's accesses",
                                   name.text, verb);
    return braid_error_invalid("node %s: its kernel %s variables of its module, as nodes do whose "
                               "code declares them: let its code declare its accesses too",
                               name.text, verb);
}

static braid_status check_node(struct graph_code *code, struct accesses_checker *checker,
                               const struct accesses_view *view, uint32_t node,
                               const struct text_finder *finder)
{
    struct code_kernel *kernel;
    braid_status status =
        find_kernel(code, graph_kernel_of(view->graph, node)->kernel, node, finder, &kernel);
    if (status)
        return status;
    if (!kernel->why)
        status = braid_accesses_check(checker, view, node, read_of(kernel));
    if (!status && !why_unproven(kernel))
        status = check_variables(code, view->graph, node, kernel);
    else if (!status && !kernel->is_quiet)
        status = remark_unchecked(code, node, kernel);
    if (kernel->why)
        return status;
    const struct access_remark *remarks = checker->remarks.items;
    for (size_t i = 0; i < checker->remarks.num && !status; i++)
        status = add_remark(
            code, (struct code_remark){ .node = node,
                                        .resource = remarks[i].resource,
                                        .never_reads = remarks[i].acts & ACCESSES_READS,
                                        .never_writes = remarks[i].acts & ACCESSES_WRITES });
    return status;
}

// Whether the kernel makes no access, so that nodes which declare none need no look.
static bool touches_nothing(const struct code_kernel *kernel)
{
    return !why_unproven(kernel) && !read_of(kernel)->found.items.num &&
           !read_of(kernel)->found.of_variables;
}

// The kernel that was looked for last, if it is such a one.
static const braid_kernel *find_idle(const struct graph_code *code)
{
    const struct code_kernel *latest = ((struct code_kernel **)code->kernels.items)[code->latest];
    return touches_nothing(latest) ? latest->kernel : NULL;
}

static braid_status check_nodes(struct graph_code *code, const struct accesses_view *view,
                                const struct text_finder *finder)
{
    const struct graph_node *nodes = graph_nodes(view->graph);
    const braid_kernel *idle = NULL; // which all nodes give arguments of the same sizes
    struct accesses_checker checker = { 0 };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph_num_nodes(view->graph) && !status; i++) {
        if (nodes[i].kind != WORK_KERNEL || nodes[i].code_use == BRAID_CODE_UNREAD ||
            (!nodes[i].num_accesses && graph_kernel_of(view->graph, i)->kernel == idle))
            continue;
        status = check_node(code, &checker, view, i, finder);
        idle = status ? NULL : find_idle(code);
    }
    braid_accesses_checker_finish(&checker);
    return status;
}

static bool was_checked(const struct graph_code *code, const braid_graph *graph,
                        const struct text_finder *finder)
{
    return code->is_checked && code->graph_id == graph->id && code->version == graph->version &&
           code->num_uses == graph->uses.num &&
           (!finder || strcmp(code->target, finder->target) == 0);
}

static braid_status check_locked(struct graph_code *code, const braid_graph *graph,
                                 const struct text_finder *finder)
{
    struct graph_changes changes;
    if (was_checked(code, graph, finder))
        return BRAID_OK;
    braid_code_remarks_finish(&code->remarks);
    code->is_checked = false;
    code->number++;
    braid_status status = braid_extents_extend(graph, &code->extents, &code->num_seen);
    if (!status)
        status = braid_graph_find_changes(graph, &changes);
    if (status)
        return status;
    const struct accesses_view view = { graph, &code->extents, &changes };
    status = check_nodes(code, &view, finder);
    braid_graph_changes_finish(&changes);
    if (status)
        return status;
    code->is_checked = true;
    code->graph_id = graph->id;
    code->version = graph->version;
    code->num_uses = graph->uses.num;
    snprintf(code->target, sizeof(code->target), "%s", finder ? finder->target : "");
    return BRAID_OK;
}

static braid_status check(const braid_graph *graph, const struct text_finder *finder)
{
    struct graph_code *code = graph->code;
    if (!code)
        return BRAID_OK;
    PLAIN_MEMORY; // the graph outlives the device that has it checked
    pthread_mutex_lock(&code->lock);
    braid_status status = check_locked(code, graph, finder);
    pthread_mutex_unlock(&code->lock);
    return status;
}

static bool copy_array(const struct array *from, size_t item_bytes, struct array *to)
{
    void *items = from->num ? braid_array_append(to, from->num, item_bytes) : NULL;
    if (items)
        memcpy(items, from->items, from->num * item_bytes);
    return items || !from->num;
}

static braid_status list(const braid_graph *graph, struct code_remarks *out_remarks)
{
    struct graph_code *code = graph->code;
    struct code_remarks copy = { 0 };
    if (!code)
        return BRAID_OK;
    pthread_mutex_lock(&code->lock);
    const bool is_done =
        copy_array(&code->remarks.items, sizeof(struct code_remark), &copy.items) &&
        copy_array(&code->remarks.texts, 1, &copy.texts);
    pthread_mutex_unlock(&code->lock);
    if (is_done)
        *out_remarks = copy;
    else
        braid_code_remarks_finish(&copy);
    return is_done ? BRAID_OK : braid_error_no_memory("the remarks of a plan");
}

static const struct graph_code_doors doors = { create,
                                               share,
                                               finish,
                                               derive,
                                               take_back,
                                               check,
                                               list,
                                               braid_code_open_text,
                                               braid_code_close_text,
                                               braid_code_read_entry };
const struct graph_code_doors *const braid_graph_code = &doors;

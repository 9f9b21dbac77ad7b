// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, takes the accesses of its kernels from their code, and audits each
// graph before the program plays it. A line for each exec tells how many nodes were derived, and
// how often a kernel made an access that its code does not tell.
//
// Accesses that overwrite a buffer or hold it stay declared, since no code tells of that. Nodes
// whose code proves nothing keep all that they declare. The audit runs a frame of its own, so the
// results of the program differ.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

static uint32_t num_derived, num_declared, num_undeclared;

// Memory of the device, which becomes buffers of a graph that knows its resources by name alone.
enum { MOST_ALLOCATIONS = 4096 };
static struct {
    void *memory; // NULL: it was freed
    uint64_t bytes;
} allocations[MOST_ALLOCATIONS];
static size_t num_allocations;
static const braid_graph *has_allocations; // the latest graph with these as buffers

static void *find_real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        abort();
    return function;
}

braid_status braid_memory_allocate(braid_device *device, braid_memory_kind kind, uint64_t bytes,
                                   void **out_memory)
{
    __typeof__(&braid_memory_allocate) real;
    void *function = find_real("braid_memory_allocate");
    memcpy(&real, &function, sizeof(real));
    braid_status status = real(device, kind, bytes, out_memory);
    if (!status && num_allocations < MOST_ALLOCATIONS) {
        allocations[num_allocations].memory = *out_memory;
        allocations[num_allocations++].bytes = bytes;
    }
    return status;
}

void braid_memory_free(braid_device *device, void *memory)
{
    __typeof__(&braid_memory_free) real;
    void *function = find_real("braid_memory_free");
    memcpy(&real, &function, sizeof(real));
    for (size_t i = 0; i < num_allocations; i++) {
        if (allocations[i].memory == memory)
            allocations[i].memory = NULL;
    }
    real(device, memory);
}

static bool add_allocations(braid_graph *graph)
{
    if (has_allocations == graph)
        return false;
    has_allocations = graph;
    for (size_t i = 0; i < num_allocations; i++) {
        char name[32];
        braid_resource buffer;
        snprintf(name, sizeof(name), "allocation %zu", i);
        if (allocations[i].memory && braid_graph_add_buffer(graph, name, allocations[i].memory,
                                                            allocations[i].bytes, &buffer))
            abort();
    }
    return true;
}

// A read, or an update: the code tells of it.
static bool is_told(braid_access_mode mode)
{
    return mode == BRAID_READ || mode == BRAID_READ_WRITE || mode == BRAID_ACCUMULATE;
}

static size_t keep_accesses(const braid_kernel_node *launch, braid_access *kept)
{
    size_t num = 0;
    for (size_t i = 0; i < launch->node.num_accesses; i++) {
        if (!is_told(launch->node.accesses[i].mode))
            kept[num++] = launch->node.accesses[i];
    }
    return num;
}

static void keep_arguments(const braid_kernel_node *launch, braid_arg *kept)
{
    for (size_t i = 0; i < launch->num_args; i++) {
        kept[i] = launch->args[i];
        if (is_told(kept[i].access))
            kept[i].access = (braid_access_mode)0;
    }
}

braid_status braid_graph_add_kernel_sized(braid_graph *graph, const braid_kernel_node *launch,
                                          braid_node *out_node, size_t size, size_t node_size,
                                          size_t kernel_size)
{
    __typeof__(&braid_graph_add_kernel_sized) real;
    void *function = find_real("braid_graph_add_kernel_sized");
    memcpy(&real, &function, sizeof(real));
    if (!launch || size != sizeof(*launch) || launch->code_use == BRAID_CODE_UNREAD)
        return real(graph, launch, out_node, size, node_size, kernel_size);
    braid_kernel_node derived = *launch;
    braid_access *accesses = calloc(launch->node.num_accesses + 1, sizeof(*accesses));
    braid_arg *args = calloc(launch->num_args + 1, sizeof(*args));
    if (!accesses || !args)
        abort();
    derived.node.accesses = accesses;
    derived.node.num_accesses = keep_accesses(launch, accesses);
    keep_arguments(launch, args);
    derived.args = args;
    derived.code_use = BRAID_CODE_DECLARES;
    braid_status status = real(graph, &derived, out_node, size, node_size, kernel_size);
    if (status && strstr(braid_error_get_message(), "no declared buffer") && add_allocations(graph))
        status = real(graph, &derived, out_node, size, node_size, kernel_size);
    free(accesses);
    free(args);
    num_derived += !status;
    num_declared += status != BRAID_OK;
    if (!status)
        return status;
    fprintf(stderr, "# declared: %s\n", braid_error_get_message());
    return real(graph, launch, out_node, size, node_size, kernel_size);
}

static void report(const braid_audit_finding *finding, void *user)
{
    (void)user;
    if (finding->kind > BRAID_AUDIT_UPDATES)
        return;
    num_undeclared++;
    fprintf(stderr, "# undeclared: %s\n", finding->text);
}

braid_status braid_exec_create_sized(braid_device *device, const braid_graph *graph,
                                     const braid_exec_options *options, braid_exec **out_exec,
                                     size_t size, size_t costs_size, size_t places_size)
{
    __typeof__(&braid_exec_create_sized) real;
    void *function = find_real("braid_exec_create_sized");
    memcpy(&real, &function, sizeof(real));
    braid_device_info info = { 0 };
    braid_device_get_info(device, &info);
    static bool is_inside; // the audit makes an exec, too
    if (!is_inside && info.backend && strcmp(info.backend, "cuda") == 0) {
        size_t num = 0;
        num_undeclared = 0;
        is_inside = true;
        braid_status status =
            braid_graph_audit(graph, device, &(braid_audit_options){ .report = report }, &num);
        fprintf(stderr, "derived and audited: %u nodes derived, %u declared, %u undeclared%s%s\n",
                num_derived, num_declared, num_undeclared, status ? ", failed: " : "",
                status ? braid_error_get_message() : "");
        num_derived = num_declared = 0;
        is_inside = false;
    }
    return real(device, graph, options, out_exec, size, costs_size, places_size);
}

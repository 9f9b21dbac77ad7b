// SPDX-License-Identifier: Apache-2.0
// Comparing a graph with the code of its kernels, as the devices of an exec loaded it.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "exec/exec.h"
#include "graph/code.h"

// A copy of the text and, behind it, of the entry: the graph's code outlives the exec.
static braid_status copy_text(const char *text, const char *entry, char **out_text,
                              const char **out_entry)
{
    const size_t bytes = strlen(text) + 1, entry_bytes = strlen(entry) + 1;
    char *copy = braid_allocate(bytes + entry_bytes);
    if (!copy)
        return braid_error_no_memory("a kernel's text");
    memcpy(copy, text, bytes);
    memcpy(copy + bytes, entry, entry_bytes);
    *out_text = copy;
    *out_entry = copy + bytes;
    return BRAID_OK;
}

// A text that the device keeps is its own.
static braid_status find_kept(const braid_exec *exec, uint32_t node, const char **out_text,
                              const char **out_entry)
{
    EXEC_MEMORY(exec);
    const struct backend_task *task = &exec->tasks.items[node];
    struct backend *backend = exec->places.devices[task->place]->backend;
    return backend->ops->kernel_text(backend, task->launch.kernel, out_text, out_entry);
}

static braid_status find(void *user, uint32_t node, const braid_kernel *kernel, char **out_text,
                         const char **out_entry)
{
    const braid_exec *exec = user;
    const char *text = NULL, *entry;
    braid_status status = find_kept(exec, node, &text, &entry);
    if (!status && !text)
        status = braid_error(BRAID_UNSUPPORTED, "kernel '%s' has no text", kernel->name);
    return status ? status : copy_text(text, entry, out_text, out_entry);
}

// Backends that change kernels have their texts.
braid_status braid_exec_check_code(braid_exec *exec, const braid_graph *graph)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    struct text_finder finder = { .user = exec, .find = find };
    snprintf(finder.target, sizeof(finder.target), "%s", exec->device->name);
    return graph_check_code(graph, ops->kernel_text && ops->kernel_changes ? &finder : NULL);
}

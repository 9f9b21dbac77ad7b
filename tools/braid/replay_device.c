// SPDX-License-Identifier: Apache-2.0
// Runs a capture on a device.
#include "replay_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/audit.h>

static enum exit_status fill_resource(const struct replay_device *device, uint32_t index)
{
    const struct capture_resource *it = &device->replay.file->resources[index];
    unsigned char *to = device->memory[index];
    braid_status status = it->contents
                              ? braid_stream_copy(braid_device_get_default_stream(device->device),
                                                  to, it->contents, it->bytes)
                              : braid_stream_fill(braid_device_get_default_stream(device->device),
                                                  to, 0, 1, it->bytes);
    return status ? fail_in_library() : EXIT_DONE;
}

enum exit_status replay_device_fill(const struct replay_device *device)
{
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0; i < device->replay.file->num_resources && status == EXIT_DONE; i++) {
        if (device->memory[i])
            status = fill_resource(device, i);
    }
    if (status == EXIT_DONE && braid_stream_wait(braid_device_get_default_stream(device->device)))
        status = fail_in_library();
    return status;
}

enum exit_status replay_device_read(const struct replay_device *device, uint32_t buffer,
                                    uint64_t offset, uint64_t bytes, unsigned char *to)
{
    braid_status status = braid_stream_copy(braid_device_get_default_stream(device->device), to,
                                            device->memory[buffer] + offset, bytes);
    if (!status)
        status = braid_stream_wait(braid_device_get_default_stream(device->device));
    return status ? fail_in_library() : EXIT_DONE;
}

// A buffer, with those that are glued to it.
static enum exit_status allocate_buffer(const struct replay_device *device, uint32_t first)
{
    const struct capture_resource *resources = device->replay.file->resources;
    uint64_t bytes = resources[first].bytes;
    uint32_t next = resources[first].next;
    void *memory = NULL;
    for (; next != CAPTURE_NONE && resources[next].is_glued; next = resources[next].next)
        bytes += resources[next].bytes;
    if (braid_memory_allocate(device->device, BRAID_MEMORY_DEVICE, bytes, &memory))
        return fail_in_library();
    device->memory[first] = memory;
    for (uint32_t last = first; resources[last].next != next; last = resources[last].next)
        device->memory[resources[last].next] = device->memory[last] + resources[last].bytes;
    return EXIT_DONE;
}

static enum exit_status allocate(struct replay_device *device)
{
    const struct capture_file *file = device->replay.file;
    device->memory = calloc((size_t)file->num_resources + 1, sizeof(*device->memory));
    if (!device->memory)
        return fail(EXIT_FAILED, "out of memory for the buffers of %s", file->path);
    device->replay.memory = device->memory;
    enum exit_status status = EXIT_DONE;
    for (uint32_t i = 0; i < file->num_resources && status == EXIT_DONE; i++) {
        const struct capture_resource *it = &file->resources[i];
        if ((it->kind == CAPTURE_BUFFER || it->kind == CAPTURE_TRANSIENT) && !it->is_glued)
            status = allocate_buffer(device, i);
    }
    return status;
}

// Host calls of the CPU alone find the memory where they look for it.
static enum exit_status list_declared(struct replay_device *device)
{
    const struct capture_file *file = device->replay.file;
    const struct capture_access *accesses = file->accesses.items;
    braid_device_info info;
    braid_device_get_info(device->device, &info);
    if (strcmp(info.backend, "cpu") != 0)
        return EXIT_DONE;
    device->declared = calloc(file->accesses.num + 1, sizeof(*device->declared));
    if (!device->declared)
        return fail(EXIT_FAILED, "out of memory for the accesses of %s", file->path);
    device->replay.declared = device->declared;
    for (size_t i = 0; i < file->accesses.num; i++) {
        uint64_t offset;
        uint32_t buffer = capture_buffer_of(file, accesses[i].resource, &offset);
        if (file->resources[buffer].kind == CAPTURE_BUFFER)
            device->declared[i] = device->memory[buffer] + offset;
    }
    return EXIT_DONE;
}

static enum exit_status enable(const struct replay_device *device, uint32_t node, bool is_enabled)
{
    braid_node handle = braid_graph_get_node(device->graph, node);
    return braid_exec_set(device->exec, handle, BRAID_TARGET_ENABLED, 0, &is_enabled)
               ? fail_in_library()
               : EXIT_DONE;
}

static enum exit_status make_exec(struct replay_device *device)
{
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS,
                                         .max_lanes = 1,
                                         .no_rewriting = true };
    enum exit_status status = replay_graph_create(&device->replay, &device->graph);
    if (status != EXIT_DONE)
        return status;
    if (braid_exec_create(device->device, device->graph, &options, &device->exec))
        return fail_in_library();
    for (uint32_t i = 0; i < device->replay.file->num_nodes && status == EXIT_DONE; i++)
        status = enable(device, i, false);
    return status;
}

enum exit_status replay_device_open(const struct replay_graph *replay,
                                    const braid_device_options *options,
                                    struct replay_device *out_device)
{
    *out_device = (struct replay_device){ .replay = *replay };
    if (braid_device_open(options, &out_device->device))
        return fail_in_library();
    enum exit_status status = allocate(out_device);
    if (status == EXIT_DONE)
        status = list_declared(out_device);
    if (status == EXIT_DONE)
        status = replay_device_fill(out_device);
    return status == EXIT_DONE ? make_exec(out_device) : status;
}

void replay_device_close(struct replay_device *device)
{
    braid_exec_destroy(device->exec);
    braid_graph_destroy(device->graph);
    for (uint32_t i = 0; device->memory && i < device->replay.file->num_resources; i++) {
        if (!device->replay.file->resources[i].is_glued)
            braid_memory_free(device->device, device->memory[i]);
    }
    free(device->memory);
    free(device->declared);
    if (device->device)
        braid_device_close(device->device);
}

static enum exit_status run_exec(braid_exec *exec)
{
    braid_status status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    return status ? fail_in_library() : EXIT_DONE;
}

enum exit_status replay_device_run(const struct replay_device *device, uint32_t node)
{
    if (replay_graph_rests(&device->replay, node))
        return EXIT_DONE;
    enum exit_status status = enable(device, node, true);
    if (status == EXIT_DONE)
        status = run_exec(device->exec);
    return status == EXIT_DONE ? enable(device, node, false) : status;
}

enum exit_status replay_device_run_planned(const struct replay_device *device, uint32_t num_lanes)
{
    struct replay_graph replay = device->replay;
    const braid_exec_options options = { .max_lanes = num_lanes };
    braid_graph *graph = NULL;
    braid_exec *exec = NULL;
    replay.is_planned = true;
    enum exit_status status = replay_graph_create(&replay, &graph);
    if (status == EXIT_DONE && braid_exec_create(device->device, graph, &options, &exec))
        status = fail_in_library();
    if (status == EXIT_DONE)
        status = run_exec(exec);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    return status;
}

static void print_finding(const braid_audit_finding *finding, void *user)
{
    (void)user;
    char *line = message_one_line(finding->text); // names are the file's
    printf("%s\n", line ? line : "a finding, for whose text there is no memory");
    free(line);
}

enum exit_status replay_device_audit(const struct replay_device *device)
{
    struct replay_graph replay = device->replay;
    const braid_audit_options options = { .report = print_finding };
    braid_graph *graph = NULL;
    size_t num = 0;
    replay.is_planned = true;
    enum exit_status status = replay_graph_create(&replay, &graph);
    if (status == EXIT_DONE && braid_graph_audit(graph, device->device, &options, &num))
        status = fail_in_library();
    braid_graph_destroy(graph);
    if (status == EXIT_DONE && num)
        return fail(EXIT_FAILED, "the audit of %s has %zu finding%s", replay.file->path, num,
                    num == 1 ? "" : "s");
    if (status == EXIT_DONE)
        printf("all accesses are declared, and made\n");
    return status;
}

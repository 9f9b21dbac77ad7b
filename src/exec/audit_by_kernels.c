// SPDX-License-Identifier: Apache-2.0
// Audits on CUDA: kernels that tell of their accesses run on one stream.
//
// One block of memory has the tables of all nodes. It is copied to the device in front of the
// nodes, and back behind them. A node may tell of an undeclared access. Behind it, its table and
// that of all buffers are copied back, since a later node may fault. The latter is then written
// anew.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"
#include "exec/audit_kernels.h"

// In front of the tables.
struct words {
    uint32_t read;    // of the frame's memory
    uint64_t is_told; // by a kernel: it has made an undeclared access
};

struct by_kernels {
    struct backend *backend;
    struct audit_kernels kernels;
    struct audit_memory memory;
    void *block;                  // of `memory`
    unsigned char *host, *device; // the same bytes of both: words, all buffers' table, others
    size_t bytes;
    size_t *tables;  // by node: where its table begins; 0: it has none
    uintptr_t *room; // for the borders of accesses
    void **args;     // of a launch
};

// ---- memory ----

static braid_status copy(const struct auditing *auditing, void *to, const void *from, size_t bytes)
{
    const struct by_kernels *way = auditing->own;
    const struct backend_task task = { .kind = WORK_COPY,
                                       .name = "a copy of an audit",
                                       .node = BACKEND_NO_NODE,
                                       .copy = { .to = to, .from = from, .bytes = bytes } };
    return way->backend->ops->submit(way->backend, device_backend_stream(auditing->stream), &task);
}

static braid_status wait(const struct auditing *auditing)
{
    const struct by_kernels *way = auditing->own;
    return way->backend->ops->stream_synchronize(way->backend,
                                                 device_backend_stream(auditing->stream));
}

static struct words *words_of(const struct by_kernels *way)
{
    return (void *)way->host;
}

static struct audit_table *table_at(const struct by_kernels *way, size_t at)
{
    return (void *)(way->host + at);
}

static braid_status read_word(void *context, const uint32_t *word, uint32_t *out_value)
{
    const struct auditing *auditing = context;
    const struct by_kernels *way = auditing->own;
    braid_status status = copy(auditing, &words_of(way)->read, word, sizeof(*word));
    if (!status)
        status = wait(auditing);
    if (!status)
        *out_value = words_of(way)->read;
    return status;
}

static void release(struct by_kernels *way)
{
    const struct backend_ops *ops = way->backend->ops;
    if (way->device)
        ops->release(way->backend, BRAID_MEMORY_DEVICE, way->device);
    if (way->host)
        ops->release(way->backend, BRAID_MEMORY_HOST, way->host);
    way->host = way->device = NULL;
}

static braid_status allocate(struct by_kernels *way)
{
    const struct backend_ops *ops = way->backend->ops;
    void *host = NULL, *device = NULL;
    braid_status status = ops->allocate(way->backend, BRAID_MEMORY_HOST, way->bytes, &host);
    if (status)
        return status;
    way->host = host;
    status = ops->allocate(way->backend, BRAID_MEMORY_DEVICE, way->bytes, &device);
    way->device = device;
    return status;
}

// ---- tables ----

static const struct backend_task *find_task(const struct auditing *auditing, uint32_t node)
{
    return &auditing->exec->frames.slots[0].frame.tasks[node];
}

// Finds where the tables lie, and their bytes.
static void place_tables(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    const braid_graph *graph = auditing->findings.graph;
    way->bytes =
        sizeof(struct words) + audit_table_bytes(braid_audit_table_write_all(&way->memory, NULL));
    for (uint32_t i = 0; i < auditing->exec->tasks.num; i++) {
        if (find_task(auditing, i)->kind != WORK_KERNEL)
            continue;
        way->tables[i] = way->bytes;
        way->bytes += audit_table_bytes(
            braid_audit_table_write(&way->memory, &graph_nodes(graph)[i], way->room, NULL));
    }
}

static size_t write_buffers(struct by_kernels *way)
{
    struct audit_table *table = table_at(way, sizeof(struct words));
    const size_t num = braid_audit_table_write_all(&way->memory, table);
    table->rest = (uintptr_t)&words_of(way)->is_told;
    words_of(way)->is_told = 0;
    return audit_table_bytes(num);
}

static braid_status write_tables(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    const braid_graph *graph = auditing->findings.graph;
    write_buffers(way);
    for (uint32_t i = 0; i < auditing->exec->tasks.num; i++) {
        if (!way->tables[i])
            continue;
        struct audit_table *table = table_at(way, way->tables[i]);
        braid_audit_table_write(&way->memory, &graph_nodes(graph)[i], way->room, table);
        table->rest = (uintptr_t)(way->device + sizeof(struct words));
    }
    return copy(auditing, way->device, way->host, way->bytes);
}

// Of a node that has ended. Its own table counts on.
static braid_status take_undeclared(struct auditing *auditing, uint32_t node)
{
    struct by_kernels *way = auditing->own;
    struct audit_table *all = table_at(way, sizeof(struct words));
    struct audit_table *own = table_at(way, way->tables[node]);
    unsigned char *device = way->device + sizeof(struct words);
    braid_status status = copy(auditing, all, device, audit_table_bytes(all->num));
    if (!status)
        status = copy(auditing, own, way->device + way->tables[node], audit_table_bytes(own->num));
    if (!status)
        status = wait(auditing);
    if (!status)
        status = braid_audit_table_take_undeclared(&way->memory, node, all, &auditing->findings);
    if (!status)
        status = copy(auditing, device, all, write_buffers(way));
    return status;
}

// Kernels may use the memory until the wait, so it follows a copy that fails, too.
static braid_status copy_and_wait(struct auditing *auditing)
{
    const struct by_kernels *way = auditing->own;
    struct error_attempt attempt;
    braid_status copied = copy(auditing, way->host, way->device, way->bytes);
    braid_error_begin_attempt(&attempt);
    braid_status waited = wait(auditing);
    braid_error_end_attempt(&attempt, copied ? BRAID_OK : waited);
    return copied ? copied : waited;
}

static braid_status find_files(struct auditing *auditing)
{
    const struct by_kernels *way = auditing->own;
    struct audit_finding *items = auditing->findings.items.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < auditing->findings.items.num && !status; i++) {
        const uint32_t node = items[i].node, line = items[i].line;
        if (!line || line == AUDIT_NO_LINE)
            continue;
        const braid_kernel *kernel = graph_kernel_of(auditing->findings.graph, node)->kernel;
        status = braid_audit_kernels_file(&way->kernels, kernel, &find_task(auditing, node)->launch,
                                          line, &items[i].file);
    }
    return status;
}

// Takes the accesses of which nodes told in tables of their own.
static braid_status take(struct auditing *auditing)
{
    const struct by_kernels *way = auditing->own;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < auditing->exec->tasks.num && !status; i++) {
        if (way->tables[i] && auditing->findings.has_run[i])
            status = braid_audit_table_take(&way->memory, i, table_at(way, way->tables[i]),
                                            &auditing->findings);
    }
    return status ? status : find_files(auditing);
}

// If the copy fails, as behind a fault, tables are as they were copied before.
static braid_status stop(struct auditing *auditing)
{
    struct error_attempt attempt;
    braid_status copied = copy_and_wait(auditing);
    braid_error_begin_attempt(&attempt);
    braid_status taken = take(auditing);
    braid_error_end_attempt(&attempt, copied ? BRAID_OK : taken);
    return copied ? copied : taken;
}

// ---- nodes ----

static braid_status submit(const struct auditing *auditing, const struct backend_task *task)
{
    const struct by_kernels *way = auditing->own;
    return way->backend->ops->submit(way->backend, device_backend_stream(auditing->stream), task);
}

static braid_status run_audited(struct auditing *auditing, const struct audited *audited,
                                struct backend_task *task)
{
    struct by_kernels *way = auditing->own;
    struct backend_launch *launch = &task->launch;
    void *table = way->device + way->tables[task->node];
    if (launch->num_args)
        memcpy(way->args, launch->args, launch->num_args * sizeof(*way->args));
    way->args[launch->num_args] = &table;
    launch->args = way->args;
    launch->kernel = audited->loaded;
    auditing->findings.has_run[task->node] = true;
    return submit(auditing, task);
}

static braid_status begin_node(struct auditing *auditing, uint32_t node,
                               const struct backend_task *task)
{
    const struct audited *audited = NULL;
    if (task->kind != WORK_KERNEL)
        return submit(auditing, task);
    const braid_kernel *kernel = graph_kernel_of(auditing->findings.graph, node)->kernel;
    struct by_kernels *way = auditing->own;
    braid_status status = braid_audit_kernels_get(&way->kernels, kernel, &task->launch, &audited);
    if (status)
        return status;
    struct backend_task plain = *task;
    plain.launch.start = BACKEND_STARTS_IN_ORDER;
    if (audited->loaded)
        return run_audited(auditing, audited, &plain);
    status = braid_audit_findings_add_unseen(&auditing->findings, node, audited->reason);
    return status ? status : submit(auditing, &plain);
}

// A kernel that faults fails all that is behind it, so each node is awaited by its name.
static braid_status run_node(struct auditing *auditing, uint32_t node,
                             const struct backend_task *task)
{
    struct error_attempt attempt;
    braid_status status = begin_node(auditing, node, task);
    if (status)
        return status;
    braid_error_begin_attempt(&attempt);
    status = wait(auditing);
    if (status) {
        const char *name = braid_graph_name(auditing->findings.graph, node);
        braid_error(status, "node %s: %s", braid_node_text(node, name).text, braid_error_message());
    }
    braid_error_end_attempt(&attempt, status);
    const struct by_kernels *way = auditing->own;
    return status || !words_of(way)->is_told ? status : take_undeclared(auditing, node);
}

// ---- begin and end ----

static braid_status allocate_rooms(struct by_kernels *way, const struct auditing *auditing)
{
    const braid_graph *graph = auditing->findings.graph;
    size_t used = 0;
    braid_audit_memory_place(&way->memory, NULL, &used, graph);
    way->block = braid_allocate_zeroed(used, 1);
    way->room = braid_allocate_zeroed(2 * graph->accesses.num + 1, sizeof(*way->room));
    way->tables = braid_allocate_zeroed(auditing->exec->tasks.num, sizeof(*way->tables));
    way->args =
        braid_allocate_zeroed((size_t)auditing->exec->tasks.max_args + 1, sizeof(*way->args));
    if (!way->block || !way->room || !way->tables || !way->args)
        return braid_error_no_memory("an audit");
    used = 0;
    braid_audit_memory_place(&way->memory, way->block, &used, graph);
    braid_audit_memory_fill(&way->memory, graph, auditing->exec);
    return BRAID_OK;
}

static uint64_t find_most_threads(const struct auditing *auditing)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < auditing->exec->tasks.num; i++) {
        const struct backend_task *task = find_task(auditing, i);
        const braid_dim3 block = task->launch.block;
        if (task->kind == WORK_KERNEL && (uint64_t)block.x * block.y * block.z > most)
            most = (uint64_t)block.x * block.y * block.z;
    }
    return most;
}

static braid_status start(struct auditing *auditing)
{
    braid_device *device = auditing->exec->device;
    struct by_kernels *way = braid_allocate_zeroed(1, sizeof(*way));
    if (!way)
        return braid_error_no_memory("an audit");
    auditing->own = way;
    auditing->memory = &way->memory;
    way->backend = device->backend;
    way->kernels.backend = way->backend;
    way->kernels.audit.most_threads = find_most_threads(auditing);
    braid_status status = allocate_rooms(way, auditing);
    if (!status)
        status = braid_device_lease_stream(device, &auditing->stream);
    if (status)
        return status;
    place_tables(auditing);
    status = allocate(way);
    return status ? status : write_tables(auditing);
}

static void destroy(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    if (!way)
        return;
    braid_audit_kernels_finish(&way->kernels);
    release(way);
    if (auditing->stream)
        braid_device_return_stream(auditing->exec->device, auditing->stream);
    free(way->block);
    free(way->room);
    free(way->tables);
    free(way->args);
    free(way);
}

const struct audit_way braid_audit_way_by_kernels = {
    .start = start,
    .run_node = run_node,
    .read_word = read_word,
    .stop = stop, // also awaits the work of a failed frame
    .destroy = destroy,
};

// SPDX-License-Identifier: Apache-2.0
// Audits on CUDA: kernels that tell of their accesses run on one stream.
//
// Each launch has a table of its own in one block of memory. When the block is full, the audit
// takes the findings of all launches.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"
#include "exec/audit.h"

enum {
    WORD_BYTES = 64, // in front of the tables, for words that are read
    LEAST_BYTES = 1 << 20,
};

// A kernel as a node launches it.
struct audited {
    const braid_kernel *kernel;
    bool grid_from;
    struct backend_kernel *loaded; // NULL: for the reason
    char *reason;
};

struct launched {
    uint32_t node;
    size_t at; // of its table
};

struct by_kernels {
    struct backend *backend;
    struct backend_audit audit;
    struct audit_memory memory;
    void *block;                  // of `memory`
    struct array kernels;         // struct audited
    struct array launches;        // struct launched, since the last wait
    unsigned char *host, *device; // the same bytes of both
    size_t bytes, used;
    uintptr_t *room; // for the borders of segments
    void **args;     // of a launch
};

// ---- kernels ----

static struct audited *find_kernel(const struct by_kernels *way, const braid_kernel *kernel,
                                   const struct backend_launch *launch)
{
    struct audited *items = way->kernels.items;
    for (size_t i = 0; i < way->kernels.num; i++) {
        if (items[i].kernel == kernel && items[i].grid_from == launch->grid_from)
            return &items[i];
    }
    return NULL;
}

// A kernel that cannot tell is none that fails.
static braid_status load(const struct by_kernels *way, const struct backend_launch *launch,
                         struct audited *audited)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = way->backend->ops->kernel_load_audited(
        way->backend, audited->kernel, launch, &way->audit, &audited->loaded);
    bool cannot = status == BRAID_UNSUPPORTED;
    if (cannot)
        audited->reason = strdup(braid_error_message());
    braid_error_end_attempt(&attempt, cannot ? BRAID_OK : status);
    if (cannot && !audited->reason)
        return braid_error_no_memory("an audit");
    return cannot ? BRAID_OK : status;
}

static braid_status find_or_load(struct by_kernels *way, const braid_kernel *kernel,
                                 const struct backend_launch *launch,
                                 const struct audited **out_audited)
{
    struct audited made = { kernel, launch->grid_from, NULL, NULL };
    *out_audited = find_kernel(way, kernel, launch);
    if (*out_audited)
        return BRAID_OK;
    if (!braid_array_reserve(&way->kernels, 1, sizeof(made)))
        return braid_error_no_memory("an audit");
    braid_status status = load(way, launch, &made);
    if (status)
        return status;
    struct audited *slot = braid_array_append(&way->kernels, 1, sizeof(made));
    *slot = made;
    *out_audited = slot;
    return BRAID_OK;
}

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

static braid_status read_word(void *context, const uint32_t *word, uint32_t *out_value)
{
    const struct auditing *auditing = context;
    const struct by_kernels *way = auditing->own;
    braid_status status = copy(auditing, way->host, word, sizeof(*word));
    if (!status)
        status = wait(auditing);
    if (!status)
        memcpy(out_value, way->host, sizeof(*out_value));
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

static braid_status allocate(struct by_kernels *way, size_t bytes)
{
    const struct backend_ops *ops = way->backend->ops;
    void *host = NULL, *device = NULL;
    braid_status status = ops->allocate(way->backend, BRAID_MEMORY_HOST, bytes, &host);
    if (status)
        return status;
    way->host = host;
    status = ops->allocate(way->backend, BRAID_MEMORY_DEVICE, bytes, &device);
    way->device = device;
    way->bytes = bytes;
    way->used = WORD_BYTES;
    return status;
}

// Kernels may use the memory until the wait, so it follows a copy that fails, too.
static braid_status copy_and_wait(struct auditing *auditing)
{
    const struct by_kernels *way = auditing->own;
    struct error_attempt attempt;
    braid_status copied = BRAID_OK;
    if (way->launches.num)
        copied = copy(auditing, way->host + WORD_BYTES, way->device + WORD_BYTES,
                      way->used - WORD_BYTES);
    braid_error_begin_attempt(&attempt);
    braid_status waited = wait(auditing);
    braid_error_end_attempt(&attempt, copied ? BRAID_OK : waited);
    return copied ? copied : waited;
}

// Waits for all launches, and takes the accesses of which they told.
static braid_status take(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    const struct launched *launches = way->launches.items;
    braid_status status = copy_and_wait(auditing);
    for (size_t i = 0; i < way->launches.num && !status; i++)
        status = braid_audit_table_take(
            &way->memory, launches[i].node,
            (const struct audit_table *)(const void *)(way->host + launches[i].at),
            &auditing->findings);
    way->launches.num = 0;
    way->used = WORD_BYTES;
    return status;
}

static braid_status make_room(struct auditing *auditing, size_t bytes)
{
    struct by_kernels *way = auditing->own;
    if (bytes <= way->bytes - way->used)
        return BRAID_OK;
    braid_status status = take(auditing);
    if (status || bytes <= way->bytes - way->used)
        return status;
    release(way);
    return allocate(way, bytes + WORD_BYTES);
}

// ---- nodes ----

static braid_status put_table(struct auditing *auditing, uint32_t node, void **out_table)
{
    struct by_kernels *way = auditing->own;
    const struct graph_node *graph_node = &graph_nodes(auditing->findings.graph)[node];
    size_t most = audit_table_bytes(braid_audit_count_segments(&way->memory, graph_node));
    braid_status status = make_room(auditing, most);
    if (status)
        return status;
    if (!braid_array_reserve(&way->launches, 1, sizeof(struct launched)))
        return braid_error_no_memory("an audit");
    struct audit_table *table = (void *)(way->host + way->used);
    braid_audit_table_write(&way->memory, graph_node, way->room, table);
    *out_table = way->device + way->used;
    status = copy(auditing, *out_table, table, audit_table_bytes(table->num));
    if (status)
        return status;
    struct launched *slot = braid_array_append(&way->launches, 1, sizeof(*slot));
    *slot = (struct launched){ node, way->used };
    way->used += audit_table_bytes(table->num);
    return BRAID_OK;
}

static braid_status submit(const struct auditing *auditing, const struct backend_task *task)
{
    const struct by_kernels *way = auditing->own;
    return way->backend->ops->submit(way->backend, device_backend_stream(auditing->stream), task);
}

static braid_status run_audited(struct auditing *auditing, const struct audited *audited,
                                const struct backend_task *task)
{
    struct by_kernels *way = auditing->own;
    struct backend_task changed = *task;
    struct backend_launch *launch = &changed.launch;
    void *table = NULL;
    braid_status status = put_table(auditing, task->node, &table);
    if (status)
        return status;
    if (launch->num_args)
        memcpy(way->args, launch->args, launch->num_args * sizeof(*way->args));
    way->args[launch->num_args] = &table;
    launch->args = way->args;
    launch->kernel = audited->loaded;
    launch->start = BACKEND_STARTS_IN_ORDER;
    return submit(auditing, &changed);
}

static braid_status begin_node(struct auditing *auditing, uint32_t node,
                               const struct backend_task *task)
{
    const struct audited *audited = NULL;
    if (task->kind != WORK_KERNEL)
        return submit(auditing, task);
    const braid_kernel *kernel = graph_kernel_of(auditing->findings.graph, node)->kernel;
    braid_status status = find_or_load(auditing->own, kernel, &task->launch, &audited);
    if (status)
        return status;
    if (audited->loaded)
        return run_audited(auditing, audited, task);
    struct backend_task plain = *task;
    plain.launch.start = BACKEND_STARTS_IN_ORDER;
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
    return status;
}

// ---- begin and end ----

static braid_status allocate_rooms(struct by_kernels *way, const struct auditing *auditing)
{
    const braid_graph *graph = auditing->findings.graph;
    size_t used = 0;
    braid_audit_memory_place(&way->memory, NULL, &used, graph);
    way->block = braid_allocate_zeroed(used, 1);
    way->room = braid_allocate_zeroed(2 * (braid_audit_most_buffers(graph) + graph->accesses.num),
                                      sizeof(*way->room));
    way->args =
        braid_allocate_zeroed((size_t)auditing->exec->tasks.max_args + 1, sizeof(*way->args));
    if (!way->block || !way->room || !way->args)
        return braid_error_no_memory("an audit");
    used = 0;
    braid_audit_memory_place(&way->memory, way->block, &used, graph);
    return BRAID_OK;
}

static uint64_t find_most_threads(const braid_exec *exec)
{
    const struct backend_task *tasks = exec->frames.slots[0].frame.tasks;
    uint64_t most = 0;
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        const braid_dim3 block = tasks[i].launch.block;
        if (tasks[i].kind == WORK_KERNEL && (uint64_t)block.x * block.y * block.z > most)
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
    way->audit.most_threads = find_most_threads(auditing->exec);
    braid_status status = allocate_rooms(way, auditing);
    if (!status)
        status = braid_device_lease_stream(device, &auditing->stream);
    if (!status)
        status = allocate(way, LEAST_BYTES);
    if (!status)
        braid_audit_memory_fill(&way->memory, auditing->findings.graph, auditing->exec);
    return status;
}

static void destroy(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    if (!way)
        return;
    struct audited *kernels = way->kernels.items;
    for (size_t i = 0; i < way->kernels.num; i++) {
        way->backend->ops->kernel_unload(way->backend, kernels[i].loaded);
        free(kernels[i].reason);
    }
    release(way);
    if (auditing->stream)
        braid_device_return_stream(auditing->exec->device, auditing->stream);
    braid_array_finish(&way->kernels);
    braid_array_finish(&way->launches);
    free(way->block);
    free(way->room);
    free(way->args);
    free(way);
}

const struct audit_way braid_audit_way_by_kernels = {
    .start = start,
    .run_node = run_node,
    .read_word = read_word,
    .stop = take, // also awaits the work of a failed frame
    .destroy = destroy,
};

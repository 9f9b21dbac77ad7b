// SPDX-License-Identifier: Apache-2.0
// Audits on CUDA: kernels that tell of their accesses run on one stream.
//
// One block of memory has the tables of all nodes. It is copied to the device in front of the
// nodes, and back behind them. A node may tell of an undeclared access. Behind it, its table and
// that of all buffers are copied back, since a later node may fault. The latter is then written
// anew.
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/gpu_ptx_audit.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

// A kernel as a node launches it.
struct audited {
    const braid_kernel *kernel;
    bool grid_from;
    struct backend_kernel *loaded; // NULL: for the reason
    char *reason;
};

struct by_kernels {
    struct backend_change change; // first: its text needs the rest
    struct backend *backend;
    uint32_t most_threads; // that a block of any launch has
    struct audit_memory memory;
    void *block;          // that of `memory`
    struct array kernels; // struct audited
    // The same bytes of both: a word that is set by a kernel that has made an undeclared access,
    // all buffers' table, others. The host has room for two copies.
    unsigned char *host, *device;
    size_t bytes;
    size_t *tables;  // by node: where its table begins; 0: it has none
    uintptr_t *room; // for the borders of accesses
    void **args;     // a launch's
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
    const unsigned changes = KERNEL_CHANGED | (launch->grid_from ? KERNEL_READS_GRID : 0);
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status =
        way->backend->ops->kernel_load(way->backend, audited->kernel, changes, &way->change,
                                       launch->arg_bytes, launch->num_args, &audited->loaded);
    bool cannot = status == BRAID_UNSUPPORTED;
    if (cannot)
        audited->reason = braid_copy_text(braid_error_get_message());
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

static uint64_t *is_told(const struct by_kernels *way)
{
    return (void *)way->host;
}

static struct audit_table *table_at(const struct by_kernels *way, size_t at)
{
    return (void *)(way->host + at);
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
    braid_status status = ops->allocate(way->backend, BRAID_MEMORY_HOST, 2 * way->bytes, &host);
    if (status)
        return status;
    way->host = host;
    status = ops->allocate(way->backend, BRAID_MEMORY_DEVICE, way->bytes, &device);
    way->device = device;
    return status;
}

// ---- tables of segments, and the findings that kernels leave there ----

static const struct audit_access *find_accesses(const struct audit_memory *memory,
                                                const struct graph_node *node)
{
    return memory->accesses + node->first_access;
}

static int compare_addresses(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return left < right ? -1 : left > right;
}

// The addresses at which accesses begin or end.
static size_t list_borders(const struct audit_memory *memory, const struct graph_node *node,
                           uintptr_t *borders)
{
    const struct audit_access *accesses = find_accesses(memory, node);
    size_t num = 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        borders[num++] = accesses[i].begin;
        borders[num++] = accesses[i].end;
    }
    if (num)
        qsort(borders, num, sizeof(*borders), compare_addresses);
    return num;
}

static bool overlaps(const struct audit_access *access, const struct audit_segment *segment)
{
    return access->begin < segment->end && segment->begin < access->end;
}

// A bit for each act; 0: no access has the memory between two borders.
static uint32_t find_allowed(const struct audit_memory *memory, const struct graph_node *node,
                             uintptr_t begin, uintptr_t end)
{
    enum { READS = 1 << PTX_READS, ALL = (1 << PTX_NUM_ACTS) - 1 };
    const struct audit_access *accesses = find_accesses(memory, node);
    const struct audit_segment segment = { .begin = begin, .end = end };
    uint32_t allowed = 0;
    for (uint32_t i = 0; begin < end && i < node->num_accesses; i++) {
        if (overlaps(&accesses[i], &segment))
            allowed |= accesses[i].may_write ? ALL : READS;
    }
    return allowed;
}

static void add_segment(struct audit_table *table, size_t *num, struct audit_segment segment)
{
    for (int act = 0; act < PTX_NUM_ACTS; act++)
        segment.tallies[act] = (struct audit_tally){ .lowest = UINT64_MAX, .line = AUDIT_NO_LINE };
    if (table)
        table->segments[*num] = segment;
    ++*num;
}

static size_t end_table(struct audit_table *table, size_t num)
{
    const struct audit_segment last = { .begin = UINT64_MAX, .end = UINT64_MAX };
    if (!table)
        return num;
    *table = (struct audit_table){ .num = num };
    table->segments[num] = last;
    return num;
}

size_t braid_audit_table_write(const struct audit_memory *memory, const struct graph_node *node,
                               uintptr_t *room, struct audit_table *table)
{
    size_t num = 0, num_borders = list_borders(memory, node, room);
    for (size_t i = 1; i < num_borders; i++) {
        const uintptr_t begin = room[i - 1], end = room[i];
        const uint32_t allowed = find_allowed(memory, node, begin, end);
        if (allowed)
            add_segment(table, &num,
                        (struct audit_segment){ .begin = begin, .end = end, .allowed = allowed });
    }
    return end_table(table, num);
}

size_t braid_audit_table_write_all(const struct audit_memory *memory, struct audit_table *table)
{
    size_t num = 0;
    for (size_t i = 0; i < memory->num_buffers; i++)
        add_segment(table, &num,
                    (struct audit_segment){ .begin = memory->buffers[i].begin,
                                            .end = memory->buffers[i].end });
    return end_table(table, num);
}

// Declared accesses that were made, also in another way.
static void note_made(const struct audit_memory *memory, const struct graph_node *node,
                      const struct audit_segment *segment)
{
    struct audit_access *accesses = memory->accesses + node->first_access;
    bool was_written = segment->seen[PTX_WRITES] || segment->seen[PTX_UPDATES];
    bool was_touched = false;
    for (int act = 0; act < PTX_NUM_ACTS; act++)
        was_touched |= segment->seen[act] || segment->tallies[act].num != 0;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        if (!overlaps(&accesses[i], segment))
            continue;
        accesses[i].was_read |= was_touched;
        accesses[i].was_written |= was_written && accesses[i].may_write;
    }
}

static braid_status take_tallies(const struct audit_memory *memory, uint32_t node,
                                 const struct audit_segment *segment,
                                 struct audit_findings *findings)
{
    static const braid_audit_kind kinds[] = { [PTX_READS] = BRAID_AUDIT_READS,
                                              [PTX_WRITES] = BRAID_AUDIT_WRITES,
                                              [PTX_UPDATES] = BRAID_AUDIT_UPDATES };
    braid_status status = BRAID_OK;
    for (int act = 0; act < PTX_NUM_ACTS && !status; act++) {
        const struct audit_tally *tally = &segment->tallies[act];
        const struct audit_buffer *buffer =
            tally->num ? braid_audit_find_buffer(memory, segment->begin) : NULL;
        if (!buffer)
            continue;
        const struct audit_finding finding = {
            .kind = kinds[act],
            .node = node,
            .resource = buffer->resource,
            .begin = buffer->origin,
            .line = tally->line,
            .count = { tally->num, tally->lowest, tally->highest },
        };
        status = braid_audit_findings_add(findings, finding);
    }
    return status;
}

// Takes the accesses of which a node told in its own table, or in the one of all buffers. Errors:
// BRAID_NO_MEMORY.
static braid_status take_table(const struct audit_memory *memory, uint32_t node, bool is_own,
                               const struct audit_table *table, struct audit_findings *findings)
{
    braid_status status = BRAID_OK;
    for (uint64_t i = 0; i < table->num && !status; i++) {
        if (is_own)
            note_made(memory, &graph_nodes(findings->graph)[node], &table->segments[i]);
        status = take_tallies(memory, node, &table->segments[i], findings);
    }
    return status;
}

static size_t table_bytes(size_t num_segments)
{
    return sizeof(struct audit_table) + (num_segments + 1) * sizeof(struct audit_segment);
}

// ---- the tables of all nodes ----

// Finds where the tables lie, and their bytes.
static void place_tables(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    const braid_graph *graph = auditing->findings.graph;
    way->bytes =
        sizeof(*is_told(way)) + table_bytes(braid_audit_table_write_all(&way->memory, NULL));
    for (uint32_t i = 0; i < auditing->exec->tasks.num; i++) {
        if (audit_task_of(&auditing->reach, i)->kind != WORK_KERNEL)
            continue;
        way->tables[i] = way->bytes;
        way->bytes += table_bytes(
            braid_audit_table_write(&way->memory, &graph_nodes(graph)[i], way->room, NULL));
    }
}

static size_t write_buffers(struct by_kernels *way)
{
    struct audit_table *table = table_at(way, sizeof(*is_told(way)));
    const size_t num = braid_audit_table_write_all(&way->memory, table);
    table->rest = (uintptr_t)is_told(way);
    *is_told(way) = 0;
    return table_bytes(num);
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
        table->rest = (uintptr_t)(way->device + sizeof(*is_told(way)));
    }
    return braid_audit_reach_copy(&auditing->reach, way->device, way->host, way->bytes);
}

// Takes the undeclared accesses of a node that has ended. Its own table counts on.
static braid_status take_undeclared(struct auditing *auditing, uint32_t node)
{
    struct by_kernels *way = auditing->own;
    struct audit_table *all = table_at(way, sizeof(*is_told(way)));
    struct audit_table *own = table_at(way, way->tables[node]);
    unsigned char *device = way->device + sizeof(*is_told(way));
    braid_status status =
        braid_audit_reach_copy(&auditing->reach, all, device, table_bytes(all->num));
    if (!status)
        status = braid_audit_reach_copy(&auditing->reach, own, way->device + way->tables[node],
                                        table_bytes(own->num));
    if (!status)
        status = take_table(&way->memory, node, false, all, &auditing->findings);
    return status ? status
                  : braid_audit_reach_copy(&auditing->reach, device, all, write_buffers(way));
}

// *out_name is for the caller to free; NULL: the file has none.
static braid_status find_file(const struct by_kernels *way, const struct audited *audited,
                              uint32_t file, char **out_name)
{
    const char *text, *entry;
    *out_name = NULL;
    braid_status status =
        way->backend->ops->kernel_text(way->backend, audited->loaded, &text, &entry);
    const struct ptx_word name =
        status || !text ? (struct ptx_word){ 0 } : braid_ptx_find_file(text, file);
    if (!name.length)
        return status;
    *out_name = braid_copy_part(name.at, name.length);
    return *out_name ? BRAID_OK : braid_error_no_memory("the name of a file");
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
        const struct audited *audited =
            find_kernel(way, kernel, &audit_task_of(&auditing->reach, node)->launch);
        status = find_file(way, audited, line >> AUDIT_LINE_BITS, &items[i].file);
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
            status = take_table(&way->memory, i, true, table_at(way, way->tables[i]),
                                &auditing->findings);
    }
    return status ? status : find_files(auditing);
}

// If the copy fails, as behind a fault, tables are as they were copied before. The copy may still
// run then, so it goes to room of its own.
static braid_status stop(struct auditing *auditing)
{
    struct by_kernels *way = auditing->own;
    struct error_attempt attempt;
    braid_status copied =
        braid_audit_reach_copy(&auditing->reach, way->host + way->bytes, way->device, way->bytes);
    if (!copied)
        memcpy(way->host, way->host + way->bytes, way->bytes);
    braid_error_begin_attempt(&attempt);
    braid_status taken = take(auditing);
    braid_error_end_attempt(&attempt, copied ? BRAID_OK : taken);
    return copied ? copied : taken;
}

// ---- nodes ----

static braid_status run_audited(struct auditing *auditing, const struct audited *audited,
                                const struct backend_task *task)
{
    struct by_kernels *way = auditing->own;
    struct backend_task telling = *task;
    void *table = way->device + way->tables[task->node];
    if (task->launch.num_args)
        memcpy(way->args, task->launch.args, task->launch.num_args * sizeof(*way->args));
    way->args[task->launch.num_args] = &table;
    telling.launch.args = way->args;
    telling.launch.kernel = audited->loaded;
    auditing->findings.has_run[task->node] = true;
    braid_status status = braid_audit_reach_run(&auditing->reach, &telling);
    return status || !*is_told(way) ? status : take_undeclared(auditing, task->node);
}

static void judge_bytes(struct by_kernels *way, const struct graph_node *node, const void *memory,
                        uint64_t bytes, bool writes)
{
    const uintptr_t begin = (uintptr_t)memory;
    braid_audit_memory_judge(&way->memory, way->memory.accesses + node->first_access,
                             node->num_accesses, begin, begin + bytes, writes);
}

static void judge_rows(struct by_kernels *way, const struct graph_node *node, const void *memory,
                       const braid_rows *rows, uint64_t bytes, bool is_from)
{
    for (uint64_t row = 0; row < work_num_rows(rows); row++)
        judge_bytes(way, node, (const char *)memory + work_row_at(rows, is_from, row), bytes,
                    !is_from);
}

// The accesses of copies and fills are known. Nobody sees those of a call.
static braid_status judge_other(struct auditing *auditing, uint32_t node,
                                const struct backend_task *task)
{
    struct by_kernels *way = auditing->own;
    const struct graph_node *declaring = &graph_nodes(auditing->findings.graph)[node];
    braid_status status = BRAID_OK;
    if (task->kind == WORK_COPY) {
        judge_rows(way, declaring, task->copy.from, &task->copy.rows, task->copy.bytes, true);
        judge_rows(way, declaring, task->copy.to, &task->copy.rows, task->copy.bytes, false);
    } else if (task->kind == WORK_FILL) {
        judge_rows(way, declaring, task->fill.to, &task->fill.rows,
                   task->fill.num_values * task->fill.value_bytes, false);
    } else {
        return braid_audit_findings_add_unseen(&auditing->findings, node, GRAPH_NONE,
                                               "the work of its call is not seen");
    }
    auditing->findings.has_run[node] = true;
    for (size_t i = 0; i < way->memory.num_buffers && !status; i++)
        status = braid_audit_findings_take(&auditing->findings, node, &way->memory.buffers[i]);
    return status;
}

static braid_status run_node(struct auditing *auditing, uint32_t node,
                             const struct backend_task *task)
{
    const struct audited *audited = NULL;
    if (task->kind != WORK_KERNEL) {
        braid_status judged = judge_other(auditing, node, task);
        return judged ? judged : braid_audit_reach_run(&auditing->reach, task);
    }
    const braid_kernel *kernel = graph_kernel_of(auditing->findings.graph, node)->kernel;
    braid_status status = find_or_load(auditing->own, kernel, &task->launch, &audited);
    if (!status && audited->loaded)
        return run_audited(auditing, audited, task);
    if (!status)
        status =
            braid_audit_findings_add_unseen(&auditing->findings, node, GRAPH_NONE, audited->reason);
    return status ? status : braid_audit_reach_run(&auditing->reach, task);
}

// ---- begin and end ----

static braid_status allocate_rooms(struct by_kernels *way, const struct auditing *auditing)
{
    const braid_graph *graph = auditing->findings.graph;
    way->room = braid_allocate_zeroed(2 * graph->accesses.num + 1, sizeof(*way->room));
    way->tables = braid_allocate_zeroed(auditing->exec->tasks.num, sizeof(*way->tables));
    way->args =
        braid_allocate_zeroed((size_t)auditing->exec->tasks.max_args + 1, sizeof(*way->args));
    if (!way->room || !way->tables || !way->args)
        return braid_error_no_memory("an audit");
    return braid_audit_memory_create(graph, auditing->exec, &way->memory, &way->block);
}

static uint64_t find_most_threads(const struct auditing *auditing)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < auditing->exec->tasks.num; i++) {
        const struct backend_task *task = audit_task_of(&auditing->reach, i);
        const braid_dim3 block = task->launch.block;
        if (task->kind == WORK_KERNEL && (uint64_t)block.x * block.y * block.z > most)
            most = (uint64_t)block.x * block.y * block.z;
    }
    return most;
}

// A few limits serve all audits, so that drivers that keep machine code find it.
static uint32_t round_threads(uint64_t threads)
{
    uint32_t rounded = 128;
    while (rounded < threads && rounded < 1024)
        rounded *= 2;
    return rounded;
}

static char *change_text(const struct backend_change *change, const char *text,
                         struct ptx_reason *out_reason)
{
    const struct by_kernels *way = (const struct by_kernels *)change;
    return braid_gpu_ptx_with_audit(text, way->most_threads, out_reason);
}

static braid_status start(struct auditing *auditing)
{
    struct by_kernels *way = braid_allocate_zeroed(1, sizeof(*way));
    if (!way)
        return braid_error_no_memory("an audit");
    auditing->own = way;
    auditing->memory = &way->memory;
    way->backend = auditing->exec->device->backend;
    way->most_threads = round_threads(find_most_threads(auditing));
    way->change =
        (struct backend_change){ "tell of its accesses", change_text, GPU_AUDIT_PARAMETERS };
    braid_status status = allocate_rooms(way, auditing);
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
    struct audited *kernels = way->kernels.items;
    for (size_t i = 0; i < way->kernels.num; i++) {
        way->backend->ops->kernel_unload(way->backend, kernels[i].loaded);
        braid_free(kernels[i].reason);
    }
    release(way);
    braid_array_finish(&way->kernels);
    braid_free(way->block);
    braid_free(way->room);
    braid_free(way->tables);
    braid_free(way->args);
    braid_free(way);
}

const struct audit_way braid_audit_way_by_kernels = {
    .start = start,
    .run_node = run_node,
    .stop = stop,
    .destroy = destroy,
};

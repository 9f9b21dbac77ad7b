// SPDX-License-Identifier: Apache-2.0
// New values from another capture of the same shape. The exec gets all of them, or none.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "device/device.h"
#include "exec/exec.h"
#include "exec/exec_params.h"
#include "import/import.h"
#include "import/proof.h"

struct updater {
    const braid_import *had;
    struct braid_import now; // without a graph
    braid_exec *exec;
    uint32_t node;      // captured, which is looked at
    size_t next_patch;  // behind those of nodes before
    struct array edits; // struct value_edit
    struct store store; // holds values of copies and fills
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("an update of an import");
}

static const struct captured_node *node_of(const struct braid_import *import, uint32_t node)
{
    return &captured_nodes(&import->captured)[node];
}

// ---- shape ----

__attribute__((format(printf, 2, 3))) static braid_status refuse(const struct updater *updater,
                                                                 const char *format, ...)
{
    const struct captured_node *node = node_of(&updater->now, updater->node);
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return braid_error_invalid("braid_import_update: node %s of the captured graph (%s) %s: import "
                               "it anew",
                               node->place, braid_captured_kind(node->type), why);
}

static bool is_same_array(const struct array *one, const struct array *other, size_t bytes)
{
    return one->num == other->num &&
           (!one->num || memcmp(one->items, other->items, one->num * bytes) == 0);
}

static braid_status check_kernel(const struct updater *updater, const struct captured_kernel *now,
                                 const struct captured_kernel *had)
{
    const struct captured_function *functions[] = { updater->now.captured.functions.items,
                                                    updater->had->captured.functions.items };
    if (functions[0][now->function].function != functions[1][had->function].function)
        return refuse(updater, "runs '%s', and ran '%s'", functions[0][now->function].name,
                      functions[1][had->function].name);
    if (memcmp(now->block, had->block, sizeof(now->block)) != 0 ||
        memcmp(now->cluster, had->cluster, sizeof(now->cluster)) != 0 ||
        now->shared_bytes != had->shared_bytes || now->priority != had->priority ||
        now->cooperative != had->cooperative)
        return refuse(updater, "has another block, cluster, shared memory, priority or way to run");
    return BRAID_OK;
}

static bool is_same_batch(const struct cuda_operation_parameters *now,
                          const struct cuda_operation_parameters *had)
{
    return now->num == had->num && now->flags == had->flags &&
           (!now->num ||
            memcmp(now->operations, had->operations, now->num * sizeof(*now->operations)) == 0);
}

static bool is_same_semaphores(const struct cuda_semaphore_parameters *now,
                               const struct cuda_semaphore_parameters *had)
{
    return now->num == had->num && (!now->num || memcmp(now->semaphores, had->semaphores,
                                                        now->num * sizeof(*now->semaphores)) == 0);
}

static braid_status check_conditional(const struct updater *updater,
                                      const struct captured_conditional *now,
                                      const struct captured_conditional *had)
{
    if (now->is_loop != had->is_loop || !now->regions[0] != !had->regions[0] ||
        !now->regions[1] != !had->regions[1])
        return refuse(updater, "is of another kind, or has other bodies");
    return BRAID_OK;
}

// All but the addresses of rows stays, which put_copy and put_fill compare.
static bool are_same_rows(const struct cuda_copy_parameters *now, struct cuda_copy_parameters had)
{
    had.from.device = now->from.device;
    had.to.device = now->to.device;
    return memcmp(now, &had, sizeof(had)) == 0;
}

static bool is_same_fill(const struct cuda_fill_parameters *now, struct cuda_fill_parameters had)
{
    had.to = now->to;
    return memcmp(now, &had, sizeof(had)) == 0;
}

// Queue calls read the captured node that the import has. Those of semaphores get others.
static braid_status check_work(const struct updater *updater, const struct captured_node *now,
                               const struct captured_node *had)
{
    uint64_t bytes;
    switch (now->type) {
    case GPU_NODE_KERNEL:
        return check_kernel(updater, &now->kernel, &had->kernel);
    case GPU_NODE_COPY:
        if (now->copy.from.memory_type != had->copy.from.memory_type ||
            now->copy.to.memory_type != had->copy.to.memory_type)
            return refuse(updater, "has memory of another kind");
        if (braid_import_is_flat(now, &bytes) && braid_import_is_flat(had, &bytes))
            return BRAID_OK;
        return are_same_rows(&now->copy, had->copy) ? BRAID_OK : refuse(updater, "has other rows");
    case GPU_NODE_FILL:
        if (now->fill.value_bytes != had->fill.value_bytes)
            return refuse(updater, "has values of another size");
        if (braid_import_is_flat(now, &bytes) && braid_import_is_flat(had, &bytes))
            return BRAID_OK;
        return is_same_fill(&now->fill, had->fill) ? BRAID_OK : refuse(updater, "has other rows");
    case GPU_NODE_HOST:
        return now->host.call == had->host.call ? BRAID_OK
                                                : refuse(updater, "has another function");
    case GPU_NODE_ALLOCATION:
        return now->memory.bytes == had->memory.bytes ? BRAID_OK
                                                      : refuse(updater, "has another size");
    case GPU_NODE_RECORD:
    case GPU_NODE_WAIT:
        return now->event == had->event ? BRAID_OK : refuse(updater, "has another event");
    case GPU_NODE_OPERATIONS:
        return is_same_batch(&now->batch, &had->batch) ? BRAID_OK
                                                       : refuse(updater, "has other operations");
    case GPU_NODE_SIGNAL:
    case GPU_NODE_AWAIT:
        return is_same_semaphores(&now->semaphores.told, &had->semaphores.told)
                   ? BRAID_OK
                   : refuse(updater, "has other semaphores");
    case GPU_NODE_CONDITIONAL:
        return check_conditional(updater, &now->conditional, &had->conditional);
    default:
        return BRAID_OK;
    }
}

// Setters have functions, too, by whose numbers the import knows the code of all.
static bool have_same_functions(const struct captured_graph *now, const struct captured_graph *had)
{
    const struct captured_function *of_now = now->functions.items, *of_had = had->functions.items;
    bool is_same = now->functions.num == had->functions.num;
    for (size_t i = 0; i < now->functions.num && is_same; i++)
        is_same = of_now[i].function == of_had[i].function && of_now[i].member == of_had[i].member;
    return is_same;
}

// Nodes of equal number are the same node: edges and kinds agree.
static braid_status check_shape(struct updater *updater)
{
    const struct captured_graph *now = &updater->now.captured, *had = &updater->had->captured;
    braid_status status = BRAID_OK;
    if (now->nodes.num != had->nodes.num)
        return braid_error_invalid("braid_import_update: the captured graph has %zu nodes, and had "
                                   "%zu: import it anew",
                                   now->nodes.num, had->nodes.num);
    for (uint32_t i = 0; i < now->nodes.num && !status; i++) {
        const struct captured_node *nodes[] = { node_of(&updater->now, i),
                                                node_of(updater->had, i) };
        updater->node = i;
        if (nodes[0]->type != nodes[1]->type)
            status = refuse(updater, "was a %s", braid_captured_kind(nodes[1]->type));
        else if (nodes[0]->is_setter != nodes[1]->is_setter)
            status = refuse(updater, "is a setter of conditions, or was one");
        else if (nodes[0]->member != nodes[1]->member)
            status = refuse(updater, "is on another device");
        else
            status = check_work(updater, nodes[0], nodes[1]);
    }
    if (!status && !have_same_functions(now, had))
        status = braid_error_invalid(
            "braid_import_update: the captured graph has other setters: import it anew");
    if (!status && (!is_same_array(&now->edges, &had->edges, sizeof(struct import_edge)) ||
                    !is_same_array(&now->regions, &had->regions, sizeof(struct import_region))))
        status = braid_error_invalid(
            "braid_import_update: the captured graph has other edges: import it anew");
    return status;
}

// ---- memory of the graph's allocations ----

static uint32_t first_allocation(const struct braid_import *import)
{
    return import->memory.num_given;
}

// Accesses of proven nodes follow from their code and from the words that are rewritten.
static bool have_same_holds(const struct updater *updater)
{
    const struct array *lists[] = { &updater->now.uses.holds, &updater->had->uses.holds };
    const struct import_access *now = lists[0]->items, *had = lists[1]->items;
    bool is_same = lists[0]->num == lists[1]->num;
    for (size_t i = 0; i < lists[0]->num && is_same; i++)
        is_same = now[i].node == had[i].node && now[i].buffer - first_allocation(&updater->now) ==
                                                    had[i].buffer - first_allocation(updater->had);
    return is_same;
}

static bool have_same_patches(const struct updater *updater)
{
    const struct array *lists[] = { &updater->now.uses.patches, &updater->had->uses.patches };
    const struct import_patch *now = lists[0]->items, *had = lists[1]->items;
    bool is_same = lists[0]->num == lists[1]->num;
    for (size_t i = 0; i < lists[0]->num && is_same; i++)
        is_same = now[i].node == had[i].node && now[i].argument == had[i].argument &&
                  now[i].offset == had[i].offset && now[i].addend == had[i].addend &&
                  now[i].buffer - first_allocation(&updater->now) ==
                      had[i].buffer - first_allocation(updater->had);
    return is_same;
}

static bool live_alike(const struct updater *updater)
{
    const struct import_buffer *now =
        import_buffers(&updater->now.memory) + first_allocation(&updater->now);
    const struct import_buffer *had =
        import_buffers(&updater->had->memory) + first_allocation(updater->had);
    const size_t bytes = (updater->now.captured.nodes.num / 64 + 1) * sizeof(uint64_t);
    for (uint32_t i = 0; i < updater->now.memory.num_allocations; i++) {
        if (memcmp(now[i].dead, had[i].dead, bytes) != 0) // they are born alike, by equal edges
            return false;
    }
    return true;
}

static braid_status check_allocations(const struct updater *updater)
{
    if (!updater->now.memory.num_allocations)
        return BRAID_OK;
    if (live_alike(updater) && have_same_holds(updater) && have_same_patches(updater))
        return BRAID_OK;
    return braid_error_invalid("braid_import_update: nodes of the captured graph use its "
                               "allocations in another way: import it anew");
}

// The orders that the exec has must do for the memory that nodes have now.
static braid_status check_orders(const struct updater *updater)
{
    const struct import_order order = braid_import_order(&updater->now);
    const struct array *edges = &updater->had->orders.edges;
    struct import_fault fault;
    bool failed;
    if (braid_import_prove(&order, edges->items, edges->num, &fault, &failed))
        return BRAID_OK;
    if (failed)
        return no_memory();
    return braid_error_invalid("braid_import_update: nodes %s and %s of the captured graph may "
                               "share memory now, and the exec does not order them: import it anew",
                               node_of(&updater->now, fault.from)->place,
                               node_of(&updater->now, fault.to)->place);
}

// ---- values ----

// Values that the exec has already stay out, since each change costs its next launches time.
static braid_status put_edit(struct updater *updater, struct value_edit edit)
{
    const unsigned char *has = updater->exec->tasks.slot_bytes[edit.slot] + edit.offset;
    if (memcmp(has, edit.from, edit.bytes) == 0)
        return BRAID_OK;
    return braid_array_put(&updater->edits, &edit, sizeof(edit)) ? BRAID_OK : no_memory();
}

static braid_status put_value(struct updater *updater, uint32_t target, const void *from,
                              uint32_t bytes)
{
    struct value_edit edit =
        braid_exec_edit_of(&updater->exec->tasks, updater->had->nodes[updater->node].index, target);
    void *kept = braid_store_take(&updater->store, bytes, sizeof(uint64_t));
    if (!kept)
        return no_memory();
    memcpy(kept, from, bytes);
    edit.from = kept;
    edit.bytes = bytes;
    return put_edit(updater, edit);
}

// A part of an argument, in which each frame finds no address.
static braid_status put_bytes(struct updater *updater, uint32_t argument, const unsigned char *from,
                              uint32_t offset, uint32_t end)
{
    const uint32_t node = updater->had->nodes[updater->node].index;
    if (offset >= end)
        return BRAID_OK;
    return put_edit(
        updater,
        (struct value_edit){
            .from = from + offset,
            .offset = braid_tasks_arg_offset(&updater->exec->tasks, node, argument) + offset,
            .slot = TASK_SLOT_ARGUMENTS,
            .node = node,
            .bytes = end - offset,
        });
}

static braid_status put_argument(struct updater *updater, uint32_t argument,
                                 const unsigned char *from, uint32_t bytes)
{
    const struct array *list = &updater->now.uses.patches;
    const struct import_patch *all = list->items;
    uint32_t at = 0;
    braid_status status = BRAID_OK;
    for (; updater->next_patch < list->num && !status; updater->next_patch++) {
        const struct import_patch *patch = &all[updater->next_patch];
        if (patch->node != updater->node || patch->argument != argument)
            break;
        status = put_bytes(updater, argument, from, at, patch->offset);
        at = patch->offset + (uint32_t)sizeof(uint64_t);
    }
    return status ? status : put_bytes(updater, argument, from, at, bytes);
}

static braid_status put_kernel(struct updater *updater, const struct captured_kernel *kernel)
{
    const struct captured_graph *captured = &updater->now.captured;
    const struct captured_function *function =
        captured_function_of(captured, node_of(&updater->now, updater->node));
    const struct captured_param *params = captured_params_of(captured, function);
    const unsigned char *at = (const unsigned char *)captured->bytes.items + kernel->first_byte;
    const braid_dim3 grid = { kernel->grid[0], kernel->grid[1], kernel->grid[2] };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < function->num_params && !status; i++) {
        status = put_argument(updater, i, at, params[i].bytes);
        at += (params[i].bytes + 15U) / 16 * 16;
    }
    return status ? status : put_value(updater, BRAID_TARGET_GRID, &grid, sizeof(grid));
}

// An address in an allocation of the graph.
struct allocation_place {
    uint32_t allocation; // UINT32_MAX: it is in none
    uint64_t offset;
};

static struct allocation_place place_of(const struct braid_import *import, uint32_t node,
                                        uint64_t address)
{
    const struct import_buffer *of = import_buffers(&import->memory) + first_allocation(import);
    for (uint32_t i = 0; i < import->memory.num_allocations; i++) {
        if (address - of[i].begin < of[i].bytes && braid_import_memory_lives(&of[i], node))
            return (struct allocation_place){ i, address - of[i].begin };
    }
    return (struct allocation_place){ UINT32_MAX, 0 };
}

// Memory of an allocation stays where it was in it.
static braid_status check_place(const struct updater *updater, uint64_t now, uint64_t had,
                                bool is_same_size, bool *out_moves)
{
    const struct allocation_place at = place_of(&updater->now, updater->node, now);
    const struct allocation_place was = place_of(updater->had, updater->node, had);
    *out_moves = at.allocation == UINT32_MAX;
    if (at.allocation != was.allocation || at.offset != was.offset ||
        (!*out_moves && !is_same_size))
        return refuse(updater, "has another part of an allocation");
    return BRAID_OK;
}

// Rows stay where they were, also in an allocation that the driver has moved.
static braid_status check_rows(const struct updater *updater, uint64_t now, uint64_t had)
{
    bool moves;
    const braid_status status = check_place(updater, now, had, true, &moves);
    return status || !moves || now == had ? status : refuse(updater, "has other rows");
}

static braid_status put_copy(struct updater *updater, const struct captured_node *now,
                             const struct captured_node *had)
{
    uint64_t bytes, old_bytes;
    bool moves_to = false, moves_from = false;
    const uint64_t from = braid_import_side_begin(&now->copy.from);
    const uint64_t to = braid_import_side_begin(&now->copy.to);
    braid_status status = BRAID_OK;
    if (!braid_import_is_flat(now, &bytes) || !braid_import_is_flat(had, &old_bytes)) {
        status = check_rows(updater, from, braid_import_side_begin(&had->copy.from));
        return status ? status : check_rows(updater, to, braid_import_side_begin(&had->copy.to));
    }
    status = check_place(updater, from, braid_import_side_begin(&had->copy.from),
                         bytes == old_bytes, &moves_from);
    if (!status)
        status = check_place(updater, to, braid_import_side_begin(&had->copy.to),
                             bytes == old_bytes, &moves_to);
    if (!status && ((moves_from && now->kinds[0] != had->kinds[0]) ||
                    (moves_to && now->kinds[1] != had->kinds[1])))
        status = refuse(updater, "has memory of another kind");
    if (!status && moves_to)
        status = put_value(updater, BRAID_TARGET_TO, &to, sizeof(to));
    if (!status && moves_from)
        status = put_value(updater, BRAID_TARGET_FROM, &from, sizeof(from));
    return status ? status : put_value(updater, BRAID_TARGET_BYTES, &bytes, sizeof(bytes));
}

static braid_status put_fill(struct updater *updater, const struct captured_node *now,
                             const struct captured_node *had)
{
    uint64_t bytes, old_bytes;
    bool moves = false;
    const uint64_t num = now->fill.width * now->fill.height;
    if (!braid_import_is_flat(now, &bytes) || !braid_import_is_flat(had, &old_bytes))
        return check_rows(updater, now->fill.to, had->fill.to);
    braid_status status =
        check_place(updater, now->fill.to, had->fill.to, bytes == old_bytes, &moves);
    if (!status && moves && now->kinds[1] != had->kinds[1])
        status = refuse(updater, "has memory of another kind");
    if (!status && moves)
        status = put_value(updater, BRAID_TARGET_TO, &now->fill.to, sizeof(now->fill.to));
    if (!status)
        status = put_value(updater, BRAID_TARGET_NUM_VALUES, &num, sizeof(num));
    return status ? status
                  : put_value(updater, BRAID_TARGET_VALUE, &now->fill.value, now->fill.value_bytes);
}

// Where the host drives loops, a frame reads values when the node's turn comes.
static bool may_read_values(const braid_exec *exec)
{
    bool is_busy = false;
    for (uint32_t i = 0; exec->player->is_driven && i < exec->frames.num; i++)
        is_busy = is_busy || braid_exec_slot_has_work(exec, i);
    return is_busy;
}

// Two captured nodes for the exec, which its later updates fill by turns; NULL: memory ran out.
static struct captured_node *make_twins(braid_exec *exec, const struct captured_node *of,
                                        size_t bytes)
{
    EXEC_MEMORY(exec);
    struct captured_node *twins = braid_store_take(&exec->store, 2, sizeof(*twins) + bytes);
    for (int i = 0; i < 2 && twins; i++) {
        unsigned char *values = (unsigned char *)(twins + 2) + (size_t)i * bytes;
        twins[i] = *of;
        twins[i].semaphores.told.values = (void *)values;
        twins[i].semaphores.other = &twins[1 - i];
    }
    return twins;
}

static braid_status put_semaphores(struct updater *updater,
                                   const struct cuda_semaphore_parameters *now)
{
    const struct tasks *tasks = &updater->exec->tasks;
    const struct value_edit edit =
        braid_exec_edit_of(tasks, updater->had->nodes[updater->node].index, BRAID_TARGET_USER);
    struct captured_node *node;
    memcpy(&node, tasks->slot_bytes[edit.slot] + edit.offset, sizeof(node));
    const size_t bytes = now->num * sizeof(*now->values);
    if (!bytes || memcmp(node->semaphores.told.values, now->values, bytes) == 0)
        return BRAID_OK;
    if (may_read_values(updater->exec))
        return braid_error(BRAID_BUSY,
                           "braid_import_update: node %s of the captured graph, a %s: the host "
                           "drives loops, and a frame in flight would take the values",
                           node->place, braid_captured_kind(node->type));
    node = node->semaphores.other ? node->semaphores.other : make_twins(updater->exec, node, bytes);
    if (!node)
        return no_memory();
    memcpy(node->semaphores.told.values, now->values, bytes);
    return put_value(updater, BRAID_TARGET_USER, &node, sizeof(node));
}

// A loop or branch of Braid's keeps its word.
static braid_status check_word(const struct updater *updater, uint64_t now, uint64_t had)
{
    bool moves = false;
    braid_status status = check_place(updater, now, had, true, &moves);
    return status || !moves || now == had ? status : refuse(updater, "has another word");
}

static braid_status put_node(struct updater *updater)
{
    const struct captured_node *now = node_of(&updater->now, updater->node);
    switch (now->type) {
    case GPU_NODE_KERNEL:
        return put_kernel(updater, &now->kernel);
    case GPU_NODE_COPY:
        return put_copy(updater, now, node_of(updater->had, updater->node));
    case GPU_NODE_FILL:
        return put_fill(updater, now, node_of(updater->had, updater->node));
    case GPU_NODE_HOST:
        return put_value(updater, BRAID_TARGET_USER, &now->host.user, sizeof(now->host.user));
    case GPU_NODE_SIGNAL:
    case GPU_NODE_AWAIT:
        return put_semaphores(updater, &now->semaphores.told);
    case GPU_NODE_CONDITIONAL:
        return check_word(updater, now->conditional.word,
                          node_of(updater->had, updater->node)->conditional.word);
    default:
        return BRAID_OK;
    }
}

// With the exec's lock held.
static braid_status put_values(struct updater *updater)
{
    const size_t num = updater->now.captured.nodes.num;
    braid_status status = BRAID_OK;
    for (updater->node = 0; updater->node < num && !status; updater->node++)
        status = put_node(updater);
    return status ? status
                  : braid_exec_put_values(updater->exec, updater->edits.items,
                                          (uint32_t)updater->edits.num);
}

// ---- the call ----

static braid_status read_now(struct updater *updater, gpu_graph captured,
                             const braid_import_options *options)
{
    const struct import_members members = braid_import_members_of(&updater->exec->places);
    const struct gpu_backend *gpu = members.gpu[0];
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "import");
    if (status)
        return status;
    status = braid_captured_read(&members, captured, options, &updater->now.captured);
    if (!status)
        status = check_shape(updater);
    if (!status)
        status = braid_import_find_accesses(options, updater->had->code, &updater->now);
    braid_gpu_leave(gpu, &scope);
    return status;
}

static braid_status update(struct updater *updater, gpu_graph captured,
                           const braid_import_options *options)
{
    braid_status status = read_now(updater, captured, options);
    if (!status)
        status = check_allocations(updater);
    if (!status)
        status = check_orders(updater);
    if (status)
        return status;
    pthread_mutex_lock(&updater->exec->turn.lock);
    status = put_values(updater);
    pthread_mutex_unlock(&updater->exec->turn.lock);
    return status;
}

static braid_status check(const braid_import *import, const void *captured, const braid_exec *exec)
{
    if (!import || !captured || !exec)
        return braid_error_null("braid_import_update", !import     ? "import"
                                                       : !captured ? "captured"
                                                                   : "exec");
    braid_status status = braid_exec_check("braid_import_update", exec);
    if (status)
        return status;
    if (import->recorded.record)
        return braid_error_invalid("braid_import_update: the import is of a record, whose frame "
                                   "takes no other values");
    if (exec->schedule->graph_id != import->graph->id)
        return braid_error_invalid(
            "braid_import_update: the exec is not one of the import's graph");
    if (!braid_import_has_cuda(exec->device))
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_import_update: device '%s' has no captured "
                           "graphs",
                           exec->device->label);
    return BRAID_OK;
}

braid_status braid_import_update_sized(const braid_import *import, void *captured,
                                       const braid_import_options *options, braid_exec *exec,
                                       size_t size)
{
    braid_import_options own;
    struct updater updater = { .had = import, .exec = exec };
    braid_status status =
        braid_sized_take("braid_import_update: options", options, size, &own, sizeof(own));
    if (!status)
        status = braid_import_check_lists("braid_import_update", &own);
    if (!status)
        status = check(import, captured, exec);
    if (status)
        return status;
    status = update(&updater, captured, &own);
    braid_import_finish(&updater.now);
    braid_array_finish(&updater.edits);
    braid_store_finish(&updater.store);
    return status;
}

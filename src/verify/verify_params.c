// SPDX-License-Identifier: Apache-2.0
// The proof that a parameter's bytes reach each of its users, in every frame.
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "graph/graph.h"
#include "verify/verify_program.h"

struct proof {
    const braid_graph *graph;
    const struct tasks *tasks;
    const struct frame *const *frames;
    uint32_t num_frames;
    const struct verify_binding *bindings;
    size_t num_bindings;
    bool *is_taken; // a binding
};

static braid_status tell(const struct proof *proof, const struct graph_parameter_use *use,
                         const char *what)
{
    const struct graph_parameter *parameters = proof->graph->parameters.items;
    return braid_error(BRAID_INTERNAL, "parameter %u '%.100s' of node %s %s", use->parameter,
                       braid_names_at(&proof->graph->names, parameters[use->parameter].name),
                       braid_node_text(use->node, braid_graph_name(proof->graph, use->node)).text,
                       what);
}

static bool is_before(const struct verify_binding *binding, const struct graph_parameter_use *use)
{
    return binding->parameter != use->parameter ? binding->parameter < use->parameter
                                                : binding->node < use->node;
}

// The first that is not taken, of those of the use's parameter and node; NULL: there is none.
static const struct verify_binding *take_binding(const struct proof *proof,
                                                 const struct graph_parameter_use *use)
{
    size_t low = 0, high = proof->num_bindings;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&proof->bindings[middle], use))
            low = middle + 1;
        else
            high = middle;
    }
    while (low < proof->num_bindings && proof->is_taken[low])
        low++;
    const struct verify_binding *binding = &proof->bindings[low];
    if (low == proof->num_bindings || binding->parameter != use->parameter ||
        binding->node != use->node)
        return NULL;
    proof->is_taken[low] = true;
    return binding;
}

// Where a task has the value of a target, and where the node's controls have it. 0 in a task: the
// task does not keep the value as it is. Fills have `to` where copies have it.
static const struct target_home {
    size_t in_task, bytes;
    bool is_control;
    size_t in_controls;
} target_homes[] = {
    [BRAID_TARGET_GRID] = { offsetof(struct backend_task, launch.grid), sizeof(braid_dim3), true,
                            offsetof(struct task_control, grid) },
    [BRAID_TARGET_GRID_X] = { offsetof(struct backend_task, launch.grid.x), 4, true,
                              offsetof(struct task_control, grid.x) },
    [BRAID_TARGET_GRID_Y] = { offsetof(struct backend_task, launch.grid.y), 4, true,
                              offsetof(struct task_control, grid.y) },
    [BRAID_TARGET_GRID_Z] = { offsetof(struct backend_task, launch.grid.z), 4, true,
                              offsetof(struct task_control, grid.z) },
    [BRAID_TARGET_ENABLED] = { 0, 4, true, offsetof(struct task_control, enabled) },
    [BRAID_TARGET_VALUE] = { offsetof(struct backend_task, fill.value), sizeof(uint32_t) },
    [BRAID_TARGET_TO] = { offsetof(struct backend_task, copy.to), sizeof(void *) },
    [BRAID_TARGET_FROM] = { offsetof(struct backend_task, copy.from), sizeof(void *) },
    [BRAID_TARGET_BYTES] = { offsetof(struct backend_task, copy.bytes), sizeof(uint64_t) },
    [BRAID_TARGET_NUM_VALUES] = { offsetof(struct backend_task, fill.num_values),
                                  sizeof(uint64_t) },
    [BRAID_TARGET_TIMES] = { offsetof(struct backend_task, work.loop.most), sizeof(uint64_t) },
    [BRAID_TARGET_USER] = { 0 },
};

// Whether the binding is within the node's own bytes for the target's kind.
static bool is_own(const struct proof *proof, const struct graph_parameter_use *use,
                   const struct verify_binding *binding)
{
    const struct target_home *home = &target_homes[use->target];
    uint64_t first = proof->tasks->offsets[use->node], size = sizeof(union work);
    if (home->is_control) {
        first = home->in_controls + use->node * sizeof(struct task_control);
        size = home->bytes;
    }
    return binding->slot == (home->is_control ? TASK_SLOT_CONTROLS : TASK_SLOT_WORKS) &&
           binding->offset >= first && binding->offset + binding->bytes <= first + size;
}

// Whether a frame takes the binding's bytes when it takes the node's arguments.
static bool is_taken_with(const struct proof *proof, uint32_t node,
                          const struct verify_binding *binding)
{
    uint64_t first = proof->tasks->offsets[node];
    uint64_t end = first + braid_tasks_arg_bytes(proof->tasks, node);
    return binding->node == node && binding->offset >= first &&
           binding->offset + binding->bytes <= end;
}

static bool reaches(const struct proof *proof, const struct frame *frame,
                    const struct graph_parameter_use *use, const struct verify_binding *binding)
{
    const struct backend_task *task = &frame->tasks[use->node];
    const unsigned char *bytes = proof->tasks->slot_bytes[binding->slot] + binding->offset;
    if (use->target == BRAID_TARGET_ARGUMENT)
        return binding->slot == TASK_SLOT_ARGUMENTS && is_taken_with(proof, use->node, binding) &&
               frame->arguments + binding->offset ==
                   (const unsigned char *)task->launch.args[use->argument] + use->argument_offset;
    const struct target_home *home = &target_homes[use->target];
    const unsigned char *value = (const unsigned char *)task + home->in_task;
    return is_own(proof, use, binding) &&
           (!home->in_task ||
            (binding->bytes <= home->bytes && memcmp(bytes, value, binding->bytes) == 0));
}

static braid_status check_use(const struct proof *proof, const struct graph_parameter_use *use)
{
    const struct verify_binding *binding = take_binding(proof, use);
    if (!binding || binding->from != use->offset || binding->bytes != use->bytes ||
        binding->slot >= TASK_NUM_SLOTS ||
        binding->offset + binding->bytes > proof->tasks->num_slot_bytes[binding->slot])
        return tell(proof, use, "has no bytes that are set");
    for (uint32_t i = 0; i < proof->num_frames; i++) {
        if (!reaches(proof, proof->frames[i], use, binding))
            return tell(proof, use, "is set where the node does not read it");
    }
    return BRAID_OK;
}

static bool overlap(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    return bytes && (uintptr_t)a < (uintptr_t)b + bytes && (uintptr_t)b < (uintptr_t)a + bytes;
}

static braid_status check_frames(const struct proof *proof)
{
    size_t bytes = proof->tasks->num_slot_bytes[TASK_SLOT_ARGUMENTS];
    for (uint32_t i = 0; i < proof->num_frames; i++) {
        const unsigned char *arguments = proof->frames[i]->arguments;
        if (overlap(arguments, proof->tasks->slot_bytes[TASK_SLOT_ARGUMENTS], bytes))
            return braid_error(BRAID_INTERNAL, "frame %u shares bytes with the master copy", i);
        for (uint32_t k = 0; k < i; k++) {
            if (overlap(arguments, proof->frames[k]->arguments, bytes))
                return braid_error(BRAID_INTERNAL, "frames %u and %u in flight share bytes", k, i);
        }
    }
    return BRAID_OK;
}

braid_status braid_verify_params(const braid_graph *graph, const struct tasks *tasks,
                                 const struct frame *const *frames, uint32_t num_frames,
                                 const struct verify_binding *bindings, size_t num_bindings)
{
    const struct graph_parameter_use *uses = graph->uses.items;
    const struct proof proof = {
        .graph = graph,
        .tasks = tasks,
        .frames = frames,
        .num_frames = num_frames,
        .bindings = bindings,
        .num_bindings = num_bindings,
        .is_taken = braid_allocate_zeroed(num_bindings, sizeof(bool)),
    };
    if (!proof.is_taken)
        return braid_error_no_memory("the proof of parameters");
    braid_status status = check_frames(&proof);
    for (size_t i = 0; i < graph->uses.num && !status; i++)
        status = check_use(&proof, &uses[i]);
    if (!status && num_bindings != graph->uses.num)
        status = braid_error(BRAID_INTERNAL, "%zu uses of parameters are set, and there are %zu",
                             num_bindings, graph->uses.num);
    braid_free(proof.is_taken);
    return status;
}

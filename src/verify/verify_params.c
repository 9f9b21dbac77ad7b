// SPDX-License-Identifier: Apache-2.0
// The proof that a parameter's bytes reach each of its users, in every frame.
#include "verify/verify_params.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"
#include "graph/graph.h"

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

// A task's value of a target that is no argument, and its number of bytes. NULL: the task does not
// keep the value as it is.
static const void *value_of(const struct backend_task *task, uint32_t target, size_t *out_bytes)
{
    *out_bytes = sizeof(uint32_t);
    switch ((enum braid_target)target) {
    case BRAID_TARGET_GRID:
        *out_bytes = sizeof(task->launch.grid);
        return &task->launch.grid;
    case BRAID_TARGET_GRID_X:
        return &task->launch.grid.x;
    case BRAID_TARGET_GRID_Y:
        return &task->launch.grid.y;
    case BRAID_TARGET_GRID_Z:
        return &task->launch.grid.z;
    case BRAID_TARGET_VALUE:
        return &task->fill.value;
    case BRAID_TARGET_TO:
        *out_bytes = sizeof(void *);
        return task->kind == WORK_COPY ? (const void *)&task->copy.to : &task->fill.to;
    case BRAID_TARGET_FROM:
        *out_bytes = sizeof(void *);
        return &task->copy.from;
    case BRAID_TARGET_BYTES:
        *out_bytes = sizeof(task->copy.bytes);
        return &task->copy.bytes;
    case BRAID_TARGET_NUM_VALUES:
        *out_bytes = sizeof(task->fill.num_values);
        return &task->fill.num_values;
    case BRAID_TARGET_TIMES:
        *out_bytes = sizeof(task->work.loop.most);
        return &task->work.loop.most;
    case BRAID_TARGET_USER:
    case BRAID_TARGET_ENABLED:
    case BRAID_TARGET_ARGUMENT:
    case BRAID_TARGET_COPY:
    case BRAID_TARGET_FILL:
        break;
    }
    return NULL;
}

// Where in a node's controls a target is, and how many bytes; false: it is in the node's work.
static bool find_control(uint32_t target, uint64_t *out_offset, uint64_t *out_bytes)
{
    static const struct {
        uint32_t target;
        uint64_t offset, bytes;
    } controls[] = {
        { BRAID_TARGET_ENABLED, offsetof(struct task_control, enabled), 4 },
        { BRAID_TARGET_GRID, offsetof(struct task_control, grid), sizeof(braid_dim3) },
        { BRAID_TARGET_GRID_X, offsetof(struct task_control, grid.x), 4 },
        { BRAID_TARGET_GRID_Y, offsetof(struct task_control, grid.y), 4 },
        { BRAID_TARGET_GRID_Z, offsetof(struct task_control, grid.z), 4 },
    };
    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
        if (controls[i].target != target)
            continue;
        *out_offset = controls[i].offset;
        *out_bytes = controls[i].bytes;
        return true;
    }
    return false;
}

// Whether the binding is within the node's own bytes for the target's kind.
static bool is_own(const struct proof *proof, const struct graph_parameter_use *use,
                   const struct verify_binding *binding)
{
    uint64_t first = 0, size = 0;
    bool is_control = find_control(use->target, &first, &size);
    if (is_control) {
        first += use->node * sizeof(struct task_control);
    } else {
        first = proof->tasks->offsets[use->node];
        size = sizeof(union work);
    }
    return binding->slot == (is_control ? TASK_SLOT_CONTROLS : TASK_SLOT_WORKS) &&
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
    size_t size;
    const void *value = value_of(task, use->target, &size);
    return is_own(proof, use, binding) &&
           (!value || (binding->bytes <= size && memcmp(bytes, value, binding->bytes) == 0));
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
    free(proof.is_taken);
    return status;
}

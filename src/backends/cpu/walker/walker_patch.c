// SPDX-License-Identifier: Apache-2.0
// Patches: changed tasks, from being set to the frame they are for.
#include "backends/cpu/walker/walker.h"

#include <string.h>

#include "base/error.h"
#include "base/node_text.h"

// Launches of one program run one after another, so the steps and arguments of the frame that runs
// are the only ones anybody reads. A change waits in a patch until the launch it is for begins;
// then it is written in place. Frames queued earlier do not see it, and a change costs its own
// bytes only. Patches are made by updates and recycled by launches, never the other way round.

struct entry {
    uint32_t task;
    size_t offset; // where its bytes are in the patch
    struct cpu_work work;
};

struct cpu_patch {
    struct cpu_patch *next; // free list
    struct array entries;   // struct entry
    struct array bytes;
};

static struct cpu_patch *take_patch(struct cpu_program *program)
{
    struct cpu_patch *patch = program->free_patches;
    if (!patch)
        return calloc(1, sizeof(*patch));
    program->free_patches = patch->next;
    patch->entries.num = 0;
    patch->bytes.num = 0;
    return patch;
}

static size_t total_bytes(const struct cpu_values *values)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < values->num; i++)
        bytes += values->bytes[i];
    return bytes;
}

// The task's entry in the pending patch, made if it is not there; NULL: no memory.
static struct entry *find_entry(struct cpu_program *program, uint32_t task)
{
    struct cpu_patch *patch = program->pending;
    struct cpu_changing *changing = &program->changing[task];
    struct entry *entries = patch->entries.items;
    if (changing->entry < patch->entries.num && entries[changing->entry].task == task)
        return &entries[changing->entry];
    size_t bytes = total_bytes(&changing->values);
    if (!braid_array_reserve(&patch->entries, 1, sizeof(struct entry)) ||
        !braid_array_reserve(&patch->bytes, bytes, 1))
        return NULL;
    changing->entry = (uint32_t)patch->entries.num;
    struct entry *entry = braid_array_append(&patch->entries, 1, sizeof(*entry));
    *entry = (struct entry){ .task = task, .offset = patch->bytes.num };
    if (bytes)
        braid_array_append(&patch->bytes, bytes, 1);
    return entry;
}

// Whether the task's step, which shares its blocks with its neighbours, gets others. While no step
// has blocks of its own, none has been changed, so they can be read.
static bool needs_own_blocks(const struct cpu_program *program, uint32_t step,
                             const struct cpu_work *work)
{
    const struct cpu_step *changed = &program->steps[step];
    return !program->own_blocks && changed->kind == CPU_STEP_RUN &&
           memcmp(changed->blocks, &work->blocks, sizeof(work->blocks)) != 0;
}

static bool make_own_blocks(struct cpu_program *program)
{
    program->own_blocks =
        braid_store_take(&program->store, program->num_tasks, sizeof(*program->own_blocks));
    return program->own_blocks;
}

static braid_status set(struct cpu_program *program, const struct backend_task *task)
{
    const struct cpu_changing *changing = &program->changing[task->node];
    struct cpu_program *own = changing->program;
    const struct cpu_work work = braid_cpu_task_describe(task, &changing->values);
    if (needs_own_blocks(own, changing->step, &work) && !make_own_blocks(own))
        return braid_error_no_memory("a changed task");
    if (!program->pending)
        program->pending = take_patch(program);
    // The next launch applies each entry that it finds: nothing fails behind that.
    struct entry *entry = program->pending ? find_entry(program, task->node) : NULL;
    if (!entry)
        return braid_error_no_memory("a changed task");
    unsigned char *bytes = program->pending->bytes.items; // NULL where nothing has any
    braid_cpu_task_recapture(task, &changing->values, bytes ? bytes + entry->offset : NULL);
    entry->work = work;
    return BRAID_OK;
}

braid_status braid_cpu_program_update(struct playing *playing,
                                      const struct backend_task *const *tasks, uint32_t num,
                                      uint32_t frame)
{
    struct cpu_program *program = cpu_program_of(playing);
    braid_status status = BRAID_OK;
    (void)frame; // one at a time
    pthread_mutex_lock(&program->patch_lock);
    for (uint32_t i = 0; i < num && !status; i++) {
        if (program->changing[tasks[i]->node].step != CPU_NO_STEP)
            status = set(program, tasks[i]);
        if (status)
            status = braid_error(status, "node %s: %s",
                                 braid_node_text(tasks[i]->node, tasks[i]->name).text,
                                 braid_error_message());
    }
    pthread_mutex_unlock(&program->patch_lock);
    return status;
}

static void apply_values(const struct cpu_values *values, const unsigned char *from)
{
    for (uint32_t i = 0; i < values->num; i++) {
        memcpy(values->pointers[i], from, values->bytes[i]);
        from += values->bytes[i];
    }
}

// One thread runs a step that publishes by itself, with any number of blocks: a helper that went on
// behind it could not publish.
static void apply_work(struct cpu_program *program, uint32_t task, const struct cpu_work *work)
{
    struct cpu_step *step = &program->steps[program->changing[task].step];
    if (step->kind == CPU_STEP_LOOP)
        return; // it reads its values
    if (step->kind == CPU_STEP_RUN && step->position == 0 && program->shares &&
        work->blocks.end > 1) {
        step->kind = CPU_STEP_SHARE;
        step->work = &program->works[program->num_works++];
    }
    if (step->kind == CPU_STEP_SHARE) {
        *step->work = *work;
        return;
    }
    step->call = work->call;
    if (memcmp(step->blocks, &work->blocks, sizeof(work->blocks)) == 0)
        return;
    program->own_blocks[task] = work->blocks;
    step->blocks = &program->own_blocks[task];
}

void braid_cpu_patch_apply(struct cpu_program *program, struct cpu_patch *patch)
{
    if (!patch)
        return;
    const struct entry *entries = patch->entries.items;
    const unsigned char *bytes = patch->bytes.items;
    for (size_t i = 0; i < patch->entries.num; i++) {
        const struct entry *entry = &entries[i];
        if (bytes)
            apply_values(&program->changing[entry->task].values, bytes + entry->offset);
        apply_work(program->changing[entry->task].program, entry->task, &entry->work);
    }
    pthread_mutex_lock(&program->patch_lock);
    patch->next = program->free_patches;
    program->free_patches = patch;
    pthread_mutex_unlock(&program->patch_lock);
}

static void free_patch(struct cpu_patch *patch)
{
    if (!patch)
        return;
    braid_array_finish(&patch->entries);
    braid_array_finish(&patch->bytes);
    free(patch);
}

void braid_cpu_patches_finish(struct cpu_program *program)
{
    free_patch(program->pending);
    while (program->free_patches) {
        struct cpu_patch *patch = program->free_patches;
        program->free_patches = patch->next;
        free_patch(patch);
    }
}

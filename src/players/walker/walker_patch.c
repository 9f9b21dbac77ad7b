// SPDX-License-Identifier: Apache-2.0
// Patches: changed arguments, from set_args to the frame they are for.
#include "players/walker/walker.h"

#include <string.h>

#include "base/error.h"

// Launches of one program run one after another, so the arguments of the frame that runs are the
// only ones anybody reads. A change waits in a patch until the launch it is for begins; then it is
// written in place. Frames queued earlier do not see it, and a change costs its own bytes only.
// Patches are made by set_args and recycled by launches, never the other way round.

struct entry {
    uint32_t task;
    size_t offset; // of its bytes in the patch
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

static size_t total_bytes(const struct cpu_arguments *arguments)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < arguments->num; i++)
        bytes += arguments->bytes[i];
    return bytes;
}

// The task's entry in the pending patch, made if it is not there; NULL: no memory.
static struct entry *find_entry(struct cpu_program *program, uint32_t task)
{
    struct cpu_patch *patch = program->pending;
    struct cpu_arguments *arguments = &program->arguments[task];
    struct entry *entries = patch->entries.items;
    if (arguments->entry < patch->entries.num && entries[arguments->entry].task == task)
        return &entries[arguments->entry];
    size_t bytes = total_bytes(arguments);
    if (!braid_array_reserve(&patch->entries, 1, sizeof(struct entry)) ||
        !braid_array_reserve(&patch->bytes, bytes, 1))
        return NULL;
    arguments->entry = (uint32_t)patch->entries.num;
    struct entry *entry = braid_array_append(&patch->entries, 1, sizeof(*entry));
    *entry = (struct entry){ .task = task, .offset = patch->bytes.num };
    braid_array_append(&patch->bytes, bytes, 1);
    return entry;
}

static braid_status set_args(struct cpu_program *program, uint32_t task, void *const *args)
{
    if (!program->pending)
        program->pending = take_patch(program);
    struct entry *entry = program->pending ? find_entry(program, task) : NULL;
    if (!entry)
        return braid_error_no_memory("changed arguments");
    unsigned char *to = (unsigned char *)program->pending->bytes.items + entry->offset;
    const struct cpu_arguments *arguments = &program->arguments[task];
    for (uint32_t i = 0; i < arguments->num; i++) {
        memcpy(to, args[i], arguments->bytes[i]);
        to += arguments->bytes[i];
    }
    return BRAID_OK;
}

braid_status braid_cpu_program_set_args(struct playing *playing, const struct backend_task *task)
{
    struct cpu_program *program = cpu_program_of(playing);
    if (!total_bytes(&program->arguments[task->node]))
        return BRAID_OK;
    pthread_mutex_lock(&program->patch_lock);
    braid_status status = set_args(program, task->node, task->launch.args);
    pthread_mutex_unlock(&program->patch_lock);
    return status;
}

static void apply_entry(const struct cpu_arguments *arguments, const unsigned char *from)
{
    for (uint32_t i = 0; i < arguments->num; i++) {
        memcpy(arguments->pointers[i], from, arguments->bytes[i]);
        from += arguments->bytes[i];
    }
}

void braid_cpu_patch_apply(struct cpu_program *program, struct cpu_patch *patch)
{
    if (!patch)
        return;
    const struct entry *entries = patch->entries.items;
    for (size_t i = 0; i < patch->entries.num; i++)
        apply_entry(&program->arguments[entries[i].task],
                    (unsigned char *)patch->bytes.items + entries[i].offset);
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

// SPDX-License-Identifier: Apache-2.0
// The bytes of a recorded frame's memory: put where the frame begins, and looked at where it ended.
#include "base/error.h"
#include "base/host_memory.h"
#include "import/import.h"

static braid_status check_contents(const char *function, const braid_import *import)
{
    if (!import)
        return braid_error_null(function, "import");
    if (!import->rerun.gpu)
        return braid_error_invalid("%s: the import is of no recorded frame that can be run",
                                   function);
    if (!braid_import_has_contents(&import->recorded))
        return braid_error_invalid("%s: the record does not have the memory of this frame",
                                   function);
    return BRAID_OK;
}

static bool is_there(const struct gpu_backend *gpu, const braid_record_allocation *of)
{
    void *begin = NULL, *at = (void *)(uintptr_t)of->address; // NOLINT
    size_t bytes = 0;
    return of->freed_at == BRAID_RECORD_NONE && gpu->api->address_range &&
           !gpu->api->address_range(&begin, &bytes, at) && begin == at && bytes == of->bytes;
}

// NULL: it is a variable of a module that is not loaded, or memory that is gone, or of the end.
static void *place_of(const braid_import *import, const braid_record_memory *memory)
{
    const braid_record_allocation *of = &import->recorded.record->allocations[memory->allocation];
    const uint64_t moved = import->rerun.variables[memory->allocation];
    const bool is_made = import->rerun.ranges.num > 0;
    const bool is_missing =
        memory->is_of_end ||
        (!moved && (is_made ? of->kind == BRAID_RECORD_VARIABLE ||
                                  !braid_import_rerun_has(&import->rerun, of->address, of->bytes)
                            : !is_there(import->rerun.gpu, of)));
    return (void *)(uintptr_t)(is_missing ? 0 : moved ? moved : of->address); // NOLINT
}

braid_status braid_import_restore(braid_import *import)
{
    struct gpu_scope scope;
    braid_status status = check_contents("braid_import_restore", import);
    if (!status)
        status = braid_gpu_enter(import->rerun.gpu, &scope, "import");
    if (status)
        return status;
    const braid_record_contents *record = import->recorded.record;
    for (uint32_t i = 0; i < record->num_memory && !status; i++) {
        void *to = place_of(import, &record->memory[i]);
        if (to)
            status = braid_gpu_copy_now(import->rerun.gpu, to, record->memory[i].bytes,
                                        record->memory[i].num_bytes,
                                        "filling the memory of a recorded frame");
    }
    braid_gpu_leave(import->rerun.gpu, &scope);
    return status;
}

braid_status braid_import_get_memory_digest(const braid_import *import, uint32_t memory,
                                            uint64_t *out_digest)
{
    static const char name[] = "braid_import_get_memory_digest";
    struct gpu_scope scope;
    braid_status status = check_contents(name, import);
    if (!status && !out_digest)
        status = braid_error_null(name, "out_digest");
    if (!status && memory >= import->recorded.record->num_memory)
        status = braid_error_invalid("%s: the record has no memory %u", name, memory);
    if (status)
        return status;
    const braid_record_memory *of = &import->recorded.record->memory[memory];
    void *bytes = braid_allocate(of->num_bytes);
    status = bytes ? braid_gpu_enter(import->rerun.gpu, &scope, "import")
                   : braid_error_no_memory("the memory of a recorded frame");
    if (!status) {
        const void *from = place_of(import, of);
        if (from)
            status = braid_gpu_copy_now(import->rerun.gpu, bytes, from, of->num_bytes,
                                        "reading the memory of a recorded frame");
        if (!status)
            *out_digest = from ? braid_record_get_digest(bytes, of->num_bytes) : 0;
        braid_gpu_leave(import->rerun.gpu, &scope);
    }
    braid_free(bytes);
    return status;
}

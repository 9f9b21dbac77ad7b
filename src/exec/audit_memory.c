// SPDX-License-Identifier: Apache-2.0
// Makes an audit: the memory of a graph's buffers, of its accesses, and of the audit itself.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "exec/audit.h"

enum { ALIGNMENT = 64 };

// As the first frame has it; 0: not known.
static uintptr_t find_memory(const braid_graph *graph, const braid_exec *exec, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(graph, resource);
    const struct exec_memory *memory = &exec->memory;
    if (declared->address)
        return (uintptr_t)declared->address + declared->offset;
    if (declared->num_versions) {
        uint32_t version =
            (declared->num_versions - declared->frames_before) % declared->num_versions;
        return (uintptr_t)exec->tasks.version_memory[declared->first_version + version];
    }
    if (!memory->arenas || memory->plan.offsets[resource] == MEMORY_NONE)
        return 0;
    return (uintptr_t)memory->arenas[0].begin + memory->plan.offsets[resource];
}

static bool is_buffer(const braid_graph *graph, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(graph, resource);
    return declared->buffer == resource && declared->bytes && !declared->is_scratch;
}

static int compare_buffers(const void *a, const void *b)
{
    const struct audit_buffer *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static void fill_buffers(struct audit *audit, const braid_graph *graph, const braid_exec *exec)
{
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        uintptr_t begin = is_buffer(graph, i) ? find_memory(graph, exec, i) : 0;
        if (begin)
            audit->buffers[audit->num_buffers++] = (struct audit_buffer){
                .begin = begin, .end = begin + graph_resource_at(graph, i)->bytes, .resource = i
            };
    }
    if (audit->num_buffers)
        qsort(audit->buffers, audit->num_buffers, sizeof(*audit->buffers), compare_buffers);
    for (size_t i = 0; i < audit->num_buffers; i++) {
        const struct audit_buffer *buffer = &audit->buffers[i];
        struct audit_extent *last =
            audit->num_extents ? &audit->extents[audit->num_extents - 1] : NULL;
        braid_audit_pages_add(&audit->pages, buffer->begin, buffer->end);
        if (!last || buffer->begin > last->end)
            audit->extents[audit->num_extents++] =
                (struct audit_extent){ buffer->begin, buffer->end };
        else if (buffer->end > last->end)
            last->end = buffer->end;
    }
}

// Whether some of these bytes are in pages that are left alone.
static bool is_unseen(const struct audit_pages *pages, uintptr_t begin, uintptr_t end)
{
    size_t page = braid_audit_page_at(pages, begin);
    size_t last = braid_audit_page_at(pages, end - 1);
    while (page < last && pages->own[page])
        page++;
    return !pages->own[page];
}

// An exclusive access orders its node, which need not touch anything.
static void fill_accesses(struct audit *audit, const braid_graph *graph, const braid_exec *exec)
{
    const struct graph_access *accesses = graph->accesses.items;
    for (size_t i = 0; i < graph->accesses.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, accesses[i].resource);
        uintptr_t begin = resource->bytes ? find_memory(graph, exec, accesses[i].resource) : 0;
        bool is_made = begin && (accesses[i].mode == BRAID_EXCLUSIVE ||
                                 is_unseen(&audit->pages, begin, begin + resource->bytes));
        audit->accesses[i] = (struct audit_access){
            .begin = begin,
            .end = begin ? begin + resource->bytes : 0,
            .may_write = accesses[i].mode != BRAID_READ,
            .was_read = is_made,
            .was_written = is_made,
        };
    }
}

// The next part of the block; NULL counts its bytes.
static void *carve(unsigned char *block, size_t *used, size_t num, size_t bytes)
{
    size_t at = *used;
    *used += (num * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return block ? block + at : NULL;
}

static size_t count_pages(const braid_graph *graph)
{
    size_t num = 0;
    for (uint32_t i = 0; i < graph->resources.num; i++)
        num += is_buffer(graph, i) ? graph_resource_at(graph, i)->bytes / AUDIT_PAGE + 2 : 0;
    return num;
}

// At most one of each for a resource. Pages of buffers whose memory is not known are counted, too:
// the system gives memory only where something is written.
static size_t place(struct audit *audit, unsigned char *block, const braid_graph *graph)
{
    size_t num = graph->resources.num, num_pages = count_pages(graph), used = 0;
    carve(block, &used, 1, sizeof(*audit));
    audit->buffers = carve(block, &used, num, sizeof(*audit->buffers));
    audit->extents = carve(block, &used, num, sizeof(*audit->extents));
    audit->noted = carve(block, &used, num, sizeof(*audit->noted));
    audit->accesses = carve(block, &used, graph->accesses.num, sizeof(*audit->accesses));
    audit->pages.spans = carve(block, &used, num, sizeof(*audit->pages.spans));
    audit->pages.own = carve(block, &used, num_pages, 1);
    audit->pages.now = carve(block, &used, num_pages, 1);
    return used;
}

braid_status braid_audit_create(const braid_graph *graph, const braid_exec *exec,
                                struct audit **out_audit)
{
    struct audit counted;
    size_t bytes = place(&counted, NULL, graph);
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return braid_error_no_memory("an audit");
    struct audit *audit = block;
    audit->bytes = bytes;
    place(audit, block, graph);
    fill_buffers(audit, graph, exec);
    braid_status status = braid_audit_pages_read(&audit->pages);
    if (status) {
        braid_audit_destroy(audit);
        return status;
    }
    fill_accesses(audit, graph, exec);
    *out_audit = audit;
    return BRAID_OK;
}

void braid_audit_destroy(struct audit *audit)
{
    if (audit)
        munmap(audit, audit->bytes);
}

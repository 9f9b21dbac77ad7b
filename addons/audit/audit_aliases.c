// SPDX-License-Identifier: Apache-2.0
// Finds buffers whose memory the process has mapped twice. Mappings of one file tell by their
// offsets; so does memory that is shared without a name, which is a file for the system.
#include "audit/audit_by_pages.h"
#include "base/array.h"
#include "base/error.h"

static braid_status take_file(void *context, const struct audit_mapping *mapping)
{
    if (!mapping->file)
        return BRAID_OK;
    struct audit_mapping *added = braid_array_append(context, 1, sizeof(*added));
    if (!added)
        return braid_error_no_memory("an audit");
    *added = *mapping;
    return BRAID_OK;
}

static bool is_same_file(const struct audit_mapping *a, const struct audit_mapping *b)
{
    return a->file == b->file && a->major == b->major && a->minor == b->minor;
}

// Whether the bytes of a buffer in a mapping have another address as well.
static bool is_elsewhere(const struct array *mappings, const struct audit_mapping *has,
                         uintptr_t begin, uintptr_t end)
{
    const struct audit_mapping *items = mappings->items;
    for (size_t i = 0; i < mappings->num; i++) {
        const struct audit_mapping *other = &items[i];
        uintptr_t from = begin - has->begin + has->offset, to = end - has->begin + has->offset;
        uintptr_t other_end = other->offset + (other->end - other->begin);
        if (other != has && is_same_file(other, has) && other->offset < to && from < other_end)
            return true;
    }
    return false;
}

// Memory that the process has for itself is written in no other mapping.
static bool has_alias(const struct array *mappings, const struct audit_buffer *buffer)
{
    const struct audit_mapping *items = mappings->items;
    for (size_t i = 0; i < mappings->num; i++) {
        const struct audit_mapping *has = &items[i];
        uintptr_t begin = buffer->begin > has->begin ? buffer->begin : has->begin;
        uintptr_t end = buffer->end < has->end ? buffer->end : has->end;
        if (begin < end && has->rights & AUDIT_SHARED && is_elsewhere(mappings, has, begin, end))
            return true;
    }
    return false;
}

braid_status braid_audit_tell_aliases(struct audit_memory *memory, struct audit_findings *findings)
{
    struct array mappings = { 0 };
    braid_status status = braid_audit_pages_list(take_file, &mappings);
    for (size_t i = 0; i < memory->num_buffers && !status; i++) {
        const struct audit_buffer *buffer = &memory->buffers[i];
        if (has_alias(&mappings, buffer))
            status = braid_audit_findings_add_unseen(
                findings, GRAPH_NONE, buffer->resource,
                "the process has its memory at other addresses, too");
    }
    braid_array_finish(&mappings);
    return status;
}

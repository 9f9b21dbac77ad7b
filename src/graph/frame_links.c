// SPDX-License-Identifier: Apache-2.0
// Which nodes of a frame must wait for nodes of the frame before.
//
// The accesses to a segment, in insertion order, fall into groups: runs of reads, runs of
// accumulating accesses, and single writes. Inside a frame every member of a group is ordered with
// every member of the next. So it is enough that the first group of a frame waits for the last of
// the frame before. If these two may overlap, the first waits for the last but one, and the second
// for the last. If u conflicts with a later v, then u of frame k, v of frame k and u of frame k+1
// follow each other. So an order with the next frame is one with all.
//
// If a buffer has n versions, one memory is written in every nth frame. The frames between access
// that memory as an earlier version. So the accesses to one memory are those to the current
// version, then those of the next frame to the version before, and so on. The whole repeats with
// the nth frame. Other resources have an n of 1.
#include <stdlib.h>

#include "base/error.h"
#include "graph/extents.h"
#include "graph/links.h"
#include "graph/segments.h"

enum use_class { USE_READ, USE_ACCUMULATE, USE_WRITE };

struct use {
    uint32_t segment;
    uint32_t frames_before; // which version it is of
    uint32_t num_versions;
    uint32_t position; // the node's, in insertion order
    uint32_t node;
    uint32_t class; // enum use_class
};

static int compare_uses(const void *left, const void *right)
{
    const struct use *a = left;
    const struct use *b = right;
    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    if (a->frames_before != b->frames_before)
        return a->frames_before < b->frames_before ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return 0;
}

static enum use_class class_of(uint32_t mode)
{
    return mode == BRAID_READ ? USE_READ : mode == BRAID_ACCUMULATE ? USE_ACCUMULATE : USE_WRITE;
}

static bool add_uses(const braid_graph *graph, const struct graph_segments *segments,
                     uint32_t position, uint32_t node, struct array *uses)
{
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        const struct graph_access *access = graph_access_of(graph, graph_node, i);
        const struct graph_resource *resource = graph_resource_at(graph, access->resource);
        if (resource->alignment)
            continue; // transient
        uint32_t same = resource->num_versions > 1 ? resource->versioned : access->resource;
        uint32_t first = segments->first[same], end = segments->end[same];
        struct use *use = braid_array_append(uses, end - first, sizeof(*use));
        if (!use)
            return false;
        for (uint32_t s = first; s < end; s++)
            *use++ = (struct use){ s,
                                   resource->frames_before,
                                   resource->num_versions ? resource->num_versions : 1,
                                   position,
                                   node,
                                   class_of(access->mode) };
    }
    return true;
}

// Several uses by one node become one. Returns how many are left.
static size_t merge_uses(struct use *uses, size_t num)
{
    size_t kept = 0;
    for (size_t i = 0; i < num; i++) {
        if (kept && compare_uses(&uses[kept - 1], &uses[i]) == 0) {
            if (uses[kept - 1].class != uses[i].class)
                uses[kept - 1].class = USE_WRITE;
        } else {
            uses[kept++] = uses[i];
        }
    }
    return kept;
}

// Links uses whose frames are apart by `more` and by the difference of their versions. Uses of one
// frame are ordered already.
static bool link_groups(const struct use *from, const struct use *from_end, const struct use *to,
                        const struct use *to_end, uint32_t more, struct array *links)
{
    for (; to < to_end; to++)
        for (const struct use *use = from; use < from_end; use++) {
            uint32_t frames = more + to->frames_before - use->frames_before;
            struct frame_link *link = frames ? braid_array_append(links, 1, sizeof(*link)) : NULL;
            if (frames && !link)
                return false;
            if (frames)
                *link = (struct frame_link){ use->node, to->node, frames };
        }
    return true;
}

// One past the group that begins at `use`, and where the group begins that ends before `end`.
static const struct use *group_end(const struct use *use, const struct use *end)
{
    const struct use *next = use + 1;
    while (use->class != USE_WRITE && next < end && next->class == use->class)
        next++;
    return next;
}

static const struct use *group_begin(const struct use *begin, const struct use *end)
{
    const struct use *first = end - 1;
    while (end[-1].class != USE_WRITE && first > begin && first[-1].class == end[-1].class)
        first--;
    return first;
}

// Groups of the first frame that has the memory with those of later ones.
static bool link_versions(const struct use *begin, const struct use *end, struct array *links)
{
    for (const struct use *next = group_end(begin, end); next < end; next = group_end(begin, end)) {
        if (!link_groups(begin, next, next, group_end(next, end), 0, links))
            return false;
        begin = next;
    }
    return true;
}

static bool link_segment(const struct use *begin, const struct use *end, struct array *links)
{
    const struct use *first_end = group_end(begin, end), *last = group_begin(begin, end);
    uint32_t again = begin->num_versions; // frames later
    if (again > 1 && !link_versions(begin, end, links))
        return false;
    if (begin->class != last->class || begin->class == USE_WRITE)
        return link_groups(last, end, begin, first_end, again, links);
    if (last == begin)
        return true; // all may overlap
    return link_groups(group_begin(begin, last), last, begin, first_end, again, links) &&
           link_groups(last, end, first_end, group_end(first_end, end), again, links);
}

static bool link_all(struct array *uses, struct array *links)
{
    struct use *items = uses->items;
    if (uses->num)
        qsort(items, uses->num, sizeof(*items), compare_uses);
    size_t num = merge_uses(items, uses->num), end;
    for (size_t i = 0; i < num; i = end) {
        for (end = i + 1; end < num && items[end].segment == items[i].segment;)
            end++;
        if (!link_segment(&items[i], &items[end], links))
            return false;
    }
    return true;
}

static braid_status collect(const braid_graph *graph, const struct graph_units *units,
                            struct array *out_links)
{
    struct graph_segments segments = { 0 };
    struct array uses = { 0 };
    braid_status status = braid_graph_find_segments(graph, &segments);
    bool done = !status;
    for (uint32_t i = 0; done && i < graph_num_nodes(graph); i++) {
        if (graph_nodes(graph)[units->members[i]].kind != WORK_EMPTY)
            done = add_uses(graph, &segments, i, units->members[i], &uses);
    }
    if (done)
        done = link_all(&uses, out_links);
    if (!status && !done)
        status = braid_error_no_memory("the order of frames");
    braid_array_finish(&uses);
    braid_graph_segments_finish(&segments);
    return status;
}

braid_status braid_graph_find_frame_links(const braid_graph *graph, struct array *out_links,
                                          uint32_t *out_undeclared)
{
    struct graph_units units = { 0 };
    *out_undeclared = braid_graph_find_undeclared(graph);
    braid_status status = braid_graph_find_units(graph, &units);
    if (!status)
        status = collect(graph, &units, out_links);
    braid_graph_units_finish(&units);
    return status;
}

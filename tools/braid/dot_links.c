// SPDX-License-Identifier: Apache-2.0
// Counts the edges that accumulating accesses stand for, before the library makes them: a thousand
// nodes that accumulate, and a thousand readers behind them, are a million.
#include <stdlib.h>

#include "dot_attributes.h"

// One end of a resource; what lies between two ends of a buffer is a part.
struct cut {
    uint32_t buffer;
    uint64_t offset;
};

struct part {
    uint32_t accumulators; // since the last change of another kind
    uint32_t readers;      // since the last change
    uint32_t before;       // readers that each of these accumulators follows
};

// A node in the order in which accesses count.
struct place {
    uint32_t main, role, node;
};

struct links {
    struct dot_file *file;
    struct cut *cuts;
    struct part *parts; // by their first cuts
    uint32_t *first;    // by resource: its first part
    uint32_t *end;      // and the one behind its last
    uint32_t *depth;    // by node: how many bodies it is in
    struct place *places;
    size_t num_cuts;
};

static int compare_cuts(const void *left, const void *right)
{
    const struct cut *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->main != b->main)
        return a->main < b->main ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static struct cut find_cut(const struct dot_file *file, uint32_t resource, bool is_end)
{
    const struct dot_resource *found = &file->resources[resource];
    bool is_range = !found->name && !found->frames_before;
    uint64_t bytes = found->bytes ? found->bytes : 1;
    return (struct cut){ is_range ? found->buffer : resource,
                         found->offset + (is_end ? bytes : 0) };
}

static uint32_t find_part(const struct links *links, uint32_t resource, bool is_end)
{
    const struct cut cut = find_cut(links->file, resource, is_end);
    const struct cut *found =
        bsearch(&cut, links->cuts, links->num_cuts, sizeof(cut), compare_cuts);
    return (uint32_t)(found - links->cuts);
}

static void cut_resources(struct links *links)
{
    const uint32_t num = links->file->num_resources;
    for (uint32_t i = 0; i < num; i++) {
        links->cuts[2 * (size_t)i] = find_cut(links->file, i, false);
        links->cuts[2 * (size_t)i + 1] = find_cut(links->file, i, true);
    }
    qsort(links->cuts, 2 * (size_t)num, sizeof(*links->cuts), compare_cuts);
    for (size_t i = 0; i < 2 * (size_t)num; i++)
        if (i == 0 || compare_cuts(&links->cuts[i - 1], &links->cuts[i]) != 0)
            links->cuts[links->num_cuts++] = links->cuts[i];
    for (uint32_t i = 0; i < num; i++) {
        links->first[i] = find_part(links, i, false);
        links->end[i] = find_part(links, i, true);
    }
}

// Bodies follow their nodes. Preludes run before their main nodes, epilogues behind them.
static void order_nodes(struct links *links)
{
    static const uint32_t running_order[] = {
        [DOT_PRELUDE] = 0, [DOT_MAIN] = 1, [DOT_EPILOGUE] = 2
    };
    for (uint32_t i = 0; i < links->file->num_nodes; i++) {
        const struct dot_node *node = &links->file->nodes[i];
        links->depth[i] = node->around == DOT_NONE ? 0 : links->depth[node->around] + 1;
        links->places[i] =
            (struct place){ node->role == DOT_MAIN ? i : node->main, running_order[node->role], i };
    }
    qsort(links->places, links->file->num_nodes, sizeof(*links->places), compare_places);
}

// How many edges an access to a part adds beside one for each access.
static uint32_t touch(struct part *part, braid_access_mode mode)
{
    if (mode == BRAID_READ) {
        part->readers++;
        return part->accumulators;
    }
    if (mode != BRAID_ACCUMULATE)
        *part = (struct part){ 0 };
    else if (part->accumulators == 0 || part->readers)
        *part = (struct part){ .before = part->readers };
    part->accumulators += mode == BRAID_ACCUMULATE;
    return mode == BRAID_ACCUMULATE ? part->before : 0;
}

// An access counts for each part, and for each body around its node, whose loop or branch has it.
static enum exit_status count_access(struct links *links, uint32_t node, uint32_t resource,
                                     braid_access_mode mode)
{
    const uint64_t num_parts = links->end[resource] - links->first[resource];
    uint64_t num = 0;
    for (uint32_t i = links->first[resource]; i < links->end[resource]; i++)
        num += touch(&links->parts[i], mode);
    const enum exit_status status = dot_count_add(links->file, DOT_EDGES, num);
    return status == EXIT_DONE
               ? dot_count_add(links->file, DOT_ACCESSES, num_parts * (links->depth[node] + 1) - 1)
               : status;
}

static enum exit_status count_node(struct links *links, uint32_t index)
{
    const struct dot_file *file = links->file;
    const struct dot_node *node = &file->nodes[index];
    enum exit_status status = EXIT_DONE;
    if (node->condition != DOT_NONE)
        status = count_access(links, index, node->condition, BRAID_READ);
    for (uint32_t i = 0; i < node->num_accesses && status == EXIT_DONE; i++) {
        const struct dot_access *access = &file->accesses[node->first_access + i];
        status = count_access(links, index, access->resource, access->mode);
    }
    return status;
}

static enum exit_status count_all(struct links *links)
{
    enum exit_status status = dot_count_add(links->file, DOT_EDGES, links->file->num_edges);
    cut_resources(links);
    order_nodes(links);
    for (uint32_t i = 0; i < links->file->num_nodes && status == EXIT_DONE; i++)
        status = count_node(links, links->places[i].node);
    return status;
}

enum exit_status dot_links_count(struct dot_file *file)
{
    if (file->num_resources == 0)
        return EXIT_DONE;
    const size_t num_cuts = 2 * (size_t)file->num_resources,
                 num_nodes = (size_t)file->num_nodes + 1;
    struct links links = { .file = file,
                           .cuts = calloc(num_cuts, sizeof(*links.cuts)),
                           .parts = calloc(num_cuts, sizeof(*links.parts)),
                           .first = calloc(num_cuts, sizeof(*links.first)),
                           .depth = calloc(num_nodes, sizeof(*links.depth)),
                           .places = calloc(num_nodes, sizeof(*links.places)) };
    links.end = links.first + file->num_resources;
    enum exit_status status =
        links.cuts && links.parts && links.first && links.depth && links.places
            ? count_all(&links)
            : dot_text_no_memory(&file->text);
    free(links.cuts);
    free(links.parts);
    free(links.first);
    free(links.depth);
    free(links.places);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
// Proves a placed graph against the program's. The order of all accesses to one memory by its steps
// is proved elsewhere, as for any graph. So each node finds the same data in every order as in the
// one order in which the nodes are walked here. That order must be one that the program's graph
// allows.
//
// The nodes of a loop or branch are on its device and touch the memory that it accesses, as is
// proved elsewhere. So it is walked as one node. It must find the last writes in all of that
// memory, also in the parts that it may write. These stay if there is no iteration, or another arm
// runs. Each iteration leaves the last writes in that memory, where the next one finds them.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/store.h"
#include "graph/addresses.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "graph/segments.h"
#include "verify/verify.h"

// A write, told by 1 + the node; or one of these.
#define WRITTEN_BEFORE 0         // before the frame
#define WRITTEN_NEVER UINT32_MAX // nothing of use

// A buffer of the placed graph, which is one of the program's at some place. All of one have the
// same cells: the parts into which the ranges of any of them cut it.
struct place_buffer {
    uint32_t of;         // the program's buffer; GRAPH_NONE: not known
    uint32_t first_cell; // in `held`
};

struct place_cells {
    const braid_graph *program, *placed;
    struct place_buffer *buffers; // per resource of the placed graph
    uint64_t *cuts;               // in all of the program's buffers, buffer by buffer
    uint32_t *first_cut;          // per resource of the program; one more at the end
    uint32_t *current;            // per cut: the last write so far
    uint32_t *held;               // per cell of a buffer: the write that it has
    struct store store;           // holds the arrays
};

// The cuts of the program's buffer that lie in a part of it.
struct cell_span {
    uint32_t first, end;
};

// The write that a buffer of the placed graph holds in a cut.
static inline uint32_t *cells_held(const struct place_cells *cells, uint32_t placed_buffer,
                                   uint32_t cut)
{
    const struct place_buffer *buffer = &cells->buffers[placed_buffer];
    return &cells->held[buffer->first_cell + cut - cells->first_cut[buffer->of]];
}

// ---- cells ----

// Cutting memory into cells. The accesses and copies tell which buffer of the program a buffer of
// the placed graph stands for. All of them must agree.

static braid_status match(struct place_cells *cells, uint32_t placed, uint32_t program)
{
    uint32_t buffer = graph_resource_at(cells->placed, placed)->buffer;
    uint32_t of = graph_resource_at(cells->program, program)->buffer;
    struct place_buffer *known = &cells->buffers[buffer];
    bool fits = graph_resource_at(cells->placed, buffer)->bytes ==
                graph_resource_at(cells->program, of)->bytes;
    if (!fits || (known->of != GRAPH_NONE && known->of != of))
        return braid_error(
            BRAID_INTERNAL, "the plan has buffer '%s' stand for another one",
            braid_names_at(&cells->placed->names, graph_resource_at(cells->placed, buffer)->name));
    known->of = of;
    return BRAID_OK;
}

static braid_status match_all(struct place_cells *cells, const struct placed *placed)
{
    const struct graph_access *theirs = cells->program->accesses.items;
    const struct graph_access *ours = cells->placed->accesses.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < cells->placed->resources.num; i++)
        cells->buffers[i] = (struct place_buffer){ GRAPH_NONE, 0 };
    for (uint32_t i = 0; i < cells->program->resources.num && !status; i++)
        status = match(cells, i, i);
    for (size_t i = 0; i < cells->program->accesses.num && !status; i++)
        status = match(cells, ours[i].resource, theirs[i].resource);
    for (uint32_t i = 0; i < placed->num_copies && !status; i++) {
        const braid_planned_copy *copy = &placed->copies[i];
        uint32_t first = graph_nodes(placed->graph)[copy->node].first_access;
        status = match(cells, ours[first].resource, copy->resource);
        if (!status)
            status = match(cells, ours[first + 1].resource, copy->resource);
    }
    return status;
}

struct cut {
    uint32_t buffer;
    uint64_t offset;
};

static int compare_cuts(const void *left, const void *right)
{
    const struct cut *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

// Each buffer's cuts end with its size, which begins no cell.
static bool find_cuts(struct place_cells *cells)
{
    size_t most = 2 * cells->placed->resources.num, num = 0, kept = 0;
    struct cut *cuts = braid_allocate_zeroed(most, sizeof(*cuts));
    cells->cuts = braid_store_take(&cells->store, most, sizeof(*cells->cuts));
    cells->current = braid_store_take(&cells->store, most, sizeof(*cells->current));
    for (uint32_t i = 0; cuts && i < cells->placed->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(cells->placed, i);
        uint32_t of = cells->buffers[resource->buffer].of;
        if (of == GRAPH_NONE)
            continue;
        cuts[num++] = (struct cut){ of, resource->offset };
        cuts[num++] = (struct cut){ of, resource->offset + resource->bytes };
    }
    bool done = cuts && !cells->store.failed;
    if (done && num)
        qsort(cuts, num, sizeof(*cuts), compare_cuts);
    uint32_t next = 0;
    for (size_t i = 0; done && i < num; i++) {
        if (i && compare_cuts(&cuts[i - 1], &cuts[i]) == 0)
            continue;
        while (next <= cuts[i].buffer)
            cells->first_cut[next++] = (uint32_t)kept;
        cells->cuts[kept++] = cuts[i].offset;
    }
    while (done && next <= cells->program->resources.num)
        cells->first_cut[next++] = (uint32_t)kept;
    braid_free(cuts);
    return done;
}

static bool find_cells(struct place_cells *cells)
{
    size_t num = 0;
    for (uint32_t i = 0; i < cells->placed->resources.num; i++) {
        struct place_buffer *buffer = &cells->buffers[i];
        if (buffer->of == GRAPH_NONE || graph_resource_at(cells->placed, i)->buffer != i)
            continue;
        buffer->first_cell = (uint32_t)num;
        num += cells->first_cut[buffer->of + 1] - cells->first_cut[buffer->of];
    }
    cells->held =
        num < UINT32_MAX ? braid_store_take(&cells->store, num, sizeof(*cells->held)) : NULL;
    for (size_t i = 0; cells->held && i < num; i++)
        cells->held[i] = WRITTEN_NEVER;
    return cells->held;
}

// A buffer that is not transient has its contents where the program declared it.
static void fill_cells(struct place_cells *cells)
{
    for (uint32_t i = 0; i < cells->program->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(cells->program, i);
        uint32_t write = resource->alignment ? WRITTEN_NEVER : WRITTEN_BEFORE;
        for (uint32_t cut = cells->first_cut[i];
             resource->buffer == i && cut < cells->first_cut[i + 1]; cut++)
            cells->current[cut] = *cells_held(cells, i, cut) = write;
    }
}

static void verify_cells_finish(struct place_cells *cells)
{
    braid_store_finish(&cells->store);
    *cells = (struct place_cells){ 0 };
}

// Errors: BRAID_INTERNAL (a buffer would stand for two), BRAID_NO_MEMORY.
static braid_status verify_cells_create(const struct placed *placed, const braid_graph *graph,
                                        struct place_cells *out_cells)
{
    struct place_cells cells = { .program = graph, .placed = placed->graph };
    cells.buffers =
        braid_store_take(&cells.store, placed->graph->resources.num, sizeof(*cells.buffers));
    cells.first_cut = braid_store_take(&cells.store, graph->resources.num + 2, sizeof(uint32_t));
    braid_status status = !cells.store.failed ? match_all(&cells, placed)
                                              : braid_error_no_memory("the proof of a plan");
    if (!status && (!find_cuts(&cells) || !find_cells(&cells)))
        status = braid_error_no_memory("the proof of a plan");
    if (status) {
        verify_cells_finish(&cells);
        return status;
    }
    fill_cells(&cells);
    *out_cells = cells;
    return BRAID_OK;
}

static uint32_t find_cut(const struct place_cells *cells, uint32_t buffer, uint64_t offset)
{
    uint32_t low = cells->first_cut[buffer], high = cells->first_cut[buffer + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cells->cuts[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct cell_span verify_cells_find(const struct place_cells *cells, uint32_t buffer,
                                          uint64_t offset, uint64_t bytes)
{
    return (struct cell_span){ find_cut(cells, buffer, offset),
                               find_cut(cells, buffer, offset + bytes) };
}

// ---- regions ----

// Proves that a placed graph has the loops and branches of the program. All nodes of one are on one
// device, and it reads its condition there.

static struct node_text placed_name(const struct placed *placed, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(placed->graph, node));
}

// The condition is the memory that the region's node reads instead of the program's.
static bool is_condition(const struct placed *placed, const braid_graph *program,
                         const struct graph_region *theirs, const struct graph_region *ours)
{
    const struct graph_node *node = &graph_nodes(program)[theirs->node];
    const struct graph_access *wanted = program->accesses.items;
    const struct graph_access *has = placed->graph->accesses.items;
    if (node->is_left_out || theirs->condition == GRAPH_NONE)
        return ours->condition == theirs->condition;
    for (uint32_t i = node->first_access; i < node->first_access + node->num_accesses; i++) {
        if (wanted[i].resource == theirs->condition)
            return has[i].resource == ours->condition;
    }
    return false;
}

static braid_status check_nodes(const struct placed *placed, const struct graph_region *region)
{
    uint32_t wanted = placed_place(placed->graph, region->node);
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        uint32_t place = placed_place(placed->graph, i);
        if (place != wanted)
            return braid_error(
                BRAID_INTERNAL,
                "the plan puts node %s on place %u, and node %s, which it is in, on place %u",
                placed_name(placed, i).text, graph_place_number(place),
                placed_name(placed, region->node).text, graph_place_number(wanted));
    }
    return BRAID_OK;
}

// Errors: BRAID_INTERNAL, which name the node.
static braid_status verify_place_regions(const struct placed *placed, const braid_graph *program)
{
    const struct graph_region *theirs = graph_regions(program);
    const struct graph_region *ours = graph_regions(placed->graph);
    uint32_t num = (uint32_t)program->regions.num;
    bool right = placed->graph->regions.num == num;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && right; i++)
        right = ours[i].node == theirs[i].node && ours[i].first == theirs[i].first &&
                ours[i].num == theirs[i].num && ours[i].around == theirs[i].around &&
                is_condition(placed, program, &theirs[i], &ours[i]);
    if (!right)
        return braid_error(BRAID_INTERNAL, "the plan has other loops or branches than the graph");
    for (uint32_t i = 0; i < num && !status; i++)
        status = check_nodes(placed, &theirs[i]);
    return status;
}

// ---- the walk ----

struct proof {
    const struct placed *placed;
    const braid_graph *program, *graph;
    struct place_cells cells;
    struct graph_units units; // the placed graph's
};

static struct node_text name_of(const struct proof *proof, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(proof->graph, node));
}

static const char *buffer_name(const struct proof *proof, uint32_t resource)
{
    return braid_names_at(&proof->graph->names, graph_resource_at(proof->graph, resource)->name);
}

static const struct graph_access *access_of(const braid_graph *graph, uint32_t index)
{
    return &((const struct graph_access *)graph->accesses.items)[index];
}

// The address at an operand of a node.
static const struct graph_address *find_address(const struct array *list, uint32_t node,
                                                uint32_t operand)
{
    const struct graph_address *addresses = list->items;
    for (size_t i = braid_graph_first_address(list, node);
         i < list->num && addresses[i].node == node; i++) {
        if (addresses[i].operand == operand)
            return &addresses[i];
    }
    return NULL;
}

// Whether the addresses that the program gave a node are those of the memory that it has instead.
// `num` counts those of the buffer.
static bool has_address(const struct proof *proof, const struct array *list, uint32_t node,
                        uint32_t buffer, uint32_t instead, size_t *num)
{
    const struct graph_address *addresses = list->items;
    for (size_t i = braid_graph_first_address(list, node);
         i < list->num && addresses[i].node == node; i++) {
        const struct graph_resource *wanted =
            graph_resource_at(proof->program, addresses[i].resource);
        const struct graph_address *found =
            find_address(&proof->graph->addresses, node, addresses[i].operand);
        if (wanted->buffer != buffer)
            continue;
        const struct graph_resource *has =
            found ? graph_resource_at(proof->graph, found->resource) : NULL;
        if (!has || has->buffer != instead || has->offset != wanted->offset)
            return false;
        ++*num;
    }
    return true;
}

static braid_status report_memory(const struct proof *proof, uint32_t node, uint32_t resource)
{
    return braid_error(BRAID_INTERNAL, "the plan gives node %s other memory than '%s' on place %u",
                       name_of(proof, node).text, buffer_name(proof, resource),
                       graph_place_number(placed_place(proof->graph, node)));
}

// The memory of an access is that of the node's place, and the node is given its address. A region
// touches it by its nodes inside, and has an address for its condition.
static braid_status check_memory(const struct proof *proof, uint32_t node, uint32_t index)
{
    const struct graph_access *theirs = access_of(proof->program, index);
    const struct graph_access *ours = access_of(proof->graph, index);
    const struct graph_resource *wanted = graph_resource_at(proof->program, theirs->resource);
    const struct graph_resource *has = graph_resource_at(proof->graph, ours->resource);
    uint32_t home = graph_resource_at(proof->graph, has->buffer)->home;
    size_t num = 0;
    if (ours->mode != theirs->mode || has->offset != wanted->offset || has->bytes != wanted->bytes)
        return report_memory(proof, node, ours->resource);
    if (!wanted->bytes)
        return theirs->resource == ours->resource ? BRAID_OK
                                                  : report_memory(proof, node, ours->resource);
    if (has->num_versions)
        home = graph_resource_at(proof->graph, has->versioned)->home;
    if (home != GRAPH_EVERYWHERE && home != placed_place(proof->graph, node))
        return report_memory(proof, node, ours->resource);
    if (has->buffer == wanted->buffer)
        return BRAID_OK;
    bool given =
        has_address(proof, &proof->program->addresses, node, wanted->buffer, has->buffer, &num) &&
        has_address(proof, &proof->program->given, node, wanted->buffer, has->buffer, &num);
    given = given && (num || wanted->alignment ||
                      work_has_body((enum work_kind)graph_nodes(proof->program)[node].kind));
    return given ? BRAID_OK : report_memory(proof, node, ours->resource);
}

// Each node is the program's own, on the place that the program asked for.
static braid_status check_node(const struct proof *proof, uint32_t node)
{
    const struct graph_node *theirs = &graph_nodes(proof->program)[node];
    const struct graph_node *ours = &graph_nodes(proof->graph)[node];
    uint32_t named = graph_nodes(proof->program)[theirs->main].place;
    if (ours->kind != theirs->kind || ours->role != theirs->role || ours->main != theirs->main ||
        ours->payload != theirs->payload || ours->lane_hint != theirs->lane_hint ||
        ours->first_access != theirs->first_access || ours->num_accesses != theirs->num_accesses)
        return braid_error(BRAID_INTERNAL, "the plan makes node %s another one",
                           name_of(proof, node).text);
    if (placed_place(proof->graph, node) >= proof->placed->model.num_places ||
        (named && placed_place(proof->graph, node) != graph_place_index(named)))
        return braid_error(BRAID_INTERNAL, "the plan puts node %s on place %u",
                           name_of(proof, node).text,
                           graph_place_number(placed_place(proof->graph, node)));
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < ours->num_accesses && !status; i++)
        status = check_memory(proof, node, ours->first_access + i);
    return status;
}

// Whether an end of a copy is the resource's address, or an address that frames find for it.
static bool is_end(const struct proof *proof, uint32_t node, uint32_t resource, size_t operand,
                   const void *pointer)
{
    const struct graph_resource *end = graph_resource_at(proof->graph, resource);
    const struct graph_address *found =
        find_address(&proof->graph->addresses, node, (uint32_t)operand);
    if (end->alignment || end->num_versions)
        return found && found->resource == resource;
    return !found && pointer == (const char *)end->address + end->offset;
}

static bool is_at(const struct proof *proof, uint32_t resource, uint32_t place)
{
    const struct graph_resource *end = graph_resource_at(proof->graph, resource);
    uint32_t owner = end->num_versions ? end->versioned : end->buffer;
    return graph_resource_at(proof->graph, owner)->home == place;
}

static braid_status check_copy(const struct proof *proof, const braid_planned_copy *copy)
{
    const struct graph_node *node = &graph_nodes(proof->graph)[copy->node];
    const struct graph_access *accesses = access_of(proof->graph, node->first_access);
    const struct work_copy *work = &graph_work_of(proof->graph, copy->node)->copy;
    bool right =
        node->kind == WORK_COPY && node->num_accesses == 2 && accesses[0].mode == BRAID_READ &&
        accesses[1].mode == BRAID_WRITE && work->bytes == copy->bytes &&
        placed_place(proof->graph, copy->node) == graph_place_index(copy->from) &&
        is_at(proof, accesses[0].resource, graph_place_index(copy->from)) &&
        is_at(proof, accesses[1].resource, graph_place_index(copy->to)) &&
        is_end(proof, copy->node, accesses[1].resource, offsetof(struct work_copy, to), work->to) &&
        is_end(proof, copy->node, accesses[0].resource, offsetof(struct work_copy, from),
               work->from);
    for (int i = 0; i < 2 && right; i++) {
        const struct graph_resource *end = graph_resource_at(proof->graph, accesses[i].resource);
        right = end->offset == copy->offset && end->bytes == copy->bytes;
    }
    return right ? BRAID_OK
                 : braid_error(BRAID_INTERNAL, "the plan's %s differs from its description",
                               name_of(proof, copy->node).text);
}

static braid_status report_stale(const struct proof *proof, uint32_t node, uint32_t resource,
                                 uint32_t held, uint32_t wanted)
{
    struct node_text last = { "the data from before the frame" };
    if (wanted != WRITTEN_BEFORE)
        last = name_of(proof, wanted - 1);
    const char *what = held == WRITTEN_NEVER ? "nothing" : "an earlier write";
    if (node == GRAPH_NONE)
        return braid_error(BRAID_INTERNAL, "the plan leaves in '%s' %s, and not that of %s",
                           buffer_name(proof, resource), what, last.text);
    return braid_error(BRAID_INTERNAL, "the plan has node %s find %s in '%s', and not that of %s",
                       name_of(proof, node).text, what, buffer_name(proof, resource), last.text);
}

// `node` GRAPH_NONE: the end of the frame.
static braid_status check_current(const struct proof *proof, uint32_t node, uint32_t resource)
{
    const struct graph_resource *part = graph_resource_at(proof->graph, resource);
    const struct place_cells *cells = &proof->cells;
    struct cell_span span =
        verify_cells_find(cells, cells->buffers[part->buffer].of, part->offset, part->bytes);
    for (uint32_t cut = span.first; cut < span.end; cut++) {
        uint32_t held = *cells_held(cells, part->buffer, cut), current = cells->current[cut];
        if (current != WRITTEN_NEVER && held != current)
            return report_stale(proof, node, resource, held, current);
    }
    return BRAID_OK;
}

static braid_status walk_node(const struct proof *proof, uint32_t node)
{
    const struct graph_node *graph_node = &graph_nodes(proof->graph)[node];
    const struct place_cells *cells = &proof->cells;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph_node->num_accesses && !status; i++) {
        const struct graph_access *access = access_of(proof->graph, graph_node->first_access + i);
        if (graph_needs_data(proof->program, node,
                             access_of(proof->program, graph_node->first_access + i)))
            status = check_current(proof, node, access->resource);
    }
    for (uint32_t i = 0; i < graph_node->num_accesses && !status; i++) {
        const struct graph_access *access = access_of(proof->graph, graph_node->first_access + i);
        const struct graph_resource *part = graph_resource_at(proof->graph, access->resource);
        struct cell_span span =
            verify_cells_find(cells, cells->buffers[part->buffer].of, part->offset, part->bytes);
        for (uint32_t cut = span.first; cut < span.end && access->mode != BRAID_READ; cut++)
            cells->current[cut] = *cells_held(cells, part->buffer, cut) = node + 1;
    }
    return status;
}

static void walk_copy(const struct proof *proof, const braid_planned_copy *copy)
{
    const struct place_cells *cells = &proof->cells;
    const struct graph_access *accesses =
        access_of(proof->graph, graph_nodes(proof->graph)[copy->node].first_access);
    uint32_t from = graph_resource_at(proof->graph, accesses[0].resource)->buffer;
    uint32_t to = graph_resource_at(proof->graph, accesses[1].resource)->buffer;
    struct cell_span span =
        verify_cells_find(cells, cells->buffers[from].of, copy->offset, copy->bytes);
    for (uint32_t cut = span.first; cut < span.end; cut++)
        *cells_held(cells, to, cut) = *cells_held(cells, from, cut);
}

static braid_status walk_nodes(const struct proof *proof)
{
    uint32_t num_nodes = proof->placed->model.num_nodes;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph_num_nodes(proof->graph) && !status; i++) {
        uint32_t node = proof->units.members[i];
        if (node < num_nodes && braid_graph_region_of(proof->program, node) == GRAPH_NONE)
            status = walk_node(proof, node);
        else if (node >= num_nodes)
            walk_copy(proof, &proof->placed->copies[node - num_nodes]);
    }
    for (uint32_t i = 0; i < proof->program->resources.num && !status; i++) {
        if (!graph_resource_at(proof->program, i)->alignment)
            status = check_current(proof, GRAPH_NONE, i);
    }
    return status;
}

// The last accesses of each class to a segment, as places in the walk from 1 on. Accumulating nodes
// are free among each other.
struct touched {
    uint32_t written, read, added;
};

static bool touch(struct touched *touched, uint32_t mode, uint32_t at)
{
    bool kept = at >= touched->written && (mode == BRAID_READ || at >= touched->read) &&
                (mode == BRAID_ACCUMULATE || at >= touched->added);
    uint32_t *last = mode == BRAID_READ         ? &touched->read
                     : mode == BRAID_ACCUMULATE ? &touched->added
                                                : &touched->written;
    *last = at > *last ? at : *last;
    return kept;
}

static braid_status check_order(const struct proof *proof, const struct graph_units *units,
                                const struct graph_segments *segments, struct touched *touched)
{
    for (uint32_t i = 0; i < graph_num_nodes(proof->program); i++) {
        uint32_t node = units->members[i], at = proof->units.index_of[node] + 1;
        const struct graph_node *graph_node = &graph_nodes(proof->program)[node];
        for (uint32_t k = 0; k < graph_node->num_accesses; k++) {
            const struct graph_access *access =
                access_of(proof->program, graph_node->first_access + k);
            for (uint32_t s = segments->first[access->resource];
                 s < segments->end[access->resource]; s++) {
                if (!touch(&touched[s], access->mode, at))
                    return braid_error(
                        BRAID_INTERNAL,
                        "the plan has node %s use '%s' in another order than the graph",
                        name_of(proof, node).text, buffer_name(proof, access->resource));
            }
        }
    }
    return BRAID_OK;
}

// The walk's order is one that the accesses of the program's graph allow; that its edges are kept
// is proved with the steps.
static braid_status prove_order(const struct proof *proof)
{
    struct graph_units units = { 0 };
    struct graph_segments segments = { 0 };
    braid_status status = braid_graph_find_units(proof->program, &units);
    if (!status)
        status = braid_graph_find_segments(proof->program, &segments);
    struct touched *touched =
        braid_allocate_zeroed((size_t)segments.num_segments + 1, sizeof(*touched));
    if (!status && !touched)
        status = braid_error_no_memory("the proof of a plan");
    if (!status)
        status = check_order(proof, &units, &segments, touched);
    braid_free(touched);
    braid_graph_segments_finish(&segments);
    braid_graph_units_finish(&units);
    return status;
}

static braid_status check_all(const struct proof *proof)
{
    const struct placed *placed = proof->placed;
    uint32_t num_nodes = placed->model.num_nodes;
    const struct array *theirs = &proof->program->edges, *ours = &proof->graph->edges;
    bool fits = num_nodes == graph_num_nodes(proof->program) &&
                graph_num_nodes(proof->graph) == num_nodes + placed->num_copies &&
                theirs->num == ours->num &&
                (!ours->num ||
                 memcmp(ours->items, theirs->items, ours->num * sizeof(struct graph_edge)) == 0);
    if (!fits)
        return braid_error(BRAID_INTERNAL, "the plan has other nodes or edges than the graph");
    braid_status status = verify_place_regions(placed, proof->program);
    for (uint32_t i = 0; i < num_nodes && !status; i++)
        status = check_node(proof, i);
    for (uint32_t i = 0; i < placed->num_copies && !status; i++)
        status = placed->copies[i].node == num_nodes + i
                     ? check_copy(proof, &placed->copies[i])
                     : braid_error(BRAID_INTERNAL, "the plan's copies are in disorder");
    return status;
}

braid_status braid_verify_placed(const struct placed *placed, const braid_graph *graph)
{
    struct proof proof = { .placed = placed, .program = graph, .graph = placed->graph };
    braid_status status = check_all(&proof);
    if (!status)
        status = verify_cells_create(placed, graph, &proof.cells);
    if (!status)
        status = braid_graph_find_units(placed->graph, &proof.units);
    if (!status)
        status = prove_order(&proof);
    if (!status)
        status = walk_nodes(&proof);
    braid_graph_units_finish(&proof.units);
    verify_cells_finish(&proof.cells);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
// A frame of a record as a captured graph. Operations are its nodes, and a launch of a graph has
// that graph's nodes. Records and waits of events, and the host's own waits, only pass orders on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/import.h"

enum { MOST_DEPTH = 16 };

struct reader {
    const struct import_recorded *recorded;
    const braid_record_contents *record;
    const braid_import_options *options;
    struct captured_graph *captured;
};

struct place {
    const char *prefix;
    uint32_t region, operation, depth;
};

// The nodes of a piece of work, between which all others of it stand.
struct ends {
    uint32_t first, last;
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("a recorded frame");
}

static braid_status put_edge(const struct reader *reader, uint32_t from, uint32_t to)
{
    const struct import_edge edge = { from, to };
    return braid_array_put(&reader->captured->edges, &edge, sizeof(edge)) ? BRAID_OK : no_memory();
}

static braid_status put_node(const struct reader *reader, const struct captured_node *node,
                             struct ends *out_ends)
{
    out_ends->first = out_ends->last = (uint32_t)reader->captured->nodes.num;
    return braid_array_put(&reader->captured->nodes, node, sizeof(*node)) ? BRAID_OK : no_memory();
}

// ---- kernels ----

static const char *text_of(const struct reader *reader, const braid_record_kernel *kernel)
{
    if (kernel->module == BRAID_RECORD_NONE)
        return NULL;
    const braid_record_module *module = &reader->record->modules[kernel->module];
    return module->kind == BRAID_RECORD_PTX ? module->text : NULL;
}

static const char *why_unknown(const braid_record_kernel *kernel, const braid_record_work *work)
{
    if (kernel->num_parameters == BRAID_RECORD_NONE)
        return "the driver does not tell its parameters";
    return kernel->num_parameters && !work->parameters ? "its parameters are not recorded" : NULL;
}

static bool fits(const struct reader *reader, const braid_record_kernel *kernel,
                 const braid_record_work *work)
{
    for (uint32_t i = 0; i < kernel->num_parameters; i++) {
        const braid_record_parameter *of = &reader->record->parameters[kernel->first_parameter + i];
        if ((uint64_t)of->offset + of->bytes > work->parameter_bytes)
            return false;
    }
    return true;
}

static braid_status add_function(const struct reader *reader, const braid_record_kernel *kernel,
                                 const char *why, uint32_t *out_function)
{
    struct captured_graph *captured = reader->captured;
    struct captured_function added = { .name = kernel->name,
                                       .first_param = (uint32_t)captured->params.num,
                                       .num_params = why ? 0 : kernel->num_parameters,
                                       .text = text_of(reader, kernel),
                                       .why = why };
    *out_function = (uint32_t)captured->functions.num;
    for (uint32_t i = 0; i < added.num_params; i++) {
        const braid_record_parameter *of = &reader->record->parameters[kernel->first_parameter + i];
        const struct captured_param param = { of->offset, of->bytes };
        if (!braid_array_put(&captured->params, &param, sizeof(param)))
            return no_memory();
    }
    return braid_array_put(&captured->functions, &added, sizeof(added)) ? BRAID_OK : no_memory();
}

// Kernels of one name and text are one function.
static braid_status find_function(const struct reader *reader, const braid_record_kernel *kernel,
                                  const char *why, uint32_t *out_function)
{
    const struct captured_function *known = reader->captured->functions.items;
    for (size_t i = 0; i < reader->captured->functions.num; i++) {
        *out_function = (uint32_t)i;
        if (known[i].name == kernel->name && known[i].why == why &&
            known[i].text == text_of(reader, kernel))
            return BRAID_OK;
    }
    return add_function(reader, kernel, why, out_function);
}

static bool is_setter(const struct reader *reader, const braid_record_kernel *kernel)
{
    for (size_t i = 0; i < reader->options->num_setters; i++) {
        if (strcmp(reader->options->setters[i], kernel->name) == 0)
            return true;
    }
    return false;
}

static braid_status read_kernel(const struct reader *reader, const braid_record_work *work,
                                struct captured_node *node)
{
    struct captured_graph *captured = reader->captured;
    const braid_record_kernel *kernel = &reader->record->kernels[work->kernel];
    const char *why = why_unknown(kernel, work);
    if (!why && !fits(reader, kernel, work))
        why = "its parameters are not recorded";
    braid_status status = find_function(reader, kernel, why, &node->kernel.function);
    memcpy(node->kernel.grid, work->grid, sizeof(node->kernel.grid));
    memcpy(node->kernel.block, work->block, sizeof(node->kernel.block));
    memcpy(node->kernel.cluster, work->cluster, sizeof(node->kernel.cluster));
    node->kernel.shared_bytes = work->shared_bytes;
    node->kernel.cooperative = work->is_cooperative;
    node->kernel.first_byte = captured->bytes.num;
    node->is_setter = !why && is_setter(reader, kernel);
    for (uint32_t i = 0; i < kernel->num_parameters && !why && !status; i++) {
        const braid_record_parameter *of = &reader->record->parameters[kernel->first_parameter + i];
        const size_t bytes = ((size_t)of->bytes + 15) / 16 * 16;
        unsigned char *to = bytes ? braid_array_append(&captured->bytes, bytes, 1) : NULL;
        if (bytes && !to)
            return no_memory();
        if (bytes) {
            memset(to, 0, bytes);
            memcpy(to, (const unsigned char *)work->parameters + of->offset, of->bytes);
        }
    }
    return status;
}

// ---- copies and fills ----

static struct cuda_copy_side side_of(const braid_record_work *work, const braid_record_end *end)
{
    static const int types[] = {
        [BRAID_RECORD_ON_HOST] = GPU_MEMORY_UNIFIED, // its address is one of the process
        [BRAID_RECORD_ON_DEVICE] = GPU_MEMORY_DEVICE,
        [BRAID_RECORD_IN_ARRAY] = GPU_MEMORY_ARRAY,
        [BRAID_RECORD_ANYWHERE] = GPU_MEMORY_UNIFIED,
    };
    return (struct cuda_copy_side){ .x = end->x,
                                    .y = end->y,
                                    .z = end->z,
                                    .memory_type = types[end->place],
                                    .device = end->address,
                                    .pitch = end->pitch ? end->pitch : work->width,
                                    .height = end->rows ? end->rows : work->height };
}

static size_t one_at_least(uint64_t num)
{
    return num ? num : 1;
}

static void read_copy(const braid_record_work *work, struct captured_node *node)
{
    node->copy = (struct cuda_copy_parameters){ .from = side_of(work, &work->from),
                                                .to = side_of(work, &work->to),
                                                .width = work->width,
                                                .height = one_at_least(work->height),
                                                .depth = one_at_least(work->depth) };
    node->type = work->width ? GPU_NODE_COPY : GPU_NODE_EMPTY;
}

// Layers of a fill count as rows.
static void read_fill(const braid_record_work *work, struct captured_node *node)
{
    const uint32_t bytes = work->value_bytes ? work->value_bytes : 1;
    node->fill =
        (struct cuda_fill_parameters){ .to = work->to.address,
                                       .pitch = work->to.pitch ? work->to.pitch : work->width,
                                       .value = work->value,
                                       .value_bytes = bytes,
                                       .width = work->width / bytes,
                                       .height =
                                           one_at_least(work->height) * one_at_least(work->depth) };
    node->type = node->fill.width ? GPU_NODE_FILL : GPU_NODE_EMPTY;
}

// ---- graphs ----

static braid_status read_work(const struct reader *reader, const braid_record_work *work,
                              const struct place *place, uint32_t number, bool is_disabled,
                              struct ends *out_ends);

// Its nodes stand behind node `begin`; those that no other follows are told.
static braid_status read_graph(const struct reader *reader, uint32_t graph,
                               const struct place *place, uint32_t begin, struct array *leaves)
{
    const braid_record_graph *of = &reader->record->graphs[graph];
    struct store store = { 0 };
    struct ends *ends = braid_store_take(&store, of->num_nodes, sizeof(*ends));
    bool *is_followed = braid_store_take(&store, of->num_nodes, sizeof(*is_followed));
    braid_status status = store.failed ? no_memory() : BRAID_OK;
    for (uint32_t i = 0; i < of->num_nodes && !status; i++) {
        const braid_record_node *node = &reader->record->nodes[of->first_node + i];
        const uint32_t *befores = reader->record->befores + node->first_before;
        status = read_work(reader, &node->work, place, i, node->is_disabled, &ends[i]);
        if (!status && !node->num_befores && begin != IMPORT_NONE)
            status = put_edge(reader, begin, ends[i].first);
        for (uint32_t k = 0; k < node->num_befores && !status; k++) {
            is_followed[befores[k]] = true;
            status = put_edge(reader, ends[befores[k]].last, ends[i].first);
        }
    }
    for (uint32_t i = 0; i < of->num_nodes && !status; i++) {
        if (!is_followed[i] && leaves && !braid_array_put(leaves, &ends[i].last, sizeof(uint32_t)))
            status = no_memory();
    }
    braid_store_finish(&store);
    return status;
}

static braid_status read_child(const struct reader *reader, const braid_record_work *work,
                               const struct place *place, struct captured_node *node,
                               struct ends *out_ends)
{
    struct array leaves = { 0 };
    struct ends end = { 0 };
    const struct place inside = { node->place, place->region, place->operation, place->depth + 1 };
    node->type = GPU_NODE_EMPTY;
    node->recorded = NULL; // a body has no work of its own
    braid_status status = put_node(reader, node, out_ends);
    if (!status)
        status = read_graph(reader, work->graph, &inside, out_ends->first, &leaves);
    if (!status)
        status = put_node(reader, node, &end);
    out_ends->last = end.last;
    if (!status)
        status = put_edge(reader, out_ends->first, end.last);
    for (size_t i = 0; i < leaves.num && !status; i++)
        status = put_edge(reader, ((const uint32_t *)leaves.items)[i], end.last);
    braid_array_finish(&leaves);
    return status;
}

// Bodies stand one behind another in one region, so that no two of them seem to race.
static braid_status read_bodies(const struct reader *reader, const braid_record_work *work,
                                const struct place *place, struct captured_node *node,
                                struct ends *out_ends)
{
    struct array *regions = &reader->captured->regions;
    const struct place inside = { node->place, (uint32_t)regions->num, place->operation,
                                  place->depth + 1 };
    node->conditional.is_loop = work->condition == BRAID_RECORD_WHILE;
    node->conditional.regions[0] = work->num_bodies ? inside.region : 0;
    node->type = GPU_NODE_CONDITIONAL;
    braid_status status = put_node(reader, node, out_ends);
    const struct import_region body = { out_ends->first, out_ends->first + 1, 0 };
    struct ends before = { IMPORT_NONE, IMPORT_NONE };
    if (status || !work->num_bodies)
        return status;
    if (!braid_array_put(regions, &body, sizeof(body)))
        return no_memory();
    for (uint32_t i = 0; i < work->num_bodies && !status; i++) {
        const braid_record_work graph = { .kind = BRAID_RECORD_GRAPH,
                                          .name = "",
                                          .graph = work->graph + i };
        struct ends ends;
        status = read_work(reader, &graph, &inside, i, false, &ends);
        if (!status && before.last != IMPORT_NONE)
            status = put_edge(reader, before.last, ends.first);
        before = ends;
    }
    ((struct import_region *)regions->items)[inside.region].num =
        (uint32_t)reader->captured->nodes.num - body.first;
    return status;
}

static braid_status read_work(const struct reader *reader, const braid_record_work *work,
                              const struct place *place, uint32_t number, bool is_disabled,
                              struct ends *out_ends)
{
    const bool has_graph =
        work->kind == BRAID_RECORD_GRAPH || work->kind == BRAID_RECORD_CONDITIONAL;
    struct captured_node node = { .type = GPU_NODE_EMPTY,
                                  .region = place->region,
                                  .recorded = work,
                                  .operation = place->operation };
    braid_status status = BRAID_OK;
    snprintf(node.place, sizeof(node.place), "%.24s%s%u", place->prefix,
             place->prefix[0] ? "." : "", number);
    if (has_graph && place->depth == MOST_DEPTH)
        return braid_error(BRAID_UNSUPPORTED,
                           "operation %u of the record has graphs in too many "
                           "others",
                           place->operation);
    if (is_disabled)
        return put_node(reader, &node, out_ends);
    switch (work->kind) {
    case BRAID_RECORD_GRAPH:
        return read_child(reader, work, place, &node, out_ends);
    case BRAID_RECORD_CONDITIONAL:
        return read_bodies(reader, work, place, &node, out_ends);
    case BRAID_RECORD_KERNEL:
        node.type = GPU_NODE_KERNEL;
        status = read_kernel(reader, work, &node);
        break;
    case BRAID_RECORD_COPY:
        read_copy(work, &node);
        break;
    case BRAID_RECORD_FILL:
        read_fill(work, &node);
        break;
    case BRAID_RECORD_HOST_CALL:
    case BRAID_RECORD_UNKNOWN:
        node.type = GPU_NODE_HOST;
        break;
    default:
        break; // passes orders on
    }
    return status ? status : put_node(reader, &node, out_ends);
}

// ---- the frame ----

static braid_status read_operations(const struct reader *reader)
{
    const struct import_recorded *recorded = reader->recorded;
    const uint32_t num = recorded->end - recorded->first;
    struct store store = { 0 };
    struct ends *ends = braid_store_take(&store, num, sizeof(*ends));
    braid_status status = ends || !num ? BRAID_OK : no_memory();
    for (uint32_t i = 0; i < num && !status; i++) {
        const braid_record_operation *of = &reader->record->operations[recorded->first + i];
        const struct place place = { "", 0, recorded->first + i, 0 };
        status = read_work(reader, &of->work, &place, i, false, &ends[i]);
        for (uint32_t k = 0; k < of->num_befores && !status; k++) {
            const uint32_t before = reader->record->befores[of->first_before + k];
            if (before >= recorded->first)
                status = put_edge(reader, ends[before - recorded->first].last, ends[i].first);
        }
    }
    braid_store_finish(&store);
    return status;
}

static int compare_edges(const void *left, const void *right)
{
    const struct import_edge *a = left, *b = right;
    return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
                              : (a->to > b->to) - (a->to < b->to);
}

braid_status braid_import_read_recorded(const struct import_recorded *recorded,
                                        const braid_import_options *options,
                                        struct captured_graph *out_captured)
{
    struct captured_graph captured = { 0 };
    const struct reader reader = { recorded, recorded->record, options, &captured };
    const struct import_region all = { IMPORT_NONE, 0, 0 };
    braid_status status =
        braid_array_put(&captured.regions, &all, sizeof(all)) ? BRAID_OK : no_memory();
    if (!status)
        status = read_operations(&reader);
    if (!status)
        ((struct import_region *)captured.regions.items)[0].num = (uint32_t)captured.nodes.num;
    if (!status && captured.edges.num)
        qsort(captured.edges.items, captured.edges.num, sizeof(struct import_edge), compare_edges);
    if (status)
        braid_captured_finish(&captured);
    else
        *out_captured = captured;
    return status;
}

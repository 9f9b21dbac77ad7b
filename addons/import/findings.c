// SPDX-License-Identifier: Apache-2.0
// Findings of an import: functions by the number of their nodes, and levels of nodes.
#include "import/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "import/costs.h"

// Words and accesses, which takes less than a second.
enum { MOST_STEPS = 250000000 };

// ---- functions ----

static int compare_numbers(uint32_t left, uint32_t right)
{
    return left < right ? -1 : left > right;
}

static int compare_functions(const struct finding_node *left, const struct finding_node *right)
{
    const int by_type = left->type < right->type ? -1 : left->type > right->type;
    return by_type ? by_type : strcmp(left->name, right->name);
}

static int compare_reasons(const struct finding_node *left, const struct finding_node *right)
{
    if (!left->reason || !right->reason)
        return 0;
    const int by_line = compare_numbers(left->reason->line, right->reason->line);
    return by_line ? by_line : strcmp(left->reason->text, right->reason->text);
}

// The largest come first. Nodes of one reason stay as they were captured.
static int compare_nodes(const void *left_item, const void *right_item)
{
    const struct finding_node *left = left_item, *right = right_item;
    int order = compare_numbers(right->of_function, left->of_function);
    if (!order)
        order = compare_functions(left, right);
    if (!order)
        order = compare_numbers(right->of_reason, left->of_reason);
    if (!order)
        order = compare_reasons(left, right);
    if (!order && left->reason && right->reason)
        order = compare_numbers(left->reason->node, right->reason->node);
    return order;
}

static void count_functions(struct finding_node *nodes, uint32_t num)
{
    for (uint32_t first = 0, end; first < num; first = end) {
        for (end = first; end < num && !compare_functions(&nodes[first], &nodes[end]);)
            end++;
        for (uint32_t i = first; i < end; i++)
            nodes[i].of_function = end - first;
    }
}

static void count_reasons(struct finding_node *nodes, uint32_t num)
{
    for (uint32_t first = 0, end; first < num; first = end) {
        for (end = first; end < num && !compare_functions(&nodes[first], &nodes[end]) &&
                          !compare_reasons(&nodes[first], &nodes[end]);)
            end++;
        for (uint32_t i = first; i < end; i++)
            nodes[i].of_reason = end - first;
    }
}

// The first sort brings equal nodes together, so that they can be counted for the second.
static bool sort_nodes(struct finding_node *nodes, uint32_t num, struct array *out_functions)
{
    if (num == 0)
        return true;
    qsort(nodes, num, sizeof(*nodes), compare_nodes);
    count_functions(nodes, num);
    count_reasons(nodes, num);
    qsort(nodes, num, sizeof(*nodes), compare_nodes);
    for (uint32_t first = 0; first < num; first += nodes[first].of_function) {
        const struct finding_function function = { first, nodes[first].of_function, 0 };
        if (!braid_array_put(out_functions, &function, sizeof(function)))
            return false;
    }
    return true;
}

struct finding_node braid_import_find_node(const braid_import *import, uint32_t node)
{
    const struct captured_node *of = &captured_nodes(&import->captured)[node];
    return (struct finding_node){
        .type = of->type,
        .name = of->type == GPU_NODE_KERNEL ? captured_function_of(&import->captured, of)->name
                                            : braid_captured_kind(of->type),
        .place = of->place,
    };
}

static bool find_unproven(struct import_findings *findings)
{
    const struct import_reason *reasons = findings->import->uses.reasons.items;
    const uint32_t num = (uint32_t)findings->import->uses.reasons.num;
    findings->nodes = braid_allocate_zeroed(num, sizeof(*findings->nodes));
    if (!findings->nodes)
        return false;
    for (uint32_t i = 0; i < num; i++) {
        findings->nodes[i] = braid_import_find_node(findings->import, reasons[i].node);
        findings->nodes[i].reason = &reasons[i];
    }
    return sort_nodes(findings->nodes, num, &findings->functions);
}

static bool find_kernels(struct import_findings *findings)
{
    const braid_import *import = findings->import;
    uint32_t num = 0;
    findings->kernels =
        braid_allocate_zeroed(import->captured.nodes.num, sizeof(*findings->kernels));
    if (!findings->kernels)
        return false;
    for (uint32_t i = 0; i < import->captured.nodes.num; i++) {
        if (captured_nodes(&import->captured)[i].type == GPU_NODE_KERNEL)
            findings->kernels[num++] = braid_import_find_node(import, i);
    }
    return sort_nodes(findings->kernels, num, &findings->names);
}

// ---- costs ----

static void take_costs(struct import_findings *findings, uint32_t num, const uint32_t *longest)
{
    struct finding_function *functions = findings->functions.items;
    findings->longest_of_all = longest[0];
    for (uint32_t i = 0; i < num; i++)
        functions[i].longest = longest[i + 1];
}

static bool find_costs(struct import_findings *findings)
{
    const struct import_order order = braid_import_order(findings->import);
    const struct finding_function *functions = findings_functions(&findings->functions);
    uint32_t longest[FINDING_COSTS + 1];
    const uint32_t num =
        findings->functions.num < FINDING_COSTS ? (uint32_t)findings->functions.num : FINDING_COSTS;
    if (num == 0 || order.num_regions > 1) // paths through bodies have no costs
        return true;
    uint16_t *group_of = braid_allocate_zeroed(order.num_nodes, sizeof(*group_of));
    if (!group_of)
        return false;
    for (uint32_t i = 0; i < findings->functions.num; i++) {
        for (uint32_t k = functions[i].first; k < functions[i].first + functions[i].num; k++)
            group_of[findings->nodes[k].reason->node] =
                i < num ? (uint16_t)(i + 1) : (uint16_t)COST_NO_GROUP;
    }
    const bool is_done =
        braid_import_find_costs(&order, group_of, num, MOST_STEPS, longest, &findings->is_cut);
    if (is_done && !findings->is_cut)
        take_costs(findings, num, longest);
    braid_free(group_of);
    return is_done;
}

// ---- levels ----

// A conditional node has no level of its own. Nodes of its bodies begin at the level that it would
// have, and nodes behind it follow its longest body.
static void count_levels(struct import_findings *findings, uint32_t *before, uint32_t *end)
{
    const braid_import *import = findings->import;
    const struct captured_node *nodes = captured_nodes(&import->captured);
    const struct import_region *regions = captured_regions(&import->captured);
    const struct import_edge *edges = import->orders.edges.items;
    size_t edge = 0;
    for (uint32_t node = 0; node < import->captured.nodes.num; node++) {
        uint32_t around = regions[nodes[node].region].owner;
        before[node] = around == IMPORT_NONE ? 0 : before[around];
        for (; edge < import->orders.edges.num && edges[edge].to == node; edge++) {
            if (before[node] < end[edges[edge].from])
                before[node] = end[edges[edge].from];
        }
        if (!import->uses.is_work[node])
            continue;
        end[node] = before[node] + 1;
        for (; around != IMPORT_NONE && end[around] < end[node];
             around = regions[nodes[around].region].owner)
            end[around] = end[node];
        if (nodes[node].type == GPU_NODE_CONDITIONAL)
            continue;
        const uint32_t width = ++findings->levels[before[node]];
        findings->widest = width > findings->widest ? width : findings->widest;
        findings->num_work++;
    }
}

static bool find_levels(struct import_findings *findings)
{
    const size_t num = findings->import->captured.nodes.num;
    uint32_t *rows = braid_allocate_zeroed(2 * num, sizeof(*rows));
    findings->num_levels = findings->import->info.longest_kept;
    findings->levels = braid_allocate_zeroed(findings->num_levels, sizeof(uint32_t));
    const bool is_done = rows && findings->levels;
    if (is_done)
        count_levels(findings, rows, rows + num);
    braid_free(rows);
    return is_done;
}

bool braid_import_find(const braid_import *import, struct import_findings *out_findings)
{
    *out_findings = (struct import_findings){ .import = import };
    return find_unproven(out_findings) && find_costs(out_findings) && find_kernels(out_findings) &&
           find_levels(out_findings);
}

void braid_import_findings_finish(struct import_findings *findings)
{
    braid_free(findings->nodes);
    braid_free(findings->kernels);
    braid_free(findings->levels);
    braid_array_finish(&findings->functions);
    braid_array_finish(&findings->names);
}

// SPDX-License-Identifier: Apache-2.0
// Kahn's algorithm, first come first served. The remaining nodes hold a cycle, which is named.
#include "plan/plan_build.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"
#include "plan/plan_text.h"

// The cycle is a walk backward: each unit with the edge that leads on to the unit before it here.
struct cycle {
    uint32_t *units; // against the direction of the edges
    uint32_t *edges; // edges[i] leads from units[i] to units[i - 1], edges[0] to the last
    uint32_t num;
    int longest_name; // that the message shows, in bytes
};

// A name as far as the message has room for it.
static struct node_text name_node(const struct plan_graph *plan, const struct cycle *cycle,
                                  uint32_t node)
{
    struct node_text name;
    snprintf(name.text, sizeof(name.text), "%.*s", cycle->longest_name,
             braid_plan_node_name(plan, node));
    return braid_node_text(node, name.text);
}

static struct node_text name_unit(const struct plan_graph *plan, const struct cycle *cycle,
                                  uint32_t unit)
{
    return name_node(plan, cycle, plan_main_of(plan, unit));
}

// Tells the origin of each edge that the program did not add itself, and tells of each bundle that
// it is one. Either can make a cycle that the program's own edges do not show.
static void add_reasons(const struct plan_graph *plan, const struct cycle *cycle,
                        struct plan_text *text)
{
    const char *separator = " (";
    for (uint32_t k = cycle->num; k-- > 0;) {
        uint32_t from = cycle->units[k];
        uint32_t to = cycle->units[k ? k - 1 : cycle->num - 1];
        uint32_t reason = plan->pred_reasons ? plan->pred_reasons[cycle->edges[k]] : PLAN_BY_EDGE;
        if (reason != PLAN_BY_EDGE) {
            plan_text_add(text, "%s%s -> %s by ", separator, name_unit(plan, cycle, from).text,
                          name_unit(plan, cycle, to).text);
            if (reason == PLAN_BY_HINT)
                plan_text_add(text, "lane hint %u", plan->hint_of[from]);
            else
                plan_text_add(text, "'%.*s'", cycle->longest_name,
                              braid_plan_resource_name(plan, plan->links[reason].resource));
            separator = ", ";
        }
        if (plan_unit_size(plan, from) > 1) {
            plan_text_add(text, "%s%s is a bundle:", separator, name_unit(plan, cycle, from).text);
            for (uint32_t i = 0; i < plan_unit_size(plan, from); i++)
                plan_text_add(text, " %s",
                              name_node(plan, cycle, plan_unit_member(plan, from, i)).text);
            separator = ", ";
        }
    }
    if (separator[0] == ',')
        plan_text_add(text, ")");
}

static void write_cycle(const struct plan_graph *plan, const struct cycle *cycle,
                        struct plan_text *text)
{
    enum { MOST_NAMES = 16 };
    uint32_t last = cycle->num - 1;
    plan_text_add(text, "cycle: %s", name_unit(plan, cycle, cycle->units[last]).text);
    for (uint32_t k = last; k-- > 0;) {
        if (cycle->num > MOST_NAMES && last - k == MOST_NAMES / 2) {
            uint32_t skipped = cycle->num - MOST_NAMES;
            plan_text_add(text, " -> (%u more)", skipped);
            k -= skipped;
        }
        plan_text_add(text, " -> %s", name_unit(plan, cycle, cycle->units[k]).text);
    }
    plan_text_add(text, " -> %s", name_unit(plan, cycle, cycle->units[last]).text);
    if (cycle->num <= MOST_NAMES)
        add_reasons(plan, cycle, text);
}

// Long names are shortened until all of the message has room, its reasons included.
static braid_status report_cycle(const struct plan_graph *plan, struct cycle *cycle)
{
    static const int lengths[] = { 140, 40, 15 };
    char line[900];
    struct plan_text text = { .size = 0 };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        cycle->longest_name = lengths[i];
        text = (struct plan_text){ .bytes = line, .size = sizeof(line) };
        write_cycle(plan, cycle, &text);
        if (text.used + 1 < text.size)
            break;
    }
    return braid_error(BRAID_CYCLE, "%s", line);
}

// An edge to some node of a unit from a unit that is left over too; PLAN_NONE where it has none.
static uint32_t find_left_edge(const struct plan_graph *plan, const uint32_t *left, uint32_t unit)
{
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
            if (left[plan_unit_of(plan, plan->pred_nodes[e])])
                return e;
        }
    }
    return PLAN_NONE;
}

// Every unit that Kahn left over has a predecessor left over: walking back along the first such
// must come round. `left` counts down to zero only for ordered units.
static void walk_back(const struct plan_graph *plan, const uint32_t *left, uint32_t *step_of,
                      struct cycle *walk)
{
    uint32_t unit = 0;
    while (left[unit] == 0)
        unit++;
    uint32_t num = 0;
    uint32_t edge_here = PLAN_NONE; // the edge by which the walk came to `unit`
    while (step_of[unit] == 0) {
        walk->units[num] = unit;
        walk->edges[num] = edge_here;
        step_of[unit] = ++num;
        edge_here = find_left_edge(plan, left, unit);
        unit = plan_unit_of(plan, plan->pred_nodes[edge_here]);
    }
    uint32_t first = step_of[unit] - 1;
    walk->num = num - first;
    memmove(walk->units, walk->units + first, walk->num * sizeof(*walk->units));
    memmove(walk->edges, walk->edges + first, walk->num * sizeof(*walk->edges));
    walk->edges[0] = edge_here;
}

// Turns the cycle so that it is told from the unit that was added first.
static void start_at_lowest(struct cycle *cycle, uint32_t *spare)
{
    uint32_t lowest = 0;
    for (uint32_t k = 1; k < cycle->num; k++) {
        if (cycle->units[k] < cycle->units[lowest])
            lowest = k;
    }
    uint32_t *const arrays[] = { cycle->units, cycle->edges };
    for (int a = 0; a < 2; a++) {
        for (uint32_t k = 0; k < cycle->num; k++)
            spare[(k + cycle->num - 1 - lowest) % cycle->num] = arrays[a][k];
        memcpy(arrays[a], spare, cycle->num * sizeof(*spare));
    }
}

static braid_status name_cycle(const struct plan_graph *plan, const uint32_t *left)
{
    size_t num = plan->num_units;
    struct cycle cycle = {
        .units = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .edges = braid_allocate_zeroed(num, sizeof(uint32_t)),
    };
    uint32_t *step_of = braid_allocate_zeroed(num, sizeof(uint32_t));
    braid_status status;
    if (cycle.units && cycle.edges && step_of) {
        walk_back(plan, left, step_of, &cycle);
        start_at_lowest(&cycle, step_of);
        status = report_cycle(plan, &cycle);
    } else {
        status = braid_error_no_memory("the names of a cycle");
    }
    free(cycle.units);
    free(cycle.edges);
    free(step_of);
    return status;
}

// Lists a unit's nodes as the next in order.
static void add_unit(struct plan_graph *plan, uint32_t unit, uint32_t *num)
{
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++)
        plan->order[(*num)++] = plan_unit_member(plan, unit, i);
}

// The order is the queue as well: nodes behind `done` are ready. Returns how many it holds.
static uint32_t order_nodes(struct plan_graph *plan, uint32_t *left)
{
    uint32_t num = 0;
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        left[unit] = plan_num_preds(plan, unit);
        if (left[unit] == 0)
            add_unit(plan, unit, &num);
    }
    for (uint32_t done = 0; done < num; done++) {
        uint32_t node = plan->order[done];
        for (uint32_t i = plan->succ_first[node]; i < plan->succ_first[node + 1]; i++) {
            uint32_t unit = plan_unit_of(plan, plan->succ_nodes[i]);
            if (--left[unit] == 0)
                add_unit(plan, unit, &num);
        }
    }
    return num;
}

braid_status braid_plan_order_create(struct plan_graph *plan)
{
    uint32_t *left = malloc(((size_t)plan->num_units + 1) * sizeof(*left));
    plan->order = malloc(((size_t)plan->num_nodes + 1) * sizeof(*plan->order));
    if (!left || !plan->order) {
        free(left);
        return braid_error_no_memory("the order of a plan");
    }
    braid_status status = BRAID_OK;
    if (order_nodes(plan, left) < plan->num_nodes)
        status = name_cycle(plan, left);
    free(left);
    return status;
}

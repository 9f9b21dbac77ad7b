// SPDX-License-Identifier: Apache-2.0
// The words that conditional nodes run by.
//
// The captured graph sets a handle from the word before the node, and at the end of each body of a
// loop. Braid reads the word where the node begins, and behind each body. Both see the same value
// if no node writes the word in between.
#include "import/conditions.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/store.h"

struct checker {
    const struct captured_graph *captured;
    const struct import_uses *uses;
    const struct import_code *code; // by function
    const braid_import_options *options;
    const struct import_access **accesses; // by node: its first; NULL: it has none
    bool *near_one; // by node: it is of no record, or a conditional node is in its launch
    size_t words;   // a row of bits has so many
    uint32_t node;  // the conditional one at hand
};

static const struct captured_node *node_at(const struct checker *checker, uint32_t index)
{
    return &captured_nodes(checker->captured)[index];
}

static const braid_import_conditional *told_of(const struct checker *checker)
{
    return node_at(checker, checker->node)->conditional.told;
}

// Launches of a record may have the same handles.
static bool is_beside(const struct checker *checker, uint32_t one, uint32_t other)
{
    return node_at(checker, one)->operation == node_at(checker, other)->operation;
}

__attribute__((format(printf, 2, 3))) static braid_status refuse(const struct checker *checker,
                                                                 const char *format, ...)
{
    char why[240];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return braid_error(BRAID_UNSUPPORTED, "node %s of the captured graph, a conditional node: %s",
                       node_at(checker, checker->node)->place, why);
}

// ---- setters ----

static bool is_parameter(const struct checker *checker, uint32_t node, uint32_t index,
                         uint64_t value)
{
    const struct captured_function *function =
        captured_function_of(checker->captured, node_at(checker, node));
    return captured_params_of(checker->captured, function)[index].bytes == sizeof(value) &&
           memcmp(braid_captured_argument(checker->captured, node_at(checker, node), index), &value,
                  sizeof(value)) == 0;
}

static uint32_t num_parameters(const struct checker *checker, uint32_t node)
{
    return captured_function_of(checker->captured, node_at(checker, node))->num_params;
}

static bool has_parameter(const struct checker *checker, uint32_t node, uint64_t value)
{
    for (uint32_t i = 0; i < num_parameters(checker, node); i++) {
        if (is_parameter(checker, node, i, value))
            return true;
    }
    return false;
}

// Any conditional node that a kernel has a handle of; NULL: it has none.
static const braid_import_conditional *find_told(const struct checker *checker, uint32_t node)
{
    const braid_import_conditional *told = checker->options->conditionals;
    for (size_t i = 0; i < checker->options->num_conditionals; i++) {
        if (has_parameter(checker, node, told[i].handle) ||
            (told[i].otherwise && has_parameter(checker, node, told[i].otherwise_handle)))
            return &told[i];
    }
    return NULL;
}

static bool sets_handle(const struct checker *checker, uint32_t node, uint64_t handle)
{
    const struct captured_node *of = node_at(checker, node);
    return of->is_understood ? of->set_handle == handle : has_parameter(checker, node, handle);
}

static bool has_word(const struct checker *checker, uint32_t node, uint64_t word)
{
    const struct captured_node *of = node_at(checker, node);
    return of->is_understood ? of->set_word == word : has_parameter(checker, node, word);
}

static bool is_known(const struct checker *checker, uint32_t node, uint32_t index, uint64_t word)
{
    const braid_import_conditional *told = checker->options->conditionals;
    bool known = is_parameter(checker, node, index, word);
    for (size_t i = 0; i < checker->options->num_conditionals && !known; i++)
        known = is_parameter(checker, node, index, told[i].handle) ||
                (told[i].otherwise && is_parameter(checker, node, index, told[i].otherwise_handle));
    return known;
}

static braid_status check_setter(const struct checker *checker, uint32_t node)
{
    const braid_import_conditional *told = find_told(checker, node);
    const char *name = captured_function_of(checker->captured, node_at(checker, node))->name;
    bool known = told != NULL;
    if (node_at(checker, node)->is_understood)
        return BRAID_OK;
    for (uint32_t i = 0; i < num_parameters(checker, node) && known; i++)
        known = is_known(checker, node, i, (uintptr_t)told->condition);
    if (known)
        return BRAID_OK;
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s of the captured graph, setter '%s', has a parameter that is "
                       "neither a handle of the list nor that node's word",
                       node_at(checker, node)->place, name);
}

// Whether a parameter has the value at any place.
static bool has_part(const struct checker *checker, uint32_t node, uint64_t value)
{
    enum { STEP = 4 };
    const struct captured_function *function =
        captured_function_of(checker->captured, node_at(checker, node));
    const struct captured_param *params = captured_params_of(checker->captured, function);
    for (uint32_t i = 0; i < function->num_params; i++) {
        const unsigned char *argument =
            braid_captured_argument(checker->captured, node_at(checker, node), i);
        for (uint32_t at = 0; at + sizeof(value) <= params[i].bytes; at += STEP) {
            if (memcmp(argument + at, &value, sizeof(value)) == 0)
                return true;
        }
    }
    return false;
}

static bool has_part_of_told(const struct checker *checker, uint32_t node)
{
    const braid_import_conditional *told = checker->options->conditionals;
    for (size_t i = 0; i < checker->options->num_conditionals; i++) {
        if (has_part(checker, node, told[i].handle) ||
            (told[i].otherwise && has_part(checker, node, told[i].otherwise_handle)))
            return true;
    }
    return false;
}

// Known code that calls nobody else sets no condition: any number may be equal to a handle. Nobody
// looks into structs of a kernel without text, whose numbers are often equal to one.
static bool may_set(const struct checker *checker, uint32_t node)
{
    if (!checker->near_one[node])
        return false;
    if (captured_function_of(checker->captured, node_at(checker, node))->why)
        return true; // nobody knows its parameters
    const struct import_code *code = &checker->code[node_at(checker, node)->kernel.function];
    if (!code->num_texts)
        return find_told(checker, node);
    return code->calls_out && has_part_of_told(checker, node);
}

static braid_status check_kernel(const struct checker *checker, uint32_t node)
{
    if (!may_set(checker, node))
        return BRAID_OK;
    return braid_error(BRAID_UNSUPPORTED,
                       "node %s of the captured graph, kernel '%s', may set the "
                       "condition whose handle it has: no list names it as a setter",
                       node_at(checker, node)->place,
                       captured_function_of(checker->captured, node_at(checker, node))->name);
}

// ---- writers ----

static bool writes_word(const struct checker *checker, uint32_t node)
{
    const struct import_access *all = checker->uses->accesses.items;
    const struct import_access *end = all ? all + checker->uses->accesses.num : NULL;
    if (!checker->uses->proven[node])
        return true;
    for (const struct import_access *own = checker->accesses[node];
         own && own < end && own->node == node; own++) {
        for (const struct import_access *word = checker->accesses[checker->node];
             own->writes && word && word < end && word->node == checker->node; word++) {
            if (own->buffer == word->buffer && own->buffer != USE_CONDITIONS)
                return true;
        }
    }
    return false;
}

// The node of a region that a node is, or is inside of.
static uint32_t lift(const struct checker *checker, uint32_t node, uint32_t region)
{
    while (node_at(checker, node)->region != region)
        node = captured_regions(checker->captured)[node_at(checker, node)->region].owner;
    return node;
}

// Each node of the region that may write the word stands before the setter, or behind the
// conditional node.
static braid_status check_writers(const struct checker *checker, uint32_t setter,
                                  const uint64_t *before_setter, const uint64_t *behind_node)
{
    const uint32_t index = node_at(checker, setter)->region;
    const struct import_region *region = &captured_regions(checker->captured)[index];
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        const uint32_t node = lift(checker, i, index);
        if (node == checker->node || captured_has(before_setter, node) ||
            captured_has(behind_node, node) || !writes_word(checker, i))
            continue;
        return refuse(checker,
                      "node %s may write its word behind node %s, which hands the word to it",
                      node_at(checker, i)->place, node_at(checker, setter)->place);
    }
    return BRAID_OK;
}

// ---- each conditional node ----

// The setter in a region.
static braid_status find_setter(const struct checker *checker, uint64_t handle, uint32_t region,
                                const char *where, uint32_t *out_setter)
{
    *out_setter = IMPORT_NONE;
    for (uint32_t i = 0; i < checker->captured->nodes.num; i++) {
        if (!node_at(checker, i)->is_setter || node_at(checker, i)->region != region ||
            !is_beside(checker, i, checker->node) || !sets_handle(checker, i, handle))
            continue;
        if (*out_setter != IMPORT_NONE)
            return refuse(checker, "nodes %s and %s both set its handle %s",
                          node_at(checker, *out_setter)->place, node_at(checker, i)->place, where);
        *out_setter = i;
    }
    if (*out_setter == IMPORT_NONE)
        return refuse(checker, "no setter sets its handle %s", where);
    if (!has_word(checker, *out_setter, (uintptr_t)told_of(checker)->condition))
        return refuse(checker, "node %s sets its handle from another word",
                      node_at(checker, *out_setter)->place);
    return BRAID_OK;
}

static braid_status refuse_others(const struct checker *checker, uint64_t handle,
                                  const uint32_t *setters)
{
    for (uint32_t i = 0; i < checker->captured->nodes.num; i++) {
        if (node_at(checker, i)->is_setter && i != setters[0] && i != setters[1] &&
            is_beside(checker, i, checker->node) && sets_handle(checker, i, handle))
            return refuse(checker, "node %s sets its handle, in another graph",
                          node_at(checker, i)->place);
    }
    return BRAID_OK;
}

// The setter before the node hands over the value that the node finds. *rows: three of bits.
static braid_status check_first(const struct checker *checker, uint32_t setter, uint64_t *rows)
{
    uint64_t *before = rows, *behind = rows + checker->words, *none = behind + checker->words;
    braid_captured_mark_behind(checker->captured, setter, none);
    if (!captured_has(none, checker->node))
        return refuse(checker, "node %s sets its handle, and is not ordered before it",
                      node_at(checker, setter)->place);
    braid_captured_mark_before(checker->captured, setter, before);
    braid_captured_mark_behind(checker->captured, checker->node, behind);
    return check_writers(checker, setter, before, behind);
}

// *rows: three of bits.
static braid_status check_handle(const struct checker *checker, uint64_t handle, uint64_t *rows)
{
    const struct captured_node *node = node_at(checker, checker->node);
    const bool is_loop = told_of(checker)->kind == BRAID_IMPORT_WHILE;
    uint32_t setters[2] = { IMPORT_NONE, IMPORT_NONE };
    memset(rows, 0, 3 * checker->words * sizeof(*rows));
    braid_status status = BRAID_OK;
    if (!node->conditional.runs_first)
        status = find_setter(checker, handle, node->region, "in its own graph", &setters[0]);
    if (!status && is_loop)
        status =
            find_setter(checker, handle, node->conditional.regions[0], "in its body", &setters[1]);
    if (!status)
        status = refuse_others(checker, handle, setters);
    if (!status && setters[0] != IMPORT_NONE)
        status = check_first(checker, setters[0], rows);
    if (status || !is_loop)
        return status;
    memset(rows, 0, 3 * checker->words * sizeof(*rows));
    braid_captured_mark_before(checker->captured, setters[1], rows);
    return check_writers(checker, setters[1], rows, rows + checker->words);
}

// The second node of a branch moves to the first.
static braid_status check_otherwise(const struct checker *checker, uint64_t *rows)
{
    const struct captured_graph *captured = checker->captured;
    const struct import_edge *edges = captured->edges.items;
    uint32_t other = 0;
    bool is_behind = false;
    while (other < captured->nodes.num && node_at(checker, other)->is_otherwise != told_of(checker))
        other++;
    memset(rows, 0, checker->words * sizeof(*rows));
    braid_captured_mark_before(captured, checker->node, rows);
    for (size_t i = 0; i < captured->edges.num; i++) {
        if (edges[i].to != other)
            continue;
        is_behind = is_behind || edges[i].from == checker->node;
        if (edges[i].from != checker->node && !captured_has(rows, edges[i].from))
            return refuse(checker, "node %s stands between it and its second node",
                          node_at(checker, edges[i].from)->place);
    }
    return is_behind ? BRAID_OK : refuse(checker, "its second node does not stand right behind it");
}

static braid_status check_node(const struct checker *checker, uint64_t *rows)
{
    const braid_import_conditional *told = told_of(checker);
    braid_status status = check_handle(checker, told->handle, rows);
    if (!status && told->otherwise)
        status = check_handle(checker, told->otherwise_handle, rows);
    if (!status && told->otherwise)
        status = check_otherwise(checker, rows);
    return status;
}

// ---- all of them ----

// The nodes of a launch stand one behind another.
static void mark_launch(const struct checker *checker, uint32_t node)
{
    const uint32_t num = (uint32_t)checker->captured->nodes.num;
    if (checker->near_one[node])
        return;
    for (uint32_t i = node; i < num && is_beside(checker, i, node); i++)
        checker->near_one[i] = true;
    for (uint32_t i = node; i-- > 0 && is_beside(checker, i, node);)
        checker->near_one[i] = true;
}

static void mark_launches(const struct checker *checker)
{
    for (uint32_t i = 0; i < checker->captured->nodes.num; i++) {
        if (node_at(checker, i)->handle || node_at(checker, i)->type == GPU_NODE_CONDITIONAL)
            mark_launch(checker, i);
    }
}

static braid_status check_all(struct checker *checker, uint64_t *rows)
{
    const uint32_t num = (uint32_t)checker->captured->nodes.num;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        if (node_at(checker, i)->is_setter)
            status = check_setter(checker, i);
        else if (node_at(checker, i)->type == GPU_NODE_KERNEL)
            status = check_kernel(checker, i);
    }
    for (checker->node = 0; checker->node < num && !status; checker->node++) {
        if (node_at(checker, checker->node)->type == GPU_NODE_CONDITIONAL)
            status = check_node(checker, rows);
    }
    return status;
}

braid_status braid_import_check_conditions(const struct captured_graph *captured,
                                           const struct import_uses *uses,
                                           const struct import_code *code,
                                           const braid_import_options *options)
{
    struct store store = { 0 };
    struct checker checker = { .captured = captured,
                               .uses = uses,
                               .code = code,
                               .options = options,
                               .words = captured->nodes.num / 64 + 1 };
    const struct import_access *all = uses->accesses.items;
    checker.accesses = braid_store_take(&store, captured->nodes.num, sizeof(*checker.accesses));
    checker.near_one = braid_store_take(&store, captured->nodes.num, sizeof(*checker.near_one));
    uint64_t *rows = braid_store_take(&store, 3 * checker.words, sizeof(uint64_t));
    for (size_t i = uses->accesses.num; i-- > 0 && checker.accesses;)
        checker.accesses[all[i].node] = &all[i];
    if (!store.failed)
        mark_launches(&checker);
    braid_status status = store.failed ? braid_error_no_memory("the conditions of a captured graph")
                                       : check_all(&checker, rows);
    braid_store_finish(&store);
    return status;
}

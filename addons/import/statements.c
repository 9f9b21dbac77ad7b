// SPDX-License-Identifier: Apache-2.0
// Captured nodes whose memory the program states.
#include "import/statements.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"

static int compare_handles(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct stated_node *)left)->handle;
    const uintptr_t b = (uintptr_t)((const struct stated_node *)right)->handle;
    return (a > b) - (a < b);
}

static struct stated_node *find_node(const struct import_statements *statements, const void *handle)
{
    const struct stated_node wanted = { .handle = handle };
    return bsearch(&wanted, statements->by_handle, statements->captured->nodes.num, sizeof(wanted),
                   compare_handles);
}

static braid_status match_node(const struct import_statements *statements, size_t number,
                               size_t index, const braid_import_statement *statement)
{
    struct stated_node *found = find_node(statements, statement->nodes[index]);
    if (!found)
        return braid_error_invalid("braid_import_create: statement %zu names node %zu, which the "
                                   "captured graph does not have",
                                   number, index);
    if (found->statement)
        return braid_error_invalid("braid_import_create: statement %zu names node %s of the "
                                   "captured graph, which is named before",
                                   number, captured_nodes(statements->captured)[found->node].place);
    found->statement = statement;
    statements->by_node[found->node] = statement;
    return BRAID_OK;
}

static braid_status match_all(const struct import_statements *statements,
                              const braid_import_options *options)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < options->num_statements && !status; i++) {
        const braid_import_statement *statement = &options->statements[i];
        if (!statement->nodes || !statement->num_nodes ||
            (statement->num_ranges && !statement->ranges))
            return braid_error_invalid("braid_import_create: statement %zu has no nodes, or its "
                                       "ranges are NULL",
                                       i);
        for (size_t j = 0; j < statement->num_ranges; j++) {
            const braid_import_range *range = &statement->ranges[j];
            if ((uintptr_t)range->address > UINT64_MAX - range->bytes)
                return braid_error_invalid("braid_import_create: range %zu of statement %zu ends "
                                           "behind the last address",
                                           j, i);
        }
        for (size_t j = 0; j < statement->num_nodes && !status; j++)
            status = match_node(statements, i, j, statement);
    }
    return status;
}

braid_status braid_import_match_statements(const struct captured_graph *captured,
                                           const braid_import_options *options,
                                           struct import_statements *out_statements)
{
    struct import_statements made = { .captured = captured };
    const uint32_t num = (uint32_t)captured->nodes.num;
    if (!options->num_statements)
        return BRAID_OK;
    made.by_handle = braid_allocate_zeroed(num, sizeof(*made.by_handle));
    made.by_node = braid_allocate_zeroed(num, sizeof(*made.by_node));
    *out_statements = made;
    if (!made.by_handle || !made.by_node)
        return braid_error_no_memory("the statements of an import");
    for (uint32_t i = 0; i < num; i++)
        made.by_handle[i] = (struct stated_node){ captured_nodes(captured)[i].handle, i, NULL };
    if (num)
        qsort(made.by_handle, num, sizeof(*made.by_handle), compare_handles);
    return match_all(&made, options);
}

void braid_import_statements_finish(struct import_statements *statements)
{
    braid_free(statements->by_handle);
    braid_free(statements->by_node);
    *statements = (struct import_statements){ 0 };
}

const braid_import_statement *braid_import_statement_of(const struct import_statements *statements,
                                                        uint32_t node)
{
    return statements->by_node ? statements->by_node[node] : NULL;
}

const struct captured_node *braid_import_stated_node(const struct import_statements *statements,
                                                     const void *handle)
{
    return &captured_nodes(statements->captured)[find_node(statements, handle)->node];
}

bool braid_import_is_in_range(const braid_import_statement *statement, uint64_t address)
{
    for (size_t i = 0; i < statement->num_ranges; i++) {
        if (address - (uintptr_t)statement->ranges[i].address < statement->ranges[i].bytes)
            return true;
    }
    return false;
}

braid_status braid_import_check_confined(const char *function, const braid_import_options *options)
{
    if (options->num_confined && !options->confined)
        return braid_error_invalid("%s: a list of the options is NULL", function);
    for (size_t i = 0; i < options->num_confined; i++) {
        if (!options->confined[i])
            return braid_error_invalid("%s: confined kernel %zu is NULL", function, i);
    }
    return BRAID_OK;
}

bool braid_import_is_confined(const braid_import_options *options, const char *kernel)
{
    for (size_t i = 0; i < options->num_confined; i++) {
        if (strcmp(options->confined[i], kernel) == 0)
            return true;
    }
    return false;
}

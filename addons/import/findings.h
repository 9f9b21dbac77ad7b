// SPDX-License-Identifier: Apache-2.0
// Findings of an import, sorted for its report.
#ifndef BRAID_IMPORT_FINDINGS_H
#define BRAID_IMPORT_FINDINGS_H

#include "import/import.h"

// So many functions without proof get a cost, and so many of their nodes a place in the text.
enum { FINDING_COSTS = 16, FINDING_PLACES = 4 };

// A node, among all of its function or kind.
struct finding_node {
    uint32_t of_function, of_reason; // nodes with its name, and with its reason as well
    int type;                        // GPU_NODE_...
    const char *name;
    const char *place;
    const struct import_reason *reason; // NULL: it is not asked for
};

// A part of such nodes: a function, or a kind of other nodes.
struct finding_function {
    uint32_t first, num; // nodes of one reason stand behind each other
    uint32_t longest;    // path, if they were proven and shared no memory; 0: unknown
};

struct import_findings {
    const braid_import *import;
    struct finding_node *nodes; // that are not proven; those of the largest function first
    struct array functions;     // struct finding_function
    uint32_t longest_of_all;    // if all were proven and shared no memory; 0: unknown
    bool is_cut;                // paths are unknown: to find them would take too long
    struct finding_node *kernels;
    struct array names; // struct finding_function, of kernels: all of them
    uint32_t *levels;   // nodes with work, by nodes with work before them on a longest kept path
    uint32_t num_levels, widest, num_work;
};

// A node with its name, alone.
struct finding_node braid_import_find_node(const braid_import *import, uint32_t node);

// False: memory ran out. Finish it in any case.
bool braid_import_find(const braid_import *import, struct import_findings *out_findings);
void braid_import_findings_finish(struct import_findings *findings);

static inline const struct finding_function *findings_functions(const struct array *functions)
{
    return functions->items;
}

// Writes a page of HTML.
void braid_import_write_page(const struct import_findings *findings, FILE *file);

#endif

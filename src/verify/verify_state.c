// SPDX-License-Identifier: Apache-2.0
// Telling what a proof has found.
#include "verify/verify_state.h"

#include "base/error.h"

struct node_text braid_verify_name(const struct verify *verify, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(verify->graph, node));
}

braid_status braid_verify_report(const struct verify *verify, uint32_t before, uint32_t node,
                                 const char *why)
{
    return braid_error(
        BRAID_INTERNAL, "the plan lets node %s start before node %s has ended, against %s",
        braid_verify_name(verify, node).text, braid_verify_name(verify, before).text, why);
}

// SPDX-License-Identifier: Apache-2.0
// Adding the nodes of a loop or branch by callables.
#ifndef BRAID_CPP_REGION_HPP
#define BRAID_CPP_REGION_HPP

#include <braid/region.h>

namespace braid::detail
{

// Has the callable add the body of a loop or branch that was begun, and ends that. A second
// callable adds the second arm of a branch.
template <class Body, class... Else>
braid_status add_bodies(braid_graph *graph, Body &body, Else &...other)
{
    static_assert(sizeof...(Else) <= 1, "a branch has two arms at most");
    braid_status status = BRAID_OK;
    [[maybe_unused]] const auto add_second_arm = [&](auto &arm) {
        status = braid_graph_else(graph);
        if (status == BRAID_OK)
            arm();
    };
    body();
    (add_second_arm(other), ...);
    return status == BRAID_OK ? braid_graph_end(graph) : status;
}

} // namespace braid::detail

#endif

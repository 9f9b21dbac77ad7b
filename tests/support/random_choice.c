// SPDX-License-Identifier: Apache-2.0
// Choices for nodes of random graphs.
#include "support/random_choice.h"

static bool has_edge(const struct random_choice *choice, uint32_t index)
{
    bool found = false;
    for (size_t i = 0; i < choice->options.num_after; i++)
        found |= choice->after[i].index == index;
    return found;
}

void random_choose(struct random *random, const struct random_shape *shape, const braid_node *nodes,
                   uint32_t num, const braid_resource *resources, struct random_choice *out)
{
    braid_node_options *options = &out->options;
    *options = (braid_node_options){ .after = out->after, .accesses = out->accesses };
    uint32_t wanted =
        shape->least_edges + random_below(random, shape->edges + 1 - shape->least_edges);
    for (; wanted > 0 && num > 0; wanted--) {
        bool anywhere = !shape->reach || shape->reach > num || random_chance(random, shape->far);
        uint32_t index = num - 1 - random_below(random, anywhere ? num : shape->reach);
        braid_node node = nodes ? nodes[index] : (braid_node){ .index = index };
        if (shape->repeats || !has_edge(out, node.index))
            out->after[options->num_after++] = node;
    }
    options->num_accesses = random_below(random, shape->accesses + 1);
    for (size_t i = 0; i < options->num_accesses; i++) {
        uint32_t index = random_below(random, shape->num_resources);
        uint32_t mode =
            random_below(random, 2) ? 1 + random_below(random, shape->num_modes - 1) : 0;
        out->accesses[i] =
            (braid_access){ resources ? resources[index] : (braid_resource){ .index = index },
                            (braid_access_mode)(BRAID_READ + mode) };
    }
    if (random_chance(random, shape->hinted))
        options->lane_hint = 1 + random_below(random, shape->num_hints);
    if (shape->most_ns)
        options->cost_ns = 1 + random_below(random, shape->most_ns);
}

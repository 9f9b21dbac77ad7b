// SPDX-License-Identifier: Apache-2.0
// The resources of random graphs and the cells they stand for.
#include "contract/random_cells.h"

#include "contract/contract.h"
#include "contract/random_graph.h"
#include "support/check.h"

enum { cell_bytes = 8, cells_per_buffer = 8 };

// Ranges of the two buffers, in cells.
static const struct {
    uint32_t buffer, first, num;
} ranges[] = { { 0, 0, 4 }, { 0, 4, 4 }, { 0, 3, 2 }, { 1, 0, 1 }, { 1, 1, 6 }, { 1, 5, 3 } };

enum {
    num_buffers = 2,
    num_ranges = sizeof(ranges) / sizeof(ranges[0]),
    first_named = num_buffers + num_ranges,
};

void random_cells_declare(braid_graph *graph, braid_resource *out_resources)
{
    for (uint32_t i = 0; i < num_buffers; i++)
        check_ok(braid_graph_add_buffer(graph, i ? "right" : "left", NULL,
                                        cells_per_buffer * cell_bytes, &out_resources[i]));
    for (uint32_t i = 0; i < num_ranges; i++)
        check_ok(braid_graph_add_range(graph, out_resources[ranges[i].buffer],
                                       ranges[i].first * cell_bytes, ranges[i].num * cell_bytes,
                                       &out_resources[num_buffers + i]));
    for (uint32_t i = first_named; i < random_num_resources; i++)
        check_ok(braid_graph_add_resource(graph, "cell", &out_resources[i]));
    // Nodes touch them by pointers of their own, wherever they run.
    for (uint32_t i = 0; contract_places() > 1 && i < random_num_resources; i++) {
        if (i < num_buffers || i >= first_named)
            check_ok(braid_graph_set_home(graph, out_resources[i], BRAID_EVERYWHERE));
    }
}

uint32_t random_cells_single(uint32_t resource)
{
    return num_buffers * cells_per_buffer + resource - first_named;
}

uint32_t random_cells_of(uint32_t resource)
{
    if (resource < num_buffers)
        return 0xffu << resource * cells_per_buffer;
    if (resource >= first_named)
        return 1u << random_cells_single(resource);
    uint32_t range = resource - num_buffers;
    return ((1u << ranges[range].num) - 1)
           << (ranges[range].buffer * cells_per_buffer + ranges[range].first);
}

bool random_cells_touched(braid_access_mode mode, bool writes)
{
    return mode != (writes ? BRAID_READ : BRAID_WRITE);
}

void random_cells_choose_pair(struct random *random, struct random_choice *out)
{
    uint32_t num_named = random_num_resources - first_named;
    uint32_t from = random_below(random, num_named);
    uint32_t to = (from + 1 + random_below(random, num_named - 1)) % num_named;
    out->accesses[0] = (braid_access){ { first_named + from, 0 }, BRAID_READ };
    out->accesses[1] = (braid_access){ { first_named + to, 0 }, BRAID_WRITE };
    out->options.num_accesses = 2;
}

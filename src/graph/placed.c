// SPDX-License-Identifier: Apache-2.0
// Copies of place models, the sharing of placed graphs, and the costs on places.
#include "graph/placed.h"

#include "base/error.h"
#include "base/host_memory.h"

#define MOST_NS (UINT64_MAX / 4) // planning refuses sums beyond it

uint64_t braid_place_copy_ns(const struct place_model *model, uint32_t from, uint32_t to,
                             uint64_t bytes)
{
    const braid_place_link *link = placed_link(model, from, to);
    uint64_t ns = link->latency_ns < MOST_NS ? link->latency_ns : MOST_NS;
    if (link->bytes_per_us) { // no buffer has more than 2^48 bytes that are copied
        uint64_t whole = bytes / link->bytes_per_us, rest = bytes % link->bytes_per_us;
        uint64_t whole_ns = whole < MOST_NS / 1000 ? whole * 1000 : MOST_NS;
        uint64_t rest_ns = rest < UINT64_MAX / 1000 ? rest * 1000 / link->bytes_per_us : 1000;
        ns += whole_ns + rest_ns;
    }
    return ns ? ns : 1;
}

uint64_t braid_place_cost_ns(const struct place_model *model, uint32_t place, uint64_t cost_ns)
{
    uint64_t speed = model->speeds[place];
    if (speed == 1000)
        return cost_ns;
    uint64_t whole = cost_ns / speed, rest = cost_ns % speed;
    if (whole > MOST_NS / 1000)
        return MOST_NS;
    uint64_t ns = whole * 1000 + rest * 1000 / speed;
    return ns ? ns : 1;
}

void braid_place_model_finish(struct place_model *model)
{
    braid_free(model->speeds);
    braid_free(model->links);
    *model = (struct place_model){ 0 };
}

static braid_status check_model(const braid_place_model *model)
{
    if (model->num_places == 0 || model->num_places > GRAPH_MOST_PLACES)
        return braid_error_invalid("a plan for %u devices, not 1 to %d", model->num_places,
                                   GRAPH_MOST_PLACES);
    for (uint32_t i = 0; model->speeds && i < model->num_places; i++) {
        if (model->speeds[i] == 0)
            return braid_error_invalid("a plan for devices: the speed of place %u is 0",
                                       graph_place_number(i));
    }
    return BRAID_OK;
}

braid_status braid_place_model_copy(const braid_place_model *model, struct place_model *out_model)
{
    braid_status status = check_model(model);
    if (status)
        return status;
    size_t num = model->num_places;
    struct place_model copy = {
        .num_places = model->num_places,
        .speeds = braid_allocate(num * sizeof(*copy.speeds)),
        .links = braid_allocate(num * num * sizeof(*copy.links)),
    };
    if (!copy.speeds || !copy.links) {
        braid_place_model_finish(&copy);
        return braid_error_no_memory("the devices of a plan");
    }
    for (size_t i = 0; i < num; i++)
        copy.speeds[i] = model->speeds ? model->speeds[i] : 1000;
    for (size_t i = 0; i < num * num; i++)
        copy.links[i] = model->links ? model->links[i] : model->link;
    *out_model = copy;
    return BRAID_OK;
}

struct placed *braid_placed_share(struct placed *placed)
{
    if (placed)
        atomic_fetch_add_explicit(&placed->num_users, 1, memory_order_relaxed);
    return placed;
}

// Release and acquire: all reads of other users come before the last one frees.
void braid_placed_release(struct placed *placed)
{
    if (!placed || atomic_fetch_sub_explicit(&placed->num_users, 1, memory_order_acq_rel) > 1)
        return;
    braid_graph_destroy(placed->graph);
    braid_place_model_finish(&placed->model);
    braid_free(placed->copies);
    braid_free(placed);
}

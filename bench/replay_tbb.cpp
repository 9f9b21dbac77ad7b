// SPDX-License-Identifier: Apache-2.0
// oneTBB's flow graph, built once and reused every frame.
#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "replay.h"

namespace
{
using tbb_node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct state {
    state(const replay_shape *shape, uint32_t num_workers)
        : limit(tbb::global_control::max_allowed_parallelism, num_workers),
          arena(static_cast<int>(num_workers))
    {
        nodes.reserve(shape->num_nodes);
    }

    tbb::global_control limit;
    tbb::task_arena arena;
    std::unique_ptr<tbb::flow::graph> graph;
    std::unique_ptr<tbb::flow::broadcast_node<tbb::flow::continue_msg>> start;
    std::vector<std::unique_ptr<tbb_node>> nodes;
};

void build(state &made, const replay_shape *shape, const replay_body *body)
{
    made.graph = std::make_unique<tbb::flow::graph>();
    made.start = std::make_unique<tbb::flow::broadcast_node<tbb::flow::continue_msg>>(*made.graph);
    for (uint32_t i = 0; i < shape->num_nodes; i++) {
        made.nodes.push_back(
            std::make_unique<tbb_node>(*made.graph, [body, i](const tbb::flow::continue_msg &) {
                replay_run_body(body, i);
                return tbb::flow::continue_msg();
            }));
        for (uint32_t k = shape->first_edge[i]; k < shape->first_edge[i + 1]; k++)
            tbb::flow::make_edge(*made.nodes[shape->edges[k]], *made.nodes[i]);
        if (shape->first_edge[i] == shape->first_edge[i + 1])
            tbb::flow::make_edge(*made.start, *made.nodes[i]);
    }
}

void *create(const replay_shape *shape, const replay_body *body, uint32_t num_workers)
{
    auto made = std::make_unique<state>(shape, num_workers);
    made->arena.execute([&] { build(*made, shape, body); });
    return made.release();
}

void play(void *user)
{
    auto *made = static_cast<state *>(user);
    made->arena.execute([&] {
        made->start->try_put(tbb::flow::continue_msg());
        made->graph->wait_for_all();
    });
}

void destroy(void *user)
{
    delete static_cast<state *>(user);
}
} // namespace

extern "C" const struct replay_player replay_tbb = { "tbb", create, play, destroy };

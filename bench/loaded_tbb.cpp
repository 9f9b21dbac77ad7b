// SPDX-License-Identifier: Apache-2.0
// oneTBB for the bench of loaded machines: loops over blocks, or a flow graph that is built once.
#include <memory>
#include <vector>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "loaded.h"

namespace
{
using tbb_node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct state {
    explicit state(const loaded_work *played)
        : work(played), limit(tbb::global_control::max_allowed_parallelism, LOADED_WORKERS),
          arena(LOADED_WORKERS)
    {
    }
    const loaded_work *work;
    tbb::global_control limit;
    tbb::task_arena arena;
    std::unique_ptr<tbb::flow::graph> graph;
    std::unique_ptr<tbb::flow::broadcast_node<tbb::flow::continue_msg>> start;
    std::vector<std::unique_ptr<tbb_node>> nodes;
};

void build(state &made)
{
    made.graph = std::make_unique<tbb::flow::graph>();
    made.start = std::make_unique<tbb::flow::broadcast_node<tbb::flow::continue_msg>>(*made.graph);
    for (std::uint32_t i = 0; i < made.work->num_steps; i++) {
        const loaded_step *step = &made.work->steps[i];
        made.nodes.push_back(
            std::make_unique<tbb_node>(*made.graph, [step](const tbb::flow::continue_msg &) {
                step->run(step->user, 0, step->num_blocks);
                return tbb::flow::continue_msg();
            }));
        for (std::uint32_t k = 0; k < step->num_before; k++)
            tbb::flow::make_edge(*made.nodes[step->before[k]], *made.nodes[i]);
        if (step->num_before == 0)
            tbb::flow::make_edge(*made.start, *made.nodes[i]);
    }
}

void *create(const loaded_work *work)
{
    auto made = std::make_unique<state>(work);
    if (!work->is_row)
        made->arena.execute([&] { build(*made); });
    return made.release();
}

void play_row(const loaded_work &work)
{
    for (std::uint32_t k = 0; k < work.times; k++) {
        for (std::uint32_t i = 0; i < work.num_steps; i++) {
            const loaded_step &step = work.steps[i];
            tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, step.num_blocks),
                              [&](const tbb::blocked_range<std::uint32_t> &range) {
                                  step.run(step.user, range.begin(), range.end());
                              });
        }
    }
}

void play(void *user)
{
    auto *made = static_cast<state *>(user);
    made->arena.execute([&] {
        if (made->work->is_row)
            return play_row(*made->work);
        made->start->try_put(tbb::flow::continue_msg());
        made->graph->wait_for_all();
    });
}
} // namespace

extern "C" const struct loaded_way loaded_tbb = { "oneTBB", nullptr, create, play };

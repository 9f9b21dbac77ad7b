// SPDX-License-Identifier: Apache-2.0
// Taskflow for the bench of loaded machines: a graph of tasks that is built once. The blocks of a
// step are dealt out by for_each_index.
#include <vector>

#include <taskflow/algorithm/for_each.hpp>
#include <taskflow/taskflow.hpp>

#include "loaded.h"

namespace
{
struct state {
    const loaded_work *work;
    tf::Executor executor{ LOADED_WORKERS };
    tf::Taskflow flow;
};

tf::Task add(state &made, const loaded_step *step)
{
    if (step->num_blocks == 1)
        return made.flow.emplace([step] { step->run(step->user, 0, 1); });
    return made.flow.for_each_index(
        std::uint32_t{ 0 }, step->num_blocks, std::uint32_t{ 1 },
        [step](std::uint32_t block) { step->run(step->user, block, block + 1); });
}

void *create(const loaded_work *work)
{
    auto *made = new state{ work, tf::Executor{ LOADED_WORKERS }, {} };
    std::vector<tf::Task> tasks;
    for (std::uint32_t i = 0; i < work->num_steps; i++) {
        tasks.push_back(add(*made, &work->steps[i]));
        for (std::uint32_t k = 0; k < work->steps[i].num_before; k++)
            tasks[work->steps[i].before[k]].precede(tasks[i]);
    }
    return made;
}

void play(void *user)
{
    auto *made = static_cast<state *>(user);
    made->executor.run_n(made->flow, made->work->times).wait();
}
} // namespace

extern "C" const struct loaded_way loaded_taskflow = { "Taskflow", nullptr, create, play };

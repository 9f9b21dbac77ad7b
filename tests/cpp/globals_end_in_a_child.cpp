// SPDX-License-Identifier: Apache-2.0
// A program keeps its device, graph and exec in globals, and forks. In the child, which ends by
// exit(), their destructors do nothing, and in the parent all of them go on.
#include <braid/braid.hpp>
#include <cstdlib>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "../support/fork_calmly.h"

static struct {
    std::vector<float> numbers = std::vector<float>(100, 1.0f);
    std::optional<braid::device> device;
    std::optional<braid::graph> graph;
    std::optional<braid::exec> exec;
} all;

static const braid::kernel twice("twice", [](const braid_blocks &blocks, float *to) {
    for (auto i = blocks.begin; i < blocks.end; i++)
        to[i] *= 2;
});

static bool child_ends_well()
{
    enum { patience_seconds = 60 };
    int status = -1;
    const pid_t child = fork_calmly();
    if (child == 0) {
        alarm(patience_seconds); // a hang
        std::exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main()
{
    all.device = braid::device::open("cpu");
    all.graph = braid::graph::create();
    all.graph->kernel(twice, 100, braid::inout(all.graph->buffer("numbers", all.numbers)));
    all.exec = braid::exec::create(*all.device, *all.graph);
    all.exec->launch();
    all.exec->wait();
    if (!child_ends_well())
        return 1;
    all.exec->launch();
    all.exec->wait();
    return all.numbers[0] == 4.0f ? 0 : 2;
}

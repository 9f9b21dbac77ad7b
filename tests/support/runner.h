// SPDX-License-Identifier: Apache-2.0
// Waiting for a runner's next way, which a thread of Braid's makes.
#ifndef BRAID_TESTS_SUPPORT_RUNNER_H
#define BRAID_TESTS_SUPPORT_RUNNER_H

#include <time.h>

#include <braid/tune.h>

// The next launch finds the way made, or a reason why it is not.
static inline braid_runner_info runner_await_way(braid_runner *runner)
{
    braid_runner_info info;
    for (braid_runner_get_info(runner, &info); info.is_making; braid_runner_get_info(runner, &info))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    return info;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Which of the program's calls this thread is inside of.
#include "base/inside.h"

#include <stdint.h>

#include "base/error.h"
#include "base/own_threads.h"

static _Thread_local const struct inside *innermost;

// A launch of queue calls is Braid's own code, until one is called (braid_player_queue_call).
void braid_inside_begin(struct inside *inside, const char *what, const void *exec)
{
    struct host_allocator *allocator = exec ? NULL : host_allocator_suspend();
    *inside =
        (struct inside){ .what = what, .exec = exec, .before = innermost, .allocator = allocator };
    innermost = inside;
    if (!inside->before)
        braid_own_threads_count_change();
}

void braid_inside_end(const struct inside *inside)
{
    host_allocator_resume(inside->allocator);
    innermost = inside->before;
    if (!innermost)
        braid_own_threads_count_change();
}

braid_status braid_inside_check(const char *function, const void *exec)
{
    for (const struct inside *inside = innermost; inside; inside = inside->before) {
        if (!inside->exec)
            return braid_error(
                BRAID_WRONG_STATE,
                "%s: called inside %s, which must not wait for work, nor launch or change an exec",
                function, inside->what);
        if (inside->exec == exec)
            return braid_error(BRAID_WRONG_STATE, "%s: called inside %s of the same exec", function,
                               inside->what);
    }
    return BRAID_OK;
}

bool braid_inside_is_queue_call(void)
{
    return innermost && innermost->exec;
}

// Stacks grow down: the call's part is below the struct.
bool braid_inside_has(const void *memory)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)memory;
    return innermost && innermost->exec && at >= here && at < (uintptr_t)innermost;
}

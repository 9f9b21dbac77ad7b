// SPDX-License-Identifier: Apache-2.0
// A wait with a time limit. No driver has one, so the thread asks with short sleeps.
#include "base/clock.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"

enum { SPIN_NS = 20000, SLEEP_PART = 16, LONGEST_SLEEP_NS = 1000000 };

// The sleep makes a wait longer by a sixteenth at most.
static void pause_after(uint64_t waited_ns, uint64_t left_ns)
{
    uint64_t ns = waited_ns / SLEEP_PART;
    if (waited_ns < SPIN_NS)
        return;
    ns = ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS;
    ns = ns < left_ns ? ns : left_ns;
    nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

braid_status braid_exec_wait_until(braid_exec *exec, uint64_t ns)
{
    if (!exec)
        return braid_error_null("braid_exec_wait_until", "exec");
    braid_status status = braid_inside_check("braid_exec_wait_until", exec);
    if (status)
        return status;
    const uint64_t begin_ns = clock_now_ns();
    while ((status = braid_exec_query(exec)) == BRAID_NOT_READY) {
        uint64_t waited_ns = clock_now_ns() - begin_ns, num = braid_exec_num_frames(exec);
        if (waited_ns >= ns)
            return braid_error(
                BRAID_TIMEOUT,
                "braid_exec_wait_until: %llu %s launched, and the last has not ended "
                "after %llu ns",
                (unsigned long long)num, num == 1 ? "frame was" : "frames were",
                (unsigned long long)ns);
        pause_after(waited_ns, ns - waited_ns);
    }
    return status;
}

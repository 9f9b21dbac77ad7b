// SPDX-License-Identifier: Apache-2.0
// Destroying an exec: it is freed where its frames have ended, and kept where nobody can tell.
#include <stddef.h>

#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"
#include "exec/exec_places.h"

static braid_exec *exec_from(struct kept *kept)
{
    return (braid_exec *)((char *)kept - offsetof(braid_exec, kept));
}

static bool kept_is_idle(struct kept *kept, bool drained)
{
    return braid_exec_is_idle(exec_from(kept), false, drained);
}

// It is kept on place 0, and so closing that frees it.
static void for_other_devices(const struct places *places, void (*change)(braid_device *device))
{
    for (uint32_t i = 1; i < places->num; i++) {
        if (places->devices[i] != places->devices[0])
            change(places->devices[i]);
    }
}

static void free_kept(struct kept *kept)
{
    braid_exec *exec = exec_from(kept);
    const struct places places = exec->places;
    braid_exec_free(exec);
    for_other_devices(&places, braid_device_give_back);
}

static void keep(braid_exec *exec)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_error_end_noted(&attempt,
                          braid_error(BRAID_DEVICE_ERROR,
                                      "an exec on %s is kept: its frames cannot be told to have "
                                      "ended",
                                      exec->device->label));
    exec->kept = (struct kept){ .is_idle = kept_is_idle, .free = free_kept };
    for_other_devices(&exec->places, braid_device_borrow);
    braid_device_keep(exec->device, &exec->kept);
}

// A frame that failed was reported to whoever waited for it; here only its end counts. Until all is
// done another thread may ask whether the devices can be closed.
void braid_exec_destroy(braid_exec *exec)
{
    if (!exec || braid_inside_check("braid_exec_destroy", exec))
        return;
    const struct places places = exec->places;
    braid_exec_free_kept_of(&places);
    if (braid_exec_is_idle(exec, true, false))
        braid_exec_free(exec);
    else
        keep(exec);
    braid_places_hold(&places, offsetof(braid_device, num_execs), -1);
}

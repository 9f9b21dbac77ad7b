// SPDX-License-Identifier: Apache-2.0
// Destroying an exec, once its frames have ended or their device has failed.
#include <stddef.h>

#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"

static braid_status await_frames(braid_exec *exec)
{
    return braid_exec_ask_frames(exec, exec->device->backend->ops->event_synchronize);
}

// Waits for work that still goes on: lanes on other devices, calls on threads of the driver.
static void await_rest(braid_exec *exec)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)braid_exec_synchronize(exec);
    braid_error_end_attempt(&attempt, BRAID_OK);
}

// Waits twice if that fails: nobody can be told, and the memory of the frames is freed next. A
// frame that failed was reported to the thread that waited for it.
static void await_to_free(braid_exec *exec)
{
    struct error_attempt attempt;
    bool has_failed = braid_exec_has_failed(exec);
    braid_error_begin_attempt(&attempt);
    braid_status status = await_frames(exec);
    if (status)
        status = await_frames(exec);
    if (status)
        status = braid_exec_fail(exec, "the end of the frames of an exec");
    if (status || has_failed)
        await_rest(exec);
    braid_error_end_noted(&attempt, has_failed ? BRAID_OK : status);
}

// Until all is done another thread may ask whether the devices can be closed.
void braid_exec_destroy(braid_exec *exec)
{
    if (!exec || !device_is_here(exec->device) || braid_inside_check("braid_exec_destroy", exec))
        return;
    const struct places places = exec->places;
    device_enter(places.devices[0]);
    await_to_free(exec);
    braid_exec_free(exec);
    device_leave(places.devices[0]);
    braid_places_hold(&places, offsetof(braid_device, num_execs), -1);
}

// SPDX-License-Identifier: Apache-2.0
// Things whose destroy call could not tell that the device is done with them: kept until it can.
#ifndef BRAID_DEVICE_KEPT_H
#define BRAID_DEVICE_KEPT_H

#include <stdbool.h>

#include <braid/device.h>

// Embedded in what may have to be kept, so that keeping it cannot fail.
struct kept {
    struct kept *next;
    // Whether the device is done with it. Never waits unless `drained`: then all streams of the
    // program are gone and the default stream is idle.
    bool (*is_idle)(struct kept *kept, bool drained);
    void (*free)(struct kept *kept);
};

void braid_device_keep(braid_device *device, struct kept *kept);

// What one device keeps may use others, too. Those are closed, as far as the program is concerned,
// when it says so, and in truth when nothing uses them any more.
void braid_device_borrow(braid_device *device);
void braid_device_give_back(braid_device *device);

// Frees what has become idle.
void braid_device_free_kept(braid_device *device);

// Before the device is closed: ends its work, and frees what is kept. Then, when nothing borrows
// it: destroys what is idle in its pools. Where either cannot be told to have ended, the device is
// kept for good, and stays where leak checkers find it. Errors: BRAID_DEVICE_ERROR.
braid_status braid_device_end_work(braid_device *device);
braid_status braid_device_finish_pools(braid_device *device);

#endif

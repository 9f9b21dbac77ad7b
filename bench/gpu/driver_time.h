// SPDX-License-Identifier: Apache-2.0
// How much of a launch is the driver's own: its calls, with a clock around them.
#ifndef BRAID_BENCH_GPU_DRIVER_TIME_H
#define BRAID_BENCH_GPU_DRIVER_TIME_H

#include <braid/device.h>

// Times of the calls since somebody set them to 0. Each call has some tens of nanoseconds of the
// clock's in it.
struct driver_times {
    double launch_us; // launches
    double order_us;  // records of events and waits for them
};
extern struct driver_times driver_times;

// From now on the device's calls are timed. Once in a process, and the device is closed before its
// end only.
void driver_time_of(braid_device *device);

#endif

// SPDX-License-Identifier: Apache-2.0
// How much of a launch is the driver's own: its calls, with a clock around them.
#include "gpu/driver_time.h"

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/bench.h"

struct driver_times driver_times;

static const struct gpu_api *real;
static struct gpu_api timed;

static gpu_result note(double *us, double begin_us, gpu_result result)
{
    *us += now_us() - begin_us;
    return result;
}

static gpu_result launch_graph(gpu_executable executable, gpu_stream stream)
{
    double begin_us = now_us();
    return note(&driver_times.launch_us, begin_us, real->executable_launch(executable, stream));
}

static gpu_result launch_kernel(const struct gpu_launch_config *config, gpu_function function,
                                void **args, void **extra)
{
    double begin_us = now_us();
    return note(&driver_times.launch_us, begin_us,
                real->launch_config(config, function, args, extra));
}

static gpu_result record(gpu_event event, gpu_stream stream)
{
    double begin_us = now_us();
    return note(&driver_times.order_us, begin_us, real->event_record(event, stream));
}

static gpu_result wait(gpu_stream stream, gpu_event event, unsigned flags)
{
    double begin_us = now_us();
    return note(&driver_times.order_us, begin_us, real->stream_wait(stream, event, flags));
}

void driver_time_of(braid_device *device)
{
    struct gpu_backend *gpu = gpu_from(device->backend);
    real = gpu->api;
    timed = *real;
    timed.executable_launch = launch_graph;
    timed.launch_config = launch_kernel;
    timed.event_record = record;
    timed.stream_wait = wait;
    gpu->api = &timed;
}

// SPDX-License-Identifier: Apache-2.0
// A stream's driver: a thread that plays a call of the host in the stream's order.
//
// A stream alone runs no loop that a word of the device ends. The host plays one: it queues a part,
// waits for that, reads the word, and queues the next part. The call that does so stands in a list
// of the stream. Records of events, waits for events and host calls that are queued meanwhile stand
// behind it there. Who queues other work waits until the list is empty.
//
// So no stream ever waits for the host. A wait of a stream for an event is handed to the driver of
// the device once that event's record has been. So all streams may share one queue of the hardware.
#ifndef BRAID_BACKENDS_GPU_GPU_DRIVER_H
#define BRAID_BACKENDS_GPU_GPU_DRIVER_H

#include "backends/gpu/gpu_backend.h"

// Appends an operation, or says that it is to be queued at once. Errors: BRAID_NO_MEMORY.
braid_status braid_gpu_driver_record(struct gpu_backend *gpu, struct backend_stream *stream,
                                     struct gpu_event *event, bool *out_at_once);
braid_status braid_gpu_driver_wait(struct gpu_backend *gpu, struct backend_stream *stream,
                                   struct gpu_event *event, bool *out_at_once);
braid_status braid_gpu_driver_submit(struct gpu_backend *gpu, struct backend_stream *stream,
                                     const struct backend_task *task, bool *out_at_once);

// Whether the stream's list has operations; likewise for the latest record of the event.
bool braid_gpu_driver_is_busy(struct gpu_backend *gpu, struct backend_stream *stream);
bool braid_gpu_driver_is_pending(struct gpu_event *event);
// Waits until the list is empty; until the latest record of the event is made.
void braid_gpu_driver_await(struct gpu_backend *gpu, struct backend_stream *stream);
void braid_gpu_driver_await_record(struct gpu_event *event);
// Before an event is destroyed, or recorded at once: no list has it.
void braid_gpu_driver_forget(struct gpu_event *event);
// Before a stream is destroyed, or a device is closed for the NULL stream.
void braid_gpu_driver_finish(struct gpu_backend *gpu, struct backend_stream *stream);

// At once, on this thread.
braid_status braid_gpu_record_now(struct backend *backend, struct backend_event *event,
                                  struct backend_stream *stream);
braid_status braid_gpu_wait_now(struct backend *backend, struct backend_stream *stream,
                                struct backend_event *event);

#endif

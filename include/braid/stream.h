// SPDX-License-Identifier: Apache-2.0
// Streams and events, without a graph or to launch graphs on.
#ifndef BRAID_STREAM_H
#define BRAID_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/device.h>
#include <braid/kernel.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// A queue whose work runs in order. A call with another argument that tells the device takes NULL
// for the device's default stream. Streams that Braid creates never synchronise implicitly with the
// null stream. Thread-safety: any thread; the order of work queued by several threads at once is
// unspecified.
typedef struct braid_stream braid_stream;

// A point in a stream. A wait captures the event's latest record when it is queued, and ends at
// once if there is none. An event may be recorded again while older waits are pending.
typedef struct braid_event braid_event;

// A function that runs on a host thread. braid_host_call has its rules.
typedef void braid_host_function(void *user);

// Options of braid_stream_create.
typedef struct braid_stream_options {
    int32_t priority; // smaller is more urgent; clamped to the device's range; 0: normal
} braid_stream_options;

// Makes a stream of a device.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_stream_create(braid_device *device,
                                                               const braid_stream_options *options,
                                                               braid_stream **out_stream);

// Wraps a CUstream or hipStream_t of the program (NULL: the null stream). Braid never destroys it.
// Errors: BRAID_UNSUPPORTED (the CPU).
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_wrap(braid_device *device, void *handle,
                                                          braid_stream **out_stream);

// The default stream, which lives as long as the device: braid_stream_destroy leaves it. A group
// has its first member's.
BRAID_API braid_stream *braid_device_get_default_stream(braid_device *device);

// Waits for the stream's work, then frees it. A wrapped stream is only unwrapped, without waiting.
// No other call on the stream may be under way.
BRAID_API void braid_stream_destroy(braid_stream *stream);

// The CUstream or hipStream_t. On the CPU: the braid_stream itself.
BRAID_API void *braid_stream_get_handle(braid_stream *stream);

// Blocks until all work queued so far has ended. On the CPU a thread that waits may run work.
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_wait(braid_stream *stream);

// BRAID_OK if all work queued so far has ended, else BRAID_NOT_READY.
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_query(braid_stream *stream);

// Options of braid_event_create.
typedef struct braid_event_options {
    bool timing; // braid_event_get_elapsed needs it
} braid_event_options;

// Makes an event of a device.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_event_create(braid_device *device,
                                                              const braid_event_options *options,
                                                              braid_event **out_event);

// Frees the event at once; waits queued on it stay valid.
BRAID_API void braid_event_destroy(braid_event *event);

// Queues a record of the event.
BRAID_API BRAID_MUST_CHECK braid_status braid_event_record(braid_event *event,
                                                           braid_stream *stream);

// Work queued from now on starts after the event's latest record.
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_follow(braid_stream *stream,
                                                            braid_event *event);

// BRAID_OK if the latest record has been reached or there is none, else BRAID_NOT_READY.
BRAID_API BRAID_MUST_CHECK braid_status braid_event_query(braid_event *event);

// Blocks until the latest record has been reached.
BRAID_API BRAID_MUST_CHECK braid_status braid_event_wait(braid_event *event);

// Nanoseconds between the latest records of two timing events of one device.
// Errors: BRAID_UNSUPPORTED (no timing), BRAID_WRONG_STATE (never recorded), BRAID_NOT_READY.
BRAID_API BRAID_MUST_CHECK braid_status braid_event_get_elapsed(braid_event *start,
                                                                braid_event *end, uint64_t *out_ns);

// Queues a copy of `bytes` > 0 bytes between memories that the device can reach, without overlap.
// Between host memories, and for memory unknown to the driver (malloc), a GPU's call may block and
// read at once (docs/book/library-calls.md).
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_copy(braid_stream *stream, void *to,
                                                          const void *from, uint64_t bytes);

// Queues a fill of num_values > 0 values of value_bytes (1, 2 or 4; 0: 1). `to` is aligned to
// value_bytes. For host memory, HIP may block (docs/hip.md).
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_fill(braid_stream *stream, void *to,
                                                          uint32_t value, uint32_t value_bytes,
                                                          uint64_t num_values);

// Queues a host function.
BRAID_API BRAID_MUST_CHECK braid_status braid_stream_host_call(braid_stream *stream,
                                                               braid_host_function *call,
                                                               void *user);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status
braid_stream_create_sized(braid_device *device, const braid_stream_options *options,
                          braid_stream **out_stream, size_t size);
BRAID_INLINE braid_status braid_stream_create(braid_device *device,
                                              const braid_stream_options *options,
                                              braid_stream **out_stream)
{
    return braid_stream_create_sized(device, options, out_stream, sizeof(braid_stream_options));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_event_create_sized(braid_device *device,
                                                                 const braid_event_options *options,
                                                                 braid_event **out_event,
                                                                 size_t size);
BRAID_INLINE braid_status braid_event_create(braid_device *device,
                                             const braid_event_options *options,
                                             braid_event **out_event)
{
    return braid_event_create_sized(device, options, out_event, sizeof(braid_event_options));
}

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
// Status codes, the per-thread error message, and the log callback.
#ifndef BRAID_STATUS_H
#define BRAID_STATUS_H

#if defined(_WIN32) || !defined(__GNUC__)
#define BRAID_API
#define BRAID_MUST_CHECK
#else
#define BRAID_API __attribute__((visibility("default")))
#define BRAID_MUST_CHECK __attribute__((warn_unused_result))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// General rules, stated once for the whole library:
// - every fallible function returns a braid_status; outputs are written only on BRAID_OK;
// - descriptions and options need to live only during the call; names and argument bytes are copied
//   (braid_kernel is the one exception: see kernel.h);
// - sizes are bytes and times are nanoseconds, and their names say so;
// - NULL where none is allowed is BRAID_INVALID_ARGUMENT, and the message names the argument;
//   functions that return no status do nothing to a NULL output, and answer for a NULL object as
//   for an empty one: 0, NULL, "" or a struct of zeros; destroy functions take NULL;
// - in a process with more rights than its user (setuid), Braid reads no environment variable;
// - a device that has failed stays failed: each later call on it, and on its streams, events and
//   execs, returns BRAID_DEVICE_ERROR with the first error in the message. A device has failed if
//   the driver reports an error that it repeats for every later call (an illegal address, for
//   example), or if work can neither be recorded nor awaited. Other errors leave the device usable;
// - destroying, freeing and closing free all host memory and release what the driver still accepts.
//   If a call that waits fails, it is made a second time; if that fails too, the device has failed.
//   Calls that return nothing say so to the log (braid_log_set) and leave the message of the latest
//   failure as it is.
typedef enum braid_status {
    BRAID_OK = 0,
    BRAID_INVALID_ARGUMENT = 1, // an argument is wrong; the message names it
    BRAID_NO_MEMORY = 2,        // host or device memory ran out
    BRAID_CYCLE = 3,            // the graph has a cycle; the message lists its nodes
    BRAID_UNAVAILABLE = 4,      // no such backend or device here; the message says what was tried
    BRAID_UNSUPPORTED = 5,      // this device or mode cannot do it; the message says why
    BRAID_NOT_READY = 6,        // a query: the work has not ended yet (no message is written)
    BRAID_DEVICE_ERROR = 7,     // the driver or a queue call reported a failure, or the device
                                // has failed before
    BRAID_IO_ERROR = 8,         // a file could not be written or read
    BRAID_INTERNAL = 9,         // Braid broke one of its own laws; please report it
    BRAID_BUSY = 10,            // still in use; the message says by what
    BRAID_TIMEOUT = 11, // the time limit of a wait passed; the message says what was awaited
} braid_status;

// The constant's name, for example "BRAID_NO_MEMORY". Never NULL.
// Thread-safety: any thread.
BRAID_API const char *braid_status_name(braid_status status);

// The message of the latest failure on the calling thread: one line, without a newline; "" when
// nothing has failed yet. Valid until the next failing call on this thread.
// Thread-safety: any thread; each thread has a message of its own.
BRAID_API const char *braid_error_message(void);

// All that a run-time compiler wrote about that failure, with its newlines and line numbers; "" for
// other failures. The message has its beginning only. Valid until the next failing call on this
// thread.
// Thread-safety: any thread; each thread has details of its own.
BRAID_API const char *braid_error_details(void);

// Called with each error message when it is first written, on the thread that found it.
typedef void braid_log_function(void *user, braid_status status, const char *message);

// Sets the process-wide log callback; NULL (the default) turns logging off. When this returns, the
// callback before is not running any more, except where this was called from inside it. A callback
// may be called from several threads at once and must not call anything else of Braid.
// Thread-safety: any thread; hold no lock that the callback takes.
BRAID_API void braid_log_set(braid_log_function *function, void *user);

#ifdef __cplusplus
}
#endif

#endif

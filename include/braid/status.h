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

// A function in a header, which passes the sizes of its structs to the library. Each shared object
// of a C++ program has its own, since another one may know other sizes.
#if !defined(__cplusplus)
#define BRAID_INLINE static inline
#elif defined(_WIN32) || !defined(__GNUC__)
#define BRAID_INLINE inline
#else
#define BRAID_INLINE __attribute__((visibility("hidden"))) inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

// General rules for the whole library:
// - A function that can fail returns a braid_status, and writes outputs only on BRAID_OK.
// - It may always return BRAID_NO_MEMORY or BRAID_DEVICE_ERROR. BRAID_INVALID_ARGUMENT: NULL, a
//   handle of another graph, a number out of range. BRAID_WRONG_STATE: a closed device, a child
//   made by fork, inside a callback. "Errors:" lists all others. Messages name the object.
// - Descriptions and options need to live only during the call. Braid copies names and argument
//   bytes, but no braid_kernel (kernel.h). NULL options, or zero everywhere, are the defaults.
// - Sizes are bytes and times are nanoseconds, and their names say so.
// - A function without a status does nothing to a NULL output. For a NULL object it answers 0,
//   NULL, "" or a struct of zeros. Destroy functions take NULL.
// - Destroying and closing free all host memory, and all of the driver's that it still accepts.
//   Those that return nothing report a failure to the log (braid_log_set).
// - Thread-safety: any thread may make any call, unless the object's type says otherwise.
// - In a process with more rights than its user (setuid), Braid reads no environment variable.
// - Each call on a device that has failed (docs/book/reliability.md), or on its streams, events and
//   execs, returns BRAID_DEVICE_ERROR with the first error.
typedef enum braid_status {
    BRAID_OK = 0,
    BRAID_INVALID_ARGUMENT = 1, // an argument is wrong
    BRAID_NO_MEMORY = 2,        // host or device memory ran out
    BRAID_CYCLE = 3,            // the graph has a cycle
    BRAID_UNAVAILABLE = 4,      // no such backend or device here; the message lists the attempts
    BRAID_UNSUPPORTED = 5,      // this device, mode or exec cannot do it; the message says why
    BRAID_NOT_READY = 6,        // a query: the work has not ended yet (no message is written)
    BRAID_DEVICE_ERROR = 7,     // the driver or a queue call failed
    BRAID_IO_ERROR = 8,         // a file could not be written or read
    BRAID_INTERNAL = 9,         // Braid broke one of its own laws; please report it
    BRAID_BUSY = 10,            // try again when frames have ended
    BRAID_TIMEOUT = 11,         // a wait reached its limit, or frames are late
    BRAID_TRAPPED = 12,         // a kernel wrote a trap
    BRAID_WRONG_STATE = 13,     // the call needs another state of the object
    BRAID_IN_USE = 14,          // other objects still use it
} braid_status;

// The constant's name, for example "BRAID_NO_MEMORY". Never NULL.
BRAID_API const char *braid_status_get_name(braid_status status);

// The message of the latest failure on the calling thread: one line; "" before
// any. It is valid until the next failing call on this thread.
BRAID_API const char *braid_error_get_message(void);

// More of that failure, as long as its message: the output of a run-time compiler, or the arguments
// of running nodes; else "".
BRAID_API const char *braid_error_get_details(void);

// Receives each error message when first written, on the thread that found the error. Several
// threads may call it at once. It may call only braid_status_get_name and braid_log_set.
typedef void braid_log_function(braid_status status, const char *message, void *user);

// Sets the process-wide log callback; NULL (the default): none. When this returns, the previous
// callback no longer runs, unless it made this call itself. Hold no lock that the callback takes.
BRAID_API void braid_log_set(braid_log_function *function, void *user);

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
// The per-thread error message and the log callback.
#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static _Thread_local char message[ERROR_MESSAGE_BYTES];
static _Thread_local bool in_attempt; // nothing is logged
static _Thread_local bool is_logging; // this thread runs the callback

// Calls of the callback hold it for reading.
static pthread_rwlock_t log_lock = PTHREAD_RWLOCK_INITIALIZER;
static braid_log_function *log_function; // guarded by log_lock
static void *log_user;                   // guarded by log_lock

const char *braid_status_name(braid_status status)
{
    static const char *const names[] = {
        [BRAID_OK] = "BRAID_OK",
        [BRAID_INVALID_ARGUMENT] = "BRAID_INVALID_ARGUMENT",
        [BRAID_NO_MEMORY] = "BRAID_NO_MEMORY",
        [BRAID_CYCLE] = "BRAID_CYCLE",
        [BRAID_UNAVAILABLE] = "BRAID_UNAVAILABLE",
        [BRAID_UNSUPPORTED] = "BRAID_UNSUPPORTED",
        [BRAID_NOT_READY] = "BRAID_NOT_READY",
        [BRAID_DEVICE_ERROR] = "BRAID_DEVICE_ERROR",
        [BRAID_IO_ERROR] = "BRAID_IO_ERROR",
        [BRAID_INTERNAL] = "BRAID_INTERNAL",
        [BRAID_BUSY] = "BRAID_BUSY",
        [BRAID_TIMEOUT] = "BRAID_TIMEOUT",
        [BRAID_TRAPPED] = "BRAID_TRAPPED",
    };
    size_t index = (size_t)status;
    if (index >= sizeof(names) / sizeof(names[0]))
        return "unknown braid_status";
    return names[index];
}

const char *braid_error_message(void)
{
    return message;
}

void braid_log_set(braid_log_function *function, void *user)
{
    if (is_logging)
        return;
    pthread_rwlock_wrlock(&log_lock);
    log_function = function;
    log_user = user;
    pthread_rwlock_unlock(&log_lock);
}

// Errors inside the callback are not logged: that would not end.
static void log_message(braid_status status)
{
    if (in_attempt || is_logging)
        return;
    pthread_rwlock_rdlock(&log_lock);
    is_logging = true;
    if (log_function)
        log_function(log_user, status, message);
    is_logging = false;
    pthread_rwlock_unlock(&log_lock);
}

// Cuts names, which formats write as '%s', so that the words behind a name still fit. False if the
// format is too long for that, as none is.
static bool limit_names(const char *format, char *limited, size_t size)
{
    static const char name[] = "'%s'", short_name[] = "'%.150s'";
    size_t used = 0;
    while (*format) {
        bool is_name = strncmp(format, name, sizeof(name) - 1) == 0;
        const char *piece = is_name ? short_name : format;
        size_t length = is_name ? sizeof(short_name) - 1 : 1;
        if (used + length >= size)
            return false;
        memcpy(limited + used, piece, length);
        used += length;
        format += is_name ? sizeof(name) - 1 : 1;
    }
    limited[used] = '\0';
    return true;
}

braid_status braid_error(braid_status status, const char *format, ...)
{
    char limited[sizeof(message)];
    if (limit_names(format, limited, sizeof(limited)))
        format = limited;
    // The arguments may point into the old message (to add to it), so it is replaced at the end.
    char text[sizeof(message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    braid_text_keep_one_line(text);
    snprintf(message, sizeof(message), "%s", text);
    log_message(status);
    return status;
}

braid_status braid_error_null(const char *function, const char *argument)
{
    return braid_error(BRAID_INVALID_ARGUMENT, "%s: %s is NULL", function, argument);
}

braid_status braid_error_no_memory(const char *what)
{
    return braid_error(BRAID_NO_MEMORY, "out of host memory for %s", what);
}

void braid_error_begin_attempt(struct error_attempt *attempt)
{
    memcpy(attempt->message, message, sizeof(message));
    attempt->inside_another = in_attempt;
    in_attempt = true;
}

void braid_error_end_attempt(const struct error_attempt *attempt, braid_status status)
{
    in_attempt = attempt->inside_another;
    if (status)
        log_message(status);
    else
        memcpy(message, attempt->message, sizeof(message));
}

void braid_error_end_noted(const struct error_attempt *attempt, braid_status status)
{
    in_attempt = false;
    if (status)
        log_message(status);
    in_attempt = attempt->inside_another;
    memcpy(message, attempt->message, sizeof(message));
}

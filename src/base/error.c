// SPDX-License-Identifier: Apache-2.0
// The per-thread error message and the log callback.
#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error_details.h"
#include "base/host_memory.h"
#include "base/text.h"

static _Thread_local char message[ERROR_MESSAGE_BYTES];
static _Thread_local uint64_t num_errors;
static _Thread_local bool in_attempt; // nothing is logged
static _Thread_local bool is_logging; // this thread runs the callback

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_ended = PTHREAD_COND_INITIALIZER;
static braid_log_function *log_function; // guarded by log_lock
static void *log_user;                   // guarded by log_lock
static uint64_t num_log_sets;            // guarded by log_lock

// A call of the callback that is being made, on the stack of its thread.
struct log_call {
    struct log_call *next;
    uint64_t set; // by which braid_log_set the callback came: their number then
};
static struct log_call *log_calls; // guarded by log_lock

const char *braid_status_get_name(braid_status status)
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
        [BRAID_WRONG_STATE] = "BRAID_WRONG_STATE",
        [BRAID_IN_USE] = "BRAID_IN_USE",
    };
    size_t index = (size_t)status;
    if (index >= sizeof(names) / sizeof(names[0]))
        return "unknown braid_status";
    return names[index];
}

const char *braid_error_get_message(void)
{
    return message;
}

static bool an_older_call_is_made(uint64_t set)
{
    for (const struct log_call *call = log_calls; call; call = call->next) {
        if (call->set < set)
            return true;
    }
    return false;
}

// This does not wait for calls of the new callback, since one may always be running.
void braid_log_set(braid_log_function *function, void *user)
{
    pthread_mutex_lock(&log_lock);
    log_function = function;
    log_user = user;
    uint64_t set = ++num_log_sets;
    while (!is_logging && an_older_call_is_made(set))
        pthread_cond_wait(&log_ended, &log_lock);
    pthread_mutex_unlock(&log_lock);
}

static void remove_call(struct log_call *ended)
{
    struct log_call **link = &log_calls;
    while (*link != ended)
        link = &(*link)->next;
    *link = ended->next;
}

// The callback runs without the lock, so that a slow one holds up no other thread. Errors inside
// the callback are not logged: that would not end.
static void log_message(braid_status status)
{
    if (in_attempt || is_logging)
        return;
    pthread_mutex_lock(&log_lock);
    braid_log_function *function = log_function;
    void *user = log_user;
    struct log_call call = { .next = log_calls, .set = num_log_sets };
    if (function)
        log_calls = &call;
    pthread_mutex_unlock(&log_lock);
    if (!function)
        return;
    PLAIN_MEMORY;
    is_logging = true;
    function(status, message, user);
    is_logging = false;
    pthread_mutex_lock(&log_lock);
    remove_call(&call);
    pthread_cond_broadcast(&log_ended);
    pthread_mutex_unlock(&log_lock);
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
    num_errors++;
    log_message(status);
    return status;
}

uint64_t braid_error_count(void)
{
    return num_errors;
}

braid_status braid_error_null(const char *function, const char *argument)
{
    return braid_error_invalid("%s: %s is NULL", function, argument);
}

braid_status braid_error_no_memory(const char *what)
{
    return braid_error(BRAID_NO_MEMORY, "out of host memory for %s", what);
}

braid_status braid_error_left_out(const char *function, const char *addon)
{
    return braid_error(BRAID_UNSUPPORTED, ERROR_LEFT_OUT, function, addon);
}

void braid_error_begin_attempt(struct error_attempt *attempt)
{
    memcpy(attempt->message, message, sizeof(message));
    attempt->num_errors = num_errors;
    attempt->inside_another = in_attempt;
    in_attempt = true;
}

static void go_back(const struct error_attempt *attempt)
{
    memcpy(message, attempt->message, sizeof(message));
    num_errors = attempt->num_errors;
}

void braid_error_end_attempt(const struct error_attempt *attempt, braid_status status)
{
    in_attempt = attempt->inside_another;
    if (status)
        log_message(status);
    else
        go_back(attempt);
}

void braid_error_end_noted(const struct error_attempt *attempt, braid_status status)
{
    in_attempt = false;
    if (status)
        log_message(status);
    in_attempt = attempt->inside_another;
    go_back(attempt);
}

// ---- details: long texts that belong to an error, as all lines that a compiler wrote ----

// One allocation for each thread that has details, freed when the thread ends.
struct details {
    char *text; // behind the key
    char key[]; // what the message contains while these are its details
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_details; // constant after once
static bool has_key;                 // constant after once

static void make_key(void)
{
    has_key = pthread_key_create(&thread_details, braid_free) == 0;
}

// A thread that ends later would call a function that is not loaded any more.
__attribute__((destructor)) static void forget_key(void)
{
    if (!has_key)
        return;
    braid_free(pthread_getspecific(thread_details));
    pthread_key_delete(thread_details);
    has_key = false;
}

void braid_error_set_details(const char *end, const char *text)
{
    const char *found = strstr(message, end);
    size_t num = found ? (size_t)(found - message) : strlen(message), bytes = strlen(text) + 1;
    PLAIN_MEMORY; // the thread keeps it, whatever device it was about
    pthread_once(&once, make_key);
    struct details *details = has_key ? braid_allocate(sizeof(*details) + num + 1 + bytes) : NULL;
    if (!details)
        return;
    memcpy(details->key, message, num);
    details->key[num] = '\0';
    details->text = details->key + num + 1;
    memcpy(details->text, text, bytes);
    struct details *before = pthread_getspecific(thread_details);
    if (pthread_setspecific(thread_details, details) == 0)
        braid_free(before);
    else
        braid_free(details);
}

const char *braid_error_get_details(void)
{
    pthread_once(&once, make_key);
    const struct details *details = has_key ? pthread_getspecific(thread_details) : NULL;
    return details && strstr(message, details->key) ? details->text : "";
}

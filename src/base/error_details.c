// SPDX-License-Identifier: Apache-2.0
// Long texts that belong to an error: all lines that a compiler wrote.
#include "base/error_details.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <braid/status.h>

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
    has_key = pthread_key_create(&thread_details, free) == 0;
}

// A thread that ends later would call a function that is not loaded any more.
__attribute__((destructor)) static void forget_key(void)
{
    if (!has_key)
        return;
    free(pthread_getspecific(thread_details));
    pthread_key_delete(thread_details);
    has_key = false;
}

void braid_error_set_details(const char *end, const char *text)
{
    const char *message = braid_error_message(), *found = strstr(message, end);
    size_t num = found ? (size_t)(found - message) : strlen(message), bytes = strlen(text) + 1;
    pthread_once(&once, make_key);
    struct details *details = has_key ? malloc(sizeof(*details) + num + 1 + bytes) : NULL;
    if (!details)
        return;
    memcpy(details->key, message, num);
    details->key[num] = '\0';
    details->text = details->key + num + 1;
    memcpy(details->text, text, bytes);
    struct details *before = pthread_getspecific(thread_details);
    if (pthread_setspecific(thread_details, details) == 0)
        free(before);
    else
        free(details);
}

const char *braid_error_details(void)
{
    pthread_once(&once, make_key);
    const struct details *details = has_key ? pthread_getspecific(thread_details) : NULL;
    return details && strstr(braid_error_message(), details->key) ? details->text : "";
}

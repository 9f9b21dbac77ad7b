// SPDX-License-Identifier: Apache-2.0
// Notes return addresses in memory of its own, since it runs inside of failing allocations.
#include "support/call_paths.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MOST_NOTES = 1 << 14, MOST_FRAMES = 32, MOST_FUNCTIONS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *function;
    uint64_t path;
} notes[MOST_NOTES];
static size_t num_notes;
static const char *functions[MOST_FUNCTIONS + 1]; // NULL behind the last
static int num_frames;                            // 0: nothing is noted

static void set_frames(int num)
{
    pthread_mutex_lock(&lock);
    num_frames = num;
    pthread_mutex_unlock(&lock);
}

void call_paths_begin(int num)
{
    num_notes = 0;
    memset(functions, 0, sizeof(functions));
    set_frames(num);
}

void call_paths_end(void)
{
    set_frames(0);
}

static int find_address(void *const *addresses, int num, const void *wanted)
{
    int at = 0;
    while (at < num && addresses[at] != wanted)
        at++;
    return at;
}

static bool is_of_program(const void *address)
{
    static const char own = 0;
    Dl_info found, program;
    return dladdr(address, &found) && dladdr(&own, &program) &&
           found.dli_fbase == program.dli_fbase;
}

// Behind a sanitizer's frames, this file's and the library's.
static int find_program(void *const *addresses, int num)
{
    int at = 0;
    while (at < num && !is_of_program(addresses[at]))
        at++;
    while (at < num && is_of_program(addresses[at]))
        at++;
    while (at < num && !is_of_program(addresses[at]))
        at++;
    return at;
}

void call_paths_note(const char *function, const void *caller)
{
    void *addresses[MOST_FRAMES];
    pthread_mutex_lock(&lock);
    if (num_frames > 0 && num_notes < MOST_NOTES) {
        uint64_t path = 14695981039346656037u; // FNV-1a
        int num = backtrace(addresses, MOST_FRAMES);
        int at = caller ? find_address(addresses, num, caller) : find_program(addresses, num);
        for (int i = at; i < num && i < at + num_frames; i++)
            path = (path ^ (uintptr_t)addresses[i]) * 1099511628211u;
        size_t known = 0;
        while (functions[known] && strcmp(functions[known], function) != 0)
            known++;
        if (known < MOST_FUNCTIONS)
            functions[known] = function;
        notes[num_notes].function = function;
        notes[num_notes++].path = path;
    }
    pthread_mutex_unlock(&lock);
}

void call_paths_note_of_library(const char *function)
{
    call_paths_note(function, NULL);
}

// Whether one of the notes from begin to end is of this path and function.
static bool is_among(size_t begin, size_t end, size_t note)
{
    for (size_t i = begin; i < end; i++) {
        if (notes[i].path == notes[note].path &&
            strcmp(notes[i].function, notes[note].function) == 0)
            return true;
    }
    return false;
}

const char *call_paths_function(size_t i)
{
    return functions[i];
}

size_t call_paths_choose(const char *function, long step, long phase, long *out_numbers,
                         size_t most)
{
    size_t num = 0;
    long nth = 0, num_paths = 0;
    for (size_t i = 0; i < num_notes && num < most; i++) {
        if (strcmp(notes[i].function, function) != 0)
            continue;
        nth++;
        bool is_first = !is_among(0, i, i);
        bool is_last = step == 1 && !is_among(i + 1, num_notes, i);
        if (step == 0 || (is_first && num_paths++ % step == phase) || is_last)
            out_numbers[num++] = nth;
    }
    return num;
}

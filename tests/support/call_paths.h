// SPDX-License-Identifier: Apache-2.0
// Which calls a sweep of failures must fail. A life makes thousands of calls, and most come by a
// path through the code that an earlier call came by. So a sweep notes the calls of one life that
// succeeds. Then it fails the first and the last call of each path.
#ifndef BRAID_TESTS_CALL_PATHS_H
#define BRAID_TESTS_CALL_PATHS_H

#include <stddef.h>

// Forgets all notes. A path consists of the return addresses of the call and of its num_frames - 1
// callers.
void call_paths_begin(int num_frames);

// Notes a call of a function, a text that stays. `caller` is the return address of the call.
// Thread-safety: any thread.
void call_paths_note(const char *function, const void *caller);

// The same for a function of a library that calls back into the program.
void call_paths_note_of_library(const char *function);

// Notes nothing any more.
void call_paths_end(void);

// The ith function that was noted, in the order of their first calls; NULL behind the last.
const char *call_paths_function(size_t i);

// Writes the numbers of the calls of a function to fail, ascending and counted from 1, and returns
// how many there are. If step is above 1, these are the first call of each step-th path, from path
// number phase on. If it is 0, these are all.
size_t call_paths_choose(const char *function, long step, long phase, long *out_numbers,
                         size_t most);

#endif

// SPDX-License-Identifier: Apache-2.0
// What of the replay bench is wanted.
#ifndef BRAID_BENCH_REPLAY_CHOICE_H
#define BRAID_BENCH_REPLAY_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

// Arguments of main. Parts and values that are not named are all wanted.
struct replay_choice {
    int argc;
    char **argv;
};

// False, and a word on stderr, where an argument is neither a part nor an option with a value.
bool replay_choice_is_right(const struct replay_choice *choice, const char *const *parts,
                            size_t num_parts);
bool replay_choice_has_part(const struct replay_choice *choice, const char *part);
bool replay_choice_has(const struct replay_choice *choice, const char *option, const char *value);
bool replay_choice_has_number(const struct replay_choice *choice, const char *option, double value);

#endif

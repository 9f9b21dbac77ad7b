// SPDX-License-Identifier: Apache-2.0
// What of the replay bench is wanted: parts by name, cases and players by option.
#include <stdio.h>
#include <string.h>

#include "replay_choice.h"

static const char *const options[] = { "--player",  "--shape",   "--body",
                                       "--workers", "--pattern", "--width" };

static bool is_option(const char *argument)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(argument, options[i]) == 0)
            return true;
    return false;
}

static bool is_part(const char *argument, const char *const *parts, size_t num_parts)
{
    for (size_t i = 0; i < num_parts; i++)
        if (strcmp(argument, parts[i]) == 0)
            return true;
    return false;
}

bool replay_choice_is_right(const struct replay_choice *choice, const char *const *parts,
                            size_t num_parts)
{
    for (int i = 1; i < choice->argc; i++) {
        const char *argument = choice->argv[i];
        if (is_option(argument) ? ++i < choice->argc : is_part(argument, parts, num_parts))
            continue;
        fprintf(stderr, "%s: '%s' is neither a part nor an option with a value\n", choice->argv[0],
                argument);
        return false;
    }
    return true;
}

bool replay_choice_has_part(const struct replay_choice *choice, const char *part)
{
    bool any = false;
    for (int i = 1; i < choice->argc; i++) {
        if (is_option(choice->argv[i])) {
            i++;
            continue;
        }
        any = true;
        if (strcmp(choice->argv[i], part) == 0)
            return true;
    }
    return !any;
}

bool replay_choice_has(const struct replay_choice *choice, const char *option, const char *value)
{
    bool any = false;
    for (int i = 1; i + 1 < choice->argc; i++) {
        if (strcmp(choice->argv[i], option) != 0)
            continue;
        any = true;
        if (strcmp(choice->argv[i + 1], value) == 0)
            return true;
    }
    return !any;
}

bool replay_choice_has_number(const struct replay_choice *choice, const char *option, double value)
{
    char text[32];
    snprintf(text, sizeof(text), "%g", value);
    return replay_choice_has(choice, option, text);
}

// SPDX-License-Identifier: Apache-2.0
// Sweeps: life after life, and in each one call fails.
#include "gpu/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call_paths.h"
#include "support/check.h"

enum { MOST = 1 << 13 };

long sweep_step(void)
{
    const char *text = getenv("BRAID_SWEEP_STEP");
    long step = text ? strtol(text, NULL, 10) : 1;
    return step > 0 ? step : 1;
}

bool sweep_is_shortened(void)
{
    return getenv("BRAID_SWEEP_STEP") != NULL;
}

// ---- what is told ----

static bool is_about(const struct sweep_words *words, const char *function)
{
    return words->text ? strncmp(function, words->function, strlen(words->function)) == 0
                       : strcmp(function, words->function) == 0;
}

static bool tells(const struct sweep *sweep, const char *messages, const char *function)
{
    bool found = strstr(messages, function) != NULL; // in messages a name may end in its version
    for (const struct sweep_words *it = sweep->words; it->function && !found; it++)
        found = it->text && !it->goes_on && is_about(it, function) && strstr(messages, it->text);
    return found;
}

static bool may_be_silent(const struct sweep *sweep, const struct life *life, const char *function,
                          bool destroying)
{
    bool logged = tells(sweep, life->logged, function);
    if (logged && (destroying || sweep_may_leave_its_object(function)))
        return true;
    for (const struct sweep_words *it = sweep->words; it->function; it++) {
        if (!is_about(it, function) || (it->destroying && !destroying))
            continue;
        if (it->goes_on ? logged && strstr(life->logged, it->text) : !it->text)
            return true;
    }
    return false;
}

// What a queue call of the program's was told is its own to pass on; it gives the status only.
static void check_told(const struct sweep *sweep, const struct life *life, const char *function,
                       bool destroying)
{
    char line[1024];
    for (const char *at = life->returned; *at; at = strchr(at, '\n') + 1) {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
        if (!tells(sweep, line, function) &&
            !(strstr(line, "queue call returned") && tells(sweep, life->logged, function)))
            fail_msg("%s failed, and '%s' was returned; logged '%s'", function, line, life->logged);
    }
    if (life->num_failed == 0 && !may_be_silent(sweep, life, function, destroying))
        fail_msg("nobody was told of %s, while %s: logged '%s'", function,
                 destroying ? "destroying" : "running", life->logged);
}

bool sweep_may_leave_its_object(const char *function)
{
    return strstr(function, "Destroy") || strstr(function, "Free") || strstr(function, "Unload") ||
           strstr(function, "Release");
}

// ---- lives ----

static const struct sweep *current;
static const char *failing;

static void note_calls(struct life *life)
{
    life->calls_before_destroying = current->interposer->calls(failing);
}

// A failure that is returned without a message of its own must not show that of a life before.
static void forget_message(void)
{
    braid_device *none = NULL;
    check_fails(braid_device_open(&(braid_device_options){ .backend = "none" }, &none),
                BRAID_INVALID_ARGUMENT, "'none'");
}

static struct life live(const struct sweep *sweep, const char *function, long nth, bool *out_failed)
{
    const struct interposer *calls = sweep->interposer;
    struct life life = sweep->life;
    current = sweep;
    failing = function;
    life.before_destroying = function ? note_calls : NULL;
    if (calls->begin)
        calls->begin();
    if (sweep->set_up)
        sweep->set_up();
    forget_message();
    if (function)
        calls->let_fail(function, nth, sweep->code);
    else
        calls->note(true);
    long before = function ? calls->calls(function) : 0;
    sweep->live(&life);
    *out_failed = function && calls->calls(function) - before >= nth;
    life.calls_before_destroying -= before;
    if (function)
        calls->let_fail(NULL, 0, 0);
    else
        calls->note(false);
    if (sweep->tear_down)
        sweep->tear_down();
    if (calls->check_left)
        calls->check_left(*out_failed ? function : NULL);
    if (!*out_failed)
        assert_int_equal(life.num_failed, 0);
    return life;
}

// False when there is no such call.
static bool fail_nth(const struct sweep *sweep, const char *function, long nth)
{
    bool failed;
    print_message("# call %ld of %s\n", nth, function);
    struct life life = live(sweep, function, nth, &failed);
    if (failed)
        check_told(sweep, &life, function, nth > life.calls_before_destroying);
    return failed;
}

static size_t choose(const struct sweep *sweep, const char *function, long *out_numbers)
{
    const struct interposer *calls = sweep->interposer;
    return calls->choose
               ? calls->choose(function, out_numbers, MOST)
               : call_paths_choose(function, sweep->step, sweep->phase, out_numbers, MOST);
}

void sweep_run(const struct sweep *sweep, const char *name)
{
    static long numbers[MOST];
    const struct interposer *calls = sweep->interposer;
    const char *function, *only = getenv("BRAID_SWEEP_ONLY");
    int num_told = 0;
    bool failed;
    call_paths_begin(sweep->frames);
    (void)live(sweep, NULL, 0, &failed);
    call_paths_end();
    for (size_t i = 0; (function = calls->function ? calls->function(i) : call_paths_function(i));
         i++) {
        if (only && !strcasestr(function, only))
            continue;
        size_t num = choose(sweep, function, numbers);
        for (size_t k = 0; k < num; k++)
            num_told += fail_nth(sweep, function, numbers[k]);
    }
    print_message("summary: %s: %d failures told, one a life\n", name, num_told);
    assert_true(num_told > sweep->least / (sweep->step ? sweep->step : 1) || only);
}

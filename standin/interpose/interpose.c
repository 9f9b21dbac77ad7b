// SPDX-License-Identifier: Apache-2.0
// A library that stands before another: it counts the calls, fails the ones it is told to, and
// forwards the rest.
//
//   BRAID_INTERPOSE_REAL=path    the library to forward to
//   BRAID_INTERPOSE_FAIL=function:nth=code[,...]   "*" counts calls of any function; nth+ fails
//                                that call and all later ones
//   BRAID_INTERPOSE_DUMP=path    at exit, appends a line "function count" for each one called
#include "interpose.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 32, MAX_SYMBOLS = 1024, NAME_BYTES = 96 };

enum { NOT_SUPPORTED = 801 }; // in CUDA and HIP; what a function gives that the real library lacks

struct rule {
    char function[NAME_BYTES];
    long nth, seen;
    bool later_too;
    int code;
};

static void *real_library;
static _Atomic(void *) targets[MAX_SYMBOLS];
static atomic_long counts[MAX_SYMBOLS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the rules
static struct rule rules[MAX_RULES];
static int num_rules;

static bool parse_rule(const char *text, struct rule *out_rule, const char **out_rest)
{
    struct rule rule = { .nth = 0 };
    char plus[2] = "";
    int used = 0;
    if (sscanf(text, "%95[^:]:%ld%1[+]=%d%n", rule.function, &rule.nth, plus, &rule.code, &used) !=
            4 &&
        sscanf(text, "%95[^:]:%ld=%d%n", rule.function, &rule.nth, &rule.code, &used) != 3)
        return false;
    if (rule.nth < 1 || (text[used] != '\0' && text[used] != ','))
        return false;
    rule.later_too = plus[0] == '+';
    *out_rule = rule;
    *out_rest = text[used] == ',' ? text + used + 1 : text + used;
    return true;
}

bool braid_interpose_fail(const char *text)
{
    struct rule parsed[MAX_RULES];
    int count = 0;
    for (const char *rest = text; rest != NULL && *rest != '\0'; count++)
        if (count == MAX_RULES || !parse_rule(rest, &parsed[count], &rest))
            return false;
    pthread_mutex_lock(&lock);
    if (count > 0)
        memcpy(rules, parsed, (size_t)count * sizeof(*rules));
    num_rules = count;
    pthread_mutex_unlock(&lock);
    return true;
}

// A test that runs with a typing error in its settings would prove nothing: stop at once.
static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "interpose: %s: %s\n", what, why);
    abort();
}

static void load(void)
{
    const char *path = getenv("BRAID_INTERPOSE_REAL");
    if (interpose_num_symbols > MAX_SYMBOLS)
        give_up("the list of symbols", "too long");
    if (path == NULL)
        give_up("BRAID_INTERPOSE_REAL", "not set");
    real_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (real_library == NULL)
        give_up("BRAID_INTERPOSE_REAL", dlerror());
    if (!braid_interpose_fail(getenv("BRAID_INTERPOSE_FAIL")))
        give_up("BRAID_INTERPOSE_FAIL", "not of the form function:nth=code[,...]");
}

static bool must_fail(const char *name, int *out_code)
{
    bool failed = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < num_rules; i++) {
        struct rule *rule = &rules[i];
        if (strcmp(rule->function, "*") != 0 && strcmp(rule->function, name) != 0)
            continue;
        rule->seen++;
        if (!failed && (rule->later_too ? rule->seen >= rule->nth : rule->seen == rule->nth)) {
            *out_code = rule->code;
            failed = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return failed;
}

static void *find_target(unsigned index)
{
    void *target = atomic_load_explicit(&targets[index], memory_order_relaxed);
    if (target != NULL)
        return target;
    target = dlsym(real_library, interpose_symbols[index].name);
    if (target == NULL && !interpose_symbols[index].may_fail)
        give_up(interpose_symbols[index].name, "the real library does not have it");
    atomic_store_explicit(&targets[index], target, memory_order_relaxed);
    return target;
}

void *interpose_enter(unsigned index, int *out_code)
{
    pthread_once(&once, load);
    const struct symbol *symbol = &interpose_symbols[index];
    atomic_fetch_add_explicit(&counts[index], 1, memory_order_relaxed);
    if (symbol->may_fail && must_fail(symbol->name, out_code))
        return NULL;
    // Whoever looked for the function here found the trampoline.
    *out_code = NOT_SUPPORTED;
    return find_target(index);
}

long braid_interpose_count(const char *name)
{
    long all = 0;
    for (unsigned i = 0; i < interpose_num_symbols; i++) {
        long count = atomic_load_explicit(&counts[i], memory_order_relaxed);
        if (strcmp(interpose_symbols[i].name, name) == 0)
            return count;
        all += count;
    }
    return strcmp(name, "*") == 0 ? all : -1;
}

__attribute__((destructor)) static void dump_counts(void)
{
    const char *path = getenv("BRAID_INTERPOSE_DUMP");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (path != NULL && file == NULL)
        fprintf(stderr, "interpose: cannot write %s\n", path);
    if (file == NULL)
        return;
    for (unsigned i = 0; i < interpose_num_symbols; i++) {
        long count = atomic_load_explicit(&counts[i], memory_order_relaxed);
        if (count > 0)
            fprintf(file, "%s %ld\n", interpose_symbols[i].name, count);
    }
    fclose(file);
}

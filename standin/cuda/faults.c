// SPDX-License-Identifier: Apache-2.0
// Deliberate failures: the nth call of a function, or the nth work item, fails with a given code.
#include "faults.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RULES = 32, MAX_FUNCTIONS = 512, NAME_BYTES = 64 };

struct rule {
    char function[NAME_BYTES]; // "*": any
    long nth, seen;
    bool later_too; // nth+ : this call and every later one
    int code;
};

// Guards all below; separate from the world's lock, which a caller may hold or not.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[MAX_RULES];
static int num_rules;
static struct rule work_rule;
static struct {
    char name[NAME_BYTES];
    long calls;
} functions[MAX_FUNCTIONS]; // open addressing by hash of the name
static long all_calls, all_work;
static void (*watcher)(const char *function);
static void (*holder)(const char *function);

// The name without its _vN ending, so that a rule for cuMemAlloc means cuMemAlloc_v2 as well.
static void base_name(const char *function, char out_base[NAME_BYTES])
{
    snprintf(out_base, NAME_BYTES, "%s", function);
    char *version = strrchr(out_base, '_');
    if (version != NULL && version[1] == 'v' && isdigit((unsigned char)version[2]))
        *version = '\0';
}

static bool parse_count(const char *text, struct rule *out_rule)
{
    char plus[2];
    int used = 0;
    struct rule rule = { .function = "*" };
    if (sscanf(text, "%ld%1[+]=%d%n", &rule.nth, plus, &rule.code, &used) == 3)
        rule.later_too = true;
    else if (sscanf(text, "%ld=%d%n", &rule.nth, &rule.code, &used) != 2)
        return false;
    if (rule.nth < 1 || (text[used] != '\0' && text[used] != ','))
        return false;
    memcpy(rule.function, out_rule->function, sizeof(rule.function));
    *out_rule = rule;
    return true;
}

static bool parse_rules(const char *text, struct rule *out_rules, int *out_num_rules)
{
    int count = 0;
    for (const char *next = text; next != NULL && *next != '\0'; count++) {
        const char *colon = strchr(next, ':');
        if (count == MAX_RULES || colon == NULL || colon == next || colon - next >= NAME_BYTES)
            return false;
        char function[NAME_BYTES] = { 0 };
        memcpy(function, next, (size_t)(colon - next));
        base_name(function, out_rules[count].function);
        if (!parse_count(colon + 1, &out_rules[count]))
            return false;
        next = strchr(colon, ',');
        next = next == NULL ? NULL : next + 1;
    }
    *out_num_rules = count;
    return true;
}

bool faults_set_calls(const char *text)
{
    struct rule parsed[MAX_RULES] = { 0 };
    int count = 0;
    if (!parse_rules(text, parsed, &count))
        return false;
    pthread_mutex_lock(&lock);
    memcpy(rules, parsed, sizeof(rules));
    num_rules = count;
    pthread_mutex_unlock(&lock);
    return true;
}

bool faults_set_work(const char *text)
{
    struct rule parsed = { 0 };
    if (text != NULL && *text != '\0' && !parse_count(text, &parsed))
        return false;
    pthread_mutex_lock(&lock);
    work_rule = parsed;
    pthread_mutex_unlock(&lock);
    return true;
}

static CUresult hit(struct rule *rule)
{
    rule->seen++;
    bool now = rule->later_too ? rule->seen >= rule->nth : rule->seen == rule->nth;
    return now && rule->nth > 0 ? (CUresult)rule->code : CUDA_SUCCESS;
}

// The slot of a name, or the free slot where it belongs; -1 when the table is full.
static int find_slot(const char *base)
{
    unsigned hash = 2166136261u;
    for (const char *c = base; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (unsigned i = 0; i < MAX_FUNCTIONS; i++) {
        unsigned slot = (hash + i) % MAX_FUNCTIONS;
        if (functions[slot].name[0] == '\0' || strcmp(functions[slot].name, base) == 0)
            return (int)slot;
    }
    return -1;
}

void faults_watch(void (*watch)(const char *function))
{
    pthread_mutex_lock(&lock);
    watcher = watch;
    pthread_mutex_unlock(&lock);
}

void faults_hold(void (*hold)(const char *function))
{
    pthread_mutex_lock(&lock);
    holder = hold;
    pthread_mutex_unlock(&lock);
}

CUresult faults_count_call(const char *function)
{
    char base[NAME_BYTES];
    base_name(function, base);
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    void (*hold)(const char *name) = holder;
    all_calls++;
    int slot = find_slot(base);
    if (slot >= 0) {
        memcpy(functions[slot].name, base, sizeof(base));
        functions[slot].calls++;
        if (watcher)
            watcher(functions[slot].name);
    }
    for (int i = 0; i < num_rules; i++)
        if (strcmp(rules[i].function, "*") == 0 || strcmp(rules[i].function, base) == 0) {
            CUresult code = hit(&rules[i]);
            result = result == CUDA_SUCCESS ? code : result;
        }
    pthread_mutex_unlock(&lock);
    if (hold)
        hold(base);
    return result;
}

CUresult faults_count_work(void)
{
    pthread_mutex_lock(&lock);
    all_work++;
    CUresult result = hit(&work_rule);
    pthread_mutex_unlock(&lock);
    return result;
}

long faults_calls(const char *function)
{
    char base[NAME_BYTES];
    base_name(function, base);
    pthread_mutex_lock(&lock);
    int slot = find_slot(base);
    long calls = slot < 0 || functions[slot].name[0] == '\0' ? 0 : functions[slot].calls;
    if (strcmp(function, "*") == 0)
        calls = all_calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

long faults_work(void)
{
    pthread_mutex_lock(&lock);
    long count = all_work;
    pthread_mutex_unlock(&lock);
    return count;
}

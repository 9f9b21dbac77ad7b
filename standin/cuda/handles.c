// SPDX-License-Identifier: Apache-2.0
// The set of live driver objects, so that a stale or wrong handle is an error and not a crash.
#include "handles.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

struct slot {
    const void *object;    // NULL: free
    enum handle_kind kind; // HANDLE_NONE: was removed, look further
};

static struct slot *slots; // open addressing; num_slots is zero or a power of two
static size_t num_slots, num_used;
static long live[NUM_HANDLE_KINDS];

static size_t home(const void *object, size_t size)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)object >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(mixed >> 32) & (size - 1);
}

static void place(struct slot *table, size_t size, struct slot entry)
{
    size_t at = home(entry.object, size);
    while (table[at].object != NULL)
        at = (at + 1) & (size - 1);
    table[at] = entry;
}

// Doubles the table where it is full of live entries, else only sweeps the removed ones out.
static bool make_room(void)
{
    if (num_used * 2 < num_slots)
        return true;
    size_t num_live = 0;
    for (size_t i = 0; i < num_slots; i++)
        num_live += slots[i].object != NULL && slots[i].kind != HANDLE_NONE;
    size_t size = num_slots == 0 ? 256 : num_live * 4 > num_slots ? num_slots * 2 : num_slots;
    struct slot *table = calloc(size, sizeof(*table));
    if (table == NULL)
        return false;
    for (size_t i = 0; i < num_slots; i++)
        if (slots[i].object != NULL && slots[i].kind != HANDLE_NONE)
            place(table, size, slots[i]);
    free(slots);
    slots = table;
    num_slots = size;
    num_used = num_live;
    return true;
}

static struct slot *find(const void *object)
{
    if (num_slots == 0 || object == NULL)
        return NULL;
    for (size_t at = home(object, num_slots); slots[at].object != NULL;
         at = (at + 1) & (num_slots - 1))
        if (slots[at].object == object && slots[at].kind != HANDLE_NONE)
            return &slots[at];
    return NULL;
}

bool handles_add(enum handle_kind kind, const void *object)
{
    if (!make_room())
        return false;
    place(slots, num_slots, (struct slot){ object, kind });
    num_used++;
    live[kind]++;
    return true;
}

void handles_remove(const void *object)
{
    struct slot *slot = find(object);
    if (slot == NULL)
        return;
    live[slot->kind]--;
    slot->kind = HANDLE_NONE;
}

bool handles_known(enum handle_kind kind, const void *object)
{
    struct slot *slot = find(object);
    return slot != NULL && slot->kind == kind;
}

long handles_live(enum handle_kind kind)
{
    return live[kind];
}

void handles_each(enum handle_kind kind, void (*visit)(void *object, void *user), void *user)
{
    for (size_t i = 0; i < num_slots; i++)
        if (slots[i].object != NULL && slots[i].kind == kind)
            visit((void *)(uintptr_t)slots[i].object, user);
}

// ---- memory of objects ----

struct freed {
    struct freed *next;
    size_t bytes;
};

static pthread_mutex_t freed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct freed *freed; // the last first

void *handles_allocate(size_t bytes)
{
    struct freed **at = &freed, *found;
    pthread_mutex_lock(&freed_lock);
    while (*at != NULL && (*at)->bytes != bytes)
        at = &(*at)->next;
    found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&freed_lock);
    return found != NULL ? memset(found, 0, bytes) : calloc(1, bytes);
}

void handles_free(void *object, size_t bytes)
{
    if (object == NULL || !setting(SETTING_REUSE)) {
        free(object);
        return;
    }
    pthread_mutex_lock(&freed_lock);
    *(struct freed *)object = (struct freed){ freed, bytes };
    freed = object;
    pthread_mutex_unlock(&freed_lock);
}

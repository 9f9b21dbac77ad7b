// SPDX-License-Identifier: Apache-2.0
// The skeleton's entries of queues and moments, kept for later use. All under skeleton.lock.
#ifndef BRAID_TESTS_SKELETON_POOL_H
#define BRAID_TESTS_SKELETON_POOL_H

#include <pthread.h>
#include <stdlib.h>

#include "device/backend.h"

enum { MAX_ARGS = 32, ARG_BYTES = 2048, NUM_AT_FIRST = 2048 };

struct point {
    struct point *next; // free list
    bool reached;
    uint64_t time_ns;
    unsigned num_references;
};

enum { ITEM_TASK, ITEM_RECORD, ITEM_WAIT };

struct item {
    struct item *next; // in the queue or the free list
    int kind;          // ITEM_TASK, ITEM_RECORD or ITEM_WAIT
    struct point *point;
    struct backend_task task;
    void *args[MAX_ARGS];
    _Alignas(16) unsigned char bytes[ARG_BYTES];
};

struct skeleton {
    struct backend base; // first
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct item *free_items;
    struct point *free_points;
    struct skeleton_stream *default_stream;
};

static inline void skeleton_release_point(struct skeleton *skeleton, struct point *point)
{
    if (!point || --point->num_references)
        return;
    point->next = skeleton->free_points;
    skeleton->free_points = point;
}

// With one reference.
static inline struct point *skeleton_new_point(struct skeleton *skeleton)
{
    struct point *point = skeleton->free_points;
    if (point)
        skeleton->free_points = point->next;
    else
        point = malloc(sizeof(*point));
    if (point)
        *point = (struct point){ .num_references = 1 };
    return point;
}

static inline void skeleton_free_item(struct skeleton *skeleton, struct item *item)
{
    skeleton_release_point(skeleton, item->point);
    item->point = NULL;
    item->next = skeleton->free_items;
    skeleton->free_items = item;
}

static inline struct item *skeleton_new_item(struct skeleton *skeleton, int kind,
                                             struct point *point)
{
    struct item *item = skeleton->free_items;
    if (item)
        skeleton->free_items = item->next;
    else
        item = malloc(sizeof(*item));
    if (!item)
        return NULL;
    item->next = NULL;
    item->kind = kind;
    item->point = point;
    return item;
}

static inline bool skeleton_fill_pools(struct skeleton *skeleton)
{
    bool filled = true;
    for (int i = 0; i < NUM_AT_FIRST && filled; i++) {
        struct item *item = calloc(1, sizeof(*item));
        filled = item && (item->point = calloc(1, sizeof(*item->point)));
        if (filled)
            item->point->num_references = 1;
        if (item)
            skeleton_free_item(skeleton, item);
    }
    return filled;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Writing a rank's plan as bytes. All ranks are of one byte order, as MPI's own bytes would be.
#include "rank/rank_plan.h"

#include <string.h>

uint32_t braid_rank_plan_add_text(struct rank_plan_parts *parts, const char *text)
{
    size_t bytes = strlen(text) + 1, place = parts->text.num;
    char *copy = braid_array_append(&parts->text, bytes, 1);
    if (!copy || place > UINT32_MAX - 1)
        return UINT32_MAX;
    memcpy(copy, text, bytes);
    return (uint32_t)place;
}

bool braid_rank_plan_add_communicator(struct rank_plan_parts *parts,
                                      const braid_communicator *communicator)
{
    uint32_t name = braid_rank_plan_add_text(parts, communicator->name);
    struct rank_plan_communicator *told =
        braid_array_append(&parts->communicators, 1, sizeof(*told));
    uint32_t first = (uint32_t)parts->members.num;
    uint32_t *members = braid_array_append(&parts->members, communicator->num, sizeof(*members));
    if (!told || !members || name == UINT32_MAX)
        return false;
    memcpy(members, communicator->members, communicator->num * sizeof(*members));
    *told = (struct rank_plan_communicator){ communicator->number, name, first, communicator->num,
                                             communicator->link != NULL };
    return true;
}

static char *put(char *at, const struct array *array, size_t item_bytes)
{
    if (array->num)
        memcpy(at, array->items, array->num * item_bytes);
    return at + array->num * item_bytes;
}

// Operations, which have members of 8 bytes, stand right behind the header.
void *braid_rank_plan_write(const struct rank_plan_parts *parts, uint64_t *out_num_bytes)
{
    const struct rank_plan_header header = {
        .magic = RANK_PLAN_MAGIC,
        .status = parts->status,
        .may_plan_again = parts->may_plan_again,
        .introduces = parts->introduces,
        .engine = parts->engine,
        .num_vertices = parts->num_vertices,
        .num_operations = (uint32_t)parts->operations.num,
        .num_communicators = (uint32_t)parts->communicators.num,
        .num_members = (uint32_t)parts->members.num,
        .num_edges = (uint32_t)parts->edges.num,
        .num_text = parts->text.num,
    };
    uint64_t bytes = sizeof(header) + parts->operations.num * sizeof(struct rank_plan_operation) +
                     parts->communicators.num * sizeof(struct rank_plan_communicator) +
                     parts->members.num * sizeof(uint32_t) +
                     parts->edges.num * sizeof(struct rank_plan_edge) + parts->text.num + 1;
    char *made = braid_allocate_zeroed(bytes, 1);
    if (!made)
        return NULL;
    memcpy(made, &header, sizeof(header));
    char *at = made + sizeof(header);
    at = put(at, &parts->operations, sizeof(struct rank_plan_operation));
    at = put(at, &parts->communicators, sizeof(struct rank_plan_communicator));
    at = put(at, &parts->members, sizeof(uint32_t));
    at = put(at, &parts->edges, sizeof(struct rank_plan_edge));
    put(at, &parts->text, 1);
    *out_num_bytes = bytes;
    return made;
}

void braid_rank_plan_finish(struct rank_plan_parts *parts)
{
    braid_array_finish(&parts->operations);
    braid_array_finish(&parts->communicators);
    braid_array_finish(&parts->members);
    braid_array_finish(&parts->edges);
    braid_array_finish(&parts->text);
}

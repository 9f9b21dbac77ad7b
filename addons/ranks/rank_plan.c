// SPDX-License-Identifier: Apache-2.0
// Writing a rank's plan as bytes, and reading it.
#include "ranks/rank_plan.h"

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

// Operations, which have members of 8 bytes, stand right behind the head.
void *braid_rank_plan_write(const struct rank_plan_parts *parts, uint64_t *out_num_bytes)
{
    struct rank_plan head = parts->head;
    head.magic = RANK_PLAN_MAGIC;
    head.num_operations = (uint32_t)parts->operations.num;
    head.num_communicators = (uint32_t)parts->communicators.num;
    head.num_members = (uint32_t)parts->members.num;
    head.num_edges = (uint32_t)parts->edges.num;
    uint64_t bytes = sizeof(head) + parts->operations.num * sizeof(struct rank_plan_operation) +
                     parts->communicators.num * sizeof(struct rank_plan_communicator) +
                     parts->members.num * sizeof(uint32_t) +
                     parts->edges.num * sizeof(struct rank_plan_edge) + parts->text.num + 1;
    char *made = braid_allocate_zeroed(bytes, 1);
    if (!made)
        return NULL;
    memcpy(made, &head, sizeof(head));
    char *at = made + sizeof(head);
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

bool braid_rank_plan_read(const void *bytes, uint64_t num_bytes, struct rank_plan *out_plan)
{
    struct rank_plan plan = { 0 };
    if (num_bytes >= sizeof(plan))
        memcpy(&plan, bytes, sizeof(plan));
    plan.operations = (const void *)((const char *)bytes + sizeof(plan));
    plan.communicators = (const void *)(plan.operations + plan.num_operations);
    plan.members = (const void *)(plan.communicators + plan.num_communicators);
    plan.edges = (const void *)(plan.members + plan.num_members);
    plan.text = (const void *)(plan.edges + plan.num_edges);
    *out_plan = plan;
    return plan.magic == RANK_PLAN_MAGIC;
}

const struct rank_plan_communicator *braid_rank_plan_find_communicator(const struct rank_plan *plan,
                                                                       uint32_t number)
{
    for (uint32_t i = 0; i < plan->num_communicators; i++) {
        if (plan->communicators[i].number == number)
            return &plan->communicators[i];
    }
    return NULL;
}

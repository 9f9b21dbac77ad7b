// SPDX-License-Identifier: Apache-2.0
// The devices that a captured graph may run on.
#include "import/members.h"

struct import_members braid_import_members_of(const struct places *places)
{
    struct import_members members = { .num = places->num };
    for (uint32_t i = 0; i < places->num; i++) {
        members.gpu[i] = gpu_from(places->devices[i]->backend);
        members.reaches[i] = places->reaches[i];
    }
    return members;
}

uint32_t braid_import_member_with(const struct import_members *members, gpu_context context)
{
    for (uint32_t i = 0; i < members->num; i++) {
        if (members->gpu[i]->context == context)
            return i;
    }
    return MEMBER_NONE;
}

uint32_t braid_import_member_numbered(const struct import_members *members, int ordinal)
{
    for (uint32_t i = 0; i < members->num; i++) {
        if (members->gpu[i]->device == ordinal)
            return i;
    }
    return MEMBER_NONE;
}

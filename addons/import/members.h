// SPDX-License-Identifier: Apache-2.0
// The devices that a captured graph may run on: one, or the members of a group.
#ifndef BRAID_IMPORT_MEMBERS_H
#define BRAID_IMPORT_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/gpu/gpu_backend.h"
#include "device/places.h"

// In place of the number of a member: any will do, or none is meant.
#define MEMBER_NONE UINT32_MAX

struct import_members {
    uint32_t num;
    struct gpu_backend *gpu[MOST_PLACES];
    uint64_t reaches[MOST_PLACES]; // by itself, the memory of: a bit for each
};

// They are CUDA devices.
struct import_members braid_import_members_of(const struct places *places);

// The first member with this context, or with this number among the driver's devices.
uint32_t braid_import_member_with(const struct import_members *members, gpu_context context);
uint32_t braid_import_member_numbered(const struct import_members *members, int ordinal);

#endif

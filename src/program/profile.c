// SPDX-License-Identifier: Apache-2.0
// Room for the times of frames.
#include "program/profile.h"

#include "base/array.h"
#include "base/error.h"

braid_status braid_profile_create(uint32_t num_frames, size_t num_ops, struct profile *out_profile)
{
    struct profile profile = { .room = num_frames, .num_ops = num_ops };
    if (num_ops <= SIZE_MAX / sizeof(*profile.ops) / (num_frames ? num_frames : 1))
        profile.ops = braid_allocate_zeroed(num_frames * num_ops, sizeof(*profile.ops));
    profile.frames = braid_allocate_zeroed(num_frames, sizeof(*profile.frames));
    if (!profile.ops || !profile.frames) {
        braid_profile_finish(&profile);
        return braid_error_no_memory("the times of frames");
    }
    *out_profile = profile;
    return BRAID_OK;
}

void braid_profile_finish(struct profile *profile)
{
    free(profile->ops);
    free(profile->frames);
    *profile = (struct profile){ 0 };
}

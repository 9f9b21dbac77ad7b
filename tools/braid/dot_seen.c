// SPDX-License-Identifier: Apache-2.0
// A table of keys that were seen, each with a number.
#include "dot_seen.h"

#include <stdlib.h>

// The finalizer of MurmurHash3.
static uint64_t mix(uint64_t key)
{
    key = (key ^ key >> 33) * 0xff51afd7ed558ccd;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53;
    return key ^ key >> 33;
}

static struct dot_seen_key *find(struct dot_seen_key *keys, size_t room, uint64_t key)
{
    size_t at = key & (room - 1);
    while (keys[at].key && keys[at].key != key)
        at = (at + 1) & (room - 1);
    return &keys[at];
}

static bool make_room(struct dot_seen *seen)
{
    if (seen->num < seen->room / 2)
        return true;
    const size_t room = seen->room ? seen->room * 2 : 1024;
    struct dot_seen_key *keys = calloc(room, sizeof(*keys));
    if (!keys)
        return false;
    for (size_t i = 0; i < seen->room; i++) {
        if (seen->keys[i].key)
            *find(keys, room, seen->keys[i].key) = seen->keys[i];
    }
    free(seen->keys);
    seen->keys = keys;
    seen->room = room;
    return true;
}

const struct dot_seen_key *dot_seen_add(struct dot_seen *seen, uint64_t one, uint64_t two,
                                        uint32_t number, bool *out_is_new)
{
    const uint64_t mixed = mix(mix(one) + two), key = mixed ? mixed : 1;
    if (!make_room(seen))
        return NULL;
    struct dot_seen_key *found = find(seen->keys, seen->room, key);
    *out_is_new = !found->key;
    if (!found->key) {
        *found = (struct dot_seen_key){ key, number };
        seen->num++;
    }
    return found;
}

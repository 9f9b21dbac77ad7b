// SPDX-License-Identifier: Apache-2.0
// Changing values of nodes, in all frames of an exec or in none.
#ifndef BRAID_EXEC_EXEC_CHANGE_H
#define BRAID_EXEC_EXEC_CHANGE_H

#include "program/frame.h"

// Bytes of a slot that get another value.
struct exec_edit {
    const unsigned char *from;
    uint64_t offset; // in the slot
    uint32_t slot;   // enum task_slot
    uint32_t node;   // whose they are
    uint32_t bytes;
};

// A node of a frame that has been changed, and what it was.
struct exec_changed;

// Room for one change of the exec, which its lock guards.
struct exec_room {
    struct exec_edit *edits;
    struct exec_changed *changed;
    unsigned char *bytes;
};

// The bytes of a node's target (braid_target) that is no argument, without `from` and `bytes`.
struct exec_edit braid_exec_edit_of(const struct tasks *tasks, uint32_t node, uint32_t target);

#endif

// SPDX-License-Identifier: Apache-2.0
// The functions of libbraid that libbraid_ranks uses besides the public ones: one table.
//
// It is private. No other library may use it, and it may change with each version. The version of
// its symbol is the version of Braid (src/braid.map), so the loader refuses another pair.
#ifndef BRAID_EXEC_FOR_RANKS_H
#define BRAID_EXEC_FOR_RANKS_H

#include "base/error.h"
#include "base/host_memory.h"
#include "base/own_threads.h"
#include "base/process.h"
#include "exec/exec.h"
#include "exec/exec_part.h"
#include "graph/add.h"
#include "graph/addresses.h"
#include "graph/links.h"
#include "graph/placed.h"

// braid_NAME of each.
#define FOR_RANKS(X)                                                                               \
    X(error)                                                                                       \
    X(error_no_memory)                                                                             \
    X(error_null)                                                                                  \
    X(error_begin_attempt)                                                                         \
    X(error_end_attempt)                                                                           \
    X(allocate)                                                                                    \
    X(allocate_zeroed)                                                                             \
    X(allocate_pages)                                                                              \
    X(reallocate)                                                                                  \
    X(free)                                                                                        \
    X(own_thread_start)                                                                            \
    X(own_thread_join)                                                                             \
    X(own_threads_count_change)                                                                    \
    X(process_number)                                                                              \
    X(process_watch)                                                                               \
    X(names_at)                                                                                    \
    X(names_reserve)                                                                               \
    X(graph_append_address)                                                                        \
    X(graph_append_node)                                                                           \
    X(graph_append_resource)                                                                       \
    X(graph_check_accesses)                                                                        \
    X(graph_check_named)                                                                           \
    X(graph_check_node)                                                                            \
    X(graph_clone)                                                                                 \
    X(graph_find_links)                                                                            \
    X(graph_find_pointer)                                                                          \
    X(graph_find_units)                                                                            \
    X(graph_name)                                                                                  \
    X(graph_reserve_addresses)                                                                     \
    X(graph_resource_name)                                                                         \
    X(graph_units_finish)                                                                          \
    X(device_hold)                                                                                 \
    X(exec_add_part)                                                                               \
    X(exec_await_frames)                                                                           \
    X(exec_find_player)                                                                            \
    X(exec_find_schedule)                                                                          \
    X(exec_make)

#define FOR_RANKS_FIELD(name) __typeof__(braid_##name) *name;
struct for_ranks {
    FOR_RANKS(FOR_RANKS_FIELD)
};

BRAID_API const struct for_ranks *braid_private_for_ranks(void);

#endif

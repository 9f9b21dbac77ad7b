// SPDX-License-Identifier: Apache-2.0
// In the shared libbraid_ranks alone: functions of libbraid that it hides, by its table.
//
// The static libbraid_ranks calls them by their names.
#include <stdarg.h>
#include <stdio.h>

#include "exec/for_ranks.h"

static const struct for_ranks *libbraid;

__attribute__((constructor)) static void find_table(void)
{
    libbraid = braid_private_for_ranks();
}

braid_status braid_error(braid_status status, const char *format, ...)
{
    char text[ERROR_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return libbraid->error(status, "%s", text);
}

#define FORWARD(result, name, parameters, arguments)                                               \
    result braid_##name parameters                                                                 \
    {                                                                                              \
        return libbraid->name arguments;                                                           \
    }
#define FORWARD_VOID(name, parameters, arguments)                                                  \
    void braid_##name parameters                                                                   \
    {                                                                                              \
        libbraid->name arguments;                                                                  \
    }

FORWARD(braid_status, error_no_memory, (const char *what), (what))
FORWARD(braid_status, error_null, (const char *function, const char *argument),
        (function, argument))
FORWARD_VOID(error_begin_attempt, (struct error_attempt * attempt), (attempt))
FORWARD_VOID(error_end_attempt, (const struct error_attempt *attempt, braid_status status),
             (attempt, status))
FORWARD(void *, allocate, (size_t bytes), (bytes))
FORWARD(void *, allocate_zeroed, (size_t num, size_t bytes), (num, bytes))
FORWARD(void *, allocate_pages, (size_t bytes), (bytes))
FORWARD(void *, reallocate, (void *memory, size_t bytes), (memory, bytes))
FORWARD_VOID(free, (void *memory), (memory))
FORWARD(int, own_thread_start,
        (struct own_thread * own, const char *name, void *(*main)(void *argument), void *argument),
        (own, name, main, argument))
FORWARD_VOID(own_thread_join, (struct own_thread * own), (own))
FORWARD_VOID(own_threads_count_change, (void), ())
FORWARD(uint32_t, process_number, (void), ())
FORWARD(braid_status, process_watch, (void), ())
FORWARD(const char *, names_at, (const struct names *names, uint32_t place), (names, place))
FORWARD(bool, names_reserve, (struct names * names, const char *name), (names, name))
FORWARD_VOID(graph_append_address, (braid_graph * graph, uint32_t place, braid_resource resource),
             (graph, place, resource))
FORWARD_VOID(graph_append_node,
             (braid_graph * graph, enum work_kind kind, uint32_t payload,
              const braid_node_options *options, braid_node *out_node),
             (graph, kind, payload, options, out_node))
FORWARD(braid_status, graph_append_resource,
        (braid_graph * graph, const char *name, struct graph_resource resource,
         braid_resource *out_resource),
        (graph, name, resource, out_resource))
FORWARD(braid_status, graph_check_accesses,
        (const braid_graph *graph, const char *name, const braid_node_options *options),
        (graph, name, options))
FORWARD(braid_status, graph_check_named,
        (const char *function, const braid_graph *graph, const char *name,
         const braid_resource *out_resource),
        (function, graph, name, out_resource))
FORWARD(braid_status, graph_check_node,
        (const braid_graph *graph, const char *name, const braid_node_options *options),
        (graph, name, options))
FORWARD(braid_status, graph_clone, (const braid_graph *graph, braid_graph **out_clone),
        (graph, out_clone))
FORWARD(braid_status, graph_find_links, (const braid_graph *graph, struct array *out_links),
        (graph, out_links))
FORWARD(braid_status, graph_find_pointer,
        (const braid_graph *graph, const struct address_request *request, const void *given,
         const void **out_address),
        (graph, request, given, out_address))
FORWARD(braid_status, graph_find_units, (const braid_graph *graph, struct graph_units *out_units),
        (graph, out_units))
FORWARD(const char *, graph_name, (const braid_graph *graph, uint32_t node), (graph, node))
FORWARD(bool, graph_reserve_addresses,
        (braid_graph * graph, const braid_node_options *options, size_t num), (graph, options, num))
FORWARD(const char *, graph_resource_name,
        (const braid_graph *graph, uint32_t resource, char *buffer, size_t size),
        (graph, resource, buffer, size))
FORWARD_VOID(graph_units_finish, (struct graph_units * units), (units))
FORWARD_VOID(device_hold, (braid_device * device, uint64_t *count, int change),
             (device, count, change))
FORWARD_VOID(exec_add_part, (struct exec_part * *parts, struct exec_part *part), (parts, part))
FORWARD(braid_status, exec_await_frames, (braid_exec * exec), (exec))
FORWARD(const struct player *const *, exec_find_player,
        (const struct player *const *players, braid_exec_mode mode), (players, mode))
FORWARD(braid_status, exec_find_schedule,
        (braid_exec * exec, const braid_graph *graph, const braid_exec_options *options,
         const struct player *player),
        (exec, graph, options, player))
FORWARD(braid_status, exec_make,
        (braid_exec * exec, const braid_graph *graph, const braid_exec_options *options),
        (exec, graph, options))

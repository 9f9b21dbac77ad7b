// SPDX-License-Identifier: Apache-2.0
// Options that say for which devices a graph is planned, and the plan's copies as text and JSON.
#ifndef BRAID_TOOL_PLACES_H
#define BRAID_TOOL_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/graph.h>
#include <braid/schedule.h>
#include <jansson.h>

#include "arguments.h"
#include "dot_file.h"
#include "message.h"

// What the command line says.
struct place_arguments {
    const char *devices; // a number or a file; NULL: one device
    uint64_t copy_cost, copy_rate, edge_cost;
};

// The text of these options for --help.
#define PLACES_HELP                                                                                \
    "  --places N        plan for N equal devices: nodes may run on any unless they say\n"         \
    "                    otherwise, and what they need from others is copied. Or --places FILE,\n" \
    "                    with speeds and links in JSON\n"                                          \
    "  --copy-cost N     what a copy between devices takes beside its bytes (default 0)\n"         \
    "  --copy-rate N     how many bytes go in a unit of cost (default: any number)\n"              \
    "  --edge-cost N     what a wait for a node of another device costs (default 0)\n"

// The rows of these options; `member` is a struct place_arguments.
#define PLACES_ARGUMENTS(type, member)                                                             \
    ARGUMENT_TEXT("places", type, member.devices),                                                 \
        ARGUMENT_NUMBER("copy-cost", type, member.copy_cost, 0, ARGUMENT_MOST_COST),               \
        ARGUMENT_NUMBER("copy-rate", type, member.copy_rate, 1, (uint64_t)1 << 50),                \
        ARGUMENT_NUMBER("edge-cost", type, member.edge_cost, 0, ARGUMENT_MOST_COST)

// A model that owns its arrays; num_places is 0 without --places.
struct places {
    braid_place_model model;
    uint32_t *speeds;
    braid_place_link *links;
};

// Costs count in units of unit_ns nanoseconds.
enum exit_status places_create(const struct place_arguments *arguments, uint64_t unit_ns,
                               struct places *out_places);
void places_finish(struct places *places);

// A node of the plan: its id in the file, or that of a copy.
struct place_id {
    char text[32];
};
const char *places_node_id(const struct dot_file *file, uint32_t node, struct place_id *room);

// The lines of a plan's figures that tell of devices and copies; none for one device.
void places_print(const struct dot_file *file, const braid_schedule *schedule);

// Adds devices and copies to the JSON of a plan. False: no memory.
bool places_add_counts(json_t *json, const struct dot_file *file, const braid_schedule_info *info,
                       uint64_t unit_ns);
bool places_add_copies(json_t *json, const struct dot_file *file, const braid_graph *graph,
                       const braid_schedule *schedule);

#endif

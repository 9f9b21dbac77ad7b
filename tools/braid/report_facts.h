// SPDX-License-Identifier: Apache-2.0
// What a report tells of a plan: which waits cost time, which nodes matter, what would change it.
#ifndef BRAID_TOOL_REPORT_FACTS_H
#define BRAID_TOOL_REPORT_FACTS_H

#include <braid/exec.h>
#include <braid/schedule.h>
#include <braid/timeline.h>

#include "dot_file.h"

enum { REPORT_NODES = 10, REPORT_WAITS = 20 };

// What a report is about.
struct report {
    const struct dot_file *file;
    braid_graph *graph; // as planned; its costs are changed for a while and put back
    const braid_schedule *schedule;
    braid_schedule_options options; // that it was planned with
    const braid_interval *measured; // by node, in a typical frame; NULL: nothing was run
    uint64_t measured_ns;           // median of the frames
    uint64_t launch_ns;             // median; how long a launch held up the host
    // With --profile, when the host launched the measured frame, by a clock that may be off by
    // error_ns against the times in `measured`. NULL: that is not known.
    const braid_interval *launch;
    uint64_t error_ns;
    const braid_exec_info *exec; // that was measured; NULL: there is none
};

// How long a wait kept its lane idle: from the end of the lane's node before, or of the frame's
// start, to the end of what it waited for; nothing if another wait of the same node ended later.
struct report_wait {
    uint32_t from, to;
    uint64_t idle_ns;
};

struct report_node {
    uint32_t node;
    uint64_t total_ns; // all its iterations together
    uint64_t half_ns;  // makespan of a plan where it took half
};

// Nodes that each began behind the one before: on its lane, or waited for. As measured where that
// is known, else as planned.
struct report_path {
    uint64_t ns; // the nodes' alone, and where one began early, from the end of that before
    uint32_t num_nodes;
};

struct report_facts {
    braid_schedule_info info;
    struct report_wait waits[REPORT_WAITS]; // the waits that cost most, first
    uint32_t num_waits;                     // how many these are
    uint64_t num_idle_waits, idle_ns;       // all that cost anything, and what together
    struct report_path path;                // to the node that ended last
    uint64_t frame_ns;                      // from the first start to its end
    struct report_node nodes[REPORT_NODES]; // on that path and in its bodies, the longest first
    uint32_t num_nodes;
    // Makespans of plans: as it is, and with one more lane. Nodes take what they were measured to.
    uint64_t now_ns, more_lane_ns;
    uint32_t num_by_resource;
    char resource[128]; // the one that serialises most pairs; "" where none does
};

// When a node ran: measured where that is known, else planned.
braid_interval report_interval(const struct report *report, uint32_t node);
// Whether that is known: not of a node that is left out, nor of a loop where it was measured.
bool report_has_interval(const struct report *report, uint32_t node);

enum exit_status report_find_facts(const struct report *report, struct report_facts *out_facts);

#endif

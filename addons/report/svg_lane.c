// SPDX-License-Identifier: Apache-2.0
// One lane of a timeline: nodes, blocks of nodes too short to tell apart, bundles, and idle times
// with their causes.
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/svg.h"

#define LEAST_NODE 2.0 // pixels: what is shorter may become part of a block
#define LEAST_BLOCK 0.75
#define LEAST_GAP 3.0 // pixels: idle times that are shown

// Short nodes that touch, not written yet. Only a block too narrow to tell is critical in part.
struct block {
    uint32_t num, first;
    uint64_t start_ns, end_ns;
    bool is_critical;
};

static void write_times(const struct svg *svg, uint64_t start_ns, uint64_t end_ns)
{
    braid_timeline_write_time(svg->timeline, start_ns, svg->file);
    fputs(" to ", svg->file);
    braid_timeline_write_time(svg->timeline, end_ns, svg->file);
    fputs(" (", svg->file);
    braid_timeline_write_time(svg->timeline, end_ns - start_ns, svg->file);
    fputs(")", svg->file);
}

// As much of a name as there is room for.
static void write_label(const struct svg *svg, const char *name, double x, double y, double width)
{
    enum { A_LETTER = 7, MOST_BYTES = 160 };
    int room = (int)((width - 8) / A_LETTER);
    char text[MOST_BYTES];
    size_t length = 0;
    const char *next = name;
    struct text_piece piece;
    for (int i = 0; i < room && *next; i++, next += piece.length) {
        braid_text_piece(next, &piece);
        if (length + piece.length >= sizeof(text))
            break;
        memcpy(text + length, next, piece.length);
        length += piece.length;
    }
    text[length] = '\0';
    braid_svg_write_text_at(svg, "name", x + 4, y + svg->row_height / 2 + 4);
    braid_text_write_xml(svg->file, text);
    fputs(*next ? "\xe2\x80\xa6</text>" : "</text>", svg->file);
}

static void write_body(const struct svg *svg, const struct program *body, double top,
                       double height);

// Draws the arms of a branch, one below the other.
static void write_bodies(const struct svg *svg, const struct program *body, double top,
                         double height)
{
    double each = body->has_else ? height / 2 : height;
    write_body(svg, body, top, each);
    if (body->has_else)
        write_body(svg, body + 1, top + each, each);
}

// The first run of a region, with its lanes inside the height of the region's node.
static void write_body(const struct svg *svg, const struct program *body, double top, double height)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    double row = height / (body->num_lanes ? body->num_lanes : 1);
    for (size_t i = 0; i < body->num_ops; i++) {
        const braid_step *op = &body->ops[i];
        if (!program_has_node(op))
            continue;
        const struct program *inner = braid_program_find_body(body, op->node);
        uint64_t start_ns = schedule->start_ns[op->node];
        double x = braid_svg_x(svg, start_ns), y = top + op->lane * row;
        double end = braid_svg_x(svg, start_ns + schedule->cost_ns[op->node]);
        braid_svg_write_rectangle(svg, "node inside", x, y, end - x > 0.75 ? end - x : 0.75, row);
        fputs("><title>", svg->file);
        braid_text_write_xml(svg->file, braid_schedule_node_name(schedule, op->node));
        fputs("</title></rect>\n", svg->file);
        if (inner)
            write_bodies(svg, inner, y, row);
    }
}

static void write_node(const struct svg *svg, uint32_t node, const braid_interval *interval)
{
    enum { LEAST_LABEL = 36 };
    const struct timeline *timeline = svg->timeline;
    const char *name = braid_schedule_node_name(timeline->schedule, node);
    bool is_bundled = braid_timeline_is_bundled(timeline, node);
    bool is_guess = braid_timeline_is_guess(timeline, node);
    const char *kind = braid_timeline_kind(timeline, node);
    char class_name[80];
    snprintf(class_name, sizeof(class_name), "node%s%s%s%s%s", is_bundled ? " bundled" : "",
             timeline->is_critical[node] ? " critical" : "", is_guess ? " guess" : "",
             *kind ? " " : "", kind);
    double x = braid_svg_x(svg, interval->start_ns), width = braid_svg_x(svg, interval->end_ns) - x;
    double y = braid_svg_lane_y(svg, timeline->schedule->lane_of[node]);
    braid_svg_write_rectangle(svg, class_name, x, y + (is_bundled ? 3 : 0),
                              width > 0.75 ? width : 0.75, svg->row_height - (is_bundled ? 6 : 0));
    fputs("><title>", svg->file);
    braid_text_write_xml(svg->file, name);
    fputs(": ", svg->file);
    write_times(svg, interval->start_ns, interval->end_ns);
    if (is_guess)
        fputs(", a guess", svg->file);
    if (is_bundled) {
        fputs(", ", svg->file);
        braid_timeline_write_role(timeline, node, braid_text_write_xml, svg->file);
    }
    fputs("</title></rect>", svg->file);
    if (width >= LEAST_LABEL && svg->row_height >= 20)
        write_label(svg, name, x, y, width);
    fputc('\n', svg->file);
    const struct program *body = braid_program_find_body(&timeline->schedule->program, node);
    if (body && !timeline->options.intervals) // it draws a plan
        write_bodies(svg, body, y + svg->row_height / 3, svg->row_height * 2 / 3);
}

static void write_block(const struct svg *svg, struct block *block, uint32_t lane)
{
    double x = braid_svg_x(svg, block->start_ns), width = braid_svg_x(svg, block->end_ns) - x;
    if (block->num == 1)
        write_node(svg, block->first, &(braid_interval){ block->start_ns, block->end_ns });
    if (block->num > 1) {
        braid_svg_write_rectangle(svg, block->is_critical ? "block critical" : "block", x,
                                  braid_svg_lane_y(svg, lane), width > 0.75 ? width : 0.75,
                                  svg->row_height);
        fprintf(svg->file, "><title>%" PRIu32 " nodes: ", block->num);
        write_times(svg, block->start_ns, block->end_ns);
        fputs("</title></rect>\n", svg->file);
    }
    *block = (struct block){ 0 };
}

// A node that starts as soon as another lane's node ends has waited for it.
static void write_gap(const struct svg *svg, uint32_t node, uint64_t start_ns, uint64_t end_ns)
{
    const struct timeline *timeline = svg->timeline;
    double x = braid_svg_x(svg, start_ns), width = braid_svg_x(svg, end_ns) - x;
    uint32_t lane = timeline->schedule->lane_of[node], waited = timeline->last_waited[node];
    if (width < LEAST_GAP)
        return;
    braid_svg_write_rectangle(svg, "gap", x, braid_svg_lane_y(svg, lane) + svg->row_height / 2 - 1,
                              width, 2);
    fputs("><title>idle: ", svg->file);
    write_times(svg, start_ns, end_ns);
    if (waited != PLAN_NONE) {
        fputs(", waits for ", svg->file);
        braid_text_write_xml(svg->file, braid_schedule_node_name(timeline->schedule, waited));
    }
    fputs("</title></rect>\n", svg->file);
}

static void take_node(const struct svg *svg, uint32_t node, const braid_interval *interval,
                      struct block *block)
{
    uint32_t lane = svg->timeline->schedule->lane_of[node];
    double x = braid_svg_x(svg, interval->start_ns), end = braid_svg_x(svg, interval->end_ns);
    bool is_short = end - x < LEAST_NODE;
    bool is_near = block->num > 0 && x - braid_svg_x(svg, block->end_ns) < LEAST_NODE / 2;
    bool is_critical = svg->timeline->is_critical[node];
    bool is_alike =
        is_critical == block->is_critical ||
        braid_svg_x(svg, block->end_ns) - braid_svg_x(svg, block->start_ns) < LEAST_BLOCK;
    if (block->num > 0 && !(is_short && is_near && is_alike))
        write_block(svg, block, lane);
    if (!is_short) {
        write_node(svg, node, interval);
        return;
    }
    if (block->num == 0)
        *block = (struct block){ .first = node, .start_ns = interval->start_ns };
    block->num++;
    block->end_ns = interval->end_ns;
    block->is_critical = block->is_critical || is_critical;
}

// A frame round a main node with its preludes and epilogues, where it is wide enough to be seen.
static void write_bundle(const struct svg *svg, uint32_t unit)
{
    const struct timeline *timeline = svg->timeline;
    const struct plan_graph *graph = timeline->schedule->graph;
    uint32_t size = plan_unit_size(graph, unit);
    uint32_t first = plan_unit_member(graph, unit, 0);
    braid_interval start, end;
    if (size < 2 || !braid_timeline_interval(timeline, 0, first, &start) ||
        !braid_timeline_interval(timeline, 0, plan_unit_member(graph, unit, size - 1), &end))
        return;
    double x = braid_svg_x(svg, start.start_ns), width = braid_svg_x(svg, end.end_ns) - x;
    if (width < 2 * LEAST_NODE)
        return;
    braid_svg_write_rectangle(svg, "bundle", x - 1.5,
                              braid_svg_lane_y(svg, timeline->schedule->lane_of[first]) - 2,
                              width + 3, svg->row_height + 4);
    fputs("/>\n", svg->file);
}

// A frame round the calls of an island, which is one kernel: nodes [first, last] of lane_nodes.
static void write_island(const struct svg *svg, uint32_t first, uint32_t last)
{
    const struct timeline *timeline = svg->timeline;
    const uint32_t *nodes = timeline->schedule->lane_nodes;
    braid_interval start, end;
    if (!braid_timeline_interval(timeline, 0, nodes[first], &start) ||
        !braid_timeline_interval(timeline, 0, nodes[last], &end))
        return;
    double x = braid_svg_x(svg, start.start_ns), width = braid_svg_x(svg, end.end_ns) - x;
    if (width < 2 * LEAST_NODE)
        return;
    braid_svg_write_rectangle(svg, "island", x - 1.5,
                              braid_svg_lane_y(svg, timeline->schedule->lane_of[nodes[first]]) - 3,
                              width + 3, svg->row_height + 6);
    fprintf(svg->file, "><title>island %" PRIu32 ": %" PRIu32 " nodes in one kernel, ",
            braid_timeline_island(timeline, nodes[first]), last - first + 1);
    write_times(svg, start.start_ns, end.end_ns);
    fputs("</title></rect>\n", svg->file);
}

static void write_islands(const struct svg *svg, uint32_t lane)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    uint32_t end = schedule->lane_first[lane + 1];
    for (uint32_t i = schedule->lane_first[lane], last; i < end; i = last + 1) {
        uint32_t island = braid_timeline_island(svg->timeline, schedule->lane_nodes[i]);
        last = i;
        while (island != PLAN_NONE && last + 1 < end &&
               braid_timeline_island(svg->timeline, schedule->lane_nodes[last + 1]) == island)
            last++;
        if (island != PLAN_NONE)
            write_island(svg, i, last);
    }
}

void braid_svg_write_lane(const struct svg *svg, uint32_t lane)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    struct block block = { 0 };
    uint64_t before_ns = 0;
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t node = schedule->lane_nodes[i];
        braid_interval interval;
        if (!braid_timeline_interval(svg->timeline, 0, node, &interval))
            continue;
        if (interval.start_ns > before_ns)
            write_gap(svg, node, before_ns, interval.start_ns);
        take_node(svg, node, &interval, &block);
        before_ns = interval.end_ns;
        if (plan_main_of(schedule->graph, plan_unit_of(schedule->graph, node)) == node)
            write_bundle(svg, plan_unit_of(schedule->graph, node));
    }
    if (block.num > 0)
        write_block(svg, &block, lane);
    write_islands(svg, lane);
}

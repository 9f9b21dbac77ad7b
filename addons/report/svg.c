// SPDX-License-Identifier: Apache-2.0
// A timeline as a picture that can be looked at anywhere.
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/dot.h"
#include "report/timeline.h"

#define SVG_WIDTH 1600.0 // the picture's, in pixels
#define SVG_LEFT 110.0   // where time 0 is
#define SVG_WIDE 1470.0  // what the whole frame takes
#define SVG_TOP 104.0    // where the first lane is
#define SVG_LAUNCH 95.0  // where the host's launch is, which is so high:
#define SVG_LAUNCH_HIGH 5.0

struct svg {
    const struct timeline *timeline;
    FILE *file;
    double row_height, row_pitch; // a lane's, and from one to the next
    double bottom;                // the last lane's
};

// A number of pixels, to hundredths; the same in every locale.
struct svg_number {
    char text[24];
};

// ---- lanes ----

// One lane of a timeline: nodes, blocks of nodes too short to tell apart, bundles, and idle times
// with their causes.

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

static struct svg_number svg_number(double number)
{
    uint64_t hundredths = (uint64_t)(number * 100 + 0.5);
    struct svg_number made;
    if (hundredths % 100 > 0)
        snprintf(made.text, sizeof(made.text), "%" PRIu64 ".%02" PRIu64, hundredths / 100,
                 hundredths % 100);
    else
        snprintf(made.text, sizeof(made.text), "%" PRIu64, hundredths / 100);
    return made;
}

// Begins a text.
static void svg_write_text_at(const struct svg *svg, const char *class_name, double x, double y)
{
    fprintf(svg->file, "<text class=\"%s\" x=\"%s\" y=\"%s\">", class_name, svg_number(x).text,
            svg_number(y).text);
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
    svg_write_text_at(svg, "name", x + 4, y + svg->row_height / 2 + 4);
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

// Where a time of the first frame is.
static double svg_x(const struct svg *svg, uint64_t time_ns)
{
    uint64_t span = svg->timeline->span_ns;
    return SVG_LEFT + (span ? (double)time_ns * SVG_WIDE / (double)span : 0);
}

static void svg_write_rectangle(const struct svg *svg, const char *class_name, double x, double y,
                                double width, double height)
{
    fprintf(svg->file, "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"",
            class_name, svg_number(x).text, svg_number(y).text, svg_number(width).text,
            svg_number(height).text);
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
        double x = svg_x(svg, start_ns), y = top + op->lane * row;
        double end = svg_x(svg, start_ns + schedule->cost_ns[op->node]);
        svg_write_rectangle(svg, "node inside", x, y, end - x > 0.75 ? end - x : 0.75, row);
        fputs("><title>", svg->file);
        braid_text_write_xml(svg->file, braid_schedule_node_name(schedule, op->node));
        fputs("</title></rect>\n", svg->file);
        if (inner)
            write_bodies(svg, inner, y, row);
    }
}

static double svg_lane_y(const struct svg *svg, uint32_t lane)
{
    return SVG_TOP + lane * svg->row_pitch;
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
    double x = svg_x(svg, interval->start_ns), width = svg_x(svg, interval->end_ns) - x;
    double y = svg_lane_y(svg, timeline->schedule->lane_of[node]);
    svg_write_rectangle(svg, class_name, x, y + (is_bundled ? 3 : 0), width > 0.75 ? width : 0.75,
                        svg->row_height - (is_bundled ? 6 : 0));
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
    double x = svg_x(svg, block->start_ns), width = svg_x(svg, block->end_ns) - x;
    if (block->num == 1)
        write_node(svg, block->first, &(braid_interval){ block->start_ns, block->end_ns });
    if (block->num > 1) {
        svg_write_rectangle(svg, block->is_critical ? "block critical" : "block", x,
                            svg_lane_y(svg, lane), width > 0.75 ? width : 0.75, svg->row_height);
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
    double x = svg_x(svg, start_ns), width = svg_x(svg, end_ns) - x;
    uint32_t lane = timeline->schedule->lane_of[node], waited = timeline->last_waited[node];
    if (width < LEAST_GAP)
        return;
    svg_write_rectangle(svg, "gap", x, svg_lane_y(svg, lane) + svg->row_height / 2 - 1, width, 2);
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
    double x = svg_x(svg, interval->start_ns), end = svg_x(svg, interval->end_ns);
    bool is_short = end - x < LEAST_NODE;
    bool is_near = block->num > 0 && x - svg_x(svg, block->end_ns) < LEAST_NODE / 2;
    bool is_critical = svg->timeline->is_critical[node];
    bool is_alike = is_critical == block->is_critical ||
                    svg_x(svg, block->end_ns) - svg_x(svg, block->start_ns) < LEAST_BLOCK;
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
    double x = svg_x(svg, start.start_ns), width = svg_x(svg, end.end_ns) - x;
    if (width < 2 * LEAST_NODE)
        return;
    svg_write_rectangle(svg, "bundle", x - 1.5,
                        svg_lane_y(svg, timeline->schedule->lane_of[first]) - 2, width + 3,
                        svg->row_height + 4);
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
    double x = svg_x(svg, start.start_ns), width = svg_x(svg, end.end_ns) - x;
    if (width < 2 * LEAST_NODE)
        return;
    svg_write_rectangle(svg, "island", x - 1.5,
                        svg_lane_y(svg, timeline->schedule->lane_of[nodes[first]]) - 3, width + 3,
                        svg->row_height + 6);
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

// The parts: nodes, blocks of nodes, bundles and idle times of a lane; waits.
static void svg_write_lane(const struct svg *svg, uint32_t lane)
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

// ---- waits ----

// Waits of a timeline as thin lines; where there are too many only those of the critical path, or
// none.

#define MOST_WAITS 800
#define MOST_CRITICAL 250

static bool is_critical(const struct timeline *timeline, const struct timeline_wait *wait)
{
    return timeline->is_critical[wait->from] && timeline->is_critical[wait->to];
}

// From the end of one node to the start of another, on their lanes' facing edges.
static void write_wait(const struct svg *svg, const struct timeline_wait *wait)
{
    const uint32_t *lane_of = svg->timeline->schedule->lane_of;
    braid_interval from, to;
    if (!braid_timeline_interval(svg->timeline, 0, wait->from, &from) ||
        !braid_timeline_interval(svg->timeline, 0, wait->to, &to))
        return;
    bool goes_down = lane_of[wait->to] > lane_of[wait->from];
    double from_y = svg_lane_y(svg, lane_of[wait->from]) + (goes_down ? svg->row_height : 0);
    double to_y = svg_lane_y(svg, lane_of[wait->to]) + (goes_down ? 0 : svg->row_height);
    fprintf(svg->file,
            "<path class=\"wait%s\" d=\"M%s %sL%s %s\"><title>position %" PRIu32
            "</title></path>\n",
            is_critical(svg->timeline, wait) ? " critical" : "",
            svg_number(svg_x(svg, from.end_ns)).text, svg_number(from_y).text,
            svg_number(svg_x(svg, to.start_ns)).text, svg_number(to_y).text, wait->position);
}

static void svg_write_waits(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    bool all = timeline->num_waits <= MOST_WAITS;
    size_t num_critical = 0, num = 0;
    for (size_t i = 0; i < timeline->num_waits; i++)
        num_critical += is_critical(timeline, &timeline->waits[i]);
    for (size_t i = 0; i < timeline->num_waits; i++) {
        const struct timeline_wait *wait = &timeline->waits[i];
        if (all || (num_critical <= MOST_CRITICAL && is_critical(timeline, wait))) {
            write_wait(svg, wait);
            num++;
        }
    }
    if (num == timeline->num_waits)
        return;
    fprintf(svg->file,
            "<text class=\"key\" text-anchor=\"end\" x=\"1580\" y=\"%s\">%zu of %zu waits "
            "shown</text>\n",
            svg_number(svg->bottom + 24).text, num, timeline->num_waits);
}

// ---- the picture ----

// Rules inside the picture alone, wherever that is embedded.
static const char *const style[] = {
    ".paper{fill:#ffffff}",
    "text{fill:#2a3342;pointer-events:none}",
    ".title{font-size:18px;font-weight:600}",
    ".summary{fill:#5b6778}",
    ".key{fill:#5b6778}",
    ".time{fill:#5b6778;text-anchor:middle;font-size:11px}",
    ".lane{text-anchor:end}",
    ".busy{fill:#5b6778;font-size:10px}",
    ".name{font-size:11px}",
    ".row{fill:#f2f5f9}",
    ".tick{stroke:#d9e0e9;stroke-width:1}",
    ".node{fill:#9db9dd;stroke:#5e83b5;stroke-width:.6}",
    ".bundled{fill:#dfe7f2}",
    ".block{fill:#7f9cc4}",
    ".critical{fill:#ecb0a7;stroke:#b83a2c;stroke-width:1.6}",
    ".bundled.critical{fill:#f8e2de}",
    ".node.copy{fill:#f4dc9f}",
    ".node.fill{fill:#f4dc9f}",
    ".node.host{fill:#b5dcb4}",
    ".node.queue{fill:#d5bfe8}",
    ".node.loop{fill:#cfd6de}",
    ".node.post{fill:#9ed6d8}",
    ".node.communication{fill:#9ed6d8}",
    ".node.empty{fill:#ffffff}",
    ".guess{stroke-dasharray:2 2}",
    ".bundle{fill:none;stroke:#5b6778;stroke-width:1;stroke-dasharray:4 3}",
    ".island{fill:none;stroke:#a8701a;stroke-width:1.2}",
    ".gap{fill:#c3ccd8}",
    ".launch{fill:#4f8f6b}",
    ".wait{fill:none;stroke:#6d7a8c;stroke-width:.7;marker-end:url(#braid-head)}",
    ".wait.critical{stroke:#b83a2c;stroke-width:1.2;marker-end:url(#braid-head-critical)}",
    ".head{fill:#6d7a8c;stroke:none}",
    ".head.critical{fill:#b83a2c}",
};

static void write_heading(const struct svg *svg)
{
    const struct timeline *timeline = svg->timeline;
    const braid_schedule_info *info = &timeline->schedule->info;
    FILE *file = svg->file;
    const char *title = timeline->options.title ? timeline->options.title : "Braid";
    svg_write_text_at(svg, "title", 16, 28);
    braid_text_write_xml(file, title);
    fputs("</text>\n", file);
    svg_write_text_at(svg, "summary", 16, 50);
    fprintf(file, "%s on %s, %s", braid_dot_count(info->num_nodes, "node").text,
            braid_dot_count(info->num_lanes, "lane").text,
            braid_dot_count(info->num_waits, "wait").text);
    if (info->num_places > 1)
        fprintf(file, ", %" PRIu32 " devices, %s in %" PRIu32 " copies between them",
                info->num_places, braid_dot_count(info->copy_bytes, "byte").text, info->num_copies);
    if (info->num_islands)
        fprintf(file, ", %s of %s", braid_dot_count(info->num_islands, "island").text,
                braid_dot_count(info->num_island_nodes, "node").text);
    if (info->num_left_out)
        fprintf(file, ", %" PRIu32 " left out", info->num_left_out);
    if (timeline->options.intervals) {
        fputs("; measured: ", file);
        braid_interval whole = braid_timeline_frame(timeline, 0);
        braid_timeline_write_time(timeline, whole.end_ns - whole.start_ns, file);
        fputs(", planned: ", file);
    } else {
        fputs("; planned: ", file);
    }
    braid_timeline_write_time(timeline, info->makespan_ns, file);
    fputs(", no plan is shorter than ", file);
    braid_timeline_write_time(timeline, info->bound_ns, file);
    if (info->num_guessed > 0 && !timeline->options.intervals)
        fprintf(file, "; %" PRIu32 " cost%s guessed", info->num_guessed,
                info->num_guessed == 1 ? " is" : "s are");
    fputs("</text>\n", file);
}

// Grey, since no lane has them.
static void write_left_out(const struct svg *svg)
{
    enum { MOST_NAMES = 12 };
    const braid_schedule *schedule = svg->timeline->schedule;
    uint32_t num = 0, most = schedule->info.num_left_out;
    if (!most)
        return;
    fputs("<text class=\"summary\" opacity=\"0.6\" x=\"16\" y=\"68\">left out: ", svg->file);
    for (uint32_t i = 0; i < svg->timeline->num_nodes && num < MOST_NAMES; i++) {
        if (!schedule_left_out(schedule, i))
            continue;
        fputs(num++ ? ", " : "", svg->file);
        braid_text_write_xml(svg->file, braid_schedule_node_name(schedule, i));
    }
    if (most > num)
        fprintf(svg->file, " and %" PRIu32 " more", most - num);
    fputs("</text>\n", svg->file);
}

// 1, 2 or 5 times a power of ten of the unit, about eight of them.
static uint64_t find_step(const struct timeline *timeline)
{
    uint64_t unit = timeline->options.unit ? timeline->options.unit_ns : 1;
    uint64_t wanted = timeline->span_ns / unit / 8, step = 1;
    while (step * 10 <= wanted && step < UINT64_MAX / 100)
        step *= 10;
    if (step * 5 <= wanted)
        step *= 5;
    else if (step * 2 <= wanted)
        step *= 2;
    return step * unit;
}

static void write_axis(const struct svg *svg)
{
    uint64_t step = find_step(svg->timeline), span = svg->timeline->span_ns;
    fputs("<g class=\"axis\">\n", svg->file);
    for (uint64_t time = 0; time <= span; time += step) {
        double x = svg_x(svg, time);
        fprintf(svg->file, "<path class=\"tick\" d=\"M%s 92V%s\"/>", svg_number(x).text,
                svg_number(svg->bottom).text);
        svg_write_text_at(svg, "time", x, 88);
        braid_timeline_write_time(svg->timeline, time, svg->file);
        fputs("</text>\n", svg->file);
        if (step == 0 || time > span - step)
            break;
    }
    fputs("</g>\n", svg->file);
}

static unsigned busy_percent(const struct timeline *timeline, uint32_t lane)
{
    const braid_schedule *schedule = timeline->schedule;
    double busy = 0;
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        braid_interval interval;
        if (braid_timeline_interval(timeline, 0, schedule->lane_nodes[i], &interval))
            busy += (double)(interval.end_ns - interval.start_ns);
    }
    return timeline->span_ns ? (unsigned)(busy * 100 / (double)timeline->span_ns + 0.5) : 0;
}

// A thin row above the lanes.
static void write_launch(const struct svg *svg)
{
    braid_interval launch;
    if (!braid_timeline_launch(svg->timeline, 0, &launch))
        return;
    double x = svg_x(svg, launch.start_ns), width = svg_x(svg, launch.end_ns) - x;
    double most = SVG_LEFT + SVG_WIDE - x; // a launch may last longer than the frame
    svg_write_text_at(svg, "lane", SVG_LEFT - 10, SVG_LAUNCH + SVG_LAUNCH_HIGH);
    fputs("host</text>\n", svg->file);
    svg_write_rectangle(svg, "launch", x, SVG_LAUNCH, width < most ? width : most, SVG_LAUNCH_HIGH);
    fputs("><title>", svg->file);
    fputs("the host launches the frame: ", svg->file);
    braid_timeline_write_time(svg->timeline, launch.start_ns, svg->file);
    fputs(" to ", svg->file);
    braid_timeline_write_time(svg->timeline, launch.end_ns, svg->file);
    fputs("; its clock and the device's agree to within ", svg->file);
    braid_timeline_write_time(svg->timeline, svg->timeline->options.error_ns, svg->file);
    fputs("</title></rect>\n", svg->file);
}

static void write_lanes(const struct svg *svg)
{
    FILE *file = svg->file;
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++) {
        double y = svg_lane_y(svg, lane);
        svg_write_rectangle(svg, "row", SVG_LEFT, y, SVG_WIDE, svg->row_height);
        fputs("/>", file);
        svg_write_text_at(svg, "lane", SVG_LEFT - 10, y + svg->row_height / 2 + 4);
        if (svg->timeline->schedule->graph->place_of)
            fprintf(file, "place %u, ",
                    graph_place_number(schedule_lane_place(svg->timeline->schedule, lane)));
        fprintf(file, "lane %" PRIu32 " <tspan class=\"busy\">%u %%</tspan></text>\n", lane,
                busy_percent(svg->timeline, lane));
    }
    fputs("<g class=\"rows\">\n", file);
    write_launch(svg);
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++)
        svg_write_lane(svg, lane);
    fputs("</g>\n<g class=\"waits\">\n", file);
    svg_write_waits(svg);
    fputs("</g>\n", file);
}

static double write_key(const struct svg *svg, const char *class_name, const char *text, double x,
                        double y)
{
    enum { A_LETTER = 6, BESIDE = 44 };
    svg_write_rectangle(svg, class_name, x, y, 18, 12);
    fputs("/>", svg->file);
    svg_write_text_at(svg, "key", x + 24, y + 10);
    fprintf(svg->file, "%s</text>\n", text);
    return x + BESIDE + A_LETTER * (double)strlen(text);
}

// The kinds of nodes that there are, besides kernels.
static double write_kinds(const struct svg *svg, double x, double y)
{
    const struct program *program = &svg->timeline->schedule->program;
    for (uint8_t kind = 0; kind < WORK_NUM_KINDS && program->num_nodes; kind++) {
        char class_name[40];
        if (kind == WORK_KERNEL || !memchr(program->kinds, kind, program->num_nodes))
            continue;
        snprintf(class_name, sizeof(class_name), "node %s", braid_work_words[kind].kind);
        x = write_key(svg, class_name, braid_work_words[kind].name, x, y);
    }
    return x;
}

// The meaning of the colours and lines, in a row below the lanes.
static void write_legend(const struct svg *svg)
{
    static const char *const keys[][2] = { { "node", "kernel" },
                                           { "node bundled", "prelude or epilogue" },
                                           { "node critical", "critical path" },
                                           { "block", "several nodes" },
                                           { "gap", "idle" },
                                           { "island", "island: one kernel" } };
    size_t num_keys = sizeof(keys) / sizeof(keys[0]);
    num_keys -= svg->timeline->schedule->info.num_islands == 0;
    double x = SVG_LEFT, y = svg->bottom + 14;
    for (size_t i = 0; i < num_keys; i++)
        x = write_key(svg, keys[i][0], keys[i][1], x, y);
    x = write_kinds(svg, x, y);
    fprintf(svg->file, "<path class=\"wait\" d=\"M%s %sh18\"/>", svg_number(x).text,
            svg_number(y + 6).text);
    svg_write_text_at(svg, "key", x + 24, y + 10);
    fputs("wait</text>\n", svg->file);
}

// The heads of waits, in the colours of their lines.
static void write_heads(const struct svg *svg)
{
    static const char *const heads[][2] = { { "", "" }, { "-critical", " critical" } };
    fputs("<defs>", svg->file);
    for (int i = 0; i < 2; i++)
        fprintf(svg->file,
                "<marker id=\"braid-head%s\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" "
                "markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" "
                "orient=\"auto\"><path class=\"head%s\" d=\"M0 1L8 4L0 7z\"/></marker>",
                heads[i][0], heads[i][1]);
    fputs("</defs>\n", svg->file);
}

static void write_all(struct svg *svg)
{
    uint32_t num_lanes = svg->timeline->num_lanes;
    svg->row_height = num_lanes <= 16 ? 30 : num_lanes <= 48 ? 20 : 12;
    svg->row_pitch = svg->row_height + (num_lanes <= 16 ? 10 : num_lanes <= 48 ? 6 : 3);
    svg->bottom = svg_lane_y(svg, num_lanes);
    double height = svg->bottom + 40;
    fprintf(svg->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"braid-timeline\" "
            "preserveAspectRatio=\"xMidYMin meet\" viewBox=\"0 0 %s %s\">\n<style>\n"
            ".braid-timeline{font:12px system-ui,Helvetica,Arial,sans-serif;background:#ffffff}\n"
            "@media (prefers-color-scheme:dark){"
            ".braid-timeline{filter:invert(1) hue-rotate(180deg)}}\n",
            svg_number(SVG_WIDTH).text, svg_number(height).text);
    for (size_t i = 0; i < sizeof(style) / sizeof(style[0]); i++)
        fprintf(svg->file, ".braid-timeline %s\n", style[i]);
    fputs("</style>\n", svg->file);
    write_heads(svg);
    svg_write_rectangle(svg, "paper", 0, 0, SVG_WIDTH, height);
    fputs("/>\n", svg->file);
    write_heading(svg);
    write_left_out(svg);
    write_axis(svg);
    write_lanes(svg);
    write_legend(svg);
    fputs("</svg>\n", svg->file);
}

void braid_svg_write(const struct timeline *timeline, FILE *file)
{
    struct svg svg = { .timeline = timeline, .file = file };
    write_all(&svg);
}

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

// Bars too narrow for their names have numbers, and a list below has the names, each once.
#define MOST_NOTES 60

struct notes {
    const char *names[MOST_NOTES];
    uint32_t num;  // may be more, while they are found
    double bottom; // where the list ends
};

struct svg {
    const struct timeline *timeline;
    FILE *file;                 // NULL while notes and the room for these and keys are found
    double row_height, row_gap; // a lane's without bodies, and between two lanes
    double bottom;              // the last lane's
    struct notes *notes;
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
#define LEAST_GAP 3.0        // pixels: idle times that are shown
#define LEAST_LABEL 36.0     // pixels: narrower bars have numbers
#define LEAST_DIGIT 9.0      // pixels: for a number of one digit
#define LEAST_NUMBER 14.0    // pixels: for a number of two digits
#define LEAST_NAME_HIGH 14.0 // pixels: no lower bar has a name

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

// Writes so many letters of a text, an ellipsis among them where it is longer. Returns how many.
static int write_letters(FILE *file, const char *text, int room)
{
    enum { MOST_BYTES = 160 };
    char shown[MOST_BYTES];
    size_t length = 0, cut = 0; // cut: before the last letter
    int num = 0;
    struct text_piece piece;
    for (; num < room && *text && length < MOST_BYTES - sizeof(piece.escaped); num++) {
        braid_text_piece(text, &piece);
        cut = length;
        memcpy(shown + length, text, piece.length);
        length += piece.length;
        text += piece.length;
    }
    shown[*text ? cut : length] = '\0';
    braid_text_write_xml(file, shown);
    fputs(*text ? "\xe2\x80\xa6" : "", file);
    return num;
}

// As much of a name as there is room for, and the note behind it where all of the name has room.
static void write_label(const struct svg *svg, const char *name, const char *note, double x,
                        double y, double width)
{
    enum { A_LETTER = 7, BEFORE_NOTE = 2 };
    int room = (int)((width - 6) / A_LETTER);
    svg_write_text_at(svg, "name", x + 4, y);
    room -= write_letters(svg->file, name, room) + BEFORE_NOTE;
    if (room > 4 && *note) {
        fputs("<tspan class=\"busy\" dx=\"8\">", svg->file);
        write_letters(svg->file, note, room);
        fputs("</tspan>", svg->file);
    }
    fputs("</text>", svg->file);
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

static double svg_lane_y(const struct svg *svg, uint32_t lane)
{
    return svg->timeline->lane_y[lane];
}

static double svg_lane_height(const struct svg *svg, uint32_t lane)
{
    return svg->timeline->lane_y[lane + 1] - svg->timeline->lane_y[lane] - svg->row_gap;
}

// ---- bodies ----

// Bodies stand inside the bars of their loops and branches, below the names. Arms of a branch stand
// one below the other. A loop has its first iteration.

#define NAME_HIGH 17.0   // above a body
#define BELOW_BODY 2.0   // so that the bar has an edge there
#define ARM_HIGH 12.0    // "if" and "else"
#define INSIDE_HIGH 17.0 // a lane of a body
#define MOST_DEEP 4      // bodies in bodies
#define LEAST_BODY 12.0  // pixels: those of narrower bars are left out

struct bar {
    uint32_t node;
    const struct program *body; // or NULL
    int depth;                  // 0: of the frame
    braid_interval interval;
    double y, height;
};

static double arm_need(const struct svg *svg, const struct program *arm, int depth);

static bool is_branch(const struct svg *svg, const struct program *body)
{
    return svg->timeline->schedule->program.kinds[body->node] == WORK_BRANCH;
}

static double node_width(const struct svg *svg, uint32_t node)
{
    return svg_x(svg, svg->timeline->schedule->cost_ns[node]) - SVG_LEFT;
}

static double bar_width(const struct svg *svg, const struct bar *bar)
{
    return svg_x(svg, bar->interval.end_ns) - svg_x(svg, bar->interval.start_ns);
}

// The height that the bar of a body's node needs; 0: its body is not drawn.
static double bar_need(const struct svg *svg, const struct program *body, int depth)
{
    if (!body || depth >= MOST_DEEP || svg->row_height < 20 || svg->timeline->options.intervals ||
        node_width(svg, body->node) < LEAST_BODY)
        return 0;
    double need = NAME_HIGH + BELOW_BODY;
    for (uint32_t i = 0; i < 1u + body->has_else; i++)
        need += arm_need(svg, &body[i], depth);
    return need;
}

static double lane_need(const struct svg *svg, const struct program *arm, uint32_t lane, int depth)
{
    double need = INSIDE_HIGH;
    for (size_t i = 0; i < arm->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(arm, lane, i);
        if (op->kind != BRAID_STEP_LOOP)
            continue;
        double inner = bar_need(svg, &arm->bodies[op->position], depth + 1) + 1;
        need = inner > need ? inner : need;
    }
    return need;
}

static double arm_need(const struct svg *svg, const struct program *arm, int depth)
{
    double need = is_branch(svg, arm) ? ARM_HIGH : 0;
    for (uint32_t lane = 0; lane < arm->num_lanes; lane++)
        need += lane_need(svg, arm, lane, depth);
    return need;
}

static void write_bar(const struct svg *svg, const struct bar *bar);

// Nodes too short to tell apart are one.
static void write_body_lane(const struct svg *svg, const struct program *arm, uint32_t lane,
                            const struct bar *place)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    struct bar bar = *place;
    double drawn = 0;
    for (size_t i = 0; i < arm->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(arm, lane, i);
        if (!program_has_node(op))
            continue;
        uint64_t start_ns = schedule->start_ns[op->node];
        bar.node = op->node;
        bar.body = op->kind == BRAID_STEP_LOOP ? &arm->bodies[op->position] : NULL;
        bar.interval = (braid_interval){ start_ns, start_ns + schedule->cost_ns[op->node] };
        if (svg_x(svg, bar.interval.end_ns) - drawn < LEAST_BLOCK)
            continue;
        write_bar(svg, &bar);
        drawn = svg_x(svg, bar.interval.end_ns);
    }
}

// `scale` tells how much there is of the height that is needed.
static void write_arm(const struct svg *svg, const struct program *arm, const struct bar *inside,
                      double y, double scale)
{
    enum { LEAST_ARM_NAME = 24 };
    struct bar bar = { .depth = inside->depth + 1 };
    if (is_branch(svg, arm)) {
        if (svg->file && node_width(svg, arm->node) >= LEAST_ARM_NAME && scale > 0.8) {
            svg_write_text_at(svg, "busy", svg_x(svg, inside->interval.start_ns) + 4, y + 9);
            fputs(arm->is_else ? "else</text>\n" : "if</text>\n", svg->file);
        }
        y += ARM_HIGH * scale;
    }
    for (uint32_t lane = 0; lane < arm->num_lanes; lane++) {
        double height = lane_need(svg, arm, lane, inside->depth) * scale;
        bar.y = y;
        bar.height = height > 2 ? height - 1 : height;
        write_body_lane(svg, arm, lane, &bar);
        y += height;
    }
}

// Draws marks where the further iterations of a loop begin, if they are not too dense.
static void write_iterations(const struct svg *svg, const struct bar *bar)
{
    enum { LEAST_ITERATION = 4 };
    double num = (double)bar->body->expected, wide = node_width(svg, bar->node);
    double x = svg_x(svg, bar->interval.start_ns);
    if (!svg->file || bar->body->expected < 2 || wide / num < LEAST_ITERATION)
        return;
    fputs("<path class=\"iteration\" d=\"", svg->file);
    for (int i = 1; i < (int)num; i++)
        fprintf(svg->file, "M%s %sv%s", svg_number(x + i * wide / num).text,
                svg_number(bar->y + NAME_HIGH).text,
                svg_number(bar->height - NAME_HIGH - BELOW_BODY).text);
    fputs("\"/>\n", svg->file);
}

static void write_bodies(const struct svg *svg, const struct bar *bar)
{
    const double around = NAME_HIGH + BELOW_BODY;
    double need = bar_need(svg, bar->body, bar->depth), y = bar->y + NAME_HIGH;
    if (need == 0 || bar->height <= around)
        return;
    double scale = (bar->height - around) / (need - around);
    scale = scale < 1 ? scale : 1;
    if (!is_branch(svg, bar->body))
        write_iterations(svg, bar);
    for (uint32_t i = 0; i < 1u + bar->body->has_else; i++) {
        write_arm(svg, &bar->body[i], bar, y, scale);
        y += arm_need(svg, &bar->body[i], bar->depth) * scale;
    }
}

// ---- bars ----

static const char *bar_name(const struct svg *svg, const struct bar *bar)
{
    return braid_schedule_node_name(svg->timeline->schedule, bar->node);
}

// The number of a name; 0: none.
static uint32_t note_of(const struct notes *notes, const char *name)
{
    for (uint32_t i = 0; i < notes->num && i < MOST_NOTES; i++) {
        if (!strcmp(notes->names[i], name))
            return i + 1;
    }
    return 0;
}

// Notes the name of a bar that has room for a number, and not for the name.
static void take_note(const struct svg *svg, const struct bar *bar)
{
    struct notes *notes = svg->notes;
    const char *name = bar_name(svg, bar);
    double width = bar_width(svg, bar), least = notes->num < 9 ? LEAST_DIGIT : LEAST_NUMBER;
    if (width >= LEAST_LABEL || width < least || bar->height < LEAST_NAME_HIGH ||
        note_of(notes, name))
        return;
    if (notes->num < MOST_NOTES)
        notes->names[notes->num] = name;
    notes->num++;
}

static void write_name(const struct svg *svg, const struct bar *bar)
{
    double x = svg_x(svg, bar->interval.start_ns), width = bar_width(svg, bar);
    bool has_body = bar_need(svg, bar->body, bar->depth) > 0;
    double y = bar->y + (has_body ? NAME_HIGH : bar->height) / 2 + 4;
    uint32_t note = note_of(svg->notes, bar_name(svg, bar));
    if (bar->height < LEAST_NAME_HIGH)
        return;
    if (width >= LEAST_LABEL) {
        struct dot_words times = { "" };
        if (has_body && !is_branch(svg, bar->body))
            times = braid_dot_iterations(bar->body);
        write_label(svg, bar_name(svg, bar), times.text, x, y, width);
    } else if (note && width >= (note < 10 ? LEAST_DIGIT : LEAST_NUMBER)) {
        svg_write_text_at(svg, "note", x + width / 2, y);
        fprintf(svg->file, "%" PRIu32 "</text>", note);
    }
}

static void write_bar_title(const struct svg *svg, const struct bar *bar)
{
    const struct timeline *timeline = svg->timeline;
    fputs("><title>", svg->file);
    braid_text_write_xml(svg->file, bar_name(svg, bar));
    fputs(": ", svg->file);
    write_times(svg, bar->interval.start_ns, bar->interval.end_ns);
    if (braid_timeline_is_guess(timeline, bar->node))
        fputs(", a guess", svg->file);
    if (braid_timeline_is_bundled(timeline, bar->node)) {
        fputs(", ", svg->file);
        braid_timeline_write_role(timeline, bar->node, braid_text_write_xml, svg->file);
    }
    fputs("</title></rect>", svg->file);
}

static void draw_bar(const struct svg *svg, const struct bar *bar)
{
    const struct timeline *timeline = svg->timeline;
    const char *kind = braid_timeline_kind(timeline, bar->node);
    bool is_bundled = braid_timeline_is_bundled(timeline, bar->node);
    double x = svg_x(svg, bar->interval.start_ns), width = bar_width(svg, bar);
    double aside = is_bundled && !bar->depth ? 3 : 0;
    char class_name[80];
    snprintf(class_name, sizeof(class_name), "node%s%s%s%s%s%s", is_bundled ? " bundled" : "",
             bar->depth ? " inside" : "", timeline->is_critical[bar->node] ? " critical" : "",
             braid_timeline_is_guess(timeline, bar->node) ? " guess" : "", *kind ? " " : "", kind);
    svg_write_rectangle(svg, class_name, x, bar->y + aside,
                        width > LEAST_BLOCK ? width : LEAST_BLOCK, bar->height - 2 * aside);
    write_bar_title(svg, bar);
    write_name(svg, bar);
    fputc('\n', svg->file);
}

static void write_bar(const struct svg *svg, const struct bar *bar)
{
    if (svg->file)
        draw_bar(svg, bar);
    else
        take_note(svg, bar);
    write_bodies(svg, bar);
}

static void write_node(const struct svg *svg, uint32_t node, const braid_interval *interval)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    uint32_t lane = schedule->lane_of[node];
    write_bar(svg, &(struct bar){ .node = node,
                                  .body = braid_program_find_body(&schedule->program, node),
                                  .interval = *interval,
                                  .y = svg_lane_y(svg, lane),
                                  .height = svg_lane_height(svg, lane) });
}

static void write_block(const struct svg *svg, struct block *block, uint32_t lane)
{
    double x = svg_x(svg, block->start_ns), width = svg_x(svg, block->end_ns) - x;
    if (block->num == 1)
        write_node(svg, block->first, &(braid_interval){ block->start_ns, block->end_ns });
    if (block->num > 1) {
        svg_write_rectangle(svg, block->is_critical ? "block critical" : "block", x,
                            svg_lane_y(svg, lane), width > LEAST_BLOCK ? width : LEAST_BLOCK,
                            svg_lane_height(svg, lane));
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
    svg_write_rectangle(svg, "gap", x, svg_lane_y(svg, lane) + svg_lane_height(svg, lane) / 2 - 1,
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
    uint32_t lane = timeline->schedule->lane_of[first];
    svg_write_rectangle(svg, "bundle", x - 1.5, svg_lane_y(svg, lane) - 2, width + 3,
                        svg_lane_height(svg, lane) + 4);
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
    uint32_t lane = timeline->schedule->lane_of[nodes[first]];
    svg_write_rectangle(svg, "island", x - 1.5, svg_lane_y(svg, lane) - 3, width + 3,
                        svg_lane_height(svg, lane) + 6);
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
    uint32_t upper = goes_down ? lane_of[wait->from] : lane_of[wait->to];
    double upper_y = svg_lane_y(svg, upper) + svg_lane_height(svg, upper);
    double from_y = goes_down ? upper_y : svg_lane_y(svg, lane_of[wait->from]);
    double to_y = goes_down ? svg_lane_y(svg, lane_of[wait->to]) : upper_y;
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
            "<text class=\"key\" text-anchor=\"end\" x=\"1580\" y=\"50\">%zu of %zu waits "
            "shown</text>\n",
            num, timeline->num_waits);
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
    ".time.first{text-anchor:start}",
    ".time.last{text-anchor:end}",
    ".lane{text-anchor:end}",
    ".busy{fill:#5b6778;font-size:10px}",
    ".name{font-size:11px}",
    ".note{font-size:10px;text-anchor:middle}",
    ".row{fill:#f2f5f9}",
    ".tick{stroke:#d9e0e9;stroke-width:1}",
    ".node{fill:#9db9dd;stroke:#5e83b5;stroke-width:.6}",
    ".bundled{fill:#dfe7f2}",
    ".block{fill:#7f9cc4}",
    ".critical{fill:#f0a497;stroke:#b83a2c;stroke-width:1.6}",
    ".bundled.critical{fill:#f8e2de}",
    ".node.copy{fill:#f4dc9f}",
    ".node.fill{fill:#f4dc9f}",
    ".node.host{fill:#b5dcb4}",
    ".node.queue{fill:#b28fd9}",
    ".node.loop{fill:#ccc8c2;stroke:#5b6778}",
    ".node.branch{fill:#fff7dc;stroke:#5b6778}",
    ".node.critical{stroke:#b83a2c}",
    ".iteration{stroke:#5b6778;stroke-width:.8;stroke-dasharray:2 2}",
    ".node.post{fill:#7cc7cb}",
    ".node.communication{fill:#7cc7cb}",
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
    write_letters(file, title, 120);
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
    enum { MOST_NAMES = 12, MOST_LETTERS = 190, A_NAME = 48 };
    const braid_schedule *schedule = svg->timeline->schedule;
    uint32_t num = 0, most = schedule->info.num_left_out;
    int letters = 0;
    if (!most)
        return;
    fputs("<text class=\"summary\" opacity=\"0.6\" x=\"16\" y=\"68\">left out: ", svg->file);
    for (uint32_t i = 0; i < svg->timeline->num_nodes && num < MOST_NAMES; i++) {
        if (!schedule_left_out(schedule, i) || letters > MOST_LETTERS - A_NAME)
            continue;
        fputs(num++ ? ", " : "", svg->file);
        letters += 2 + write_letters(svg->file, braid_schedule_node_name(schedule, i), A_NAME);
    }
    if (most > num)
        fprintf(svg->file, " and %" PRIu32 " more", most - num);
    fputs("</text>\n", svg->file);
}

// 1, 2 or 5 times a power of ten of the unit, about eight of them, or fewer of a unit with a long
// name.
static uint64_t find_step(const struct timeline *timeline)
{
    enum { MOST_STEPS = 8, NUMBER_LETTERS = 4, LINE_LETTERS = 60 };
    const char *name = timeline->options.unit ? timeline->options.unit : "";
    uint64_t unit = timeline->options.unit ? timeline->options.unit_ns : 1;
    uint64_t num = LINE_LETTERS / (NUMBER_LETTERS + strnlen(name, LINE_LETTERS)) + 1;
    uint64_t wanted = timeline->span_ns / unit / (num < MOST_STEPS ? num : MOST_STEPS), step = 1;
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
        bool is_last = x + LEAST_LABEL > SVG_LEFT + SVG_WIDE;
        svg_write_text_at(svg, is_last ? "time last" : time ? "time" : "time first", x, 88);
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

// On several devices, the busy part has a line of its own, or no room.
static void write_lane_name(const struct svg *svg, uint32_t lane)
{
    const braid_schedule *schedule = svg->timeline->schedule;
    const double x = SVG_LEFT - 10, y = svg_lane_y(svg, lane) + svg_lane_height(svg, lane) / 2 + 4;
    const bool has_places = schedule->graph->place_of;
    const unsigned percent = busy_percent(svg->timeline, lane);
    svg_write_text_at(svg, "lane", x, has_places && svg->row_height >= 30 ? y - 5 : y);
    if (has_places)
        fprintf(svg->file, "<tspan class=\"busy\">place %u, lane</tspan> %" PRIu32,
                graph_place_number(schedule_lane_place(schedule, lane)), lane);
    else
        fprintf(svg->file, "lane %" PRIu32, lane);
    if (!has_places)
        fprintf(svg->file, " <tspan class=\"busy\">%u %%</tspan>", percent);
    else if (svg->row_height >= 30)
        fprintf(svg->file, "<tspan class=\"busy\" x=\"%s\" dy=\"12\">%u %%</tspan>",
                svg_number(x).text, percent);
    fputs("</text>\n", svg->file);
}

static void write_lanes(const struct svg *svg)
{
    FILE *file = svg->file;
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++) {
        svg_write_rectangle(svg, "row", SVG_LEFT, svg_lane_y(svg, lane), SVG_WIDE,
                            svg_lane_height(svg, lane));
        fputs("/>", file);
        write_lane_name(svg, lane);
    }
    fputs("<g class=\"rows\">\n", file);
    write_launch(svg);
    for (uint32_t lane = 0; lane < svg->timeline->num_lanes; lane++)
        svg_write_lane(svg, lane);
    fputs("</g>\n<g class=\"waits\">\n", file);
    svg_write_waits(svg);
    fputs("</g>\n", file);
}

// ---- keys and notes ----

// Items in rows below the lanes. They are placed once to find their room, and once to write them.

struct flow {
    double x, y;
};

enum { A_LETTER = 7, FLOW_ROW = 19 };

// Moves to the next row where an item has no room, and returns where the item begins.
static double flow_next(struct flow *flow, double width)
{
    if (flow->x + width > SVG_LEFT + SVG_WIDE && flow->x > SVG_LEFT) {
        flow->x = SVG_LEFT;
        flow->y += FLOW_ROW;
    }
    flow->x += width;
    return flow->x - width;
}

static void write_key(const struct svg *svg, const char *class_name, const char *text,
                      struct flow *flow)
{
    enum { BESIDE = 38 };
    double x = flow_next(flow, BESIDE + A_LETTER * (double)strlen(text));
    if (!svg->file)
        return;
    if (strcmp(class_name, "wait") != 0) {
        svg_write_rectangle(svg, class_name, x, flow->y, 18, 12);
        fputs("/>", svg->file);
    } else {
        fprintf(svg->file, "<path class=\"wait\" d=\"M%s %sh18\"/>", svg_number(x).text,
                svg_number(flow->y + 6).text);
    }
    svg_write_text_at(svg, "key", x + 24, flow->y + 10);
    fprintf(svg->file, "%s</text>\n", text);
}

// The kinds of nodes that there are, besides kernels.
static void write_kinds(const struct svg *svg, struct flow *flow)
{
    const struct program *program = &svg->timeline->schedule->program;
    for (uint8_t kind = 0; kind < WORK_NUM_KINDS && program->num_nodes; kind++) {
        char class_name[40];
        if (kind == WORK_KERNEL || !memchr(program->kinds, kind, program->num_nodes))
            continue;
        snprintf(class_name, sizeof(class_name), "node %s", braid_work_words[kind].kind);
        write_key(svg, class_name, braid_work_words[kind].name, flow);
    }
}

// The meaning of the colours and lines. Returns where they end.
static double write_legend(const struct svg *svg)
{
    static const char *const keys[][2] = { { "node", "kernel" },
                                           { "node bundled", "prelude or epilogue" },
                                           { "node critical", "critical path" },
                                           { "block", "several nodes" },
                                           { "gap", "idle" },
                                           { "island", "island: one kernel" } };
    size_t num_keys = sizeof(keys) / sizeof(keys[0]);
    num_keys -= svg->timeline->schedule->info.num_islands == 0;
    struct flow flow = { SVG_LEFT, svg->notes->bottom + 14 };
    for (size_t i = 0; i < num_keys; i++)
        write_key(svg, keys[i][0], keys[i][1], &flow);
    write_kinds(svg, &flow);
    write_key(svg, "wait", "wait", &flow);
    return flow.y + FLOW_ROW;
}

// Returns where they end.
static double write_notes(const struct svg *svg)
{
    enum { MOST_LETTERS = 40 };
    struct flow flow = { SVG_LEFT, svg->bottom };
    for (uint32_t i = 0; i < svg->notes->num; i++) {
        const char *name = svg->notes->names[i];
        size_t letters = strnlen(name, MOST_LETTERS);
        double x = flow_next(&flow, A_LETTER * (double)(letters + 5));
        if (!svg->file)
            continue;
        svg_write_text_at(svg, "key", x, flow.y + 16);
        fprintf(svg->file, "%" PRIu32 " ", i + 1);
        write_letters(svg->file, name, MOST_LETTERS);
        fputs("</text>\n", svg->file);
    }
    return svg->notes->num ? flow.y + FLOW_ROW : svg->bottom;
}

// Numbers all nodes with narrow bars, or none where they are too many.
static void find_notes(const struct svg *svg)
{
    enum { MOST_ROWS = 4 };
    const braid_schedule *schedule = svg->timeline->schedule;
    for (uint32_t i = 0; i < schedule->lane_first[svg->timeline->num_lanes]; i++) {
        uint32_t node = schedule->lane_nodes[i];
        braid_interval interval;
        if (braid_timeline_interval(svg->timeline, 0, node, &interval) &&
            svg_x(svg, interval.end_ns) - svg_x(svg, interval.start_ns) >= LEAST_DIGIT)
            write_node(svg, node, &interval);
    }
    if (svg->notes->num > MOST_NOTES || write_notes(svg) > svg->bottom + MOST_ROWS * FLOW_ROW)
        svg->notes->num = 0;
    svg->notes->bottom = write_notes(svg);
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

// Lanes with loops and branches are as high as these need, up to a limit.
static void place_lanes(struct svg *svg)
{
    enum { MOST_HIGH = 240 };
    const braid_schedule *schedule = svg->timeline->schedule;
    const struct program *program = &schedule->program;
    const uint32_t num_lanes = svg->timeline->num_lanes;
    double *lane_y = svg->timeline->lane_y, y = SVG_TOP;
    svg->row_height = num_lanes <= 16 ? 30 : num_lanes <= 48 ? 20 : 12;
    svg->row_gap = num_lanes <= 16 ? 10 : num_lanes <= 48 ? 6 : 3;
    for (uint32_t lane = 0; lane <= num_lanes; lane++)
        lane_y[lane] = svg->row_height;
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        const struct program *body = &program->bodies[i];
        double need = body->is_else ? 0 : bar_need(svg, body, 0);
        double *height = &lane_y[schedule->lane_of[body->node]];
        need = need < MOST_HIGH ? need : MOST_HIGH;
        *height = need > *height ? need : *height;
    }
    for (uint32_t lane = 0; lane <= num_lanes; lane++) {
        double height = lane_y[lane];
        lane_y[lane] = y;
        y += height + svg->row_gap;
    }
    svg->bottom = lane_y[num_lanes];
}

static void write_all(struct svg *svg, FILE *file)
{
    place_lanes(svg);
    find_notes(svg);
    double height = write_legend(svg) + 8;
    svg->file = file;
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
    write_notes(svg);
    write_legend(svg);
    fputs("</svg>\n", svg->file);
}

void braid_svg_write(const struct timeline *timeline, FILE *file)
{
    struct notes notes = { 0 };
    struct svg svg = { .timeline = timeline, .notes = &notes };
    write_all(&svg, file);
}

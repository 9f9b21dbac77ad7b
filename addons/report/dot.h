// SPDX-License-Identifier: Apache-2.0
// The common parts of all writers of Graphviz DOT: quoting any text, times, and closing a drawing.
#ifndef BRAID_REPORT_DOT_H
#define BRAID_REPORT_DOT_H

#include <stdint.h>
#include <stdio.h>

#include <braid/status.h>

#include "plan/schedule.h"

// The look of a node that is left out, behind other attributes.
#define DOT_LEFT_OUT ", fillcolor=\"#eeeeee\", color=\"#b4b4b4\", fontcolor=\"#8c8c8c\""

// The look of the box of a loop, a branch or an arm.
#define DOT_REGION_LOOK "style=rounded; color=\"#5b7fb0\""

// Opens a directed graph with the look that all of Braid's drawings have. The layout of one with
// many nodes is told to settle for less, else Graphviz would take minutes. Edges are named by
// xlabel: a label would take room of its own in the layout and double that time.
void braid_dot_begin(FILE *file, const char *title, uint32_t num_nodes);

// Writes `text` as the inside of a quoted DOT string that shows exactly that text: also its quotes,
// backslashes, newlines and entities. Bytes that are not UTF-8 appear as U+FFFD, control characters
// as their hexadecimal value, and no text at all as "(no name)".
void braid_dot_write_text(FILE *file, const char *text);

// A time the way people read it, to three digits or more: 950 ns, 12.5 us, 3.00 ms. The same in
// every locale.
struct dot_words {
    char text[80];
};

struct dot_words braid_dot_time(uint64_t time_ns);

// "1 node", "2 nodes".
struct dot_words braid_dot_count(uint64_t num, const char *what);

// How often a loop's body runs, and how often the plan assumes where that differs: "at most 192
// times, 10 times assumed".
struct dot_words braid_dot_iterations(const struct program *body);

// Writes label="NAME" with the time and the note in lines of their own, each if it is not NULL or
// empty.
void braid_dot_write_label(FILE *file, const char *name, const uint64_t *time_ns, const char *note);

// Opens a box, which "}" closes, with a label and a look behind it. The rest names it.
__attribute__((format(printf, 4, 5))) void
braid_dot_begin_box(FILE *file, const char *label, const char *look, const char *format, ...);

// Closes the graph. Errors: BRAID_IO_ERROR if any write since fopen failed.
braid_status braid_dot_end(FILE *file);

// Ends a drawing of any form: BRAID_IO_ERROR if any write to it failed.
braid_status braid_drawing_end(FILE *file);

braid_status braid_schedule_dot_write(const braid_schedule *schedule, FILE *file);

#endif

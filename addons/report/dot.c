// SPDX-License-Identifier: Apache-2.0
// The common parts of all writers of Graphviz DOT: quoting any text, times, and closing a drawing.
#include "report/dot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

// Graphviz refuses quoted strings with more than 16384 bytes between two escapes. A backslash
// before a newline is an escape that stands for nothing.
#define LONGEST_LINE 4096

// The escape for a character that DOT or its labels would not take literally, or NULL.
static const char *find_escape(char byte)
{
    switch (byte) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '&':
        return "&amp;";
    default:
        return NULL;
    }
}

void braid_dot_write_text(FILE *file, const char *text)
{
    const char *line = text;
    if (!*text)
        fputs("(no name)", file);
    while (*text) {
        if (text - line >= LONGEST_LINE) {
            fputs("\\\n", file);
            line = text;
        }
        text += braid_text_write_piece(file, text, find_escape);
    }
}

static uint64_t divide_rounded(uint64_t number, uint64_t divisor)
{
    return number / divisor + (number % divisor >= divisor - number % divisor);
}

struct dot_words braid_dot_time(uint64_t time_ns)
{
    static const char *const units[] = { "us", "ms", "s" };
    struct dot_words words;
    uint64_t unit_ns = 1000;
    size_t unit = 0;
    for (; divide_rounded(time_ns, unit_ns / 10) >= 10000 && unit < 2; unit++)
        unit_ns *= 1000;
    uint64_t tenths = divide_rounded(time_ns, unit_ns / 10);
    uint64_t hundredths = divide_rounded(time_ns, unit_ns / 100);
    if (time_ns < 1000)
        snprintf(words.text, sizeof(words.text), "%" PRIu64 " ns", time_ns);
    else if (hundredths < 1000)
        snprintf(words.text, sizeof(words.text), "%" PRIu64 ".%02" PRIu64 " %s", hundredths / 100,
                 hundredths % 100, units[unit]);
    else
        snprintf(words.text, sizeof(words.text), "%" PRIu64 ".%" PRIu64 " %s", tenths / 10,
                 tenths % 10, units[unit]);
    return words;
}

struct dot_words braid_dot_count(uint64_t num, const char *what)
{
    struct dot_words words;
    snprintf(words.text, sizeof(words.text), "%" PRIu64 " %s%s", num, what, num == 1 ? "" : "s");
    return words;
}

struct dot_words braid_dot_iterations(const struct program *body)
{
    const char *bound = body->has_condition ? "at most " : "", *comma = "";
    struct dot_words words = { "" };
    size_t length = 0;
    if (body->most != UINT64_MAX || !body->has_condition) {
        length = (size_t)snprintf(words.text, sizeof(words.text), "%s%s", bound,
                                  braid_dot_count(body->most, "time").text);
        comma = ", ";
    }
    if (body->expected != body->most || !length)
        snprintf(words.text + length, sizeof(words.text) - length, "%s%s assumed", comma,
                 braid_dot_count(body->expected, "time").text);
    return words;
}

void braid_dot_write_label(FILE *file, const char *name, const uint64_t *time_ns, const char *note)
{
    fputs("label=\"", file);
    braid_dot_write_text(file, name);
    if (time_ns)
        fprintf(file, "\\n%s", braid_dot_time(*time_ns).text);
    if (note && note[0]) {
        fputs("\\n", file);
        braid_dot_write_text(file, note);
    }
    fputs("\"", file);
}

void braid_dot_begin_box(FILE *file, const char *label, const char *look, const char *format, ...)
{
    va_list names;
    fputs("    subgraph cluster_", file);
    va_start(names, format);
    vfprintf(file, format, names);
    va_end(names);
    fputs(" {\n        label=\"", file);
    if (*label)
        braid_dot_write_text(file, label);
    fprintf(file, "\"; %s;\n", look);
}

// nslimit is a factor: so many iterations for each node.
static void write_limits(FILE *file, uint32_t num_nodes)
{
    enum { FEW_NODES = 150, MOST_ITERATIONS = 1000 };
    if (num_nodes <= FEW_NODES)
        return;
    uint32_t thousandths = MOST_ITERATIONS * 1000u / num_nodes;
    fprintf(file,
            "    graph [nslimit=%" PRIu32 ".%03" PRIu32 ", nslimit1=%" PRIu32 ".%03" PRIu32
            ", mclimit=0.5];\n",
            thousandths / 1000, thousandths % 1000, thousandths / 1000, thousandths % 1000);
}

void braid_dot_begin(FILE *file, const char *title, uint32_t num_nodes)
{
    fputs("digraph \"", file);
    braid_dot_write_text(file, title);
    fputs("\" {\n"
          "    graph [fontname=\"Helvetica\", fontsize=12, ranksep=0.6, nodesep=0.25];\n"
          "    node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", "
          "color=\"#44546a\", fillcolor=\"#eef3fa\", height=0.3, margin=\"0.12,0.06\"];\n"
          "    edge [fontname=\"Helvetica\", fontsize=9, color=\"#44546a\", arrowsize=0.7];\n",
          file);
    write_limits(file, num_nodes);
}

braid_status braid_dot_end(FILE *file)
{
    fputs("}\n", file);
    return braid_drawing_end(file);
}

braid_status braid_drawing_end(FILE *file)
{
    errno = 0;
    if (fflush(file) != 0 || ferror(file))
        return braid_error(BRAID_IO_ERROR, "cannot write the drawing: %s",
                           errno ? strerror(errno) : "an earlier write failed");
    return BRAID_OK;
}

// SPDX-License-Identifier: Apache-2.0
// The timelines of a recorded frame: a row for each stream of the program, and a row for each lane
// of the plan.
#include "report_frame.h"

#include <inttypes.h>

#include <braid/timeline.h>

#include "base/text.h"

enum { WIDE = 1000, ROW = 24, NAME = 80 };

static bool is_shown(const struct report_frame *frame, const braid_record_operation *of)
{
    const braid_record_work_kind kind = of->work.kind;
    if (frame->is_measured)
        return of->device_end_ns > of->device_begin_ns;
    return of->stream != BRAID_RECORD_NONE &&
           (kind == BRAID_RECORD_KERNEL || kind == BRAID_RECORD_COPY || kind == BRAID_RECORD_FILL ||
            kind == BRAID_RECORD_GRAPH);
}

static uint64_t begin_of(const struct report_frame *frame, const braid_record_operation *of)
{
    return frame->is_measured ? of->device_begin_ns : of->begin_ns;
}

static uint64_t end_of(const struct report_frame *frame, const braid_record_operation *of)
{
    return frame->is_measured ? of->device_end_ns : of->end_ns;
}

static const char *name_of(const struct report_frame *frame, const braid_record_work *work)
{
    return work->kind == BRAID_RECORD_KERNEL ? frame->contents->kernels[work->kernel].name
           : work->kind == BRAID_RECORD_COPY ? "copy"
           : work->kind == BRAID_RECORD_FILL ? "fill"
                                             : "graph";
}

// The row of a stream: streams that have nothing to show have none.
static uint32_t row_of(const struct report_frame *frame, uint32_t stream)
{
    uint32_t row = 0;
    for (uint32_t s = 0; s < stream; s++) {
        bool is_used = false;
        for (uint32_t i = frame->first; i < frame->end && !is_used; i++) {
            const braid_record_operation *of = &frame->contents->operations[i];
            is_used = of->stream == s && is_shown(frame, of);
        }
        row += is_used;
    }
    return row;
}

static void write_operation(const struct report_frame *frame, const braid_record_operation *of,
                            uint64_t origin, uint64_t span, FILE *file)
{
    const double scale = (double)(WIDE - NAME) / (double)span;
    const uint64_t begin = begin_of(frame, of), length = end_of(frame, of) - begin;
    fprintf(file, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"><title>",
            NAME + (double)(begin - origin) * scale, ROW * row_of(frame, of->stream),
            (double)length * scale > 0.5 ? (double)length * scale : 0.5, ROW - 4);
    braid_text_write_xml(file, name_of(frame, &of->work));
    fprintf(file, ", %.1f us</title></rect>\n", (double)length / 1e3);
}

static void write_as_it_ran(const struct report_frame *frame, FILE *file)
{
    const braid_record_operation *all = frame->contents->operations;
    const uint32_t rows = row_of(frame, frame->contents->num_streams);
    uint64_t origin = UINT64_MAX, end = 0;
    for (uint32_t i = frame->first; i < frame->end; i++) {
        if (!is_shown(frame, &all[i]))
            continue;
        origin = begin_of(frame, &all[i]) < origin ? begin_of(frame, &all[i]) : origin;
        end = end_of(frame, &all[i]) > end ? end_of(frame, &all[i]) : end;
    }
    if (end <= origin)
        return;
    fprintf(file,
            "<h2>%s</h2>\n<p>%.1f us on %" PRIu32 " stream%s</p>\n"
            "<svg style=\"height:auto\" viewBox=\"0 0 %d %" PRIu32 "\">\n",
            frame->is_measured ? "The frame as it ran" : "The frame as the host called it",
            (double)(end - origin) / 1e3, rows, rows == 1 ? "" : "s", WIDE, ROW * rows);
    for (uint32_t row = 0; row < rows; row++)
        fprintf(file,
                "<text x=\"0\" y=\"%" PRIu32 "\" font-size=\"12\">stream %" PRIu32 "</text>\n",
                ROW * row + 14, row);
    for (uint32_t i = frame->first; i < frame->end; i++) {
        if (is_shown(frame, &all[i]))
            write_operation(frame, &all[i], origin, end - origin, file);
    }
    fputs("</svg>\n", file);
}

braid_status report_frame_write(const struct report_frame *frame, FILE *file)
{
    const braid_timeline_options options = { .unit = frame->is_measured ? NULL : "steps",
                                             .unit_ns = frame->is_measured ? 0 : 1000 };
    write_as_it_ran(frame, file);
    fputs("<h2>The frame as planned</h2>\n<div class=\"plan\">\n", file);
    const braid_status status =
        braid_schedule_write(frame->schedule, BRAID_DRAWING_SVG, &options, file);
    fputs("</div>\n", file);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
// Writes drawings of schedules in all forms.
#include "base/error.h"
#include "base/sized.h"
#include "report/dot.h"
#include "report/timeline.h"

static braid_status schedule_write(const braid_schedule *schedule, braid_drawing drawing,
                                   const braid_timeline_options *options, FILE *file)
{
    if (!schedule || !file)
        return braid_error_null("braid_schedule_write", schedule ? "file" : "schedule");
    if (drawing == BRAID_DRAWING_DOT)
        return braid_schedule_dot_write(schedule, file);
    if (drawing != BRAID_DRAWING_SVG && drawing != BRAID_DRAWING_TRACE)
        return braid_error_invalid("braid_schedule_write: no drawing has number %d", (int)drawing);
    bool is_svg = drawing == BRAID_DRAWING_SVG, ok = true;
    braid_timeline_options shown = options ? *options : (braid_timeline_options){ 0 };
    if (is_svg)
        shown.num_frames = 1;
    struct timeline timeline;
    braid_status status = braid_timeline_create(schedule, &shown, &timeline);
    if (status)
        return status;
    if (is_svg)
        braid_svg_write(&timeline, file);
    else
        ok = braid_chrome_write(&timeline, file);
    braid_timeline_finish(&timeline);
    return ok ? braid_drawing_end(file) : braid_error_no_memory("a trace");
}

braid_status braid_schedule_write_sized(const braid_schedule *schedule, braid_drawing drawing,
                                        const braid_timeline_options *options, FILE *file,
                                        size_t size)
{
    braid_timeline_options own;
    braid_status status =
        braid_sized_take("braid_schedule_write: options", options, size, &own, sizeof(own));
    return status ? status : schedule_write(schedule, drawing, &own, file);
}

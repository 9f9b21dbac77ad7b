// SPDX-License-Identifier: Apache-2.0
// The words of drawings and messages for each kind of node, and which grids there can be.
#include "base/work.h"

static bool multiply(braid_dim3 dim, uint64_t *total)
{
    return !__builtin_mul_overflow(*total, dim.x, total) &&
           !__builtin_mul_overflow(*total, dim.y, total) &&
           !__builtin_mul_overflow(*total, dim.z, total) && *total > 0 && *total <= INT64_MAX;
}

bool braid_grid_fits(braid_dim3 grid, braid_dim3 block)
{
    uint64_t total = 1;
    return multiply(grid, &total) && multiply(block, &total);
}

// Rows of one pitch lie side by side where the ends do. Otherwise all between counts.
static bool do_overlap(const struct work_copy *copy)
{
    const uintptr_t to = (uintptr_t)copy->to, from = (uintptr_t)copy->from;
    const braid_rows *rows = &copy->rows;
    const uint64_t apart = to > from ? to - from : from - to;
    if (apart >= work_span(rows, to > from, copy->bytes))
        return false;
    if (!rows->num || rows->to_pitch != rows->from_pitch)
        return true;
    const uint64_t aside = apart % rows->to_pitch;
    return aside < copy->bytes || rows->to_pitch - aside < copy->bytes;
}

const char *braid_work_flaw(enum work_kind kind, const union work *work)
{
    const struct work_copy *copy = kind == WORK_COPY ? &work->copy : NULL;
    const struct work_fill *fill = &work->fill;
    if (!copy && kind != WORK_FILL)
        return NULL;
    const braid_rows *rows = copy ? &copy->rows : &fill->rows;
    const uint64_t bytes = copy ? copy->bytes : fill->num_values * fill->value_bytes;
    if (rows->num && (bytes > rows->to_pitch || (copy && bytes > rows->from_pitch)))
        return "its rows are longer than their pitch";
    if (copy)
        return do_overlap(copy) ? "the bytes that the copy reads and writes overlap" : NULL;
    if ((uintptr_t)fill->to % fill->value_bytes == 0)
        return NULL;
    return fill->value_bytes == 2
               ? "a fill of 2-byte values at an odd address"
               : "a fill of 4-byte values at an address that is no multiple of 4";
}

// Kinds differ in shape as well as colour, so that a print in black and white still tells them.
const struct work_words braid_work_words[] = {
    [WORK_KERNEL] = { "kernel", "kernel", "launch of", "" },
    [WORK_COPY] = { "copy", "copy", "copy", ", style=filled, fillcolor=\"#fdf2d8\"" },
    [WORK_FILL] = { "fill", "fill", "fill", ", style=filled, fillcolor=\"#fdf2d8\"" },
    [WORK_HOST] = { "host call", "host", "host call",
                    ", shape=ellipse, style=filled, fillcolor=\"#e6f4e6\"" },
    [WORK_QUEUE] = { "queue call", "queue", "queue call",
                     ", peripheries=2, fillcolor=\"#f1e8f8\"" },
    [WORK_EMPTY] = { "empty", "empty", "empty node",
                     ", shape=circle, style=filled, fillcolor=\"#f4f4f4\", width=0.2, "
                     "margin=\"0.02\"" },
    [WORK_POST] = { "post", "post", "post", ", shape=cds, style=filled, fillcolor=\"#e4eef8\"" },
    [WORK_LOOP] = { "loop", "loop", "loop", ", style=\"rounded,bold\"" },
    [WORK_BRANCH] = { "branch", "branch", "branch", ", style=\"rounded,bold\"" },
    [WORK_AWAIT] = { "communication", "communication", "communication",
                     ", shape=cds, style=filled, fillcolor=\"#cfe2f3\"" },
};

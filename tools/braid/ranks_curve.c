// SPDX-License-Identifier: Apache-2.0
// Drawing efficiency over ranks as SVG; both axes are labelled, and the number of ranks doubles at
// each step.
#include "ranks_curve.h"

#include <math.h>

#include "base/text.h"

enum { WIDTH = 560, HEIGHT = 300, LEFT = 60, RIGHT = 20, TOP = 40, BOTTOM = 50 };

struct axes {
    double least, most; // log2 of ranks
};

static double x_of(const struct axes *axes, double num_ranks)
{
    double width = axes->most > axes->least ? axes->most - axes->least : 1;
    return LEFT + (log2(num_ranks) - axes->least) / width * (WIDTH - LEFT - RIGHT);
}

static double y_of(double efficiency)
{
    return TOP + (1 - efficiency) * (HEIGHT - TOP - BOTTOM);
}

static struct axes find_axes(const struct ranks_curve *curve)
{
    struct axes axes = { log2(curve->points[0].num_ranks), log2(curve->points[0].num_ranks) };
    for (uint32_t i = 1; i < curve->num; i++) {
        axes.least = fmin(axes.least, log2(curve->points[i].num_ranks));
        axes.most = fmax(axes.most, log2(curve->points[i].num_ranks));
    }
    return axes;
}

static void write_grid(FILE *file, const struct ranks_curve *curve, const struct axes *axes)
{
    for (int i = 0; i <= 4; i++)
        fprintf(file,
                "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
                LEFT, WIDTH - RIGHT, y_of(i / 4.0), y_of(i / 4.0), LEFT - 6, y_of(i / 4.0) + 4,
                i * 25);
    for (uint32_t i = 0; i < curve->num; i++)
        fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
                x_of(axes, curve->points[i].num_ranks), HEIGHT - BOTTOM + 18,
                curve->points[i].num_ranks);
    fprintf(file,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ranks</text>\n"
            "<text x=\"%d\" y=\"22\" font-weight=\"bold\">",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, LEFT);
    braid_text_write_xml(file, curve->title);
    fprintf(file, ": efficiency, simulated</text>\n");
}

braid_status ranks_curve_write(FILE *file, const void *given)
{
    const struct ranks_curve *curve = given;
    struct axes axes = find_axes(curve);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    write_grid(file, curve, &axes);
    fprintf(file, "<polyline fill=\"none\" stroke=\"#1565c0\" stroke-width=\"2\" points=\"");
    for (uint32_t i = 0; i < curve->num; i++)
        fprintf(file, "%.1f,%.1f ", x_of(&axes, curve->points[i].num_ranks),
                y_of(curve->points[i].efficiency));
    fprintf(file, "\"/>\n");
    for (uint32_t i = 0; i < curve->num; i++)
        fprintf(
            file,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#1565c0\"><title>%u ranks: %.3f ms, "
            "%.1f %%</title></circle>\n",
            x_of(&axes, curve->points[i].num_ranks), y_of(curve->points[i].efficiency),
            curve->points[i].num_ranks, curve->points[i].frame.makespan_ns / 1e6,
            curve->points[i].efficiency * 100);
    fprintf(file, "</svg>\n");
    return BRAID_OK;
}

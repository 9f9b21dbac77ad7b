// SPDX-License-Identifier: Apache-2.0
// How long a file's unit of cost is, in nanoseconds.
#include "time_scale.h"

#include "dot_cost.h"

#define DAY_NS 86400e9

double time_scale_default(const struct dot_file *file)
{
    uint64_t named = dot_cost_named_unit(file);
    if (!file->cost_unit)
        return 1;
    return named > 0 ? (double)named : 1e3;
}

enum exit_status time_scale_apply(struct dot_file *file, double scale)
{
    double work_ns = 0;
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        struct dot_node *node = &file->nodes[i];
        double busy_ns = dot_cost_value(&node->cost) * scale;
        work_ns += busy_ns;
        if (work_ns > DAY_NS)
            return fail(EXIT_BAD_FILE,
                        "a frame of %s has more than a day of work; shorten it, for example with "
                        "--time-scale %g",
                        file->text.path, scale * 1e-6);
        node->cost.whole = busy_ns < 1 ? 1 : (uint64_t)(busy_ns + 0.5);
        node->cost.billionths = 0;
    }
    return EXIT_DONE;
}

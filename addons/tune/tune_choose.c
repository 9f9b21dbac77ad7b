// SPDX-License-Identifier: Apache-2.0
// Which of the ways that were timed is taken.
#include "tune/tune_choose.h"

#include <stdlib.h>

#include "base/spread.h"

#define ALIKE 1.01 // a median further above the fastest is slower, however few times there are

static size_t square_root(size_t number)
{
    size_t root = 0;
    while ((root + 1) * (root + 1) <= number)
        root++;
    return root;
}

// The median of `num` independent times lies with 95 % between two of them, for any distribution.
// Their places differ from the middle by 0.98 times the root of `num`. (Conover, Practical
// Nonparametric Statistics, confidence intervals for quantiles.)
static void judge_times(struct tune_trial *trial)
{
    uint64_t *times = trial->times.items;
    size_t num = trial->times.num;
    if (!num)
        return;
    size_t apart = square_root(num) + 1, middle = num / 2;
    trial->frame = find_spread(times, num);
    trial->low_ns = times[apart < middle ? middle - apart : 0];
    trial->high_ns = times[apart < num - middle ? middle + apart : num - 1];
}

static int compare_trials(const void *a, const void *b)
{
    const struct tune_trial *first = a, *second = b;
    if (first->was_dropped != second->was_dropped) // timed before the others were, so not with them
        return first->was_dropped ? 1 : -1;
    if (first->frame.median_ns != second->frame.median_ns)
        return first->frame.median_ns < second->frame.median_ns ? -1 : 1;
    if (first->num_lanes != second->num_lanes)
        return first->num_lanes < second->num_lanes ? -1 : 1;
    return first->way.frames < second->way.frames ? -1 : first->way.frames > second->way.frames;
}

void braid_tune_sort(struct tune_trials *trials)
{
    for (size_t i = 0; i < trials->trials.num; i++)
        judge_times(tune_trial_at(trials, i));
    qsort(trials->trials.items, trials->trials.num, sizeof(struct tune_trial), compare_trials);
}

static bool may_be_as_fast(const struct tune_trial *trial, const struct tune_trial *fastest)
{
    return !trial->was_dropped && trial->low_ns <= fastest->high_ns &&
           (double)trial->frame.median_ns <= (double)fastest->frame.median_ns * ALIKE;
}

static bool takes_less(const struct tune_trial *trial, const struct tune_trial *other)
{
    return trial->num_lanes < other->num_lanes ||
           (trial->num_lanes == other->num_lanes && trial->way.frames < other->way.frames);
}

size_t braid_tune_choose(const struct tune_trials *trials)
{
    const struct tune_trial *all = trials->trials.items;
    size_t best = 0;
    for (size_t i = 1; i < trials->trials.num; i++)
        if (may_be_as_fast(&all[i], &all[0]) && takes_less(&all[i], &all[best]))
            best = i;
    return best;
}

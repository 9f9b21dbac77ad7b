// SPDX-License-Identifier: Apache-2.0
// Which of the ways that were timed is taken.
#ifndef BRAID_TUNE_TUNE_CHOOSE_H
#define BRAID_TUNE_TUNE_CHOOSE_H

#include "tune/tune_trials.h"

// The trials still timed come first, the fastest of them foremost; each knows the spread of its
// times, which are sorted too.
void braid_tune_sort(struct tune_trials *trials);

// Chooses among sorted trials that may be as fast as the fastest the one with the fewest lanes.
size_t braid_tune_choose(const struct tune_trials *trials);

#endif

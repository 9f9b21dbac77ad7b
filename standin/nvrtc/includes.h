// SPDX-License-Identifier: Apache-2.0
// What a source includes, put in the place of its directives.
#ifndef BRAID_STANDIN_NVRTC_INCLUDES_H
#define BRAID_STANDIN_NVRTC_INCLUDES_H

#include "text.h"

struct headers {
    int num;
    char **texts, **names;
    int num_options;
    const char *const *options; // -I and -IFOLDER say where files are
};

// Adds the source to `out` with each #include line replaced by a header's text or by a file.
// What is found nowhere is left out: it may be one of the compiler's own. Line numbers change.
void includes_expand(const struct headers *headers, const char *source, int depth,
                     struct text *out);

#endif

// SPDX-License-Identifier: Apache-2.0
// Hands drawings to Graphviz and gives back what it made of them.
#ifndef BRAID_TESTS_DOT_SVG_H
#define BRAID_TESTS_DOT_SVG_H

#include <stdbool.h>

// Whether the program dot is installed.
bool svg_can_render(void);

// The SVG that `dot -Tsvg` makes of a drawing, or NULL if dot refused it or complained about it;
// the caller frees it.
char *svg_render(const char *drawing);

// `text` as it stands in an SVG file; the caller frees it.
char *svg_escape(const char *text);

#endif

// SPDX-License-Identifier: Apache-2.0
// Labels of DOT files as plain text.
#ifndef BRAID_TOOL_DOT_LABEL_H
#define BRAID_TOOL_DOT_LABEL_H

// The text that Graphviz would draw for a label of the node `id`: \n, \l and \r end a line, \N is
// the id, any other escaped character itself, &amp; an ampersand. The caller frees it; NULL when
// memory runs out.
char *dot_label_read(const char *label, const char *id);

#endif

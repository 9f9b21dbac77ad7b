// SPDX-License-Identifier: Apache-2.0
// Takes comments out of a DOT file's text, and refuses what would keep Graphviz busy for minutes.
//
// Graphviz' scanner is handed 8 KiB at a time, and starts the token it is in again with each: what
// is in one piece takes time in its length squared, 57 s for a comment of 10 MB.
#ifndef BRAID_TOOL_DOT_COMMENT_H
#define BRAID_TOOL_DOT_COMMENT_H

#include "dot_text.h"

// Each comment becomes a space and the line breaks that were in it, so that lines keep their
// numbers. Reports a comment that does not end, and a name or string of more than 1 MiB in a piece.
enum exit_status dot_comment_remove(struct dot_text *text);

#endif

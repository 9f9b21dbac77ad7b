// SPDX-License-Identifier: Apache-2.0
// Takes comments out of a DOT file's text, and refuses what does not end.
#ifndef BRAID_TOOL_DOT_COMMENT_H
#define BRAID_TOOL_DOT_COMMENT_H

#include "dot_text.h"

// Each comment becomes a space and the line breaks that were in it, so that lines keep their
// numbers. Reports a comment or string that does not end.
enum exit_status dot_comment_remove(struct dot_text *text);

#endif

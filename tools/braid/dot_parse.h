// SPDX-License-Identifier: Apache-2.0
// The grammar of DOT: tells a build the statements of a text.
#ifndef BRAID_TOOL_DOT_PARSE_H
#define BRAID_TOOL_DOT_PARSE_H

#include "dot_build.h"

// Parses the one directed graph of build->file->text; anything else is reported.
enum exit_status dot_parse(struct dot_build *build);

#endif

// SPDX-License-Identifier: Apache-2.0
// A file of PTX.
#ifndef BRAID_TOOL_KERNEL_FILE_H
#define BRAID_TOOL_KERNEL_FILE_H

#include "message.h"

// Reads a file, "-": standard input, which begins as PTX does. The caller frees the text.
enum exit_status kernel_file_read(const char *path, char **out_text);

#endif

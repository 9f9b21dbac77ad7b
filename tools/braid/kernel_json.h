// SPDX-License-Identifier: Apache-2.0
// What is known of kernels, as JSON; docs/json.md describes it.
#ifndef BRAID_TOOL_KERNEL_JSON_H
#define BRAID_TOOL_KERNEL_JSON_H

#include "kernel_facts.h"

enum { KERNEL_INSTRUCTION_BYTES = 100 };

// An instruction in one line, perhaps cut short.
void kernel_write_instruction(const char *at, char buffer[KERNEL_INSTRUCTION_BYTES]);

// Writes it to `path` ("-": standard output). Reports a failure.
enum exit_status kernel_json_write(const char *path, const char *file,
                                   const struct text_facts *facts);

#endif

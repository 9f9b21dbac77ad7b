// SPDX-License-Identifier: Apache-2.0
// All that the code of kernels tells of them, from a text of PTX.
#ifndef BRAID_TOOL_KERNEL_FACTS_H
#define BRAID_TOOL_KERNEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "accesses/kernel_accesses.h"
#include "message.h"

// Whether the library would do something with it, and why not.
struct kernel_fact {
    bool holds;
    struct ptx_reason reason; // it does not hold
};

struct entry_facts {
    const struct ptx_function *function;
    struct kernel_accesses accesses;
    struct kernel_fact island; // it may be a call inside one
};

struct text_facts {
    const char *text;
    struct kernel_code code;
    struct entry_facts *entries; // in the order of the text
    uint32_t num_entries, num_proven;
    struct kernel_fact early, prefetch; // all entries have them
};

// The text outlives the facts. `file` is for messages.
enum exit_status kernel_facts_read(const char *file, const char *text,
                                   struct text_facts *out_facts);
void kernel_facts_finish(struct text_facts *facts);

#endif

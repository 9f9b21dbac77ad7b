// SPDX-License-Identifier: Apache-2.0
// Lines of source in PTX.
#include "audit/gpu_ptx_lines.h"

static uint32_t read_number(const char **at)
{
    return braid_ptx_read_number(braid_ptx_next_word(at), 0, 10);
}

uint32_t braid_ptx_read_line(const struct ptx_statement *loc)
{
    const char *at = loc->word.at + loc->word.length;
    uint32_t file = read_number(&at), line = read_number(&at);
    bool fits = line > 0 && line < UINT32_C(1) << AUDIT_LINE_BITS &&
                file < AUDIT_NO_LINE >> AUDIT_LINE_BITS;
    return fits ? (file << AUDIT_LINE_BITS | line) : AUDIT_NO_LINE;
}

struct ptx_word braid_ptx_find_file(const char *text, uint32_t file)
{
    const char *at = text;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length;
         word = braid_ptx_next_word(&at)) {
        if (!braid_ptx_word_is(word, ".file") || read_number(&at) != file)
            continue;
        struct ptx_word name = braid_ptx_next_word(&at);
        if (name.length > 2 && *name.at == '"')
            return (struct ptx_word){ name.at + 1, name.length - 2 };
    }
    return (struct ptx_word){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// The accesses of a kernel in one short line.
#include "accesses/found.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

static const char *acts_of(unsigned acts)
{
    static const char *const names[] = { "", "r", "w", "rw", "a", "ra", "wa", "rwa" };
    return names[acts & 7];
}

static void write_accesses(const struct kernel_accesses *accesses, FILE *to)
{
    const struct kernel_access *items = accesses->items.items;
    const char *separator = "";
    for (size_t i = 0; i < accesses->items.num; i++) {
        fprintf(to, "%s%u+", separator, items[i].parameter);
        if (source_is_anywhere(items[i].offset))
            fprintf(to, "%s%s", items[i].offset == SOURCE_ANYWHERE ? "?" : "??",
                    acts_of(items[i].acts));
        else
            fprintf(to, "%u%s", items[i].offset, acts_of(items[i].acts));
        if (items[i].below)
            fprintf(to, items[i].is_above ? "-+" : "-");
        separator = " ";
    }
    if (accesses->of_variables)
        fprintf(to, "%svariables %s", separator,
                acts_of(accesses->of_variables & ~(unsigned)ACCESSES_UPDATES));
}

void found_write(struct kernel_code *code, uint32_t entry, char *to, size_t bytes)
{
    struct kernel_accesses accesses;
    assert_true(braid_kernel_accesses_find(code, entry, &accesses));
    to[0] = '\0'; // if nothing is written, all stays
    FILE *file = fmemopen(to, bytes, "w");
    assert_non_null(file);
    if (accesses.why)
        fputs(accesses.why, file);
    else
        write_accesses(&accesses, file);
    assert_int_equal(accesses.why != NULL, accesses.at != NULL);
    assert_int_equal(fclose(file), 0);
    braid_kernel_accesses_finish(&accesses);
}

void found_write_text(const char *text, const char *entry, char *to, size_t bytes)
{
    struct kernel_code code;
    struct ptx_reason reason;
    if (!braid_code_read(text, &code, &reason)) {
        snprintf(to, bytes, "%s", reason.text);
        return;
    }
    const uint32_t index = braid_code_find_entry(&code, entry);
    assert_true(index != CODE_NONE);
    found_write(&code, index, to, bytes);
    braid_code_finish(&code);
}

// SPDX-License-Identifier: Apache-2.0
// All that the code of kernels tells of them, from a text of PTX.
#include "kernel_facts.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_ptx_early.h"
#include "backends/gpu/gpu_ptx_prefetch.h"
#include "base/host_memory.h"
#include "islands/gpu_ptx_callable.h"
#include "islands/gpu_ptx_symbols.h"

static enum exit_status no_memory(const char *file)
{
    return fail(EXIT_FAILED, "out of memory for the kernels of %s", file);
}

// As the library changes a text: to start early first, and behind that to prefetch. False: memory
// ran out.
static bool find_changes(struct text_facts *facts)
{
    char *early = braid_gpu_ptx_with_early_start(facts->text, &facts->early.reason);
    facts->early.holds = early != NULL;
    facts->prefetch.reason = facts->early.reason;
    char *prefetch = early ? braid_gpu_ptx_with_prefetch(early, &facts->prefetch.reason) : NULL;
    facts->prefetch.holds = prefetch != NULL;
    braid_free(early);
    braid_free(prefetch);
    return (facts->early.holds || facts->early.reason.text[0]) &&
           (facts->prefetch.holds || facts->prefetch.reason.text[0]);
}

// False: memory ran out.
static bool find_island(const struct ptx *ptx, const char *name, struct kernel_fact *out_fact)
{
    struct ptx_symbols symbols;
    struct ptx_callable callable;
    *out_fact = (struct kernel_fact){ 0 };
    if (braid_ptx_find_symbols(ptx, &symbols, &out_fact->reason)) {
        out_fact->holds = braid_ptx_read_callable(&symbols, name, &callable, &out_fact->reason);
        braid_ptx_symbols_finish(&symbols);
    }
    return out_fact->holds || out_fact->reason.text[0];
}

// False: memory ran out.
static bool read_entry(struct text_facts *facts, uint32_t function, struct entry_facts *entry)
{
    *entry = (struct entry_facts){ .function = facts->code.functions[function].ptx };
    const struct ptx_word word = entry->function->name;
    char *name = strndup(word.at, word.length);
    bool is_done = name && find_island(&facts->code.ptx, name, &entry->island) &&
                   braid_kernel_accesses_find(&facts->code, function, &entry->accesses);
    free(name);
    return is_done;
}

static bool is_kernel(const struct kernel_code *code, uint32_t function)
{
    return code->functions[function].ptx->is_entry && code->functions[function].ptx->body;
}

// False: memory ran out.
static bool read_entries(struct text_facts *facts)
{
    for (uint32_t i = 0; i < facts->code.num_functions; i++)
        facts->num_entries += is_kernel(&facts->code, i);
    facts->entries = braid_allocate_zeroed(facts->num_entries, sizeof(*facts->entries));
    facts->num_entries = 0;
    for (uint32_t i = 0; facts->entries && i < facts->code.num_functions; i++) {
        if (!is_kernel(&facts->code, i))
            continue;
        struct entry_facts *entry = &facts->entries[facts->num_entries];
        if (!read_entry(facts, i, entry))
            return false;
        facts->num_entries++;
        facts->num_proven += !entry->accesses.why;
    }
    return facts->entries;
}

enum exit_status kernel_facts_read(const char *file, const char *text, struct text_facts *out_facts)
{
    struct ptx_reason reason;
    *out_facts = (struct text_facts){ .text = text };
    if (!braid_code_read(text, &out_facts->code, &reason)) {
        if (!reason.text[0])
            return no_memory(file);
        const char *at = reason.at ? reason.at : text;
        return fail_in_file(file, braid_ptx_line(text, at), "no kernel of it is proven: %s",
                            reason.text);
    }
    if (!find_changes(out_facts) || !read_entries(out_facts)) {
        kernel_facts_finish(out_facts);
        return no_memory(file);
    }
    if (out_facts->num_entries)
        return EXIT_DONE;
    kernel_facts_finish(out_facts);
    return fail(EXIT_BAD_FILE, "%s has no kernel: no .entry with a body", file);
}

void kernel_facts_finish(struct text_facts *facts)
{
    for (uint32_t i = 0; i < facts->num_entries; i++)
        braid_kernel_accesses_finish(&facts->entries[i].accesses);
    braid_free(facts->entries);
    braid_code_finish(&facts->code);
    *facts = (struct text_facts){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// Findings in the code of kernels.
#include "graph/code.h"

#include <string.h>

void braid_code_facts_finish(struct code_facts *facts)
{
    braid_array_finish(&facts->parameters);
    braid_array_finish(&facts->addresses);
    braid_array_finish(&facts->variables);
    *facts = (struct code_facts){ 0 };
}

void braid_derived_accesses_finish(struct derived_accesses *derived)
{
    braid_array_finish(&derived->accesses);
    braid_array_finish(&derived->words);
    *derived = (struct derived_accesses){ 0 };
}

const struct code_word *braid_graph_words_of(const struct array *words, uint32_t node,
                                             size_t *out_num)
{
    const struct code_word *items = words->items;
    const size_t first = braid_array_find(words, node, sizeof(*items));
    size_t end = first;
    while (end < words->num && items[end].node == node)
        end++;
    *out_num = end - first;
    return items ? items + first : NULL;
}

bool braid_code_remarks_add_text(struct code_remarks *remarks, const char *text, size_t *out_at)
{
    const size_t bytes = strlen(text) + 1;
    *out_at = remarks->texts.num;
    char *to = braid_array_append(&remarks->texts, bytes, 1);
    if (to)
        memcpy(to, text, bytes);
    return to;
}

void braid_code_remarks_finish(struct code_remarks *remarks)
{
    braid_array_finish(&remarks->items);
    braid_array_finish(&remarks->texts);
    *remarks = (struct code_remarks){ 0 };
}

// SPDX-License-Identifier: Apache-2.0
// A text with pieces of it replaced, in order.
#include "backends/gpu/gpu_edit.h"

#include <string.h>

#include "base/host_memory.h"

void braid_gpu_edit(struct gpu_edits *edits, const char *from, const char *to, const char *with)
{
    braid_gpu_edit_part(edits, from, to, with, strlen(with));
}

void braid_gpu_edit_part(struct gpu_edits *edits, const char *from, const char *to,
                         const char *with, size_t length)
{
    const struct gpu_edit edit = { from, to, with, length }, *items = edits->items.items;
    const size_t num = edits->items.num;
    bool is_in_order = from <= to && (num == 0 || items[num - 1].to <= from);
    edits->failed |= !is_in_order || !braid_array_put(&edits->items, &edit, sizeof(edit));
}

char *braid_gpu_apply_edits(const struct gpu_edits *edits, const char *text)
{
    const struct gpu_edit *items = edits->items.items;
    size_t bytes = strlen(text) + 1;
    for (size_t i = 0; i < edits->items.num; i++)
        bytes += items[i].length;
    char *made = edits->failed ? NULL : braid_allocate(bytes);
    char *to = made;
    for (size_t i = 0; made && i < edits->items.num; i++) {
        const struct gpu_edit *edit = &items[i];
        size_t before = (size_t)(edit->from - text);
        memcpy(to, text, before);
        memcpy(to + before, edit->with, edit->length);
        to += before + edit->length;
        text = edit->to;
    }
    if (made)
        memcpy(to, text, strlen(text) + 1);
    return made;
}

void braid_gpu_edits_finish(struct gpu_edits *edits)
{
    braid_array_finish(&edits->items);
    *edits = (struct gpu_edits){ 0 };
}

void braid_gpu_edit_parameters(struct gpu_edits *edits, const struct ptx_function *function,
                               struct ptx_word more)
{
    const char *inside = function->parameters;
    const char *at = inside ? function->parameters_end : function->name_end;
    if (!inside)
        braid_gpu_edit(edits, at, at, "(");
    else if (!braid_ptx_word_is(braid_ptx_next_word(&inside), ")"))
        braid_gpu_edit(edits, at, at, ", ");
    braid_gpu_edit_part(edits, at, at, more.at, more.length);
    if (!function->parameters)
        braid_gpu_edit(edits, at, at, ")\n");
}

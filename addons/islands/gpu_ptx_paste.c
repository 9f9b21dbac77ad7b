// SPDX-License-Identifier: Apache-2.0
// Putting kernels in place of the markers of another kernel's PTX.
#include "islands/gpu_ptx_paste.h"

#include <ctype.h>
#include <stdio.h>

#include "base/host_memory.h"
#include "ptx/ptx_read.h"

static const char marker[] = "braid_call_";

// The words behind .version and .target.
struct head {
    struct ptx_word version, target;
};

static struct head read_head(const char *text)
{
    struct head head = { 0 };
    for (struct ptx_word word = braid_ptx_next_word(&text); word.length && !head.target.length;
         word = braid_ptx_next_word(&text)) {
        if (braid_ptx_word_is(word, ".version"))
            head.version = braid_ptx_next_word(&text);
        else if (braid_ptx_word_is(word, ".target"))
            head.target = braid_ptx_next_word(&text);
    }
    return head;
}

// 901 of sm_90a, which has more than sm_90.
static int target_number(struct ptx_word target)
{
    int number = braid_ptx_target_number(target);
    return 10 * number + (number && isalpha((unsigned char)target.at[target.length - 1]) != 0);
}

static struct head newest_head(const char *text, const struct ptx_paste *paste)
{
    struct head newest = read_head(text);
    for (uint32_t i = 0; i < paste->num_modules; i++) {
        struct head head = read_head(paste->modules[i]);
        if (braid_ptx_version_number(head.version) > braid_ptx_version_number(newest.version))
            newest.version = head.version;
        if (target_number(head.target) > target_number(newest.target))
            newest.target = head.target;
    }
    return newest;
}

// From behind the marker to behind its semicolon.
static void put_block(const struct ptx_paste *paste, uint32_t number, const char **at, FILE *to)
{
    static const char *const names[] = { "index", "here", "barrier", "shared", "args",
                                         "w0",    "w1",   "w2",      "w3" };
    const struct ptx_pasted *pasted = &paste->blocks[number];
    uint32_t num = 0, small = paste->small, most = small ? 4 + (small + 3) / 4 : 5;
    struct ptx_word word = braid_ptx_next_word(at);
    fprintf(to, "{ // braid_island_run %u %s\n", number, pasted->note);
    for (; word.length && !braid_ptx_word_is(word, ";"); word = braid_ptx_next_word(at)) {
        if (braid_ptx_word_is(word, ",") || num == most)
            continue;
        const char *name = names[num < 4 || !small ? num : num + 1];
        fprintf(to, "\t.reg .b32 %%braid_%s;\n\tmov.b32 %%braid_%s, %.*s;\n", name, name,
                (int)word.length, word.at);
        num++;
    }
    fprintf(to, "%s\t}\n", pasted->block);
}

// The place behind .address_size 64, where declarations may begin.
static void put_needed(const struct ptx_paste *paste, FILE *to)
{
    fputc('\n', to);
    for (uint32_t i = 0; i < paste->num_modules; i++)
        fputs(paste->needed[i], to);
}

static void put_all(const char *text, const struct ptx_paste *paste, FILE *to)
{
    const struct head now = read_head(text), head = newest_head(text, paste);
    const char *from = text, *at = text;
    bool is_size = false;
    for (struct ptx_word word = braid_ptx_next_word(&at); word.length;
         word = braid_ptx_next_word(&at)) {
        struct ptx_word other = word.at == now.version.at  ? head.version
                                : word.at == now.target.at ? head.target
                                                           : (struct ptx_word){ 0 };
        uint32_t number = braid_ptx_word_begins(word, marker)
                              ? braid_ptx_read_number(word, sizeof(marker) - 1, 10)
                              : paste->num_blocks;
        if (!is_size && !other.length && number >= paste->num_blocks) {
            is_size = braid_ptx_word_is(word, ".address_size");
            continue;
        }
        fwrite(from, 1, (size_t)(word.at - from), to);
        if (other.length) {
            fwrite(other.at, 1, other.length, to);
        } else if (is_size) {
            fwrite(word.at, 1, word.length, to);
            put_needed(paste, to);
            is_size = false;
        } else {
            put_block(paste, number, &at, to);
        }
        from = at;
    }
    fputs(from, to);
}

char *braid_ptx_paste(const char *text, const struct ptx_paste *paste)
{
    char *made = NULL;
    size_t bytes = 0;
    FILE *file = braid_open_text(&made, &bytes);
    if (!file)
        return NULL;
    put_all(text, paste, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed)
        return made;
    braid_free(made);
    return NULL;
}

// SPDX-License-Identifier: Apache-2.0
// A kernel as a block inside of another: loads of its parameters, and its barriers.
#include <ctype.h>
#include <string.h>

#include "islands/gpu_ptx_block.h"

enum { MOST_OPERANDS = 6 };

// ---- operands ----

// The words between commas, without spaces around; returns how many. 0: there are none, or one is
// empty, or they are too many.
static size_t split_operands(const struct ptx_statement *statement,
                             struct ptx_word operands[MOST_OPERANDS])
{
    const char *at = statement->word.at + statement->word.length;
    size_t num = 0;
    int depth = 0;
    operands[0] = (struct ptx_word){ 0 };
    for (struct ptx_word word = braid_ptx_next_word(&at); word.at < statement->end;
         word = braid_ptx_next_word(&at)) {
        depth += braid_ptx_word_is(word, "{") - braid_ptx_word_is(word, "}");
        if (depth == 0 && braid_ptx_word_is(word, ";"))
            break;
        if (depth == 0 && braid_ptx_word_is(word, ",")) {
            if (!operands[num].length || ++num == MOST_OPERANDS)
                return 0;
            operands[num] = (struct ptx_word){ 0 };
            continue;
        }
        if (!operands[num].at)
            operands[num].at = word.at;
        operands[num].length = (size_t)(word.at + word.length - operands[num].at);
    }
    return operands[num].length ? num + 1 : 0;
}

// [name + number]; its word is the name of a parameter.
static struct ptx_memory *find_address(const struct ptx_block *block, struct ptx_word operand,
                                       uint32_t *out_offset)
{
    const char *at = operand.at;
    if (!braid_ptx_word_is(braid_ptx_next_word(&at), "["))
        return NULL;
    struct ptx_memory *memory = braid_ptx_block_find_memory(block, braid_ptx_next_word(&at));
    if (!memory || !memory->is_parameter)
        return NULL;
    struct ptx_word sign = braid_ptx_next_word(&at);
    bool has_number = braid_ptx_word_is(sign, "+");
    uint32_t number = has_number ? braid_ptx_read_number(braid_ptx_next_word(&at), 0, 0) : 0;
    *out_offset = memory->offset + number;
    return number < memory->bytes && (has_number || braid_ptx_word_is(sign, "]")) ? memory : NULL;
}

bool braid_ptx_block_reads_parameter(const struct ptx_block *block,
                                     const struct ptx_statement *statement)
{
    const char *at = statement->word.at + statement->word.length;
    if (braid_ptx_word_begins(statement->word, "cvta.param"))
        return true;
    if (!braid_ptx_word_begins(statement->word, "ld.param"))
        return false;
    struct ptx_word word = braid_ptx_next_word(&at);
    while (word.at < statement->end && !braid_ptx_word_is(word, "["))
        word = braid_ptx_next_word(&at);
    word = braid_ptx_next_word(&at);
    const struct ptx_memory *memory = braid_ptx_block_find_memory(block, word);
    return word.at[0] == '%' || (memory && memory->is_parameter);
}

// 32 of %r5, by how it is declared; 0: it is not.
static uint32_t bits_of_register(const struct ptx_block *block, struct ptx_word word)
{
    struct ptx_word type = braid_ptx_type_of(block->symbols->ptx, block->function, word);
    return braid_ptx_read_number(type, 2, 10);
}

// A load of one register of 32 or 64 bits from a parameter.
static bool loads_word(const struct ptx_block *block, const struct ptx_statement *statement,
                       struct ptx_word operands[MOST_OPERANDS], uint32_t *out_offset,
                       uint32_t *out_bits)
{
    const struct ptx_word word = statement->word;
    if (!braid_ptx_word_begins(word, "ld.param") || split_operands(statement, operands) != 2 ||
        !find_address(block, operands[1], out_offset) || *out_offset % 4)
        return false;
    const char *type = word.at + word.length - 2;
    *out_bits = memcmp(type, "32", 2) == 0 ? 32 : memcmp(type, "64", 2) == 0 ? 64 : 0;
    return *out_bits && operands[0].at[0] == '%' &&
           bits_of_register(block, operands[0]) == *out_bits;
}

static void put_guard(const struct ptx_block *block, const struct ptx_statement *statement)
{
    fwrite(statement->begin, 1, (size_t)(statement->word.at - statement->begin), block->file);
}

bool braid_ptx_block_put_small(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_word operands[MOST_OPERANDS];
    uint32_t offset = 0, bits = 0;
    block->loads_word = loads_word(block, statement, operands, &offset, &bits);
    if (!block->loads_word || !block->site->small)
        return false;
    put_guard(block, statement);
    fprintf(block->file, "mov.b%u %.*s, ", bits, (int)operands[0].length, operands[0].at);
    if (bits == 32)
        fprintf(block->file, "%%braid_w%u;", offset / 4);
    else
        fprintf(block->file, "{%%braid_w%u, %%braid_w%u};", offset / 4, offset / 4 + 1);
    return true;
}

// ---- barriers ----

static bool read_number(struct ptx_word operand, unsigned *out_number)
{
    for (size_t i = 0; i < operand.length; i++) {
        if (!isdigit((unsigned char)operand.at[i]))
            return false;
    }
    *out_number = braid_ptx_read_number(operand, 0, 10);
    return operand.length && *out_number < PTX_NUM_BARRIERS;
}

// The same without .aligned, which the walker cannot promise, and .cta.
static void put_barrier_opcode(const struct ptx_block *block, struct ptx_word word)
{
    size_t at = 0;
    while (at < word.length && word.at[at] != '.')
        at++;
    fputs("barrier", block->file);
    while (at < word.length) {
        size_t end = at + 1;
        while (end < word.length && word.at[end] != '.')
            end++;
        const struct ptx_word part = { word.at + at, end - at };
        if (!braid_ptx_word_is(part, ".aligned") && !braid_ptx_word_is(part, ".cta"))
            fwrite(part.at, 1, part.length, block->file);
        at = end;
    }
}

static bool has_part(struct ptx_word word, const char *part)
{
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= word.length; i++) {
        if (memcmp(word.at + i, part, length) == 0)
            return true;
    }
    return false;
}

static void put_count(struct ptx_block *block, struct ptx_word count)
{
    if (count.length)
        fwrite(count.at, 1, count.length, block->file);
    else if (block->site->whole)
        fprintf(block->file, "%u", block->site->group_threads);
    else
        fputs("%braid_threads", block->file);
    block->asks_threads |= !count.length && !block->site->whole;
}

void braid_ptx_block_put_barrier(struct ptx_block *block, const struct ptx_statement *statement)
{
    struct ptx_word operands[MOST_OPERANDS], count = { 0 };
    const struct ptx_word word = statement->word;
    bool is_red = has_part(word, ".red"), is_sync = has_part(word, ".sync");
    size_t num = split_operands(statement, operands), first = is_red;
    unsigned number = 0;
    if (num <= first || !read_number(operands[first], &number)) {
        braid_ptx_block_refuse(
            block, "the number of its barrier is not written in '%.*s'",
            (struct ptx_word){ statement->begin, (size_t)(statement->end - statement->begin) });
        return;
    }
    if (num > first + 1 + is_red)
        count = operands[first + 1];
    block->made->is_partial |= count.length > 0;
    block->made->numbers |= UINT32_C(1) << number;
    block->made->counts |= !is_sync;
    put_guard(block, statement);
    if (is_sync && block->site->group_threads == 32) {
        fputs("bar.warp.sync 0xffffffff;", block->file);
        return;
    }
    put_barrier_opcode(block, word);
    if (is_red)
        fprintf(block->file, " %.*s,", (int)operands[0].length, operands[0].at);
    fprintf(block->file, " %%braid_b%u, ", number);
    put_count(block, count);
    if (is_red)
        fprintf(block->file, ", %.*s", (int)operands[num - 1].length, operands[num - 1].at);
    fputc(';', block->file);
}

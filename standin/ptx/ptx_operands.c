// SPDX-License-Identifier: Apache-2.0
// Operands of PTX: registers, numbers, addresses, labels and vectors.
#include <stdlib.h>
#include <string.h>

#include "ptx_reader.h"

uint64_t reader_number(struct reader *reader, const char *word)
{
    char *end = NULL;
    bool negative = word[0] == '-';
    char digits[CODE_WORD];
    if (negative)
        word = reader_next(reader, digits);
    if (word[0] == '0' && (word[1] == 'f' || word[1] == 'F' || word[1] == 'd' || word[1] == 'D'))
        return strtoull(word + 2, NULL, 16);
    uint64_t value = strtoull(word, &end, 0);
    if (end == word)
        reader_fail(reader, "no number:", word);
    return negative ? -value : value;
}

static bool find_special(const char *word, uint32_t *out_index)
{
    static const struct {
        const char *name;
        uint32_t index;
    } specials[] = { { "%tid", SPECIAL_TID },           { "%ntid", SPECIAL_NTID },
                     { "%ctaid", SPECIAL_CTAID },       { "%nctaid", SPECIAL_NCTAID },
                     { "%laneid", SPECIAL_LANEID },     { "%smid", SPECIAL_SMID },
                     { "%globaltimer", SPECIAL_TIMER }, { "%clock64", SPECIAL_CLOCK },
                     { "%clock", SPECIAL_CLOCK },       { "%warpid", SPECIAL_WARPID } };
    const char *point = strchr(word, '.');
    size_t length = point ? (size_t)(point - word) : strlen(word);
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        if (strlen(specials[i].name) != length || strncmp(specials[i].name, word, length) != 0)
            continue;
        *out_index = specials[i].index + (point ? (uint32_t)(point[1] - 'x') : 0);
        return true;
    }
    return false;
}

// A register, special register, variable, label or number.
static void read_value(struct reader *reader, const char *word, struct operand *operand)
{
    size_t index = 0;
    const struct name *name = reader_find_name(reader, word, &index);
    if (name && name->kind == NAME_REGISTERS) {
        operand->kind = OPERAND_REGISTER;
        operand->index = (uint32_t)index;
    } else if (name && index == SIZE_MAX) {
        operand->kind = OPERAND_SPECIAL;
        operand->index = SPECIAL_DYNAMIC_SHARED;
    } else if (name && name->kind == NAME_LABEL) {
        operand->kind = name->num ? OPERAND_TARGETS : OPERAND_LABEL;
        operand->index = (uint32_t)index;
    } else if (name) {
        operand->kind = OPERAND_NUMBER;
        operand->value = name->kind == NAME_GLOBAL  ? (uintptr_t)reader->code->globals + index
                         : name->kind == NAME_CALL  ? CODE_FIRST_LOCAL + index
                         : name->kind == NAME_PARAM ? CODE_FIRST_PARAM + index
                                                    : index;
    } else if (find_special(word, &operand->index)) {
        operand->kind = OPERAND_SPECIAL;
    } else {
        operand->kind = OPERAND_NUMBER;
        operand->value = reader_number(reader, word);
    }
}

// A number in a vector becomes a part of the code, so that operands stay small.
static void keep_number(struct reader *reader, struct operand *part)
{
    struct code *code = reader->code;
    uint64_t *more = realloc(code->numbers, (code->num_numbers + 1) * sizeof(*more));
    if (!more) {
        reader_fail(reader, "no memory for", "a number");
        return;
    }
    part->kind = OPERAND_REGISTER;
    part->index = CODE_NUMBER + (uint32_t)code->num_numbers;
    more[code->num_numbers++] = part->value;
    code->numbers = more;
}

static void add_part(struct reader *reader, struct operand *operand)
{
    char word[CODE_WORD];
    struct operand part = { .kind = OPERAND_REGISTER, .index = CODE_NO_REGISTER };
    if (strcmp(reader_next(reader, word), "_") != 0)
        read_value(reader, word, &part);
    if (part.kind == OPERAND_NUMBER)
        keep_number(reader, &part);
    if (part.kind != OPERAND_REGISTER || operand->num_parts == CODE_MOST_VECTOR)
        reader_fail(reader, "a vector with", word);
    else
        operand->parts[operand->num_parts++] = part.index;
    operand->kind = OPERAND_VECTOR;
}

void reader_operand(struct reader *reader, struct operand *operand)
{
    char word[CODE_WORD];
    *operand = (struct operand){ 0 };
    reader_next(reader, word);
    if (word[0] == '{') {
        do
            add_part(reader, operand);
        while (reader_next_is(reader, ","));
        reader_next_is(reader, "}");
        return;
    }
    bool address = word[0] == '[';
    operand->negated = word[0] == '!';
    if (address || operand->negated)
        reader_next(reader, word);
    read_value(reader, word, operand);
    if (address && reader_next_is(reader, "+"))
        operand->value += reader_number(reader, reader_next(reader, word));
    if (address)
        reader_next_is(reader, "]");
    if (reader_next_is(reader, "|")) { // %p|%q, %r|%p
        operand->parts[operand->num_parts++] = operand->index;
        add_part(reader, operand);
        if (operand->parts[1] >= CODE_NUMBER)
            reader_fail(reader, "no register behind", "|");
    }
}

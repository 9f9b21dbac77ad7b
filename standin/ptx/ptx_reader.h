// SPDX-License-Identifier: Apache-2.0
// Reading PTX: words, names, and the operands that they make.
#ifndef BRAID_STANDIN_PTX_READER_H
#define BRAID_STANDIN_PTX_READER_H

#include "ptx_code.h"

enum { FEW_NAMES = 64, MOST_NAMES = 65536 };

enum name_kind {
    NAME_REGISTERS,
    NAME_SHARED,
    NAME_GLOBAL,
    NAME_LOCAL,
    NAME_PARAM,
    NAME_CALL,
    NAME_LABEL
};

struct name {
    char text[CODE_WORD];
    enum name_kind kind;
    size_t index, num; // registers: the first and how many, 0: one without a number
    int scope;
    const char *begin, *end; // labels: of the block that they are known in
};

struct reader {
    const char *at;
    int line;
    struct code *code;
    struct name *names;
    size_t num_names, room; // names that memory is there for
    size_t capacity;
    int scope;
    struct text *error;
    bool failed;
};

void reader_fail(struct reader *reader, const char *what, const char *word);

// A word, or one other character; "" at the end.
const char *reader_next(struct reader *reader, char *word);
// True: that is the next word, and it was read.
bool reader_next_is(struct reader *reader, const char *text);
void reader_skip_past(struct reader *reader, const char *end);

// Without memory, names is NULL and the reader has failed.
void reader_begin_names(struct reader *reader, const char *what);
struct name *reader_add_name(struct reader *reader, const char *text, enum name_kind kind,
                             size_t index, size_t num);
// The innermost one, or NULL; %r12 is the twelfth of %r<20>.
struct name *reader_find_name(const struct reader *reader, const char *text, size_t *out_place);
struct type reader_type(const char *part);

// From behind .reg, or a space such as .shared, to the end of the declaration.
void reader_registers(struct reader *reader);
void reader_variable(struct reader *reader, enum name_kind kind, size_t *end);
// Up to the closing parenthesis, if there are any. NAME_CALL: of a function, which notes them.
void reader_parameters(struct reader *reader, enum name_kind kind, struct function *function);

// A whole number, or the bits of 0f3F800000; fails on anything else.
uint64_t reader_number(struct reader *reader, const char *word);
void reader_operand(struct reader *reader, struct operand *operand);

#endif

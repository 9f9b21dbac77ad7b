// SPDX-License-Identifier: Apache-2.0
// Words and names of PTX, and the declarations that names come from.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_reader.h"

void reader_fail(struct reader *reader, const char *what, const char *word)
{
    if (!reader->failed)
        text_add(reader->error, "line %d: %s '%s'", reader->line, what, word);
    reader->failed = true;
}

// ---- words ----

static void skip(struct reader *reader)
{
    for (;;) {
        const char *at = reader->at;
        size_t length = 0;
        if (isspace((unsigned char)*at))
            length = 1;
        else if (at[0] == '/' && at[1] == '/')
            length = strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            length = strstr(at, "*/") ? (size_t)(strstr(at, "*/") + 2 - at) : strlen(at);
        if (length == 0)
            return;
        for (size_t i = 0; i < length; i++)
            reader->line += at[i] == '\n';
        reader->at += length;
    }
}

// A word, or one other character; "" at the end.
const char *reader_next(struct reader *reader, char *word)
{
    skip(reader);
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) ||
           (reader->at[length] && strchr("._$%", reader->at[length])) ||
           (reader->at[length] == ':' && reader->at[length + 1] == ':') ||
           (length > 0 && reader->at[length] == ':' && reader->at[length - 1] == ':'))
        length++;
    if (length == 0 && *reader->at == '"')
        length = 1 + strcspn(reader->at + 1, "\"") + 1;
    else if (length == 0 && *reader->at)
        length = 1;
    size_t kept = length < CODE_WORD ? length : CODE_WORD - 1;
    memcpy(word, reader->at, kept);
    word[kept] = '\0';
    reader->at += length;
    return word;
}

bool reader_next_is(struct reader *reader, const char *text)
{
    char word[CODE_WORD];
    struct reader before = *reader;
    if (strcmp(reader_next(reader, word), text) == 0)
        return true;
    reader->at = before.at;
    reader->line = before.line;
    return false;
}

void reader_skip_past(struct reader *reader, const char *end)
{
    char word[CODE_WORD];
    while (*reader_next(reader, word) && strcmp(word, end) != 0)
        ;
}

// ---- names ----

// Most texts have few names, and each entry of a module is read on its own.
void reader_begin_names(struct reader *reader, const char *what)
{
    reader->room = FEW_NAMES;
    reader->names = malloc(reader->room * sizeof(*reader->names));
    if (reader->names == NULL)
        reader_fail(reader, "no memory for", what);
}

static bool make_room(struct reader *reader)
{
    size_t more = 2 * reader->room;
    struct name *larger = more > MOST_NAMES ? NULL : realloc(reader->names, more * sizeof(*larger));
    if (larger == NULL)
        return false;
    reader->names = larger;
    reader->room = more;
    return true;
}

struct name *reader_add_name(struct reader *reader, const char *text, enum name_kind kind,
                             size_t index, size_t num)
{
    if (reader->num_names == reader->room && !make_room(reader)) {
        reader_fail(reader, "too many names at", text);
        return &reader->names[0];
    }
    struct name *name = &reader->names[reader->num_names++];
    *name = (struct name){ .kind = kind, .index = index, .num = num, .scope = reader->scope };
    memcpy(name->text, text, strlen(text) + 1);
    return name;
}

// The label of the innermost block around the reader's place, or NULL.
static struct name *find_label(const struct reader *reader, const char *text)
{
    struct name *found = NULL;
    for (size_t i = 0; i < reader->num_names; i++) {
        struct name *name = &reader->names[i];
        bool is_known =
            name->kind == NAME_LABEL && name->begin <= reader->at && reader->at <= name->end;
        if (is_known && strcmp(name->text, text) == 0 && (!found || name->begin > found->begin))
            found = name;
    }
    return found;
}

// The innermost one; %r12 is the twelfth of %r<20>.
struct name *reader_find_name(const struct reader *reader, const char *text, size_t *out_place)
{
    struct name *label = find_label(reader, text);
    size_t letters = strlen(text);
    while (letters > 0 && isdigit((unsigned char)text[letters - 1]))
        letters--;
    for (size_t i = reader->num_names; i-- > 0;) {
        struct name *name = &reader->names[i];
        size_t number = strtoul(text + letters, NULL, 10);
        *out_place = name->index;
        if (name->kind == NAME_LABEL)
            continue;
        if (strcmp(name->text, text) == 0 && !(name->kind == NAME_REGISTERS && name->num))
            return name;
        if (name->kind != NAME_REGISTERS || !text[letters] || strlen(name->text) != letters ||
            strncmp(name->text, text, letters) != 0 || number >= name->num)
            continue;
        *out_place = name->index + number;
        return name;
    }
    *out_place = label ? label->index : 0;
    return label;
}

struct type reader_type(const char *part)
{
    static const char kinds[] = "sufb";
    struct type type = { 0 };
    if (strcmp(part, "pred") == 0)
        return (struct type){ 'p', 1 };
    if (part[0] && strchr(kinds, part[0]) && isdigit((unsigned char)part[1]))
        type = (struct type){ part[0], atoi(part + 1) };
    return type;
}

// ---- declarations ----

void reader_registers(struct reader *reader)
{
    char word[CODE_WORD], name[CODE_WORD];
    reader_next(reader, word); // their type
    do {
        reader_next(reader, name);
        size_t num = 0;
        if (reader_next_is(reader, "<")) {
            num = strtoul(reader_next(reader, word), NULL, 10);
            reader_skip_past(reader, ">");
        }
        reader_add_name(reader, name, NAME_REGISTERS, reader->code->num_registers, num);
        reader->code->num_registers += num ? num : 1;
    } while (reader_next_is(reader, ","));
    reader_next_is(reader, ";");
}

static size_t place(size_t *end, size_t bytes, size_t align)
{
    size_t at = (*end + align - 1) / align * align;
    *end = at + bytes;
    return at;
}

// `= 5` or `= { 1, 2 }` of a variable of the module.
static void read_initial(struct reader *reader, enum name_kind kind, size_t at, size_t bytes)
{
    char word[CODE_WORD];
    bool is_list = reader_next_is(reader, "{");
    do {
        uint64_t value = reader_number(reader, reader_next(reader, word));
        if (kind != NAME_GLOBAL || at + bytes > CODE_GLOBAL_BYTES)
            reader_fail(reader, "an initial value", word);
        else
            memcpy(reader->code->globals + at, &value, bytes);
        at += bytes;
    } while (is_list && reader_next_is(reader, ","));
    reader_next_is(reader, "}");
}

// `.align 8 .b8 name[24]` up to what is behind it.
void reader_variable(struct reader *reader, enum name_kind kind, size_t *end)
{
    char word[CODE_WORD], name[CODE_WORD] = "";
    size_t align = 0, bytes = 0, count = 1;
    bool dynamic = false, is_pointee = false;
    while (*reader_next(reader, word) && !strchr(";,)=", word[0])) {
        if (strcmp(word, ".ptr") == 0) {
            is_pointee = true;
        } else if (strcmp(word, ".align") == 0) {
            size_t number = strtoul(reader_next(reader, word), NULL, 10);
            align = is_pointee ? align : number;
        } else if (word[0] == '[') {
            dynamic |= reader_next_is(reader, "]");
            if (!dynamic)
                count *= strtoul(reader_next(reader, word), NULL, 10);
        } else if (word[0] == '.' && bytes == 0) {
            bytes = (size_t)reader_type(word + 1).bits / 8;
        } else if (word[0] != '.' && word[0] != ']') {
            memcpy(name, word, strlen(word) + 1);
        }
    }
    char behind = word[0];
    align = align ? align : bytes ? bytes : 1;
    size_t at = dynamic ? SIZE_MAX : place(end, bytes * count, align);
    reader_add_name(reader, name, kind, at, 0);
    if (behind == '=')
        read_initial(reader, kind, at, bytes);
    else
        reader->at--; // the sign behind it
}

void reader_parameters(struct reader *reader, enum name_kind kind, struct function *function)
{
    struct code *code = reader->code;
    size_t *end = kind == NAME_CALL ? &code->local_bytes : &code->param_bytes;
    if (!reader_next_is(reader, "("))
        return;
    while (!reader->failed && !reader_next_is(reader, ")") && *reader->at) {
        reader_variable(reader, kind, end);
        reader_next_is(reader, ",");
        if (!function || reader->failed)
            continue;
        if (function->num_params == CODE_MOST_PARAMS) {
            reader_fail(reader, "too many parameters of", function->name);
            return;
        }
        size_t offset = reader->names[reader->num_names - 1].index;
        function->params[function->num_params].offset = offset;
        function->params[function->num_params++].bytes = *end - offset;
    }
}

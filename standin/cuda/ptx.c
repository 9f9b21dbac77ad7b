// SPDX-License-Identifier: Apache-2.0
// Reading from PTX text what a launch needs: the entries and the sizes of their parameters.
#include "ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CONSTANT = 0x210 }; // a GPU of compute capability 9.0 has the first parameter there

static const char *skip_comment(const char *text)
{
    if (text[1] == '/')
        return text + strcspn(text, "\n");
    const char *end = strstr(text + 2, "*/");
    return end == NULL ? text + strlen(text) : end + 2;
}

static const char *skip_space(const char *text)
{
    for (;;) {
        if (isspace((unsigned char)*text))
            text++;
        else if (text[0] == '/' && (text[1] == '/' || text[1] == '*'))
            text = skip_comment(text);
        else
            return text;
    }
}

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

// The next token: a word like .param or u64 or add_$1, or one other character. *text moves past.
static bool next_token(const char **text, char *out_token, size_t bytes)
{
    const char *start = skip_space(*text), *end = start;
    if (*start == '\0')
        return false;
    if (*start == '"') { // a string, as in .file and .section
        end = start + 1 + strcspn(start + 1, "\"");
        end += *end == '"';
    } else if (word_character(*start)) {
        while (word_character(*end) && (end == start || *end != '.'))
            end++;
    } else {
        end++;
    }
    snprintf(out_token, bytes, "%.*s", (int)(end - start), start);
    *text = end;
    return true;
}

bool ptx_recognise(const char *text)
{
    char token[MAX_ENTRY_NAME];
    const char *at = text;
    return next_token(&at, token, sizeof(token)) && strcmp(token, ".version") == 0 &&
           strstr(text, ".target") != NULL;
}

// Bytes of .u8 .s16 .b32 .f64 and so on; 0: not a type.
static size_t type_bytes(const char *token)
{
    if (token[0] != '.' || strchr("usbf", token[1]) == NULL || !isdigit((unsigned char)token[2]))
        return 0;
    long bits = strtol(token + 2, NULL, 10);
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (size_t)bits / 8 : 0;
}

// One parameter up to its comma or the closing parenthesis: .param .align 8 .b8 name[24]
// .ptr .global .align belongs to what a pointer points at and says nothing about the parameter.
static bool read_parameter(const char **text, struct ptx_entry *entry, char *token, size_t bytes)
{
    size_t size = 0, align = 0, count = 1;
    bool pointee = false;
    while (next_token(text, token, bytes) && strcmp(token, ",") != 0 && strcmp(token, ")") != 0) {
        if (strcmp(token, ".ptr") == 0)
            pointee = true;
        else if (strcmp(token, ".align") == 0 && next_token(text, token, bytes))
            align = pointee ? align : strtoul(token, NULL, 10);
        else if (strcmp(token, "[") == 0 && next_token(text, token, bytes))
            count = strtoul(token, NULL, 10);
        else if (size == 0)
            size = type_bytes(token);
        if (strcmp(token, "braid_mask") == 0)
            entry->stamps = entry->num_parameters + 1;
        entry->notes |= strcmp(token, "braid_node") == 0;
        entry->reads_grid |= strcmp(token, "braid_grid_from") == 0;
    }
    align = align == 0 ? size : align;
    if (size == 0 || count == 0 || align == 0 || entry->num_parameters == MAX_PARAMETERS)
        return false;
    size_t offset = (entry->argument_bytes + align - 1) / align * align;
    if (count > MAX_ARGUMENT_BYTES || offset + size * count > MAX_ARGUMENT_BYTES)
        return false;
    size_t told = 0;
    if (entry->num_parameters > 0) {
        const struct parameter *last = &entry->parameters[entry->num_parameters - 1];
        told = last->told + last->bytes;
    }
    told = (FIRST_CONSTANT + told + align - 1) / align * align - FIRST_CONSTANT;
    entry->parameters[entry->num_parameters++] = (struct parameter){ offset, size * count, told };
    entry->argument_bytes = offset + size * count;
    return true;
}

static bool read_parameters(const char **text, struct ptx_entry *entry)
{
    char token[MAX_ENTRY_NAME];
    const char *ahead = *text;
    if (!next_token(&ahead, token, sizeof(token)) || strcmp(token, "(") != 0)
        return true; // an entry without a parameter list
    const char *empty = ahead;
    if (next_token(&empty, token, sizeof(token)) && strcmp(token, ")") == 0) {
        *text = empty;
        return true;
    }
    do {
        if (!read_parameter(&ahead, entry, token, sizeof(token)))
            return false;
    } while (strcmp(token, ",") == 0);
    *text = ahead;
    return strcmp(token, ")") == 0;
}

// From behind the parameters to the end of the body, or of the declaration.
static void read_body(const char **text, struct ptx_entry *entry)
{
    char token[MAX_ENTRY_NAME];
    int depth = 0;
    bool control = false, ended = false, limits = false;
    while (!ended && next_token(text, token, sizeof(token))) {
        entry->notes_end |= strcmp(token, "braid_block_count") == 0;
        entry->returns |= strcmp(token, "%braid_beyond") == 0;
        entry->sets_conditions |= strcmp(token, "cudaGraphSetConditional") == 0;
        entry->waits |= control && strcmp(token, ".wait") == 0;
        entry->triggers |= control && strcmp(token, ".launch_dependents") == 0;
        control = strcmp(token, "griddepcontrol") == 0;
        entry->num_clock_reads += strcmp(token, "%globaltimer") == 0;
        if (strcmp(token, ".maxntid") == 0)
            entry->most_threads = limits = 1;
        else if (limits && *token >= '0' && *token <= '9')
            entry->most_threads *= (int)strtol(token, NULL, 10);
        else
            limits = limits && strcmp(token, ",") == 0;
        depth += (strcmp(token, "{") == 0) - (strcmp(token, "}") == 0);
        ended = depth == 0 && (strcmp(token, "}") == 0 || strcmp(token, ";") == 0);
    }
}

bool ptx_next_entry(const char **text, struct ptx_entry *out_entry, const char **out_error)
{
    char token[MAX_ENTRY_NAME];
    *out_error = NULL;
    do {
        if (!next_token(text, token, sizeof(token)))
            return false;
    } while (strcmp(token, ".entry") != 0);
    *out_entry = (struct ptx_entry){ 0 };
    if (!next_token(text, out_entry->name, sizeof(out_entry->name)) ||
        !word_character(out_entry->name[0])) {
        *out_error = ".entry without a name";
        return false;
    }
    if (!read_parameters(text, out_entry)) {
        *out_error = "a parameter that cannot be read";
        return false;
    }
    read_body(text, out_entry);
    return true;
}

// SPDX-License-Identifier: Apache-2.0
// Where the attributes of a file's nodes stand in its text.
#include "dot_given.h"

#include <stdlib.h>
#include <string.h>

#include "dot_attributes.h"

uint32_t dot_given_add(struct dot_given *given, const char *name, bool *out_is_new)
{
    void *attributes = given->attributes;
    if (!dot_make_room(&attributes, given->names.num, &given->room, sizeof(*given->attributes)))
        return DOT_NONE;
    given->attributes = attributes;
    const uint32_t number = dot_names_add(&given->names, name, out_is_new);
    if (number != DOT_NONE && *out_is_new)
        given->attributes[number] = (struct dot_attribute){ .use = dot_attribute_find_use(name) };
    return number;
}

bool dot_given_set(struct dot_given *given, uint32_t attribute, uint32_t place, uint32_t value)
{
    struct dot_attribute *set = &given->attributes[attribute];
    if (set->use != DOT_ATTRIBUTE_READ) {
        if (!set->near || place < set->first) {
            set->first = place;
            set->near = value;
        }
        return true;
    }
    if (place >= set->room) {
        const uint32_t room = place < UINT32_MAX / 2 ? 2 * place + 64 : UINT32_MAX;
        uint32_t *values = realloc(set->values, room * sizeof(*values));
        if (!values)
            return false;
        memset(values + set->room, 0, (room - set->room) * sizeof(*values));
        set->values = values;
        set->room = room;
    }
    set->values[place] = value;
    return true;
}

const struct dot_attribute *dot_given_find(const struct dot_given *given, const char *name)
{
    const uint32_t number = dot_names_find(&given->names, name);
    return number == DOT_NONE ? NULL : &given->attributes[number];
}

const struct dot_string *dot_given_read(struct dot_file *file, uint32_t value)
{
    static char nothing[] = "";
    static const struct dot_string empty = { .data = nothing };
    struct dot_given *given = &file->given;
    if (!value ||
        (value != given->value_at && !dot_string_read(&file->text, value, &given->value))) {
        if (value)
            dot_text_no_memory(&file->text);
        return value ? NULL : &empty;
    }
    given->value_at = value;
    return &given->value;
}

uint64_t dot_given_line(const struct dot_file *file, uint32_t node, const char *name)
{
    const struct dot_attribute *attribute = dot_given_find(&file->given, name);
    return dot_text_line(&file->text,
                         attribute ? dot_given_value(attribute, file->nodes[node].place) : 0);
}

void dot_given_finish(struct dot_given *given)
{
    for (uint32_t i = 0; i < given->names.num; i++)
        free(given->attributes[i].values);
    free(given->attributes);
    free(given->value.data);
    dot_names_finish(&given->names);
    *given = (struct dot_given){ 0 };
}

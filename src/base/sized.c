// SPDX-License-Identifier: Apache-2.0
// Structs of programs whose headers are older or newer than the library.
#include "base/sized.h"

#include <stdio.h>
#include <string.h>

#include <braid/graph.h>

#include "base/error.h"

// The fields that the library does not know are those from own_size on.
static braid_status check_rest(const char *what, const void *from, size_t from_size,
                               size_t own_size)
{
    const unsigned char *bytes = from;
    if (!from_size)
        return braid_error_invalid("%s: a struct of 0 bytes was given", what);
    for (size_t i = own_size; i < from_size; i++) {
        if (bytes[i])
            return braid_error(BRAID_UNSUPPORTED,
                               "%s: this Braid does not know the field at byte %zu, which is set: "
                               "the program was built for a later version",
                               what, i);
    }
    return BRAID_OK;
}

static void copy(const void *from, size_t from_size, void *to, size_t to_size)
{
    const size_t num = from_size < to_size ? from_size : to_size;
    memcpy(to, from, num);
    memset((unsigned char *)to + num, 0, to_size - num);
}

braid_status braid_sized_take(const char *what, const void *from, size_t from_size, void *to,
                              size_t to_size)
{
    if (!from) {
        memset(to, 0, to_size);
        return BRAID_OK;
    }
    braid_status status = check_rest(what, from, from_size, to_size);
    if (!status)
        copy(from, from_size, to, to_size);
    return status;
}

braid_status braid_sized_take_node(const char *function, const char *argument, const void *from,
                                   size_t from_size, size_t node_size, void *to, size_t to_size)
{
    const size_t own = sizeof(braid_node_options);
    char what[96];
    if (!from)
        return braid_error_null(function, argument);
    if (from_size == to_size && node_size == own) { // the headers of the library itself
        memcpy(to, from, to_size);
        return BRAID_OK;
    }
    snprintf(what, sizeof(what), "%s: %s", function, argument);
    if (node_size > from_size)
        return braid_error_invalid("%s: a struct of %zu bytes cannot begin with one of %zu", what,
                                   from_size, node_size);
    braid_status status = braid_sized_take(what, from, node_size, to, own);
    if (!status && from_size > node_size)
        status = braid_sized_take(what, (const unsigned char *)from + node_size,
                                  from_size - node_size, (unsigned char *)to + own, to_size - own);
    else if (!status)
        memset((unsigned char *)to + own, 0, to_size - own);
    return status;
}

braid_status braid_sized_check(const char *what, const void *from, size_t from_size,
                               size_t own_size)
{
    if (!from)
        return BRAID_OK;
    if (from_size && from_size < own_size)
        return braid_error(BRAID_UNSUPPORTED, "%s: the struct has %zu bytes, but needs %zu", what,
                           from_size, own_size);
    return check_rest(what, from, from_size, own_size);
}

void braid_sized_give(const void *from, size_t from_size, void *to, size_t to_size)
{
    if (to)
        copy(from, from_size, to, to_size);
}

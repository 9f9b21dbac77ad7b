// SPDX-License-Identifier: Apache-2.0
// Structs of programs whose headers are older or newer than the library: their sizes differ.
#ifndef BRAID_BASE_SIZED_H
#define BRAID_BASE_SIZED_H

#include <stddef.h>

#include <braid/status.h>

// Copies a struct of `from_size` bytes of the program into one of the library. Fields that the
// program does not know become zero. NULL is a struct of zeros. The fields that the library does
// not know must be zero. `what` names the function and the struct: "braid_exec_create: options".
// Errors: BRAID_UNSUPPORTED (such a field is not zero), BRAID_INVALID_ARGUMENT (0 bytes).
braid_status braid_sized_take(const char *what, const void *from, size_t from_size, void *to,
                              size_t to_size);

// The same for the description of a node, which begins with its braid_node_options of
// `node_size` bytes: these may grow apart from the rest. NULL is an error.
braid_status braid_sized_take_node(const char *function, const char *argument, const void *from,
                                   size_t from_size, size_t node_size, void *to, size_t to_size);

// Defines braid_graph_VERB_sized, which hands a copy of such a description to VERB.
#define SIZED_NODE(verb, type, parameter)                                                          \
    braid_status braid_graph_##verb##_sized(braid_graph *graph, const type *parameter,             \
                                            braid_node *out_node, size_t size, size_t node_size)   \
    {                                                                                              \
        type own;                                                                                  \
        braid_status status = braid_sized_take_node("braid_graph_" #verb, #parameter, parameter,   \
                                                    size, node_size, &own, sizeof(own));           \
        return status ? status : verb(graph, &own, out_node);                                      \
    }

// Checks a struct that stays the program's, and whose fields the library reads later. NULL is none.
// Errors: as braid_sized_take; BRAID_UNSUPPORTED (it is smaller than the library's).
braid_status braid_sized_check(const char *what, const void *from, size_t from_size,
                               size_t own_size);

// Copies a struct of the library into one of `to_size` bytes of the program. Fields that the
// library does not know become zero. NULL is left alone.
void braid_sized_give(const void *from, size_t from_size, void *to, size_t to_size);

// A struct that the program gets by pointer. A program with newer headers reads behind its end, or
// gives the pointer back with a larger size: there are zeros. All additions of a soname fit.
enum { SIZED_ROOM = 256 };
#define SIZED_WITH_ROOM(type)                                                                      \
    struct {                                                                                       \
        type given;                                                                                \
        unsigned char zeros[SIZED_ROOM];                                                           \
    }

#endif

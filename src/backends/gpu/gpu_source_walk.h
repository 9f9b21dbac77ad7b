// SPDX-License-Identifier: Apache-2.0
// HIP's source body by body, so that its kernels can be changed.
//
// The source is read as C++ tokens, not compiled. What hides kernels from such reading is refused:
// macros, and files of the program's own that are included.
#ifndef BRAID_BACKENDS_GPU_GPU_SOURCE_WALK_H
#define BRAID_BACKENDS_GPU_GPU_SOURCE_WALK_H

#include "backends/gpu/gpu_edit.h"
#include "backends/gpu/gpu_tokens.h"
#include "base/array.h"

// How much what stands in parentheses looks like parameters, from least: it begins with a number or
// a string; has words that stand alone; has nothing, or `void`; has a name behind its type.
enum source_likeness { LIKE_VALUES, LIKE_WORDS, LIKE_NOTHING, LIKE_PARAMETERS };

struct source_list {
    struct token name;           // before the parentheses
    const char *first, *last;    // behind the opening one, and the closing one
    size_t num_tokens, num_void; // between
    bool has_default;            // one of the parameters has
    bool has_value, has_type;    // it begins with one; a name stands behind one
    bool may_be_type;            // what the last of these tokens ends
};

// What stands before a body, so far. Attributes that are known by their names, or by their
// brackets, have no parameters.
struct source_head {
    bool is_kernel, is_type, is_void, has_operator, opens_scope;
    bool is_aside;                       // in parentheses that are no parameters
    struct source_list list, parameters; // at hand; the likeliest so far
    struct token word;                   // the last one
    int parentheses, angles, squares;
};

struct source_walk {
    // What is told of the source, in its order: each word, outside of directives; each directive;
    // each body of a kernel, function or type when it has ended, with `head` its own.
    void (*look_at_word)(struct source_walk *walk, struct token word);           // optional
    void (*look_at_directive)(struct source_walk *walk, struct token directive); // optional
    void (*end_body)(struct source_walk *walk);
    void *user;

    struct gpu_edits edits;
    const char *reason; // NULL: nothing was refused
    struct source_head head;
    const char *body; // behind the brace that opens it
    int braces;       // 0: in a head
    struct lexer lexer;
};

// Goes on to the end, or until something is refused.
void braid_source_walk(struct source_walk *walk, const char *source);

// The first reason stays.
void braid_source_refuse(struct source_walk *walk, const char *reason);

// Names of a source, in an array of struct token. False: memory ran out.
bool braid_source_add_name(struct array *names, struct token name);
bool braid_source_has_name(const struct array *names, struct token word);

// Parameters behind those of the head at hand: the same in both texts, which begin with ", ", but
// that behind a parameter with a default all must have one.
void braid_source_add_parameters(struct source_walk *walk, const char *more,
                                 const char *more_with_defaults);

#endif

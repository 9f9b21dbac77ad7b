// SPDX-License-Identifier: Apache-2.0
// PTX as functions of statements, and the effects of their instructions.
//
// Nothing is copied: all words point into the text, and a pass over it is a list of edits
// (backends/gpu/gpu_edit.h). A text with an instruction that is not in the table is refused, since
// the effect of a change is unknown.
#ifndef BRAID_PTX_PTX_READ_H
#define BRAID_PTX_PTX_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "ptx/ptx_words.h"

// Why a text stays as it is.
struct ptx_reason {
    char text[160];  // "": memory ran out
    bool is_unknown; // it has an instruction that the reader does not know
    const char *at;  // where in the text; NULL: it is no fault of one place
};

// The effects of a statement, a function or a module.
enum ptx_facts {
    PTX_BARRIER = 1 << 0,  // meets at a barrier of the block
    PTX_WARP = 1 << 1,     // talks within a warp
    PTX_ATOMIC = 1 << 2,   // changes memory atomically
    PTX_VOLATILE = 1 << 3, // may see others' writes meanwhile: volatile, acquire, fences
    PTX_TEXTURE = 1 << 4,  // textures and surfaces
    PTX_TRAP = 1 << 5,     // may stop the whole device
    PTX_EXIT = 1 << 6,     // ret and exit
    PTX_BRANCH = 1 << 7,
    PTX_CALL = 1 << 8,
    PTX_CLUSTER = 1 << 9,
    PTX_GRID_CONTROL = 1 << 10, // griddepcontrol
    PTX_ASYNC = 1 << 11,        // copies that end later, and barriers for those
    PTX_SHARED = 1 << 12,       // declares shared memory
    PTX_SYNC = 1 << 13,         // waits for other threads of the warp or block, or may by a call
};

enum ptx_kind { PTX_OPEN, PTX_CLOSE, PTX_LABEL, PTX_DIRECTIVE, PTX_INSTRUCTION };

// A statement of a body: a brace, a label with its colon, a directive, or an instruction with its
// guard.
struct ptx_statement {
    enum ptx_kind kind;
    struct ptx_word word;    // the label, directive or instruction
    const char *begin, *end; // with guard and semicolon
    unsigned facts;
    int depth; // blocks around it, from 1
};

struct ptx_function {
    struct ptx_word name;
    bool is_entry;
    const char *begin;          // at .entry or .func
    const char *end;            // behind its brace or semicolon
    const char *name_end;       // where parameters go that has none
    const char *parameters;     // behind their parenthesis; NULL: it has none
    const char *parameters_end; // at the parenthesis that closes them
    const char *body,
        *body_end;     // behind its brace, and at the one that closes it; NULL: declared only
    size_t first, num; // its statements
    unsigned facts;    // the facts of all statements, and of its directives
};

// A variable of the module.
struct ptx_declaration {
    struct ptx_word space;   // .global, .const, .shared or .tex
    const char *begin, *end; // at its space, and behind its semicolon
    bool is_extern;
};

struct ptx {
    const char *text;
    struct ptx_word version, target; // length 0: there is none
    const char *head_end;            // behind these, where declarations may begin
    struct array functions, statements, declarations;
    unsigned facts; // the facts of all functions
};

// False: *out_reason says why, and there is nothing to finish. The text is well-formed where a pass
// relies on it: its head stands first, functions and guards have names, and statements end.
bool braid_ptx_read(const char *text, struct ptx *out_ptx, struct ptx_reason *out_reason);
void braid_ptx_finish(struct ptx *ptx);

static inline struct ptx_function *ptx_functions(const struct ptx *ptx)
{
    return ptx->functions.items;
}

static inline struct ptx_statement *ptx_statements(const struct ptx *ptx,
                                                   const struct ptx_function *function)
{
    struct ptx_statement *statements = ptx->statements.items;
    return statements ? statements + function->first : NULL;
}

static inline struct ptx_declaration *ptx_declarations(const struct ptx *ptx)
{
    return ptx->declarations.items;
}

// How a function declares a register, such as .b32 for %r5 of %r<9>; length 0: it does not.
struct ptx_word braid_ptx_type_of(const struct ptx *ptx, const struct ptx_function *function,
                                  struct ptx_word name);

// The effects of an instruction; false: it is in no table.
bool braid_ptx_facts_of(struct ptx_word instruction, unsigned *out_facts);

// The number of the line at a place of a text, from 1.
uint32_t braid_ptx_line(const char *text, const char *at);

// 7.8 of .version as 708; 90 of .target sm_90a. Absurd ones are cut down.
int braid_ptx_version(const struct ptx *ptx);
int braid_ptx_target(const struct ptx *ptx);
// The same of the word behind the directive.
int braid_ptx_version_number(struct ptx_word version);
int braid_ptx_target_number(struct ptx_word target);

__attribute__((format(printf, 2, 3))) void braid_ptx_refuse(struct ptx_reason *reason,
                                                            const char *format, ...);

#endif

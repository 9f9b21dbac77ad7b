// SPDX-License-Identifier: Apache-2.0
// A kernel as a name expression names it: "scale<float, 4>".
#ifndef BRAID_STANDIN_NVRTC_EXPRESSION_H
#define BRAID_STANDIN_NVRTC_EXPRESSION_H

#include <stdbool.h>

#include "types.h"

// The function that it names: from behind its last namespace to its arguments.
struct token expression_base(const char *expression);

// Whether the expression names the function, whatever namespace it is in.
bool expression_names(const char *expression, struct token function);

// Reads a template's parameters from behind the word template, to behind their bracket.
void expression_read_template(struct tokens *tokens, struct tokens *out_parameters);

// Gives each parameter of the template the type or number that the expression has in its place.
void expression_bind(const char *expression, struct tokens parameters, struct types *types);

#endif

// SPDX-License-Identifier: Apache-2.0
// Names as tables show them: they come from files, and a terminal obeys what some bytes tell it.
#include "printable.h"

#include "base/text.h"

struct printable printable_name(const char *name)
{
    struct printable printable;
    braid_text_copy(name, printable.text, sizeof(printable.text));
    return printable;
}

// SPDX-License-Identifier: Apache-2.0
// The accesses of each body are compared with the expected ones.
#include "accesses/examples.h"

#include <stdio.h>
#include <string.h>

#include "accesses/found.h"
#include "support/check.h"

// The accesses of a kernel with the body, or why it is not proven.
static const char *find(const char *body)
{
    static char found[512];
    char text[4096];
    snprintf(text, sizeof(text), "%s%s\nret;\n}\n", ENTRY, body);
    found_write_text(text, "k", found, sizeof(found));
    size_t kept = 0;
    for (size_t i = 0; found[i]; i++) { // another test asks whether it is below its pointer
        if (found[i] != '-')
            found[kept++] = found[i];
        else
            i += found[i + 1] == '+';
    }
    found[kept] = '\0';
    return found;
}

void examples_check(const struct example *examples, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        const char *found = find(examples[i].body);
        if (strcmp(found, examples[i].expected) != 0)
            fail_msg("'%s' instead of '%s' of\n%s", found, examples[i].expected, examples[i].body);
    }
}

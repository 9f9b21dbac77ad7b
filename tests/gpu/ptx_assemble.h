// SPDX-License-Identifier: Apache-2.0
// Has ptxas assemble a text, for the target that the text names. A test fails if ptxas refuses.
#ifndef TESTS_GPU_PTX_ASSEMBLE_H
#define TESTS_GPU_PTX_ASSEMBLE_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ptx/ptx_read.h"
#include "support/check.h"

enum { PTX_OLDEST_TARGET = 75 }; // that it knows: texts for older ones are assembled for this

// `level` is an option, such as -O0. The file of a text that is refused stays.
static inline void ptx_assemble(const char *assembler, const char *level, const char *name,
                                const char *text)
{
    char path[] = "/tmp/braid-ptx-XXXXXX", command[8192];
    struct ptx ptx;
    struct ptx_reason reason;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    if (!braid_ptx_read(text, &ptx, &reason))
        fail_msg("%s: %s", name, reason.text);
    int target = braid_ptx_target(&ptx);
    bool is_special = isalpha((unsigned char)ptx.target.at[ptx.target.length - 1]);
    int length = snprintf(command, sizeof(command), "'%s' %s -arch=sm_%d%s %s -o /dev/null",
                          assembler, level, target < PTX_OLDEST_TARGET ? PTX_OLDEST_TARGET : target,
                          is_special ? "a" : "", path);
    braid_ptx_finish(&ptx);
    assert_true(length < (int)sizeof(command));
    if (system(command))
        fail_msg("%s is not assembled: see %s", name, path);
    assert_int_equal(unlink(path), 0);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// A part of a program that captured a CUDA graph. It is compiled, and runs where there is one.
#include "book.h"

static void play(braid_device *device, void *captured, void *stream, const char *const *texts)
{
    braid_import *import;
    braid_stream *theirs;
    braid_exec *exec;
    CHECK(braid_stream_wrap(device, stream, &theirs));
    // here
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    braid_stream_destroy(theirs);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        play(NULL, NULL, NULL, NULL);
    return 0;
}

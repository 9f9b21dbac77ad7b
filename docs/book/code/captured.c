// SPDX-License-Identifier: Apache-2.0
// A part of a program that captured a CUDA graph. It is compiled, and runs where there is one.
#include "book.h"

// In place of cuGraphLaunch.
static braid_status launch_before(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream;
    return user ? BRAID_OK : BRAID_DEVICE_ERROR;
}

static void play(braid_device *device, void *captured, void *stream, const char *const *texts)
{
    braid_import *import = NULL;
    braid_stream *theirs;
    braid_exec *exec = NULL;
    braid_runner *runner = NULL;
    void *executable = captured, *later = captured;
    braid_device *first = device, *second = device, *group = NULL;
    CHECK(braid_stream_wrap(device, stream, &theirs));
    // here
    braid_runner_destroy(runner);
    braid_exec_destroy(exec);
    braid_import_destroy(import);
    braid_stream_destroy(theirs);
    braid_device_close(group);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        play(NULL, NULL, NULL, NULL);
    return 0;
}

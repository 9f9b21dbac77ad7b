// SPDX-License-Identifier: Apache-2.0
// An exec of an import, and later captures for it, on the stand-in for CUDA.
#ifndef BRAID_TESTS_IMPORT_LATER_CAPTURES_H
#define BRAID_TESTS_IMPORT_LATER_CAPTURES_H

#include "import/captures.h"

static braid_exec *exec;

// ---- memory ----

static inline void set_words(void)
{
    for (uint32_t i = 0; i < 4; i++)
        must(cuMemsetD32_v2(here.memory[i], 10 * i, BYTES / 4));
}

static inline uint32_t word(int buffer, int index)
{
    uint32_t found;
    must(cuMemcpyDtoH_v2(&found, here.memory[buffer] + 4 * (CUdeviceptr)index, sizeof(found)));
    return found;
}

static inline void play_exec(void)
{
    set_words();
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

// ---- captures ----

#define COPY_OF(from, to) LAUNCH("copy", here.memory[from], here.memory[to])

static inline void begin(void)
{
    static const char *const texts[] = { text };
    import_with(&(braid_import_options){ .texts = texts, .num_texts = 1 });
    check_ok(braid_exec_create(here.device, braid_import_get_graph(here.import), NULL, &exec));
}

static inline void end(void)
{
    braid_exec_destroy(exec);
    braid_import_destroy(here.import);
}

static inline braid_status update_with(const braid_import_options *options)
{
    must(cuStreamEndCapture(here.stream, &here.graph));
    const braid_status status = braid_import_update(here.import, here.graph, options, exec);
    must(cuGraphDestroy(here.graph));
    return status;
}

static inline void expect_update(void)
{
    check_ok(update_with(NULL));
}

static inline void expect_refused(const char *message)
{
    check_fails(update_with(NULL), BRAID_INVALID_ARGUMENT, message);
}

#endif

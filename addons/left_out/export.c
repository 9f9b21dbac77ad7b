// SPDX-License-Identifier: Apache-2.0
// Exports: launches into captures, and its public function, where the add-on 'export' is left out.
#include <braid/export.h>

#include "base/error.h"
#include "exec/exec.h"

braid_status braid_exec_launch_captured(braid_exec *exec, braid_stream *stream)
{
    (void)exec;
    (void)stream;
    return braid_error_left_out("braid_exec_launch of a stream that is being captured", "export");
}

void braid_exec_free_exported(braid_exec *exec)
{
    (void)exec;
}

braid_status braid_exec_make_cuda_graph(braid_exec *exec, void **out_graph)
{
    (void)exec;
    (void)out_graph;
    return braid_error_left_out("braid_exec_make_cuda_graph", "export");
}

// SPDX-License-Identifier: Apache-2.0
// Whether threads of a kernel end while others of its block still meet.
#ifndef BRAID_PTX_PTX_LEAVE_H
#define BRAID_PTX_PTX_LEAVE_H

#include "ptx/ptx_read.h"

enum ptx_leaving { PTX_STAYS, PTX_LEAVES, PTX_LEAVING_NO_MEMORY };

// Threads meet at statements with one of the facts. PTX_LEAVES may be wrong: a branch counts as
// parting threads if its condition comes from values of single threads.
enum ptx_leaving braid_ptx_find_leaving(const struct ptx_statement *statements, size_t num,
                                        unsigned facts);

// The same of threads that meet where others of the block may never come by.
enum ptx_leaving braid_ptx_find_apart(const struct ptx_statement *statements, size_t num,
                                      unsigned facts);

#endif

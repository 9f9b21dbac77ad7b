// SPDX-License-Identifier: Apache-2.0
// The part of braid simulate that is of several ranks.
#ifndef BRAID_TOOL_SIMULATE_RANKS_H
#define BRAID_TOOL_SIMULATE_RANKS_H

#include <stdbool.h>

#include "message.h"

// By the options that were given.
bool simulate_ranks_is_meant(int argc, char **argv);
enum exit_status simulate_ranks(const char *help, int argc, char **argv);

// Behind the options of the rest.
#define SIMULATE_RANKS_HELP                                                                        \
    "\n"                                                                                           \
    "Of several ranks: a frame of all, by a model of the network (LogGP). Each rank's part is\n"   \
    "planned by itself, and transfers overlap as planned. Instead of a pattern, FILE.dot whose\n"  \
    "nodes have rank=R and bytes=B, which each other rank that needs a node is sent once.\n"       \
    "\n"                                                                                           \
    "  --ranks R,R...    so many ranks of the pattern (default 1,4,16,64,256,1024), or 'file'\n"   \
    "  --pattern NAME    halo: a stencil of doubles over rows of ranks; or cholesky: of tiles.\n"  \
    "                    Settings follow: halo:rows=512,columns=2048,steps=4,cell_ns=1 (rows of\n" \
    "                    a rank), cholesky:tiles=4,size=128,gflops=5 (a rank has 4 by 4). Both\n"  \
    "                    grow with the ranks; with strong=1 that is the size of the whole\n"       \
    "  --network NAME=N  latency=1.5, overhead=0.5, gap=0.1 (us: of a message, for a worker of\n"  \
    "                    either rank, and to the next one), gb_s=12; with commas between them\n"   \
    "  --workers N       of a rank (default 1)\n"                                                  \
    "  --hosts R/C       R ranks share the C cores of a host (default: none do)\n"                 \
    "  --svg OUT         draw efficiency over ranks\n"

#endif

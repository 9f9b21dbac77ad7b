// SPDX-License-Identifier: Apache-2.0
// braid help TOPIC: what is not of one command.
#include "help.h"

#include <stdio.h>
#include <string.h>

static const char about_files[] =
    "Files: a directed graph in Graphviz' DOT language, for example\n"
    "\n"
    "    digraph {\n"
    "        cost_unit=us;\n"
    "        load [cost=12.5]; left [cost=40]; right [cost=38]; mix [cost=9];\n"
    "        load -> {left right} -> mix;\n"
    "    }\n"
    "\n"
    "  cost=N                      of a node: a number, 0 or more; without it, not known\n"
    "  cost_unit=U                 of the graph: ns, us, ms and s are times\n"
    "  label=, name=               of a node: its name, instead of its id\n"
    "  kind=K                      copy, fill, host, queue or empty; a kernel otherwise\n"
    "  launch=\"8,1,1x256,1,1\"      blocks, and threads of a block\n"
    "  lane_hint=N                 nodes of one hint share a lane\n"
    "  prelude_of=ID               runs just before that node, on its lane; epilogue_of=ID: after\n"
    "  resources=\"list image:4096\" of the graph: what nodes access, counted from 0\n"
    "  accesses=\"r0 w1\"            of a node: r reads, w writes, rw, x excludes, a accumulates\n"
    "  on=N                        of a node: the place that it runs on, from 1\n"
    "\n"
    "The tool counts before it makes a graph, and refuses one that is over a limit. --most KIND=N\n"
    "raises or lowers a limit, and may be given several times:\n"
    "\n"
    "  nodes       1000000   each name once\n"
    "  edges       4000000   {a b} -> {c d} are 4; also between accumulating nodes and readers\n"
    "  subgraphs    100000\n"
    "  members     8000000   nodes and edges of subgraphs, in each subgraph that holds them\n"
    "  attributes      256   different names\n"
    "  accesses   16000000   of all nodes, in each part of a buffer and each body around\n"
    "  arguments  16000000   of all kernels, and uses of parameters\n"
    "  blocks       100000   transient buffers, and scratch once for each node that uses it\n"
    "  text      268435456   bytes of the attributes of all nodes, with those of defaults\n"
    "\n"
    "The drawing of a graph by braid_graph_write_dot has all of these. See docs/drawings.md.\n";

static const char about_pictures[] =
    "Pictures and traces of a plan or of a measured frame:\n"
    "\n"
    "  braid plan FILE.dot --svg plan.svg          a timeline to scale, for any browser\n"
    "  braid run FILE.dot --svg frame.svg          the same of a frame as measured\n"
    "  braid plan FILE.dot --dot - | dot -Tsvg     structure; Graphviz draws some hundred nodes\n"
    "  braid plan FILE.dot --trace trace.json      for ui.perfetto.dev: zoom, search, waits\n"
    "  braid report FILE.dot --out report.html     what limits the frame, and what would help\n";

static const char about_status[] =
    "Exit status: 0 done; 1 a device, memory or an output failed, an order was not kept, or a\n"
    "frame became too long (braid diff); 2 the input or the command line is wrong. What is wrong\n"
    "is told in one line; of a file, as FILE:LINE: REASON.\n";

static const struct {
    const char *name, *text;
} topics[] = { { "files", about_files },
               { "pictures", about_pictures },
               { "status", about_status } };

bool help_print_topic(const char *name)
{
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        if (strcmp(name, topics[i].name) == 0) {
            fputs(topics[i].text, stdout);
            return true;
        }
    }
    return false;
}

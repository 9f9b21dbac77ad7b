// SPDX-License-Identifier: Apache-2.0
// The captured functions that execs may load once more, from their text, so that Braid can change
// their code.
#ifndef BRAID_IMPORT_RELOAD_H
#define BRAID_IMPORT_RELOAD_H

#include <braid/import.h>

#include "import/captured.h"
#include "import/texts.h"
#include "ptx/ptx_read.h"

struct import_reload {
    const char *text; // NULL: the program's own function always plays
    const char *why;  // it does
};

struct import_reloads {
    struct import_reload *functions; // by captured function; NULL: the program offers no text
    struct reload_text *texts;       // by number in braid_import_options.reloaded
    size_t num_texts;
};

// Chooses functions, and keeps a copy of each text that is theirs. `newest`: of PTX, as
// braid_ptx_version, that the driver reads; 0: it is unknown. Errors: BRAID_NO_MEMORY.
braid_status braid_import_choose_reloads(const struct captured_graph *captured,
                                         const braid_import_options *options,
                                         const struct import_code *code, int newest,
                                         struct import_reloads *out_reloads);
void braid_import_reloads_finish(struct import_reloads *reloads);

// The newest version of PTX that a driver reads, by its own version; 0: unknown.
int braid_import_newest_ptx(int driver_version);

// A copy of PTX for a driver that reads nothing newer than a version, for the caller to free. NULL:
// *out_why says why there is none, or is NULL, since memory ran out.
char *braid_import_lower(const char *text, const struct ptx *ptx, int newest, const char **out_why);

#endif

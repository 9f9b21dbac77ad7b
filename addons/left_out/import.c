// SPDX-License-Identifier: Apache-2.0
// Imports: their public functions where the add-on 'import' is left out.
#include <braid/import.h>

#include "base/error.h"
#include "base/sized.h"

braid_status braid_import_create_sized(braid_device *device, void *captured,
                                       const braid_import_options *options,
                                       braid_import **out_import, size_t size)
{
    (void)device;
    (void)captured;
    (void)options;
    (void)out_import;
    (void)size;
    return braid_error_left_out("braid_import_create", "import");
}

braid_status braid_import_create_recorded_sized(const braid_record_contents *record, uint32_t frame,
                                                const braid_import_options *options,
                                                braid_import **out_import, size_t size)
{
    (void)record;
    (void)frame;
    (void)options;
    (void)out_import;
    (void)size;
    return braid_error_left_out("braid_import_create_recorded", "import");
}

braid_status braid_import_update_sized(const braid_import *import, void *captured,
                                       const braid_import_options *options, braid_exec *exec,
                                       size_t size)
{
    (void)import;
    (void)captured;
    (void)options;
    (void)exec;
    (void)size;
    return braid_error_left_out("braid_import_update", "import");
}

void braid_import_destroy(braid_import *import)
{
    (void)import;
}

braid_graph *braid_import_get_graph(braid_import *import)
{
    (void)import;
    return NULL;
}

void braid_import_get_info_sized(const braid_import *import, braid_import_info *out_info,
                                 size_t size)
{
    static const braid_import_info none;
    (void)import;
    braid_sized_give(&none, sizeof(none), out_info, size);
}

braid_status braid_import_restore(braid_import *import)
{
    (void)import;
    return braid_error_left_out("braid_import_restore", "import");
}

braid_status braid_import_get_memory_digest(const braid_import *import, uint32_t memory,
                                            uint64_t *out_digest)
{
    (void)import;
    (void)memory;
    (void)out_digest;
    return braid_error_left_out("braid_import_get_memory_digest", "import");
}

braid_status braid_import_write(const braid_import *import, braid_import_report form, FILE *file)
{
    (void)import;
    (void)form;
    (void)file;
    return braid_error_left_out("braid_import_write", "import");
}

// SPDX-License-Identifier: Apache-2.0
// Fills a struct of function pointers from a shared library, by a table of symbol names.
#include "backends/gpu/gpu_loader.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"

// dlsym returns a data pointer and POSIX promises that its bytes are those of the function pointer;
// slots are therefore filled by copying bytes.
_Static_assert(sizeof(void *) == sizeof(void (*)(void)),
               "function pointers have a size of their own");
_Static_assert(sizeof(void *) == 8, "the GPU backends are for 64-bit hosts");

static void *find_symbol(void *library, const char *const *names)
{
    void *symbol = NULL;
    for (size_t i = 0; i < GPU_MAX_NAMES && names[i] && !symbol; i++)
        symbol = dlsym(library, names[i]);
    return symbol;
}

bool braid_gpu_fill(const struct gpu_symbol_table *table, enum gpu_vendor_index vendor,
                    void *library, void *slots, const char **out_missing)
{
    // Two passes, so that a refused library leaves nothing behind in the slots.
    for (size_t i = 0; i < table->num_rows; i++) {
        const struct gpu_symbol *row = &table->rows[i];
        const char *const *names = row->names[vendor];
        if (names[0] && !row->optional[vendor] && !find_symbol(library, names)) {
            *out_missing = names[0];
            return false;
        }
    }
    for (size_t i = 0; i < table->num_rows; i++) {
        void *symbol = find_symbol(library, table->rows[i].names[vendor]);
        memcpy((char *)slots + table->rows[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

// dlerror's text usually begins with the name of the library; it is not said twice.
static void append_dlerror(char *text, size_t size, const char *library)
{
    const char *error = dlerror();
    if (!error)
        error = "unknown error";
    bool named = strncmp(error, library, strlen(library)) == 0;
    braid_append(text, size, "%s%s%s", named ? "" : library, named ? "" : ": ", error);
}

void *braid_gpu_load(const struct gpu_symbol_table *table, enum gpu_vendor_index vendor,
                     const char *const *libraries, void *slots, char *reason, size_t reason_size)
{
    if (reason_size)
        *reason = '\0';
    for (size_t i = 0; libraries[i]; i++) {
        const char *missing = NULL;
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library && braid_gpu_fill(table, vendor, library, slots, &missing))
            return library;
        if (i > 0)
            braid_append(reason, reason_size, "; ");
        if (library)
            braid_append(reason, reason_size, "%s: has no symbol %s", libraries[i], missing);
        else
            append_dlerror(reason, reason_size, libraries[i]);
    }
    for (size_t i = 0; libraries[i]; i++)
        braid_append(reason, reason_size, "%s%s", i ? ", " : " (tried ", libraries[i]);
    braid_append(reason, reason_size, ")");
    return NULL;
}

const char *braid_gpu_symbol_name(const struct gpu_symbol_table *table,
                                  enum gpu_vendor_index vendor, size_t offset)
{
    for (size_t i = 0; i < table->num_rows; i++) {
        const char *name = table->rows[i].names[vendor][0];
        if (table->rows[i].offset == offset && name)
            return name;
    }
    return "an unknown call";
}

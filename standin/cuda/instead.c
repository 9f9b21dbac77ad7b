// SPDX-License-Identifier: Apache-2.0
// Texts that stand for machine code, which the stand-in cannot run.
//
// A program may bring small kernels as machine code alone. A test names PTX that does the same.
#include "instead.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

// Bytes of an ELF file, or of a bundle of them; 0: the image is neither.
static size_t bytes_of(const char *image)
{
    static const unsigned char bundle[] = { 0x50, 0xed, 0x55, 0xba };
    Elf64_Ehdr elf;
    uint16_t head;
    uint64_t rest;
    if (memcmp(image, ELFMAG, SELFMAG) == 0) {
        memcpy(&elf, image, sizeof(elf));
        return elf.e_shoff + (size_t)elf.e_shnum * elf.e_shentsize;
    }
    if (memcmp(image, bundle, sizeof(bundle)) != 0)
        return 0;
    memcpy(&head, image + 6, sizeof(head));
    memcpy(&rest, image + 8, sizeof(rest));
    return head + rest;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t num = 0, room = 0;
    if (file == NULL)
        return NULL;
    for (size_t got = 1; got > 0 && num + 1 >= room; num += got) {
        room = room ? 2 * room : 1 << 16;
        char *more = realloc(text, room);
        if (more == NULL) {
            free(text);
            text = NULL;
            break;
        }
        text = more;
        got = fread(text + num, 1, room - num - 1, file);
    }
    if (text != NULL)
        text[num] = '\0';
    fclose(file);
    return text;
}

// Machine code of a kernel is in a section of this name.
static bool has_entry(const char *image, const char *text)
{
    char section[MAX_ENTRY_NAME + 8];
    const char *error;
    struct ptx_entry entry;
    if (!ptx_next_entry(&text, &entry, &error))
        return false;
    const int length = snprintf(section, sizeof(section), ".text.%s", entry.name);
    return memmem(image, bytes_of(image), section, (size_t)length + 1) != NULL;
}

char *instead_of(const char *image)
{
    const char *path = getenv("BRAID_STANDIN_INSTEAD");
    char *text = path != NULL && bytes_of(image) > 0 ? read_text(path) : NULL;
    if (text != NULL && has_entry(image, text))
        return text;
    free(text);
    return NULL;
}

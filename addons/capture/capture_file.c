// SPDX-License-Identifier: Apache-2.0
// Puts the pieces of a capture into its file, or counts them.
#include "capture/capture_file.h"

#include <string.h>

#include "base/hash.h"

void braid_capture_put(struct capture_file *file, const void *bytes, uint64_t num)
{
    file->at += num;
    if (!file->stream)
        return;
    file->sum = hash_more(file->sum, bytes, num);
    (void)fwrite(bytes, 1, num, file->stream); // the stream keeps the error
}

void braid_capture_put_number(struct capture_file *file, uint64_t number, uint32_t bytes)
{
    unsigned char little[8];
    for (uint32_t i = 0; i < bytes; i++)
        little[i] = (unsigned char)(number >> 8 * i);
    braid_capture_put(file, little, bytes);
}

void braid_capture_put_text(struct capture_file *file, const char *text)
{
    uint32_t bytes = text ? (uint32_t)strlen(text) + 1 : 0;
    braid_capture_put_number(file, bytes, 4);
    if (text)
        braid_capture_put(file, text, bytes);
}

void braid_capture_put_size(struct capture_file *file, uint64_t bytes)
{
    static const unsigned char zeros[16] = { 0 };
    braid_capture_put_number(file, bytes, 8);
    braid_capture_put(file, zeros, (16 - file->at % 16) % 16);
}

void braid_capture_begin(struct capture_file *file, FILE *stream)
{
    file->stream = stream;
    file->at = file->num_sections = 0;
    file->sum = hash_of_nothing;
    braid_capture_put(file, "BRAIDCAP", 8);
    braid_capture_put_number(file, CAPTURE_VERSION, 4);
    braid_capture_put_number(file, file->bytes, 8);
}

void braid_capture_end(struct capture_file *file)
{
    braid_capture_put_number(file, file->sum, 8);
    file->bytes = file->at;
}

void braid_capture_begin_section(struct capture_file *file, const char *tag)
{
    braid_capture_put(file, tag, 4);
    braid_capture_put_number(file, file->section_bytes[file->num_sections], 8);
    file->section_at = file->at;
}

void braid_capture_end_section(struct capture_file *file)
{
    file->section_bytes[file->num_sections++] = file->at - file->section_at;
}

// SPDX-License-Identifier: Apache-2.0
// A file of PTX, and how people get one if they have another.
#include "kernel_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_limit.h"
#include "json_file.h"
#include "ptx/ptx_words.h"

enum { FIRST_BYTES = 1 << 16 };

// With a NUL behind it. NULL: memory ran out, reading failed (errno), or the file is too long.
static char *read_all(FILE *stream, size_t *out_num, bool *out_is_too_long)
{
    size_t num = 0, room = FIRST_BYTES;
    char *text = malloc(room);
    *out_is_too_long = file_is_too_long(stream, 0);
    while (text && !*out_is_too_long) {
        num += fread(text + num, 1, room - 1 - num, stream);
        *out_is_too_long = file_is_too_long(stream, num);
        if (num < room - 1)
            break;
        char *larger = realloc(text, 2 * room);
        if (!larger)
            free(text);
        room *= 2;
        text = larger;
    }
    if (text && (*out_is_too_long || ferror(stream))) {
        free(text);
        return NULL;
    }
    if (text)
        text[num] = '\0';
    *out_num = num;
    return text;
}

static enum exit_status open_and_read(const char *path, char **out_text, size_t *out_num)
{
    const char *name = json_file_name(path);
    FILE *stream = json_file_is_stdin(path) ? stdin : fopen(path, "rb");
    bool is_too_long;
    if (!stream)
        return fail(EXIT_BAD_FILE, "unable to open %s: %s", name, strerror(errno));
    errno = 0;
    *out_text = read_all(stream, out_num, &is_too_long);
    const int reason = errno;
    if (stream != stdin)
        fclose(stream);
    if (*out_text)
        return EXIT_DONE;
    return fail(EXIT_BAD_FILE, "unable to read %s: %s", name,
                is_too_long ? "it is too long" : strerror(reason ? reason : ENOMEM));
}

// What a file that is no PTX is, and how people get PTX from it.
static const char *find_kind(const char *bytes, size_t num)
{
    static const struct {
        const char *begin;
        size_t length;
        const char *kind;
    } kinds[] = {
        { "\177ELF", 4,
          "machine code (a cubin, an object or a program). 'cuobjdump -ptx' prints the PTX in a "
          "program or an object; a cubin has none" },
        { "\120\355\125\272", 4, "a fatbin: 'cuobjdump -ptx' prints the PTX in it" },
        { "__CLANG_OFFLOAD_BUNDLE__", 24,
          "code for AMD's devices: accesses are read from PTX only" },
        { "!<arch>", 7, "a library: 'cuobjdump -ptx' prints the PTX in it" },
    };
    if (num == 0)
        return "empty";
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (num >= kinds[i].length && memcmp(bytes, kinds[i].begin, kinds[i].length) == 0)
            return kinds[i].kind;
    }
    if (memchr(bytes, '\0', num))
        return "no text: a byte of it is 0";
    if (braid_ptx_is_text(bytes))
        return NULL;
    return strstr(bytes, "__global__") || strstr(bytes, "#include")
               ? "a source of CUDA C++: 'nvcc -ptx' compiles it to PTX"
               : "no PTX, which begins with .version";
}

enum exit_status kernel_file_read(const char *path, char **out_text)
{
    size_t num = 0;
    enum exit_status status = open_and_read(path, out_text, &num);
    // A NUL may stand behind the text.
    while (status == EXIT_DONE && num && (*out_text)[num - 1] == '\0')
        num--;
    const char *kind = status == EXIT_DONE ? find_kind(*out_text, num) : NULL;
    if (!kind)
        return status;
    free(*out_text);
    *out_text = NULL;
    return fail(EXIT_BAD_FILE, "%s is %s", json_file_name(path), kind);
}

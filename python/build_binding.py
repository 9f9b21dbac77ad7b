#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C source of braid._binding from the public headers: build_binding.py INCLUDE_DIR OUTPUT DEPFILE

The headers are the only description of the interface. cffi wants their declarations alone, so
comments, preprocessor lines, attributes and the bodies of inline functions are taken out here."""
import contextlib
import io
import os
import re
import sys

import cffi

# Where text is kept in memory, and the functions of Python that C calls (braid/_calls.py).
EXTRA = """
FILE *open_memstream(char **text, size_t *bytes);
int fclose(FILE *file);
void free(void *memory);

extern "Python" void braid_python_host_call(void *user);
extern "Python" braid_status braid_python_queue_call(braid_device *device, braid_stream *stream,
                                                      void *user);
extern "Python" void braid_python_frame_end(uint64_t frame, void *user);
extern "Python" void braid_python_deadline(uint64_t frame, const braid_running_node *nodes,
                                           size_t num_nodes, void *user);
extern "Python" void braid_python_trial(const braid_tune_trial *trial, void *user);
extern "Python" void braid_python_finding(const braid_audit_finding *finding, void *user);
void braid_python_fill_8(const braid_blocks *blocks, void *const *args);
extern "Python" const char *braid_python_find_text(const char *entry, size_t index, void *user);
extern "Python" void braid_python_progress(uint64_t used_ns, uint64_t total_ns, void *user);
extern "Python" void braid_python_log(braid_status status, const char *message, void *user);
"""
PRELUDE = """
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>

// The kernel of braid/_fills.py on the CPU.
static void braid_python_fill_8(const braid_blocks *blocks, void *const *args)
{
    uint64_t *to = *(uint64_t **)args[0], value = *(const uint64_t *)args[1];
    uint64_t num = *(const uint64_t *)args[2], end = blocks->end * 1024;
    for (uint64_t i = blocks->begin * 1024; i < end && i < num; i++)
        to[i] = value;
}
"""


def drop_bodies(text):
    """Replaces the body of each function by a semicolon; functions start after a closing parenthesis."""
    out, depth, inside = [], 0, False
    for index, char in enumerate(text):
        if char == "{" and not inside and text[:index].rstrip().endswith(")"):
            inside = True
            out.append(";")
        if inside:
            depth += (char == "{") - (char == "}")
            inside = depth > 0
        else:
            out.append(char)
    return "".join(out)


# A function that a header defines behind its prototype, to pass the sizes of structs.
DEFINED = re.compile(r"^BRAID_INLINE [^;{]*\n\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


def read_declarations(text):
    """What of a header cffi understands."""
    text = DEFINED.sub("", text)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    # The parts for C++ alone, then all other preprocessor lines.
    text = re.sub(r"#ifdef __cplusplus\n(?:(?!#).)*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#[^\n]*", "", text, flags=re.MULTILINE)
    text = re.sub(r"\b(BRAID_API|BRAID_INLINE|BRAID_MUST_CHECK|static inline)\b", "", text)
    return drop_bodies(text)


class Headers:
    """The headers that braid/braid.h includes, each behind those that it needs."""

    def __init__(self, folder):
        self.folder = folder
        self.texts = {}  # in order
        self.add("braid/braid.h")

    def path(self, name):
        return os.path.join(self.folder, name)

    def add(self, name):
        if name in self.texts:
            return
        with open(self.path(name), encoding="utf-8") as file:
            text = file.read()
        for other in re.findall(r"#include <(braid/[^>]+)>", text):
            self.add(other)
        self.texts[name] = text


def main():
    folder, output, dependencies = sys.argv[1:]
    headers = Headers(folder)
    builder = cffi.FFI()
    for text in headers.texts.values():
        builder.cdef(read_declarations(text))
    builder.cdef(EXTRA)
    builder.set_source("braid._binding", PRELUDE)
    with contextlib.redirect_stdout(io.StringIO()):  # it tells what it writes
        builder.emit_c_code(output)
    with open(dependencies, "w", encoding="utf-8") as file:
        file.write(f"{output}: {' '.join(headers.path(name) for name in headers.texts)}\n")


if __name__ == "__main__":
    main()

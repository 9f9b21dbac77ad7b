// SPDX-License-Identifier: Apache-2.0
// The bytes of a capture, in version 1.
//
// Numbers are little-endian. A text is a u32, its bytes with the zero at its end, and the bytes. 0
// bytes: there is none. A block is a u64, its bytes, zeros up to a multiple of 16 in the file, and
// the bytes. A list begins with a u32, its length. A section begins with 4 characters and a u64,
// its bytes. The parts of the file, in order:
//
// - The head: "BRAIDCAP", u32 version, u64 bytes of the file.
// - EXEC: text backend, u32 lanes of the plan, u64 frame.
// - RSRC, a list of resources: text name, u8 kind, u32 buffer, u64 offset, u64 bytes, u32
//   alignment. The buffer is that of a range, and of a buffer itself or the one right before it.
//   Kinds: 0 a name without bytes, 1 buffer, 2 transient, 3 range. Scratch is a name, and a
//   transient buffer for each of its nodes. A version of a buffer is a buffer.
// - KERN, a list of kernels: text name, u8 programmatic, text source, text name expression. Lists
//   of texts: options, include folders. A list of headers: text name, text. For CUDA, then for HIP:
//   text entry, block image.
// - NODE, a list of nodes: text name, u8 kind, u8 role, u32 main node, u8 enabled, u64 cost in ns,
//   u32 lane hint. A list of accesses: u32 resource, u8 braid_access_mode. Then values, by kind.
//   Roles: 1 a prelude, 2 an epilogue, 0 others, which are their own main nodes.
// - Kind 0, a kernel: u32 kernel, 3 u32 each of grid, block, cluster. u32 shared bytes, i32
//   priority, u8 1: grid from the last argument, 2: cooperative. A list of arguments: u32 bytes, u8
//   unchecked, words, the rest.
// - Kind 1, a copy: word to, word from, u64 bytes. Kind 2, a fill: word to, u32 value, u32 its
//   bytes, u64 number. Kind 3, a host call: word user. Kind 5, an empty node: nothing.
// - Kind 8, a loop, and 9, a branch: u32 condition, a resource, or 2^32 - 1 for none. u64 most
//   iterations, u64 expected ones, u8 tests first. u32 nodes of the body, or of the first arm,
//   which come next. u32 nodes of the second arm, which come behind these. Bodies nest.
// - A word, 8 bytes of a value: u8, and for 0 the bytes, for 1 an address: u32 resource, u64 offset
//   in it. 2 is the address of the node's trap.
// - EDGE, a list of edges: u32 from, u32 to. Then a u32 for each node: the order one after another.
//   The nodes of bodies come right behind their loop or branch.
// - DATA: for each buffer, in the order of resources, a block.
// - The sum: u64 FNV-1a of all bytes before (Fowler, Noll, Vo).
#ifndef BRAID_CAPTURE_CAPTURE_FILE_H
#define BRAID_CAPTURE_CAPTURE_FILE_H

#include <stdint.h>
#include <stdio.h>

enum { CAPTURE_VERSION = 1, CAPTURE_MOST_SECTIONS = 8, CAPTURE_MOST_NESTING = 64 };

// A capture is put twice: first only counted, which tells the sizes that stand in its head.
struct capture_file {
    FILE *stream;   // NULL: it is counted
    uint64_t at;    // the next byte
    uint64_t sum;   // FNV-1a (Fowler, Noll, Vo) of all before
    uint64_t bytes; // the file's, once counted
    uint64_t section_bytes[CAPTURE_MOST_SECTIONS];
    uint64_t section_at; // where the one at hand begins
    uint32_t num_sections;
};

void braid_capture_begin(struct capture_file *file, FILE *stream);
void braid_capture_end(struct capture_file *file);
void braid_capture_begin_section(struct capture_file *file, const char *tag); // 4 characters
void braid_capture_end_section(struct capture_file *file);

void braid_capture_put(struct capture_file *file, const void *bytes, uint64_t num);
void braid_capture_put_number(struct capture_file *file, uint64_t number, uint32_t bytes);
void braid_capture_put_text(struct capture_file *file, const char *text); // NULL: there is none
// The size of a block, and zeros up to the multiple of 16 where it begins.
void braid_capture_put_size(struct capture_file *file, uint64_t bytes);

#endif

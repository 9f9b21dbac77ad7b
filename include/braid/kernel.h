// SPDX-License-Identifier: Apache-2.0
// Portable kernels: one name, and code for each kind of device.
#ifndef BRAID_KERNEL_H
#define BRAID_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// Sizes of a grid in blocks or of a block in threads. A zero counts as 1, unless
// braid_kernel_node.may_be_empty is set.
typedef struct braid_dim3 {
    uint32_t x, y, z;
} braid_dim3;

// The part of a grid for one call of a CPU kernel: blocks begin <= i < end in linear order (x
// fastest) of `grid`. One launch may become several calls, on several threads at once.
typedef struct braid_blocks {
    uint64_t begin, end;
    braid_dim3 grid;  // zeros already replaced by 1
    braid_dim3 block; // zeros already replaced by 1
    void *user;       // the kernel's
} braid_blocks;

// A kernel on the CPU. args[i] points to the bytes of argument i. It runs on a worker or on a
// thread that waits. It must not call Braid: calls that launch, change, wait or destroy are refused
// (BRAID_WRONG_STATE, or a line in the log where nothing is returned).
typedef void braid_cpu_function(const braid_blocks *blocks, void *const *args);

// Device code for one GPU vendor: a loaded function, or an image with an entry.
typedef struct braid_image {
    const void *data;  // PTX (NUL-terminated), cubin, fatbin, or HIP code object; NULL: none
    size_t bytes;      // 0: the image tells its length
    const char *entry; // the function's name in the image; NULL: the kernel's name
    void *function;    // an existing CUfunction or hipFunction_t instead of data; never unloaded.
                       // If data is its PTX, execs with early starts and audits may load that
                       // instead
} braid_image;

// A text that source may include by name, instead of a file.
typedef struct braid_header {
    const char *name; // as it stands in #include "name" or <name>
    const char *text;
} braid_header;

// A kernel. The program owns it. It, and all it points to, must stay unchanged until every graph
// and exec that uses it is destroyed. Kernels with one image or source pointer, and equal compile
// options, share one loaded module.
typedef struct braid_kernel {
    const char *name;        // required, for messages and plans
    braid_cpu_function *cpu; // NULL: cannot run on the CPU
    const char *source; // CUDA C that is also HIP C++, or NULL. Creating an exec compiles it and
                        // keeps the code (braid_device_options.cache)
    braid_image cuda;   // preferred to source on CUDA when given
    braid_image hip;    // preferred to source on HIP when given
    bool programmatic;  // CUDA: all threads of the kernel call griddepcontrol.wait before they use
                        // memory or end, so that it may start early (docs/cuda.md)
    void *user; // CPU: each call gets it as blocks->user, so that code may have data (a closure).
                // Kernels that differ in `user` alone are different kernels

    // How `source` is compiled. The CPU, and a device that has an image, ignore these fields.
    const char *const *options; // for NVRTC or hiprtc, one string each: "-DWIDTH=4"; Braid adds the
                                // architecture
    size_t num_options;
    const char *const *include_folders; // where the compiler looks for included files
    size_t num_include_folders;
    const braid_header *headers; // texts that the source may include by name
    size_t num_headers;
    const char *name_expression; // the entry as C++ names it: "scale<float, 4>"; NULL: it is extern
                                 // "C" under `name`
} braid_kernel;

// The kind of an access of a node to a resource.
typedef enum braid_access_mode {
    BRAID_READ = 1,       // may overlap other reads
    BRAID_WRITE = 2,      // overwrites: ordered after earlier reads and writes
    BRAID_READ_WRITE = 3, // both
    BRAID_EXCLUSIVE = 4,  // touches it in a way no other access may overlap; no data flows
    BRAID_ACCUMULATE = 5, // changes it so that the order does not matter: atomic sums, appends
} braid_access_mode;

// Says of an argument that it is no access.
#ifdef __cplusplus
#define BRAID_NO_ACCESS braid_access_mode()
#else
#define BRAID_NO_ACCESS ((braid_access_mode)0)
#endif

// The kind of an argument. A `bytes` of 0 is the size of the kind, except for a value.
typedef enum braid_arg_kind {
    BRAID_ARG_VALUE = 0, // the bytes at `data`. Planning refuses an address in a buffer to which
                         // the node declares no access
    BRAID_ARG_UNCHECKED_POINTER = 1, // a pointer that planning does not check, or a number that
                                     // looks like one; `data` points to it
    BRAID_ARG_RESOURCE = 2, // the address of the braid_resource at `data`: braid_resource_address
    BRAID_ARG_TRAP = 3,     // the address of the node's own trap, without data: BRAID_TRAP
} braid_arg_kind;

// One argument: `bytes` bytes at `data`, copied during the call. If CUDA (12.4) tells the sizes of
// a kernel's parameters, making an exec refuses others. No backend knows types: an int for a float
// is accepted.
typedef struct braid_arg {
    const void *data;
    size_t bytes;
    braid_arg_kind kind;
    braid_access_mode access; // if it is a resource: the access that the node declares; 0: none
} braid_arg;

// Where a kernel reports an error: payload, then a code that is not 0. One wait after the frame's
// end returns BRAID_TRAPPED and clears it (docs/book/reliability.md).
typedef struct braid_trap {
    uint32_t code, unused;
    unsigned char payload[16];
} braid_trap;

// The address of the node's own trap, an argument.
static inline braid_arg braid_trap_argument(void)
{
    braid_arg arg = { NULL, 0, BRAID_ARG_TRAP, BRAID_NO_ACCESS };
    return arg;
}
#define BRAID_TRAP() braid_trap_argument()

// An argument from a variable: BRAID_ARG(radius). C refuses an array, since most kernels expect a
// pointer: give a variable that points to it, or { array, sizeof(array) } for the elements.
#ifdef __cplusplus
#define BRAID_ARG(variable)                                                                        \
    (braid_arg{ &(variable), sizeof(variable), BRAID_ARG_VALUE, BRAID_NO_ACCESS })
#else
#define BRAID_ARG(variable)                                                                        \
    ((braid_arg){ &(variable), sizeof(variable) + BRAID_REFUSE_ARRAY(variable), BRAID_ARG_VALUE,   \
                  BRAID_NO_ACCESS })

// 0; it does not compile if the variable is an array. Only arrays, and _Atomic with clang, change
// their type when their value is taken.
#ifdef __GNUC__
#define BRAID_REFUSE_ARRAY(variable)                                                               \
    (0 * sizeof(struct {                                                                           \
         _Static_assert(                                                                           \
             __builtin_types_compatible_p(__typeof__(variable),                                    \
                                          __typeof__((void)0, (variable))) ||                      \
                 __builtin_types_compatible_p(__typeof__(variable),                                \
                                              _Atomic(__typeof__((void)0, (variable)))),           \
             "BRAID_ARG takes no array: give it a variable that points to the first element");     \
         int unused;                                                                               \
     }))
#else
#define BRAID_REFUSE_ARRAY(variable) 0
#endif

// Fills .args and .num_args of a braid_kernel_node. C only, as all macros that fill fields.
#define BRAID_ARGS(...)                                                                            \
    .args = (const braid_arg[]){ __VA_ARGS__ },                                                    \
    .num_args = sizeof((const braid_arg[]){ __VA_ARGS__ }) / sizeof(braid_arg)
#endif

#ifdef __cplusplus
}
#endif

#endif

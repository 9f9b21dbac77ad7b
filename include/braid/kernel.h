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

// Sizes of a grid in blocks or of a block in threads. A zero was not filled in, and counts as 1:
// .grid.x = 64 is all that a grid of 64 blocks needs. For a grid that may have no block, see
// braid_kernel_node.may_be_empty.
typedef struct braid_dim3 {
    uint32_t x, y, z;
} braid_dim3;

// The part of a grid that one call of a CPU kernel is to do: blocks begin <= i < end in linear
// order (x fastest) of `grid`. One launch may become several calls, on several threads at once.
typedef struct braid_blocks {
    uint64_t begin, end;
    braid_dim3 grid;  // zeros already replaced by 1
    braid_dim3 block; // likewise
    void *user;       // the kernel's
} braid_blocks;

// A kernel on the CPU. args[i] points to the bytes of argument i: those given when the node was
// added, or by the latest braid_exec_set_arg before this launch. Called on a worker or on a thread
// that waits; it must not call Braid: what would launch, change, wait for or destroy something is
// refused (BRAID_INVALID_ARGUMENT, or the log where nothing is returned).
typedef void braid_cpu_function(const braid_blocks *blocks, void *const *args);

// Device code for one GPU vendor. Give either a loaded function or an image with an entry.
typedef struct braid_image {
    const void *data;  // PTX (NUL-terminated), cubin, fatbin, or HIP code object; NULL: none
    size_t bytes;      // 0: PTX or another self-describing image, its length is in the data
    const char *entry; // the function's name in the image; NULL: the kernel's name
    void *function; // an existing CUfunction or hipFunction_t, used instead of data; never unloaded
} braid_image;

// A text that source may include by its name, instead of a file.
typedef struct braid_header {
    const char *name; // as it stands in #include "name" or <name>
    const char *text;
} braid_header;

// A kernel. The program owns it: it, and all it points to, must stay as they are until every graph
// and exec that uses it is destroyed. Usually it is static const data.
// Kernels that share one image pointer share one loaded module, and so do kernels that share one
// source pointer, if the pointers and counts of how it is compiled are equal as well.
// Thread-safety: read only; any thread.
typedef struct braid_kernel {
    const char *name;        // required: appears in messages and plans
    braid_cpu_function *cpu; // NULL: cannot run on the CPU
    const char *source; // CUDA C that is also HIP C++, compiled when an exec is created and kept on
                        // disk (braid_device_options.cache); or NULL.
                        // Its entry must be declared extern "C" under the name above, or be
                        // named by name_expression.
    braid_image cuda;   // preferred to source on CUDA when given
    braid_image hip;    // preferred to source on HIP when given
    bool programmatic;  // CUDA: all threads of the kernel call griddepcontrol.wait before they read
                        // or write any memory, also threads that return at once. So the kernel may
                        // be launched while its lane predecessor still runs. Source and PTX without
                        // it get it from Braid: see braid_exec_options.no_early_start.
    void *user; // CPU: handed to each call as blocks->user, for code that carries data along
                // (a closure). Kernels that differ in nothing else are different kernels.

    // How `source` is compiled. The CPU ignores all of it, and so does a device that has an image.
    const char *const *options; // for NVRTC or hiprtc, one string each: "-DWIDTH=4". Braid adds the
                                // architecture. An option that the compiler refuses is an error.
    size_t num_options;
    const char *const *include_folders; // where the compiler looks for what the source includes
    size_t num_include_folders;
    const braid_header *headers; // texts that the source may include by name
    size_t num_headers;
    const char *name_expression; // the entry as C++ names it, for templates and namespaces:
                                 // "scale<float, 4>"; NULL: it is extern "C" under `name`
} braid_kernel;

// One argument: `bytes` bytes at `data`, copied during the call it is given to. Changing the
// variable afterwards changes nothing: braid_exec_set_arg gives later launches another value.
typedef struct braid_arg {
    const void *data;
    size_t bytes; // or BRAID_ADDRESS_OF or BRAID_ADDRESS_AND_ACCESS, in nodes: see
                  // braid_resource_address and BRAID_IN; or BRAID_UNCHECKED_POINTER
} braid_arg;

#define BRAID_ADDRESS_OF ((size_t)-1)

// As many bytes as a pointer has, which planning does not compare with the buffers of the graph.
// Other arguments of that size are refused if they are addresses in a buffer to which the node
// declares no access. This is for pointers that nothing is to order, and for numbers that may look
// like one.
#define BRAID_UNCHECKED_POINTER ((size_t)-2)

// As BRAID_ADDRESS_OF, of a resource to which the node has an access of this mode by that.
#define BRAID_ADDRESS_AND_ACCESS(mode) ((size_t)-3 - (size_t)(mode))

// An argument from a variable: BRAID_ARG(radius). Not from an array, whose elements would all be
// copied where most kernels expect a pointer: C does not compile that. Give it a variable that
// points to the array, or where the elements are meant write { array, sizeof(array) }.
#ifdef __cplusplus
#define BRAID_ARG(variable) (braid_arg{ &(variable), sizeof(variable) })
#else
#define BRAID_ARG(variable)                                                                        \
    ((braid_arg){ &(variable), sizeof(variable) + BRAID_REFUSE_ARRAY(variable) })

// 0, or no program where the variable is an array: only arrays change their type when their value
// is taken, but for _Atomic with clang.
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

// Fills .args and .num_args of a braid_kernel_node from a list of arguments. C only, as are the
// other macros that fill fields: C++ has no literals of arrays, so give it an array and its length.
#define BRAID_ARGS(...)                                                                            \
    .args = (const braid_arg[]){ __VA_ARGS__ },                                                    \
    .num_args = sizeof((const braid_arg[]){ __VA_ARGS__ }) / sizeof(braid_arg)
#endif

#ifdef __cplusplus
}
#endif

#endif

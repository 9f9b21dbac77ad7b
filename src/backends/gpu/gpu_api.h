// SPDX-License-Identifier: Apache-2.0
// The driver functions that the GPU backend needs, as neutral function pointers: no vendor header.
#ifndef BRAID_BACKENDS_GPU_GPU_API_H
#define BRAID_BACKENDS_GPU_GPU_API_H

#include <stddef.h>
#include <stdint.h>

// CUDA's driver API and HIP agree on the number, order and machine types of the parameters of each
// call below. If they differ, a slot serves one vendor only. The ABI test compares every row with
// the vendors' headers where they are installed.

// CUresult or hipError_t. The numbers below are the same in both.
typedef int gpu_result;

enum {
    GPU_SUCCESS = 0,
    GPU_INVALID_VALUE = 1,
    GPU_OUT_OF_MEMORY = 2,
    GPU_STUB_LIBRARY = 34, // CUDA's library for linking where there is no driver
    GPU_NO_DEVICE = 100,
    GPU_INVALID_DEVICE = 101, // HIP's answer without a device
    GPU_NO_BINARY = 209,
    GPU_INVALID_TEXT = 218,
    GPU_COMPILER_NOT_FOUND = 221,
    GPU_UNSUPPORTED_TEXT_VERSION = 222,
    GPU_COMPILING_DISABLED = 223,
    GPU_LOSSY_QUERY = 402, // CUDA: an answer would have left out kinds of edges
    GPU_NOT_FOUND = 500,
    GPU_NOT_READY = 600,
    GPU_OUT_OF_RESOURCES = 701,
    GPU_INVALID_CLUSTER = 912, // CUDA
    GPU_NOT_SUPPORTED = 801,
    GPU_CAPTURE_IMPLICIT =
        906, // the null stream's answer while a stream that it waits for captures
};

enum {
    GPU_STREAM_NON_BLOCKING = 1,
    GPU_EVENT_DEFAULT = 0,
    GPU_EVENT_DISABLE_TIMING = 2,
    GPU_EVENT_EXTERNAL = 1, // CUDA, for records and waits under capture: it becomes a node
    GPU_MANAGED_GLOBAL = 1, // all streams reach it
    GPU_HOST_PORTABLE = 1,
    GPU_HOST_MAPPED = 2,
    GPU_CAPTURE_GOES_ON = 1,     // status of a stream's capture
    GPU_CAPTURE_ONLY_BEHIND = 1, // CUDA, for capture_go_on
    GPU_CAPTURE_THREAD_LOCAL = 1,
    GPU_CAPTURE_RELAXED = 2,
    GPU_POINTER_MEMORY_TYPE = 2,
    GPU_POINTER_ON_DEVICE = 3, // CUDA: its address there
    GPU_POINTER_MANAGED = 8,   // CUDA
    GPU_POINTER_DEVICE = 9,    // CUDA
    GPU_POINTER_BEGIN = 11,    // CUDA, as the next two: of the range that was reserved
    GPU_POINTER_BYTES = 12,
    GPU_POINTER_POOL = 17,
    GPU_OPAQUE_FD = 1, // types of semaphores
    GPU_TIMELINE_FD = 9,
    GPU_COPY_DEFAULT = 4, // HIP: the runtime finds the kinds of the addresses
};

// CUDA only.
enum {
    GPU_MEMORY_HOST = 1,
    GPU_MEMORY_DEVICE = 2,
    GPU_MEMORY_ARRAY = 3,
    GPU_MEMORY_UNIFIED = 4,
    GPU_FUNCTION_MAX_THREADS = 0,
    GPU_FUNCTION_SHARED_BYTES = 1,
    GPU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    GPU_FUNCTION_CARVEOUT = 9, // shared memory that the program prefers
    GPU_FUNCTION_LARGE_CLUSTER = 14,
    GPU_LAUNCH_COOPERATIVE = 2,
    GPU_LAUNCH_CLUSTER = 4,
    GPU_LAUNCH_PROGRAMMATIC = 6,
    GPU_LAUNCH_PRIORITY = 8,
    GPU_EDGE_PROGRAMMATIC = 1,      // type of an edge
    GPU_EDGE_PORT_PROGRAMMATIC = 1, // the port it leaves by: all blocks have ended or say so
    GPU_EDGE_PORT_BEGUN = 2,        // all blocks have begun
    GPU_SIGNAL_MEMORY = 2,          // for hip_signal_allocate
    GPU_WAIT_FOR_AT_LEAST = 0,      // by the difference, which may wrap around
    GPU_GRAPH_BY_NODE_PRIORITY = 8, // for graph_instantiate
    GPU_NODE_KERNEL = 0,            // types of nodes, as far as GPU_NODE_CONDITIONAL
    GPU_NODE_COPY = 1,
    GPU_NODE_FILL = 2,
    GPU_NODE_HOST = 3,
    GPU_NODE_CHILD = 4,
    GPU_NODE_EMPTY = 5,
    GPU_NODE_WAIT = 6,
    GPU_NODE_RECORD = 7,
    GPU_NODE_SIGNAL = 8, // semaphores, and the next one
    GPU_NODE_AWAIT = 9,
    GPU_NODE_ALLOCATION = 10,
    GPU_NODE_FREE = 11,
    GPU_NODE_OPERATIONS = 12,
    GPU_NODE_CONDITIONAL = 13,
    GPU_CONDITION_IF = 0,    // type of such a node
    GPU_CONDITION_WHILE = 1, // type of such a node
};

typedef int gpu_device;
typedef struct gpu_context_handle *gpu_context;
typedef struct gpu_stream_handle *gpu_stream;
typedef struct gpu_event_handle *gpu_event;
typedef struct gpu_module_handle *gpu_module;
typedef struct gpu_function_handle *gpu_function;
typedef struct gpu_kernel_handle *gpu_kernel; // CUDA: a library's kernel
typedef struct gpu_graph_handle *gpu_graph;
typedef struct gpu_node_handle *gpu_node;
typedef struct gpu_executable_handle *gpu_executable;

typedef void gpu_host_function(void *user);
typedef void gpu_stream_callback(gpu_stream stream, gpu_result status, void *user);

// CUlaunchAttribute and CUlaunchConfig.
union gpu_attribute_value {
    char pad[64];
    struct {
        uint32_t x, y, z;
    } cluster;
    int programmatic;
    int cooperative;
    int priority;
};

struct gpu_attribute {
    int id;
    char pad[4];
    union gpu_attribute_value value;
};

struct gpu_launch_config {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    gpu_stream stream;
    struct gpu_attribute *attributes;
    uint32_t num_attributes;
};

// CUgraphEdgeData.
struct gpu_edge_data {
    uint8_t from_port, to_port, type, reserved[5];
};

// CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC and hipExternalSemaphoreHandleDesc.
struct gpu_semaphore_source {
    int type;
    char pad[4];
    union {
        int fd;
        const void *others[2];
    };
    unsigned flags, reserved[16];
};

// The parameters of one signal or wait of either vendor, of which all but the value is 0.
struct gpu_semaphore_value {
    uint64_t value, others[17];
};

// The slots of a loaded library. Rows marked optional in gpu_symbols.c may be NULL. Addresses of
// device memory are void *, as machine words: the backend is for 64-bit hosts.
struct gpu_api {
    // Library, device, context
    gpu_result (*initialize)(unsigned flags);
    gpu_result (*driver_version)(int *version);
    gpu_result (*runtime_version)(int *version);                      // HIP
    gpu_result (*error_name)(gpu_result result, const char **name);   // CUDA
    gpu_result (*error_string)(gpu_result result, const char **text); // CUDA
    const char *(*hip_error_name)(gpu_result result);                 // HIP
    const char *(*hip_error_string)(gpu_result result);               // HIP
    gpu_result (*device_count)(int *count);
    gpu_result (*device_get)(gpu_device *device, int ordinal);
    gpu_result (*device_name)(char *name, int bytes, gpu_device device);
    gpu_result (*device_memory)(size_t *bytes, gpu_device device);
    gpu_result (*device_bus_id)(char *id, int bytes, gpu_device device);
    gpu_result (*device_attribute)(int *value, int attribute, gpu_device device);
    gpu_result (*device_properties)(void *properties, int device);         // HIP
    gpu_result (*context_retain)(gpu_context *context, gpu_device device); // CUDA
    gpu_result (*context_release)(gpu_device device);                      // CUDA
    gpu_result (*context_get_current)(gpu_context *context);               // CUDA
    gpu_result (*context_set_current)(gpu_context context);                // CUDA
    gpu_result (*context_device)(gpu_device *device);                      // CUDA
    gpu_result (*device_get_current)(int *device);                         // HIP
    gpu_result (*device_set_current)(int device);                          // HIP
    gpu_result (*device_can_access_peer)(int *can, gpu_device device, gpu_device peer);
    gpu_result (*context_enable_peer)(gpu_context peer, unsigned flags); // CUDA
    gpu_result (*hip_enable_peer)(int peer, unsigned flags);             // HIP
    gpu_result (*priority_range)(int *least, int *greatest);

    // Memory
    gpu_result (*memory_allocate)(void **memory, size_t bytes);
    gpu_result (*managed_allocate)(void **memory, size_t bytes, unsigned flags);
    // CUDA's as it was before 12.2, which drivers keep.
    gpu_result (*memory_prefetch)(const void *memory, size_t bytes, int device, gpu_stream stream);
    gpu_result (*memory_free)(void *memory);
    gpu_result (*host_allocate)(void **memory, size_t bytes, unsigned flags);
    gpu_result (*host_free)(void *memory);
    gpu_result (*hip_signal_allocate)(void **memory, size_t bytes, unsigned flags); // HIP
    gpu_result (*pointer_attribute)(void *value, int attribute, void *pointer);
    gpu_result (*address_range)(void **base, size_t *bytes, void *pointer); // CUDA
    gpu_result (*mapping_retain)(uint64_t *mapping, void *pointer);         // CUDA
    gpu_result (*mapping_release)(uint64_t mapping);                        // CUDA
    // Addresses that the caller chooses, all of CUDA. Properties and access: cuda_layouts.h.
    gpu_result (*mapping_granularity)(size_t *bytes, const void *properties, int option);
    gpu_result (*address_reserve)(void **memory, size_t bytes, size_t alignment, void *wish,
                                  unsigned long long flags);
    gpu_result (*address_free)(void *memory, size_t bytes);
    gpu_result (*mapping_create)(uint64_t *mapping, size_t bytes, const void *properties,
                                 unsigned long long flags);
    gpu_result (*mapping_map)(void *memory, size_t bytes, size_t offset, uint64_t mapping,
                              unsigned long long flags);
    gpu_result (*mapping_access)(void *memory, size_t bytes, const void *access, size_t num);
    gpu_result (*mapping_unmap)(void *memory, size_t bytes);
    gpu_result (*host_register)(void *memory, size_t bytes, unsigned flags);    // CUDA
    gpu_result (*host_unregister)(void *memory);                                // CUDA
    gpu_result (*hip_address_range)(void **base, size_t *bytes, void *pointer); // HIP

    // Streams and events
    gpu_result (*stream_create)(gpu_stream *stream, unsigned flags, int priority);
    gpu_result (*stream_destroy)(gpu_stream stream);
    gpu_result (*stream_synchronize)(gpu_stream stream);
    gpu_result (*stream_query)(gpu_stream stream);
    gpu_result (*stream_wait)(gpu_stream stream, gpu_event event, unsigned flags);
    gpu_result (*event_create)(gpu_event *event, unsigned flags);
    gpu_result (*event_destroy)(gpu_event event);
    gpu_result (*event_record)(gpu_event event, gpu_stream stream);
    gpu_result (*event_record_with)(gpu_event event, gpu_stream stream, unsigned flags); // CUDA
    gpu_result (*event_query)(gpu_event event);
    gpu_result (*event_synchronize)(gpu_event event);
    gpu_result (*event_elapsed)(float *milliseconds, gpu_event start, gpu_event end);

    // Work on streams
    gpu_result (*copy)(void *to, const void *from, size_t bytes, gpu_stream stream); // CUDA
    gpu_result (*hip_copy)(void *to, const void *from, size_t bytes, int kind,
                           gpu_stream stream); // HIP
    gpu_result (*fill8)(void *to, unsigned char value, size_t count, gpu_stream stream);
    gpu_result (*fill16)(void *to, unsigned short value, size_t count, gpu_stream stream);
    gpu_result (*fill32)(void *to, unsigned value, size_t count, gpu_stream stream);
    gpu_result (*copy_rows)(const void *parameters, gpu_stream stream); // CUDA
    gpu_result (*fill_rows8)(void *to, size_t pitch, unsigned char value, size_t width,
                             size_t height, gpu_stream stream); // CUDA
    gpu_result (*fill_rows16)(void *to, size_t pitch, unsigned short value, size_t width,
                              size_t height, gpu_stream stream); // CUDA
    gpu_result (*fill_rows32)(void *to, size_t pitch, unsigned value, size_t width, size_t height,
                              gpu_stream stream); // CUDA
    gpu_result (*host_call)(gpu_stream stream, gpu_host_function *call, void *user);
    gpu_result (*stream_wait_value)(gpu_stream stream, void *word, uint32_t value,
                                    unsigned flags); // CUDA
    gpu_result (*stream_operations)(gpu_stream stream, unsigned num, void *operations,
                                    unsigned flags); // CUDA
    gpu_result (*stream_write_value)(gpu_stream stream, void *word, uint32_t value, unsigned flags);
    gpu_result (*hip_stream_wait_value)(gpu_stream stream, void *word, uint64_t value,
                                        unsigned flags, uint64_t mask); // HIP
    gpu_result (*hip_stream_wait_value32)(gpu_stream stream, void *word, uint32_t value,
                                          unsigned flags, uint32_t mask); // HIP
    gpu_result (*semaphore_import)(void **semaphore, const struct gpu_semaphore_source *source);
    gpu_result (*semaphore_destroy)(void *semaphore);
    gpu_result (*semaphore_signal)(void *const *semaphores,
                                   const struct gpu_semaphore_value *values, unsigned num,
                                   gpu_stream stream);
    gpu_result (*semaphore_wait)(void *const *semaphores, const struct gpu_semaphore_value *values,
                                 unsigned num, gpu_stream stream);
    gpu_result (*stream_callback)(gpu_stream stream, gpu_stream_callback *call, void *user,
                                  unsigned flags); // HIP
    gpu_result (*launch)(gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         gpu_stream stream, void **args, void **extra);
    gpu_result (*launch_config)(const struct gpu_launch_config *config, gpu_function function,
                                void **args, void **extra); // CUDA
    gpu_result (*hip_launch_cooperative)(gpu_function function, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared, gpu_stream stream,
                                         void **args); // HIP

    // Modules and functions
    gpu_result (*module_load)(gpu_module *module, const void *image);
    gpu_result (*module_unload)(gpu_module module);
    gpu_result (*module_function)(gpu_function *function, gpu_module module, const char *name);
    gpu_result (*module_variable)(void **memory, size_t *bytes, gpu_module module,
                                  const char *name); // CUDA
    gpu_result (*function_get)(int *value, int attribute, gpu_function function);
    gpu_result (*function_set)(gpu_function function, int attribute, int value); // CUDA
    gpu_result (*function_parameter)(gpu_function function, size_t index, size_t *offset,
                                     size_t *bytes);                          // CUDA
    gpu_result (*function_name)(const char **name, gpu_function function);    // CUDA
    gpu_result (*function_module)(gpu_module *module, gpu_function function); // CUDA
    gpu_result (*kernel_function)(gpu_function *function, gpu_kernel kernel); // CUDA
    gpu_result (*function_occupancy)(int *blocks, gpu_function function, int block_threads,
                                     size_t shared_bytes);

    // Graphs (CUDA)
    gpu_result (*graph_create)(gpu_graph *graph, unsigned flags);
    gpu_result (*graph_add_kernel)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                   size_t num_after, const void *parameters);
    gpu_result (*graph_add_copy)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                 size_t num_after, const void *parameters, gpu_context context);
    gpu_result (*graph_add_fill)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                 size_t num_after, const void *parameters, gpu_context context);
    gpu_result (*graph_add_host)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                 size_t num_after, const void *parameters);
    gpu_result (*graph_add_memory_operations)(gpu_node *node, gpu_graph graph,
                                              const gpu_node *after, size_t num_after,
                                              const void *parameters);
    gpu_result (*graph_add_empty)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                  size_t num_after);
    gpu_result (*graph_add_record)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                   size_t num_after, gpu_event event);
    gpu_result (*graph_add_wait)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                 size_t num_after, gpu_event event);
    gpu_result (*graph_add_child)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                  size_t num_after, gpu_graph child);
    gpu_result (*graph_add_node)(gpu_node *node, gpu_graph graph, const gpu_node *after,
                                 const struct gpu_edge_data *data, size_t num_after,
                                 void *parameters);
    gpu_result (*graph_create_condition)(uint64_t *condition, gpu_graph graph, gpu_context context,
                                         unsigned first_value, unsigned flags);
    gpu_result (*graph_add_edges)(gpu_graph graph, const gpu_node *from, const gpu_node *to,
                                  const struct gpu_edge_data *data, size_t num_edges);
    gpu_result (*node_set_attribute)(gpu_node node, int attribute,
                                     const union gpu_attribute_value *value);
    gpu_result (*graph_nodes)(gpu_graph graph, gpu_node *nodes, size_t *num_nodes);
    gpu_result (*node_type)(gpu_node node, int *type);
    gpu_result (*graph_edges)(gpu_graph graph, gpu_node *from, gpu_node *to,
                              struct gpu_edge_data *data, size_t *num_edges);
    gpu_result (*node_kernel)(gpu_node node, void *parameters);
    gpu_result (*node_copy)(gpu_node node, void *parameters);
    gpu_result (*node_fill)(gpu_node node, void *parameters);
    gpu_result (*node_host)(gpu_node node, void *parameters);
    gpu_result (*node_child)(gpu_node node, gpu_graph *child);
    gpu_result (*node_record)(gpu_node node, gpu_event *event);
    gpu_result (*node_wait)(gpu_node node, gpu_event *event);
    gpu_result (*node_operations)(gpu_node node, void *parameters);
    gpu_result (*node_signal)(gpu_node node, void *parameters);
    gpu_result (*node_await)(gpu_node node, void *parameters);
    gpu_result (*node_allocation)(gpu_node node, void *parameters);
    gpu_result (*node_free)(gpu_node node, void **memory);
    gpu_result (*node_attribute)(gpu_node node, int attribute, union gpu_attribute_value *value);
    gpu_result (*graph_instantiate)(gpu_executable *executable, gpu_graph graph,
                                    unsigned long long flags);
    gpu_result (*executable_destroy)(gpu_executable executable);
    gpu_result (*executable_launch)(gpu_executable executable, gpu_stream stream);
    gpu_result (*executable_set_kernel)(gpu_executable executable, gpu_node node,
                                        const void *parameters);
    gpu_result (*executable_set_copy)(gpu_executable executable, gpu_node node,
                                      const void *parameters, gpu_context context);
    gpu_result (*executable_set_fill)(gpu_executable executable, gpu_node node,
                                      const void *parameters, gpu_context context);
    gpu_result (*executable_set_host)(gpu_executable executable, gpu_node node,
                                      const void *parameters);
    gpu_result (*executable_set_child)(gpu_executable executable, gpu_node node, gpu_graph child);
    gpu_result (*node_set_enabled)(gpu_executable executable, gpu_node node, unsigned enabled);

    // Captures and errors
    gpu_result (*capture_begin)(gpu_stream stream, int mode);
    gpu_result (*capture_end)(gpu_stream stream, gpu_graph *graph);
    gpu_result (*graph_destroy)(gpu_graph graph);
    gpu_result (*stream_is_capturing)(gpu_stream stream, int *status); // 0: it is not
    // The capture's graph, and its nodes that the stream's next work is behind.
    gpu_result (*capture_info)(gpu_stream stream, int *status, uint64_t *id, gpu_graph *graph,
                               const gpu_node **after, const struct gpu_edge_data **data,
                               size_t *num_after); // CUDA
    gpu_result (*capture_go_on)(gpu_stream stream, gpu_node *after,
                                const struct gpu_edge_data *data, size_t num_after,
                                unsigned flags); // CUDA
    gpu_result (*exchange_capture_mode)(int *mode);
    gpu_result (*hip_peek_error)(void); // HIP: the thread's last error
    gpu_result (*hip_take_error)(void); // HIP: the same, which is none from then on
};

// The run-time compiler, NVRTC or hiprtc: the same calls under two names.
typedef struct gpu_compilation_handle *gpu_compilation;

struct gpu_compiler_api {
    gpu_result (*create)(gpu_compilation *program, const char *source, const char *name,
                         int num_headers, const char *const *headers, const char *const *names);
    gpu_result (*compile)(gpu_compilation program, int num_options, const char *const *options);
    gpu_result (*destroy)(gpu_compilation *program);
    gpu_result (*log_bytes)(gpu_compilation program, size_t *bytes);
    gpu_result (*log)(gpu_compilation program, char *log);
    gpu_result (*code_bytes)(gpu_compilation program, size_t *bytes);
    gpu_result (*code)(gpu_compilation program, char *code);
    gpu_result (*text_bytes)(gpu_compilation program, size_t *bytes); // CUDA: PTX
    gpu_result (*text)(gpu_compilation program, char *text);          // CUDA: PTX
    gpu_result (*num_architectures)(int *count);                      // CUDA
    gpu_result (*architectures)(int *architectures);                  // CUDA
    gpu_result (*version)(int *major, int *minor);
    gpu_result (*add_expression)(gpu_compilation program, const char *expression);
    gpu_result (*lowered_name)(gpu_compilation program, const char *expression, const char **name);
    const char *(*error_string)(gpu_result result);
};

// nvJitLink, which makes machine code of text. CUDA only.
typedef struct gpu_assembly_handle *gpu_assembly;

struct gpu_assembler_api {
    gpu_result (*create)(gpu_assembly *assembly, uint32_t num_options, const char *const *options);
    gpu_result (*destroy)(gpu_assembly *assembly);
    gpu_result (*add)(gpu_assembly assembly, int kind, const void *data, size_t bytes,
                      const char *name);
    gpu_result (*complete)(gpu_assembly assembly);
    gpu_result (*code_bytes)(gpu_assembly assembly, size_t *bytes);
    gpu_result (*code)(gpu_assembly assembly, void *code);
    gpu_result (*log_bytes)(gpu_assembly assembly, size_t *bytes);
    gpu_result (*log)(gpu_assembly assembly, char *log);
    gpu_result (*version)(unsigned *major, unsigned *minor); // since 12.3
};

#endif

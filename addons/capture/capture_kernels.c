// SPDX-License-Identifier: Apache-2.0
// The kernels of a capture: names and code.
#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "base/pointer_map.h"
#include "capture/capture.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Behind both tables, and the bytes of all sections.
static uint64_t elf_bytes(const unsigned char *data)
{
    Elf64_Ehdr head;
    Elf64_Shdr section;
    memcpy(&head, data, sizeof(head));
    uint64_t end = larger(head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize,
                          head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize);
    for (uint32_t i = 0; i < head.e_shnum && head.e_shentsize == sizeof(section); i++) {
        memcpy(&section, data + head.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS)
            end = larger(end, section.sh_offset + section.sh_size);
    }
    return end;
}

static bool is_text(const unsigned char *data)
{
    return data[0] && strchr("./ \t\r\n", data[0]);
}

// Without the zero at the end of a text. 0: not known.
static uint64_t image_bytes(const braid_image *image)
{
    const unsigned char *data = image->data;
    if (is_text(data))
        return strnlen(image->data, image->bytes ? image->bytes : SIZE_MAX);
    if (image->bytes)
        return image->bytes;
    return memcmp(data, ELFMAG, SELFMAG) == 0 ? elf_bytes(data) : 0;
}

// A loaded function is no code that a file could hold.
static braid_status check_kernel(const struct capture *capture, uint32_t node,
                                 const braid_kernel *kernel)
{
    const braid_image *images[] = { &kernel->cuda, &kernel->hip };
    bool has_code = kernel->cpu || kernel->source;
    if (kernel->user && strcmp(capture->exec->device->backend->ops->name, "cpu") == 0)
        return braid_error(BRAID_UNSUPPORTED,
                           "node %s: its kernel has data of the program at braid_kernel.user, "
                           "which a capture cannot hold",
                           braid_node_text(node, kernel->name).text);
    for (int i = 0; i < 2; i++) {
        if (images[i]->data && !image_bytes(images[i]))
            return braid_error(
                BRAID_UNSUPPORTED,
                "node %s: its kernel's image has no braid_image.bytes, so its size is not known",
                braid_node_text(node, kernel->name).text);
        has_code = has_code || images[i]->data;
    }
    return has_code
               ? BRAID_OK
               : braid_error(
                     BRAID_UNSUPPORTED,
                     "node %s: its kernel is a loaded function, whose code a capture cannot hold",
                     braid_node_text(node, braid_graph_name(capture->graph, node)).text);
}

static braid_status add_kernel(struct capture *capture, struct pointer_map *map, uint32_t node)
{
    const braid_kernel *kernel = graph_kernel_of(capture->graph, node)->kernel;
    capture->kernel_of[node] = braid_pointer_map_get(map, kernel);
    if (capture->kernel_of[node] != POINTER_MAP_NONE)
        return BRAID_OK;
    const braid_kernel **slot = braid_array_append(&capture->kernels, 1, sizeof(*slot));
    if (!slot || !braid_pointer_map_reserve(map))
        return braid_error_no_memory("a capture");
    *slot = kernel;
    capture->kernel_of[node] = (uint32_t)capture->kernels.num - 1;
    braid_pointer_map_put(map, kernel, capture->kernel_of[node]);
    return check_kernel(capture, node, kernel);
}

braid_status braid_capture_find_kernels(struct capture *capture)
{
    uint32_t num = graph_num_nodes(capture->graph);
    struct pointer_map map = { 0 };
    braid_status status = BRAID_OK;
    capture->kernel_of = braid_allocate_zeroed(num, sizeof(*capture->kernel_of));
    if (!capture->kernel_of)
        return braid_error_no_memory("a capture");
    for (uint32_t i = 0; i < num && !status; i++) {
        if (graph_nodes(capture->graph)[i].kind == WORK_KERNEL)
            status = add_kernel(capture, &map, i);
    }
    braid_pointer_map_finish(&map);
    return status;
}

static void put_texts(struct capture_file *file, const char *const *texts, size_t num)
{
    braid_capture_put_number(file, num, 4);
    for (size_t i = 0; i < num; i++)
        braid_capture_put_text(file, texts[i]);
}

static void put_image(struct capture_file *file, const braid_image *image)
{
    uint64_t bytes = image->data ? image_bytes(image) : 0;
    uint32_t num_zeros = image->data && is_text(image->data);
    braid_capture_put_text(file, image->entry);
    braid_capture_put_size(file, bytes + num_zeros);
    braid_capture_put(file, image->data, bytes);
    braid_capture_put_number(file, 0, num_zeros);
}

static void put_kernel(struct capture_file *file, const braid_kernel *kernel)
{
    braid_capture_put_text(file, kernel->name);
    braid_capture_put_number(file, kernel->programmatic, 1);
    braid_capture_put_text(file, kernel->source);
    braid_capture_put_text(file, kernel->name_expression);
    put_texts(file, kernel->options, kernel->num_options);
    put_texts(file, kernel->include_folders, kernel->num_include_folders);
    braid_capture_put_number(file, kernel->num_headers, 4);
    for (size_t i = 0; i < kernel->num_headers; i++) {
        braid_capture_put_text(file, kernel->headers[i].name);
        braid_capture_put_text(file, kernel->headers[i].text);
    }
    put_image(file, &kernel->cuda);
    put_image(file, &kernel->hip);
}

void braid_capture_put_kernels(struct capture *capture)
{
    braid_capture_begin_section(&capture->file, "KERN");
    braid_capture_put_number(&capture->file, capture->kernels.num, 4);
    for (size_t i = 0; i < capture->kernels.num; i++)
        put_kernel(&capture->file, ((const braid_kernel **)capture->kernels.items)[i]);
    braid_capture_end_section(&capture->file);
}

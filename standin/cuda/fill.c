// SPDX-License-Identifier: Apache-2.0
// Entry points that fill memory with a value, at once or in a stream.
#include "copy.h"
#include "entry.h"
#include "stream.h"

CUresult fill_from_node(const CUDA_MEMSET_NODE_PARAMS *fill, struct work *out_work)
{
    if (fill == NULL || fill->width == 0 || fill->height == 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = { .kind = WORK_FILL };
    work.fill = (struct fill){ .to = (char *)(uintptr_t)fill->dst,
                               .pitch = fill->pitch,
                               .width = fill->width,
                               .height = fill->height,
                               .value = fill->value,
                               .element_bytes = fill->elementSize };
    *out_work = work;
    return CUDA_SUCCESS;
}

// Rows of equal elements, `pitch` bytes apart. With one row, the pitch has no meaning; driver 580
// tells it of a captured fill all the same.
struct rows {
    CUdeviceptr to;
    size_t pitch, width, height;
};

static CUresult check_rows(const struct rows *rows, unsigned element_bytes)
{
    bool apart = rows->height <= 1 ||
                 (rows->pitch % element_bytes == 0 && rows->pitch / element_bytes >= rows->width);
    return apart && rows->to % element_bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult queue_rows(const char *function, struct rows rows, unsigned value,
                           unsigned element_bytes, bool wait, CUstream stream)
{
    CUresult result = entry_begin_in_context(function);
    if (result == CUDA_SUCCESS)
        result = check_rows(&rows, element_bytes);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_FILL };
    work.fill = (struct fill){ .to = (char *)(uintptr_t)rows.to,
                               .pitch = rows.pitch,
                               .width = rows.width,
                               .height = rows.height,
                               .value = value,
                               .element_bytes = element_bytes };
    return wait ? stream_queue_and_wait(stream, &work) : stream_queue(stream, &work);
}

static CUresult queue_fill(const char *function, CUdeviceptr to, unsigned value,
                           unsigned element_bytes, size_t count, bool wait, CUstream stream)
{
    const struct rows row = { to, 0, count, 1 };
    return queue_rows(function, row, value, element_bytes, wait, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
    return queue_fill(__func__, to, value, 1, count, true, NULL);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
    return queue_fill(__func__, to, value, 2, count, true, NULL);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count)
{
    return queue_fill(__func__, to, value, 4, count, true, NULL);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return queue_fill(__func__, to, value, 1, count, false, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return queue_fill(__func__, to, value, 2, count, false, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return queue_fill(__func__, to, value, 4, count, false, stream);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t height)
{
    const struct rows rows = { to, pitch, width, height };
    return queue_rows(__func__, rows, value, 1, true, NULL);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                          size_t height)
{
    const struct rows rows = { to, pitch, width, height };
    return queue_rows(__func__, rows, value, 2, true, NULL);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
    const struct rows rows = { to, pitch, width, height };
    return queue_rows(__func__, rows, value, 4, true, NULL);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream)
{
    const struct rows rows = { to, pitch, width, height };
    return queue_rows(__func__, rows, value, 1, false, stream);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream)
{
    const struct rows rows = { to, pitch, width, height };
    return queue_rows(__func__, rows, value, 2, false, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream)
{
    const struct rows rows = { to, pitch, width, height };
    return queue_rows(__func__, rows, value, 4, false, stream);
}

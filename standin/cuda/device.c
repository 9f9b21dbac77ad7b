// SPDX-License-Identifier: Apache-2.0
// Initialisation, the list of devices with their attributes, and the names of errors.
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "entry.h"
#include "pool.h"
#include "settings.h"

CUresult cuInit(unsigned flags)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (setting(SETTING_DEVICES) == 0)
        return CUDA_ERROR_NO_DEVICE;
    entry_set_initialised();
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *out_version)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out_version = (int)setting(SETTING_VERSION);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *out_count)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out_count = (int)setting(SETTING_DEVICES);
    return CUDA_SUCCESS;
}

// The start of every query about a device.
static CUresult begin_query(const char *function, const void *out, CUdevice device)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return context_of_device(device) == NULL ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out_device, int ordinal)
{
    CUresult result = begin_query(__func__, out_device, ordinal);
    if (result == CUDA_SUCCESS)
        *out_device = ordinal;
    return result;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    CUresult result = begin_query(__func__, name, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (bytes < 1)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "Braid stand-in %d", device);
    return CUDA_SUCCESS;
}

static void fill_uuid(CUuuid *uuid, CUdevice device)
{
    *uuid = (CUuuid){ .bytes = "standin" };
    uuid->bytes[15] = (char)device;
}

CUresult cuDeviceGetUuid(CUuuid *out_uuid, CUdevice device)
{
    CUresult result = begin_query(__func__, out_uuid, device);
    if (result == CUDA_SUCCESS)
        fill_uuid(out_uuid, device);
    return result;
}

CUresult cuDeviceGetUuid_v2(CUuuid *out_uuid, CUdevice device)
{
    CUresult result = begin_query(__func__, out_uuid, device);
    if (result == CUDA_SUCCESS)
        fill_uuid(out_uuid, device);
    return result;
}

CUresult cuDeviceTotalMem_v2(size_t *out_bytes, CUdevice device)
{
    CUresult result = begin_query(__func__, out_bytes, device);
    if (result == CUDA_SUCCESS)
        *out_bytes = (size_t)setting(SETTING_MEMORY);
    return result;
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    CUresult result = begin_query(__func__, id, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (bytes < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(id, (size_t)bytes, "0000:%02x:00.0", device & 0xff);
    return CUDA_SUCCESS;
}

// Between any two of the devices, or none.
CUresult cuDeviceCanAccessPeer(int *out_can, CUdevice device, CUdevice peer)
{
    CUresult result = begin_query(__func__, out_can, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (context_of_device(peer) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    *out_can = device != peer && setting(SETTING_PEERS) != 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out_value, CUdevice_attribute attribute, CUdevice device)
{
#define ANSWER(name, number, answer) { name, answer },
    static const struct {
        CUdevice_attribute attribute;
        int value;
    } answers[] = { CUDA_ABI_ATTRIBUTES(ANSWER) };
#undef ANSWER
    CUresult result = begin_query(__func__, out_value, device);
    if (result != CUDA_SUCCESS)
        return result;
    if ((int)attribute < 1)
        return CUDA_ERROR_INVALID_VALUE;
    int value = 0; // attributes the stand-in does not know: the feature is absent
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        if (answers[i].attribute == attribute)
            value = answers[i].value;
    if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        value = (int)setting(SETTING_MULTIPROCESSORS);
    *out_value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device : value;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out_pool, CUdevice device)
{
    CUresult result = begin_query(__func__, out_pool, device);
    if (result == CUDA_SUCCESS)
        *out_pool = pool_of_device(device);
    return result;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out_pool, CUdevice device)
{
    CUresult result = begin_query(__func__, out_pool, device);
    if (result == CUDA_SUCCESS)
        *out_pool = pool_of_device(device);
    return result;
}

// Tables of functions that only NVIDIA's own libraries know. There are none here, and who asks is
// told so: libnvrtc 13 asks where libcuda.so.1 can be opened, and takes a driver without this
// function for one that has given it a table.
CUresult cuGetExportTable(const void **out_table, const CUuuid *id)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    return out_table == NULL || id == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

// The two below are for messages: they are neither counted nor made to fail.
CUresult cuGetErrorName(CUresult error, const char **out_name)
{
#define NAME(name, number) { name, #name },
    static const struct {
        CUresult error;
        const char *name;
    } names[] = { CUDA_ABI_RESULTS(NAME) };
#undef NAME
    if (out_name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].error == error) {
            *out_name = names[i].name;
            return CUDA_SUCCESS;
        }
    *out_name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **out_text)
{
    static const struct {
        CUresult error;
        const char *text;
    } texts[] = {
        { CUDA_SUCCESS, "no error" },
        { CUDA_ERROR_INVALID_VALUE, "invalid argument" },
        { CUDA_ERROR_OUT_OF_MEMORY, "out of memory" },
        { CUDA_ERROR_INVALID_CONTEXT, "invalid device context" },
        { CUDA_ERROR_INVALID_HANDLE, "invalid resource handle" },
        { CUDA_ERROR_NOT_FOUND, "named symbol not found" },
        { CUDA_ERROR_NOT_READY, "device not ready" },
        { CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered" },
    };
    if (out_text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].error == error) {
            *out_text = texts[i].text;
            return CUDA_SUCCESS;
        }
    return cuGetErrorName(error, out_text);
}

// SPDX-License-Identifier: Apache-2.0
// Functions that AMD's runtime needs to find but that fail here: images, sharing, managed memory.
#include "hsa_standin.h"

#include <hsa/hsa_ext_image.h>

hsa_status_t hsa_amd_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t *descriptor,
                                  const hsa_amd_image_descriptor_t *layout, const void *data,
                                  hsa_access_permission_t permission, hsa_ext_image_t *out_image)
{
    (void)agent;
    (void)descriptor;
    (void)layout;
    (void)data;
    (void)permission;
    (void)out_image;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t *descriptor,
                                  const void *data, hsa_access_permission_t permission,
                                  hsa_ext_image_t *out_image)
{
    (void)agent;
    (void)descriptor;
    (void)data;
    (void)permission;
    (void)out_image;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_image_create_with_layout(hsa_agent_t agent,
                                              const hsa_ext_image_descriptor_t *descriptor,
                                              const void *data, hsa_access_permission_t permission,
                                              hsa_ext_image_data_layout_t layout, size_t row_pitch,
                                              size_t slice_pitch, hsa_ext_image_t *out_image)
{
    (void)agent;
    (void)descriptor;
    (void)data;
    (void)permission;
    (void)layout;
    (void)row_pitch;
    (void)slice_pitch;
    (void)out_image;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_image_data_get_info(hsa_agent_t agent,
                                         const hsa_ext_image_descriptor_t *descriptor,
                                         hsa_access_permission_t permission,
                                         hsa_ext_image_data_info_t *out_info)
{
    (void)agent;
    (void)descriptor;
    (void)permission;
    (void)out_info;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t image)
{
    (void)agent;
    (void)image;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t source, void *target,
                                  size_t row_pitch, size_t slice_pitch,
                                  const hsa_ext_image_region_t *region)
{
    (void)agent;
    (void)source;
    (void)target;
    (void)row_pitch;
    (void)slice_pitch;
    (void)region;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void *source, size_t row_pitch,
                                  size_t slice_pitch, hsa_ext_image_t target,
                                  const hsa_ext_image_region_t *region)
{
    (void)agent;
    (void)source;
    (void)row_pitch;
    (void)slice_pitch;
    (void)target;
    (void)region;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_sampler_create(hsa_agent_t agent,
                                    const hsa_ext_sampler_descriptor_t *descriptor,
                                    hsa_ext_sampler_t *out_sampler)
{
    (void)agent;
    (void)descriptor;
    (void)out_sampler;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler)
{
    (void)agent;
    (void)sampler;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_interop_map_buffer(uint32_t num_agents, hsa_agent_t *agents,
                                        int interop_handle, uint32_t flags, size_t *out_num_bytes,
                                        void **out_pointer, size_t *out_metadata_bytes,
                                        const void **out_metadata)
{
    (void)num_agents;
    (void)agents;
    (void)interop_handle;
    (void)flags;
    (void)out_num_bytes;
    (void)out_pointer;
    (void)out_metadata_bytes;
    (void)out_metadata;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_interop_unmap_buffer(void *pointer)
{
    (void)pointer;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_ipc_memory_create(void *pointer, size_t num_bytes,
                                       hsa_amd_ipc_memory_t *out_handle)
{
    (void)pointer;
    (void)num_bytes;
    (void)out_handle;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t *handle, size_t num_bytes,
                                       uint32_t num_agents, const hsa_agent_t *agents,
                                       void **out_pointer)
{
    (void)handle;
    (void)num_bytes;
    (void)num_agents;
    (void)agents;
    (void)out_pointer;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_ipc_memory_detach(void *pointer)
{
    (void)pointer;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_svm_attributes_get(void *pointer, size_t num_bytes,
                                        hsa_amd_svm_attribute_pair_t *attributes,
                                        size_t num_attributes)
{
    (void)pointer;
    (void)num_bytes;
    (void)attributes;
    (void)num_attributes;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_svm_attributes_set(void *pointer, size_t num_bytes,
                                        hsa_amd_svm_attribute_pair_t *attributes,
                                        size_t num_attributes)
{
    (void)pointer;
    (void)num_bytes;
    (void)attributes;
    (void)num_attributes;
    return HSA_STATUS_ERROR;
}

hsa_status_t hsa_amd_svm_prefetch_async(void *pointer, size_t num_bytes, hsa_agent_t agent,
                                        uint32_t num_dependencies, const hsa_signal_t *dependencies,
                                        hsa_signal_t completion)
{
    (void)pointer;
    (void)num_bytes;
    (void)agent;
    (void)num_dependencies;
    (void)dependencies;
    (void)completion;
    return HSA_STATUS_ERROR;
}

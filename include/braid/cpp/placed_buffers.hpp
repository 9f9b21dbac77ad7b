// SPDX-License-Identifier: Apache-2.0
// The bytes of a graph's buffers, so that a container as an argument finds the one that it is.
#ifndef BRAID_CPP_PLACED_BUFFERS_HPP
#define BRAID_CPP_PLACED_BUFFERS_HPP

#include <braid/cpp/task.hpp>
#include <braid/graph.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace braid
{
namespace detail
{
class placed_buffers
{
  public:
    void note(braid_status status, const void *begin, std::uint64_t bytes, braid_resource resource)
    {
        if (status == BRAID_OK && begin)
            known_.push_back({ reinterpret_cast<std::uintptr_t>(begin), bytes, resource });
    }
    braid_status add(braid_graph *graph, const char *name, const void *begin, std::uint64_t bytes,
                     braid_resource &out_resource)
    {
        braid_status status = braid_graph_add_buffer(graph, name, begin, bytes, &out_resource);
        note(status, begin, bytes, out_resource);
        return status;
    }
    // A container becomes the address of its buffer. A part of one stays a pointer, about which
    // only the code tells.
    template <class T>
    void take(braid_graph *graph, slot<T> &arg, braid_code_use &code_use, braid_status &status)
    {
        if constexpr (std::is_pointer_v<T>) {
            if (!arg.is_container || status != BRAID_OK)
                return;
            const extent *const known = find(arg.value, arg.bytes);
            if (!known) {
                const std::string name = "array " + std::to_string(known_.size());
                status = add(graph, name.c_str(), arg.value, arg.bytes, arg.resource);
            } else if (arg.bytes == known->bytes) {
                arg.resource = known->resource;
            } else if (code_use == BRAID_CODE_COMPLETES) {
                code_use = BRAID_CODE_DECLARES;
            }
        }
    }

  private:
    struct extent {
        std::uintptr_t begin;
        std::uint64_t bytes;
        braid_resource resource;
    };
    const extent *find(const void *address, std::uint64_t bytes) const
    {
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        for (const extent &one : known_) {
            if (begin >= one.begin && bytes <= one.bytes && begin - one.begin <= one.bytes - bytes)
                return &one;
        }
        return nullptr;
    }

    std::vector<extent> known_;
};
} // namespace detail

} // namespace braid

#endif

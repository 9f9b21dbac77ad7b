// SPDX-License-Identifier: Apache-2.0
// Imports in C++: graphs that a program captured with CUDA.
#ifndef BRAID_CPP_IMPORT_HPP
#define BRAID_CPP_IMPORT_HPP

#include <braid/cpp/result.hpp>
#include <braid/import.h>

#include <cstdint>
#include <cstdio>
#include <memory>

namespace braid
{

// Copies are the same import, which outlives each exec of its graph.
template <class Errors> class basic_imported
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_imported> create(braid_device *device, void *captured,
                                         const braid_import_options &options = {})
    {
        braid_import *import = nullptr;
        braid_status status = braid_import_create(device, captured, &options, &import);
        return Errors::template from<basic_imported>(status,
                                                     [&] { return basic_imported(import); });
    }
    // The record outlives the import. Without `device` of the options its graph is only there to be
    // planned.
    static result<basic_imported> create_recorded(const braid_record_contents &record,
                                                  std::uint32_t frame = BRAID_RECORD_NONE,
                                                  const braid_import_options &options = {})
    {
        braid_import *import = nullptr;
        braid_status status = braid_import_create_recorded(&record, frame, &options, &import);
        return Errors::template from<basic_imported>(status,
                                                     [&] { return basic_imported(import); });
    }
    braid_graph *graph() const noexcept
    {
        return braid_import_get_graph(get());
    }
    braid_import_info info() const
    {
        braid_import_info info;
        braid_import_get_info(get(), &info);
        return info;
    }
    // Its texts do not count: the code is known.
    result<void> update(void *captured, braid_exec *exec,
                        const braid_import_options &options = {}) const
    {
        return Errors::template from<void>(braid_import_update(get(), captured, &options, exec),
                                           [] {});
    }
    // A recorded frame that can be run has these two.
    result<void> restore() const
    {
        return Errors::template from<void>(braid_import_restore(get()), [] {});
    }
    result<std::uint64_t> memory_digest(std::uint32_t memory) const
    {
        std::uint64_t digest = 0;
        braid_status status = braid_import_get_memory_digest(get(), memory, &digest);
        return Errors::template from<std::uint64_t>(status, [&] { return digest; });
    }
    result<void> write(std::FILE *file, braid_import_report form = BRAID_IMPORT_TEXT) const
    {
        return Errors::template from<void>(braid_import_write(get(), form, file), [] {});
    }
    braid_import *get() const noexcept
    {
        return import_.get();
    }

    const std::shared_ptr<braid_import> &kept() const noexcept
    {
        return import_;
    }

  private:
    explicit basic_imported(braid_import *import) : import_(import, braid_import_destroy)
    {
    }
    std::shared_ptr<braid_import> import_;
};

} // namespace braid

#endif

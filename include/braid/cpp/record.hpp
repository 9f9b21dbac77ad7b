// SPDX-License-Identifier: Apache-2.0
// Records in C++: the work of a CUDA program, frame by frame.
#ifndef BRAID_CPP_RECORD_HPP
#define BRAID_CPP_RECORD_HPP

#include <braid/cpp/result.hpp>
#include <braid/record.h>

#include <cstdint>
#include <memory>
#include <string>

namespace braid
{

// Copies are the same record.
template <class Errors> class basic_record
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_record> load(const std::string &path)
    {
        braid_record *record = nullptr;
        braid_status status = braid_record_load(path.c_str(), &record);
        return Errors::template from<basic_record>(status, [&] { return basic_record(record); });
    }
    static bool mark_frame()
    {
        return braid_record_frame_mark();
    }
    static std::uint64_t digest(const void *bytes, std::uint64_t num)
    {
        return braid_record_get_digest(bytes, num);
    }
    const braid_record_contents &contents() const noexcept
    {
        return *braid_record_get_contents(get());
    }
    braid_record *get() const noexcept
    {
        return record_.get();
    }

  private:
    explicit basic_record(braid_record *record) : record_(record, braid_record_destroy)
    {
    }

    std::shared_ptr<braid_record> record_;
};

} // namespace braid

#endif

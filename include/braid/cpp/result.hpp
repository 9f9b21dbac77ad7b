// SPDX-License-Identifier: Apache-2.0
// How C++ hears of a failure: an exception, or a value that may hold an error.
#ifndef BRAID_CPP_RESULT_HPP
#define BRAID_CPP_RESULT_HPP

#include <braid/status.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace braid
{

// A failure: its status, and the library's line that names the cause.
class error : public std::runtime_error
{
  public:
    explicit error(braid_status status, const std::string &message = braid_error_get_message(),
                   const std::string &details = braid_error_get_details())
        : std::runtime_error(std::string(braid_status_get_name(status)) + ": " + message),
          status_(status), details_(details)
    {
    }
    braid_status status() const noexcept
    {
        return status_;
    }
    const std::string &details() const noexcept
    {
        return details_;
    }

  private:
    braid_status status_;
    std::string details_;
};

namespace detail
{
// Where the program is built without exceptions, asking for a value that is not there ends it.
[[noreturn]] inline void fail(braid_status status, const std::string &message)
{
#if defined(__cpp_exceptions)
    throw error(status, message);
#else
    std::fprintf(stderr, "%s: %s\n", braid_status_get_name(status), message.c_str());
    std::abort();
#endif
}
} // namespace detail

// A value, or why there is none.
template <class T> class [[nodiscard]] expected
{
  public:
    expected(T value) : value_(std::move(value))
    {
    }
    static expected failed(braid_status status,
                           const std::string &message = braid_error_get_message())
    {
        expected result;
        result.status_ = status;
        result.message_ = message;
        return result;
    }

    explicit operator bool() const noexcept
    {
        return value_.has_value();
    }
    braid_status status() const noexcept
    {
        return status_;
    }
    const std::string &message() const noexcept
    {
        return message_;
    }
    T &value() &
    {
        check();
        return *value_;
    }
    T &&value() &&
    {
        check();
        return std::move(*value_);
    }
    T &operator*() &
    {
        return value();
    }
    T &&operator*() &&
    {
        return std::move(*this).value();
    }
    T *operator->()
    {
        return &value();
    }

  private:
    expected() = default;
    void check() const
    {
        if (!value_)
            detail::fail(status_, message_);
    }

    std::optional<T> value_;
    braid_status status_ = BRAID_OK;
    std::string message_;
};

template <> class [[nodiscard]] expected<void>
{
  public:
    expected() = default;
    static expected failed(braid_status status,
                           const std::string &message = braid_error_get_message())
    {
        expected result;
        result.status_ = status;
        result.message_ = message;
        return result;
    }
    explicit operator bool() const noexcept
    {
        return status_ == BRAID_OK;
    }
    braid_status status() const noexcept
    {
        return status_;
    }
    const std::string &message() const noexcept
    {
        return message_;
    }
    void value() const
    {
        if (status_)
            detail::fail(status_, message_);
    }

  private:
    braid_status status_ = BRAID_OK;
    std::string message_;
};

// Policies: the result type of a fallible function, and its conversion from a status. `make` is
// called on success only.
struct throwing {
    template <class T> using result = T;

    template <class T, class Make> static T from(braid_status status, Make &&make)
    {
        if (status)
            detail::fail(status, braid_error_get_message());
        return make();
    }
};

struct returning {
    template <class T> using result = expected<T>;

    template <class T, class Make> static expected<T> from(braid_status status, Make &&make)
    {
        if (status)
            return expected<T>::failed(status);
        if constexpr (std::is_void_v<T>) {
            make();
            return {};
        } else {
            return make();
        }
    }
};

namespace detail
{
// The answer of a query, of which "not yet" is no failure.
template <class Errors> typename Errors::template result<bool> ready(braid_status status)
{
    const bool is_ready = status != BRAID_NOT_READY;
    return Errors::template from<bool>(is_ready ? status : BRAID_OK, [&] { return is_ready; });
}
} // namespace detail

// Elements that belong to another object. Converts to std::span where there is one.
template <class T> class view
{
  public:
    view(T *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }
    T *data() const noexcept
    {
        return data_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    bool empty() const noexcept
    {
        return size_ == 0;
    }
    T *begin() const noexcept
    {
        return data_;
    }
    T *end() const noexcept
    {
        return data_ + size_;
    }
    T &operator[](std::size_t index) const noexcept
    {
        return data_[index];
    }

  private:
    T *data_;
    std::size_t size_;
};

namespace detail
{
// A C object and the function that frees it.
template <class T, auto destroy> class owned
{
  public:
    owned() = default;
    explicit owned(T *object) noexcept : object_(object)
    {
    }
    owned(owned &&other) noexcept : object_(std::exchange(other.object_, nullptr))
    {
    }
    owned &operator=(owned &&other) noexcept
    {
        if (this != &other)
            destroy(std::exchange(object_, std::exchange(other.object_, nullptr)));
        return *this;
    }
    ~owned()
    {
        destroy(object_);
    }

    T *get() const noexcept
    {
        return object_;
    }
    T *release() noexcept
    {
        return std::exchange(object_, nullptr);
    }

  private:
    T *object_ = nullptr;
};

// All of a text that the library cuts to fit: `write` is given a buffer, and its size.
template <class Errors, class Write>
typename Errors::template result<std::string> whole_text(Write write)
{
    std::string text;
    braid_status status = BRAID_OK;
    std::size_t length = 0;
    do {
        text.assign(text.empty() ? 1024 : 4 * text.size(), '\0');
        status = write(&text[0], text.size());
        length = std::char_traits<char>::length(text.c_str());
    } while (status == BRAID_OK && length + 1 == text.size());
    text.resize(length);
    return Errors::template from<std::string>(status, [&] { return std::move(text); });
}
} // namespace detail

} // namespace braid

#endif

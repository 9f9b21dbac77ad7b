// SPDX-License-Identifier: Apache-2.0
// Exceptions of host calls and of kernels on the CPU, kept until a wait throws them.
#ifndef BRAID_CPP_FAILURES_HPP
#define BRAID_CPP_FAILURES_HPP

#include <braid/cpp/result.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace braid
{

// A host call or kernel that threw. `kind` is "host call" or "kernel", `node` its name: a kernel's
// own. `text` comes from its std::exception.
struct failure {
    const char *kind;
    std::string node, text;
    std::exception_ptr exception;
};

// Host calls or kernels threw since the last wait. std::rethrow_if_nested throws the first of their
// exceptions, and failures() has all. The status is that of a trap.
class host_call_error : public error, public std::nested_exception
{
  public:
    explicit host_call_error(std::vector<failure> all)
        : error(BRAID_TRAPPED, line_of(all), ""), failures_(std::move(all))
    {
    }
    const std::string &node() const noexcept
    {
        return failures_[0].node;
    }
    const std::vector<failure> &failures() const noexcept
    {
        return failures_;
    }
    static std::string line_of(const std::vector<failure> &all)
    {
        const failure &first = all[0];
        std::string line = std::string(first.kind) + " '" + first.node + "' threw: " + first.text;
        if (all.size() > 1)
            line += " (and " + std::to_string(all.size() - 1) + " more)";
        return line;
    }

  private:
    std::vector<failure> failures_;
};

namespace detail
{
// Thread-safety: any thread.
class thrown
{
  public:
    thrown() = default;
    thrown(const thrown &) = delete;
    thrown &operator=(const thrown &) = delete;
    // Nobody waited for these.
    ~thrown()
    {
        for (const failure &one : list_)
            std::fprintf(stderr, "braid: %s '%s' threw: %s\n", one.kind, one.node.c_str(),
                         one.text.c_str());
    }
    // Makes a call whose exception it keeps.
    template <class Call> void guard(const char *kind, const std::string &node, Call &&call)
    {
#if defined(__cpp_exceptions)
        try {
            call();
        } catch (const std::exception &exception) {
            add({ kind, node, exception.what(), std::current_exception() });
        } catch (...) {
            add({ kind, node, "an exception of another type", std::current_exception() });
        }
#else
        static_cast<void>(kind), static_cast<void>(node);
        call();
#endif
    }
    void watch(std::shared_ptr<thrown> kernel)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        kernels_.insert(std::move(kernel));
    }
    std::vector<failure> take()
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::vector<failure> taken;
        if (any_.exchange(false))
            taken.swap(list_);
        for (const std::shared_ptr<thrown> &kernel : kernels_)
            if (kernel->any_)
                for (failure &one : kernel->take())
                    taken.push_back(std::move(one));
        return taken;
    }

  private:
    void add(failure one)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        list_.push_back(std::move(one));
        any_ = true;
    }
    std::mutex mutex_;
    std::atomic<bool> any_{ false };
    std::vector<failure> list_;
    std::set<std::shared_ptr<thrown>> kernels_;
};

// A host function's user.
template <class Call> struct guarded {
    Call call;
    std::string node;
    std::shared_ptr<thrown> failures;

    static void run(void *user) noexcept
    {
        auto *own = static_cast<guarded *>(user);
        own->failures->guard("host call", own->node, own->call);
    }
};

template <class T> T throw_all(throwing, std::vector<failure> all)
{
#if defined(__cpp_exceptions)
    try {
        std::rethrow_exception(all[0].exception);
    } catch (...) {
        throw host_call_error(std::move(all)); // with the other one nested in it
    }
#else
    fail(BRAID_TRAPPED, host_call_error::line_of(all)); // no call is guarded
#endif
}
template <class T> expected<T> throw_all(returning, const std::vector<failure> &all)
{
    return expected<T>::failed(BRAID_TRAPPED, host_call_error::line_of(all));
}

// All that execs of a graph keep alive, and the exceptions of its calls, which an import has not.
struct kept : std::vector<std::shared_ptr<const void>> {
    std::shared_ptr<thrown> failures;
};

// A wait's result. Another failure than a limit of time is told alone: the next wait throws.
template <class Errors, class T, class Make>
typename Errors::template result<T> waited(const kept &what, braid_status status, Make &&make)
{
    if ((status == BRAID_OK || status == BRAID_TIMEOUT) && what.failures) {
        std::vector<failure> all = what.failures->take();
        if (!all.empty())
            return throw_all<T>(Errors(), std::move(all));
    }
    return Errors::template from<T>(status, std::forward<Make>(make));
}
} // namespace detail

} // namespace braid

#endif

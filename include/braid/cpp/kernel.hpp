// SPDX-License-Identifier: Apache-2.0
// Kernels whose arguments have types, from a lambda, a function or source.
#ifndef BRAID_CPP_KERNEL_HPP
#define BRAID_CPP_KERNEL_HPP

#include <braid/cpp/failures.hpp>
#include <braid/kernel.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid
{

namespace detail
{
template <class T>
inline constexpr bool is_argument_v =
    std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !std::is_reference_v<T>;

template <class... Args> struct kernel_state {
    braid_kernel kernel = {};
    std::string name, source, expression;
    std::deque<std::string> texts; // that stay where they are
    std::vector<const char *> options, folders;
    std::vector<braid_header> headers;
    std::function<void(const braid_blocks &, Args...)> body;
    thrown failures;
};

template <class... Args, std::size_t... I>
void call_body(const braid_blocks *blocks, void *const *args, std::index_sequence<I...>)
{
    auto *state = static_cast<kernel_state<Args...> *>(blocks->user);
    state->failures.guard("kernel", state->name, [&] {
        state->body(*blocks, *static_cast<const Args *>(args[I])...);
        static_cast<void>(args);
    });
}

template <class... Args> void run_body(const braid_blocks *blocks, void *const *args) noexcept
{
    call_body<Args...>(blocks, args, std::index_sequence_for<Args...>());
}
} // namespace detail

// A kernel with arguments of these types: kernel<void(float *, int)>. Copies share one kernel;
// graphs and execs keep it alive. Give the types of its source, since a GPU sees only bytes.
template <class Signature> class kernel;

template <class... Args> class kernel<void(Args...)>
{
    static_assert((detail::is_argument_v<Args> && ...),
                  "arguments are copied as bytes: plain values and pointers, no arrays, references "
                  "or classes that own something");

  public:
    // Code for GPUs only, to be added with source() or image functions.
    explicit kernel(const char *name) : state_(std::make_shared<detail::kernel_state<Args...>>())
    {
        state_->name = name;
        state_->kernel.name = state_->name.c_str();
    }

    // And code for the CPU: a function of the blocks to do and the arguments.
    template <class Body, class = std::enable_if_t<
                              std::is_invocable_v<const Body &, const braid_blocks &, Args...>>>
    kernel(const char *name, Body body) : kernel(name)
    {
        state_->body = std::move(body);
        state_->kernel.cpu = detail::run_body<Args...>;
        state_->kernel.user = state_.get();
    }

    // To be called, as all that follow, before the kernel is given to a graph.
    kernel &source(std::string text)
    {
        state_->source = std::move(text);
        state_->kernel.source = state_->source.c_str();
        return *this;
    }
    kernel &option(std::string text)
    {
        state_->options.push_back(state_->texts.emplace_back(std::move(text)).c_str());
        state_->kernel.options = state_->options.data();
        state_->kernel.num_options = state_->options.size();
        return *this;
    }
    kernel &include_folder(std::string path)
    {
        state_->folders.push_back(state_->texts.emplace_back(std::move(path)).c_str());
        state_->kernel.include_folders = state_->folders.data();
        state_->kernel.num_include_folders = state_->folders.size();
        return *this;
    }
    kernel &header(std::string name, std::string text)
    {
        const char *kept = state_->texts.emplace_back(std::move(name)).c_str();
        state_->headers.push_back({ kept, state_->texts.emplace_back(std::move(text)).c_str() });
        state_->kernel.headers = state_->headers.data();
        state_->kernel.num_headers = state_->headers.size();
        return *this;
    }
    kernel &name_expression(std::string text)
    {
        state_->expression = std::move(text);
        state_->kernel.name_expression = state_->expression.c_str();
        return *this;
    }
    kernel &cuda(const braid_image &image)
    {
        state_->kernel.cuda = image;
        return *this;
    }
    kernel &hip(const braid_image &image)
    {
        state_->kernel.hip = image;
        return *this;
    }

    const braid_kernel *get() const noexcept
    {
        return &state_->kernel;
    }
    std::shared_ptr<const void> keep() const noexcept
    {
        return state_;
    }
    // The body's exceptions.
    std::shared_ptr<detail::thrown> failures() const noexcept
    {
        return { state_, &state_->failures };
    }

  private:
    std::shared_ptr<detail::kernel_state<Args...>> state_;
};

namespace detail
{
struct no_kernel;

template <class Call> struct arguments_of {
    using type = no_kernel;
};
template <class Class, class... Args>
struct arguments_of<void (Class::*)(const braid_blocks &, Args...) const> {
    using type = void(Args...);
};
template <class Class, class... Args>
struct arguments_of<void (Class::*)(const braid_blocks &, Args...) const noexcept> {
    using type = void(Args...);
};

// A class with several call operators, or with one that is a template, has no one type.
template <class Body, class = void> struct body_of : arguments_of<Body> {
};
template <class Body>
struct body_of<Body, std::void_t<decltype(&Body::operator())>>
    : arguments_of<decltype(&Body::operator())> {
};
template <class... Args> struct body_of<void (*)(const braid_blocks &, Args...)> {
    using type = void(Args...);
};
} // namespace detail

// The result for anything else: one error of the compiler.
template <> class kernel<detail::no_kernel>
{
  public:
    template <class Body> kernel(const char *, const Body &)
    {
        static_assert(!sizeof(Body *),
                      "a kernel is a function (const braid_blocks &, arguments by value...) that "
                      "returns nothing: no auto among its parameters, and no 'mutable'");
    }
};

// kernel("scale", [=](const braid_blocks &blocks, float *x, float factor) { ... }) knows its types.
template <class Body> kernel(const char *, Body) -> kernel<typename detail::body_of<Body>::type>;

} // namespace braid

#endif

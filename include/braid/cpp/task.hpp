// SPDX-License-Identifier: Apache-2.0
// Descriptions of nodes in C++: accesses, shapes, arguments, ends.
#ifndef BRAID_CPP_TASK_HPP
#define BRAID_CPP_TASK_HPP

#include <braid/graph.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid
{

// The name, cost, accesses and predecessors of a node: task("blur").reads(a).writes(b).
class task
{
  public:
    task(const char *name = nullptr)
    {
        options_.name = name;
    }
    task(const task &) = default;
    task(task &&) noexcept = default;
    task &operator=(task other) noexcept
    {
        std::swap(options_, other.options_);
        after_.swap(other.after_);
        accesses_.swap(other.accesses_);
        return *this;
    }

    task &reads(braid_resource resource)
    {
        return touches(resource, BRAID_READ);
    }
    task &writes(braid_resource resource)
    {
        return touches(resource, BRAID_WRITE);
    }
    task &updates(braid_resource resource)
    {
        return touches(resource, BRAID_READ_WRITE);
    }
    task &accumulates(braid_resource resource)
    {
        return touches(resource, BRAID_ACCUMULATE);
    }
    task &excludes(braid_resource resource)
    {
        return touches(resource, BRAID_EXCLUSIVE);
    }
    task &touches(braid_resource resource, braid_access_mode mode)
    {
        accesses_.push_back({ resource, mode });
        return *this;
    }
    task &after(braid_node node)
    {
        after_.push_back(node);
        return *this;
    }
    task &cost(std::uint64_t ns)
    {
        options_.cost_ns = ns;
        return *this;
    }
    task &lane(std::uint32_t hint)
    {
        options_.lane_hint = hint;
        return *this;
    }
    task &on(std::uint32_t place)
    {
        options_.place = place;
        return *this;
    }
    task &prelude_of(braid_node main)
    {
        options_.prelude_of = main;
        return *this;
    }
    task &epilogue_of(braid_node main)
    {
        options_.epilogue_of = main;
        return *this;
    }

    // Valid as long as the task, and until it changes.
    braid_node_options options() const
    {
        braid_node_options options = options_;
        options.after = after_.data();
        options.num_after = after_.size();
        options.accesses = accesses_.data();
        options.num_accesses = accesses_.size();
        return options;
    }

  private:
    braid_node_options options_ = {};
    std::vector<braid_node> after_;
    std::vector<braid_access> accesses_;
};

// The blocks of a kernel, of one to three sizes. With a size of 0 the kernel does nothing. A
// braid_dim3 may leave out y and z together.
struct grid_size {
    std::uint32_t x, y, z;

    grid_size(std::uint32_t columns, std::uint32_t rows = 1, std::uint32_t planes = 1)
        : x(columns), y(rows), z(planes)
    {
    }
    grid_size(braid_dim3 size)
        : x(size.x), y(size.y || size.z ? size.y : 1), z(size.y || size.z ? size.z : 1)
    {
    }
    operator braid_dim3() const
    {
        return { x, y, y || z ? z : 1 }; // for C, a y and z of 0 are left out
    }
};

// How a kernel is launched: 64 is 64 blocks, and 0 is none.
struct shape {
    grid_size grid = 1;
    braid_dim3 block = {};
    std::uint32_t shared_bytes = 0;
    std::int32_t priority = 0;
    braid_dim3 cluster = {};
    const void *grid_from = nullptr; // as in braid_kernel_node
    braid_resource grid_from_resource = {};
    braid_code_use code_use = BRAID_CODE_COMPLETES;
    bool cooperative = false;

    shape() = default;
    shape(std::uint32_t blocks) : grid(blocks)
    {
    }
    shape(grid_size blocks, braid_dim3 threads, std::uint32_t shared = 0)
        : grid(blocks), block(threads), shared_bytes(shared)
    {
    }
    // The device reads the grid when the node's turn comes; `grid` is the largest.
    shape &from(const void *counts)
    {
        grid_from = counts;
        return *this;
    }
    shape &from(braid_resource counts)
    {
        grid_from_resource = counts;
        return *this;
    }
    // All blocks run at once: braid_kernel_node.cooperative.
    shape &all_at_once()
    {
        cooperative = true;
        return *this;
    }
    // shape(64).code(BRAID_CODE_UNREAD)
    shape &code(braid_code_use use)
    {
        code_use = use;
        return *this;
    }
};

// A kernel node that knows the types of its arguments, for basic_exec::set_arg.
template <class... Args> struct kernel_node : braid_node {
};

template <class T> struct typed_parameter : braid_parameter {
};

// A resource whose memory has elements of one type: kernels take it as a pointer to those.
template <class T> struct typed_resource : braid_resource {
};

// A resource as a kernel's argument, with its access to it. `void`: of any type.
template <class T, braid_access_mode mode> struct accessed {
    braid_resource resource;
};

// An argument that is an access as well. For an input the kernel takes a pointer to const, else one
// to elements that it can write, or this does not compile.
template <class T> accessed<T, BRAID_READ> in(const typed_resource<T> &resource)
{
    return { resource };
}
template <class T> accessed<T, BRAID_WRITE> out(const typed_resource<T> &resource)
{
    return { resource };
}
template <class T> accessed<T, BRAID_READ_WRITE> inout(const typed_resource<T> &resource)
{
    return { resource };
}
inline accessed<void, BRAID_READ> in(const braid_resource &resource)
{
    return { resource };
}
inline accessed<void, BRAID_WRITE> out(const braid_resource &resource)
{
    return { resource };
}
inline accessed<void, BRAID_READ_WRITE> inout(const braid_resource &resource)
{
    return { resource };
}

// An end of a copy or fill: memory of the program, or a resource.
template <class Pointer> struct operand {
    Pointer address = nullptr;
    braid_resource resource = {};

    operand(Pointer memory) : address(memory)
    {
    }
    operand(braid_resource whole) : resource(whole)
    {
    }
    template <class T> operand(const typed_resource<T> &whole) : resource(whole)
    {
        using element = std::remove_cv_t<std::remove_pointer_t<Pointer>>;
        static_assert(std::is_void_v<element> || std::is_same_v<element, T>,
                      "the resource has elements of another type");
    }
};

// As an argument: BRAID_TRAP.
struct trap {
};

namespace detail
{
// The bytes of a plain value as a number.
template <class T> std::uint32_t fill_bits(const T &value) noexcept
{
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                      (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4),
                  "fills are of plain values of 1, 2 or 4 bytes: fill larger elements of a "
                  "resource as a braid_resource");
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>
        bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

// Whether T{ value } compiles. In a system header compilers let narrowing pass in silence, and only
// this question gets the answer of the standard.
template <class T, class Value, class = void> inline constexpr bool is_kept_v = false;
template <class T, class Value>
inline constexpr bool is_kept_v<T, Value, std::void_t<decltype(T{ std::declval<Value>() })>> = true;

template <class T, class Value> T converted(Value &&value)
{
    static_assert(is_kept_v<T, Value>,
                  "the kernel's argument has another type, to which this value does not convert "
                  "without a loss: give a value of that type, such as static_cast<float>(value)");
    if constexpr (is_kept_v<T, Value>)
        return T{ std::forward<Value>(value) };
    else
        return T{};
}

template <class T>
inline constexpr bool shares_elements_v =
    std::is_trivially_copyable_v<T> && !std::is_aggregate_v<T>;
template <class T> inline constexpr bool shares_elements_v<std::initializer_list<T>> = false;
template <class T> using if_resource = std::enable_if_t<std::is_base_of_v<braid_resource, T>>;

template <class... Values> inline constexpr bool is_task_first_v = false;
template <class... Rest> inline constexpr bool is_task_first_v<task, Rest...> = true;

template <class Value> struct resource_of {
    static constexpr bool is_resource = std::is_base_of_v<braid_resource, Value>;
};
template <class Element> struct resource_of<typed_resource<Element>> {
    static constexpr bool is_resource = true;
    using type = Element;
};
template <class Element, braid_access_mode mode> struct resource_of<accessed<Element, mode>> {
    static constexpr bool is_resource = true;
    using type = Element;
};
template <class T, class Value, class = void> inline constexpr bool fits_v = true;
template <class T, class Value>
inline constexpr bool fits_v<T, Value, std::void_t<typename resource_of<Value>::type>> =
    std::is_void_v<typename resource_of<Value>::type> ||
    std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, typename resource_of<Value>::type>;

// A container, a C array apart, which is a pointer already.
template <class Value, class = void> inline constexpr bool is_container_v = false;
template <class Value>
inline constexpr bool
    is_container_v<Value, std::void_t<decltype(std::data(std::declval<const Value &>())),
                                      decltype(std::size(std::declval<const Value &>()))>> =
        !std::is_array_v<Value>;

// An argument of a kernel: a value, or the address of a resource, perhaps with an access to it.
template <class T> struct slot {
    T value = {};
    braid_resource resource = {};
    braid_access_mode mode = {};
    bool is_trap = false;
    bool is_container = false; // with so many bytes at the value
    std::uint64_t bytes = 0;

    template <class Value> static slot of(Value &&value)
    {
        using given = std::decay_t<Value>;
        if constexpr (std::is_same_v<given, trap>) {
            static_assert(std::is_same_v<T, braid_trap *>, "the kernel takes a braid_trap *");
            return { {}, {}, {}, true };
        } else if constexpr (is_container_v<std::remove_cv_t<std::remove_reference_t<Value>>> &&
                             std::is_pointer_v<T> && !is_kept_v<T, Value>) {
            static_assert(std::is_lvalue_reference_v<Value> || shares_elements_v<given>,
                          "a kernel's argument is a temporary, which is gone when the kernel runs");
            return elements(value);
        } else if constexpr (resource_of<given>::is_resource) {
            static_assert(std::is_pointer_v<T>, "a resource's address is a pointer");
            static_assert(!std::is_pointer_v<T> || fits_v<T, given>,
                          "the kernel takes a pointer to another type than the resource's");
            return from(value);
        } else {
            return { converted<T>(std::forward<Value>(value)), {}, {} };
        }
    }
    template <class Container> static slot elements(Container &all)
    {
        constexpr bool fits = std::is_convertible_v<decltype(std::data(all)), T>;
        static_assert(fits, "the kernel takes a pointer to another type than the container's, or "
                            "may write what is const");
        if constexpr (fits)
            return {
                std::data(all), {}, {}, false, true, std::size(all) * sizeof(*std::data(all))
            };
        else
            return {};
    }
    static slot from(const braid_resource &whole)
    {
        return { {}, whole, {} };
    }
    template <class Element, braid_access_mode how>
    static slot from(const accessed<Element, how> &access)
    {
        constexpr bool is_const = std::is_const_v<std::remove_pointer_t<T>>;
        static_assert(how != BRAID_READ || is_const || !std::is_pointer_v<T>,
                      "the kernel may write what in() says that it reads: let it take a pointer to "
                      "const, or say inout()");
        static_assert(how == BRAID_READ || !is_const || !std::is_pointer_v<T>,
                      "the kernel takes a pointer to const, and does not write what out() or "
                      "inout() says");
        return { {}, access.resource, how };
    }
    // Valid as long as the slot. A number is never taken for a pointer.
    braid_arg get() const
    {
        constexpr bool is_long = std::is_arithmetic_v<T> && sizeof(T) == sizeof(void *);
        if (is_trap)
            return BRAID_TRAP();
        if (mode)
            return braid_resource_argument(&resource, mode);
        if (resource.graph)
            return braid_resource_address(&resource);
        return { &value, sizeof(T), is_long ? BRAID_ARG_UNCHECKED_POINTER : BRAID_ARG_VALUE, {} };
    }
};
} // namespace detail

} // namespace braid

#endif

// SPDX-License-Identifier: Apache-2.0
// Compares the table of driver functions with a vendor's headers, row by row.
//
// C has no way to take a function's type apart, C++ has; hence this one test in C++. A row is right
// when the header declares a function under the name that the table loads, and every parameter and
// the result have the machine type of the slot's: an integer or enum of the same size, a pointer or
// a 64-bit address, or the same floating type; pointers to numbers point to numbers of one size.
#ifndef BRAID_TESTS_ABI_HPP
#define BRAID_TESTS_ABI_HPP

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>

extern "C" {
#include "backends/gpu/gpu_api.h"
#include "backends/gpu/gpu_layouts.h"
#include "backends/gpu/gpu_loader.h"
#include "backends/gpu/gpu_vendor.h"
}

namespace abi
{

template <class T>
constexpr bool is_word = std::is_pointer_v<T> || (std::is_integral_v<T> && sizeof(T) == 8);

template <class T> constexpr bool is_number = std::is_integral_v<T> || std::is_enum_v<T>;

// Only pointees that both sides know the size of can be compared.
template <class A, class B> constexpr bool same_target()
{
    using a = std::remove_cv_t<A>;
    using b = std::remove_cv_t<B>;
    constexpr bool scalars = std::is_scalar_v<a> && std::is_scalar_v<b>;
    if constexpr (scalars)
        return sizeof(a) == sizeof(b) && std::is_floating_point_v<a> == std::is_floating_point_v<b>;
    else
        return true;
}

template <class A, class B> constexpr bool same_value()
{
    if constexpr (std::is_void_v<A> || std::is_void_v<B>)
        return std::is_void_v<A> && std::is_void_v<B>;
    else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>)
        return same_target<std::remove_pointer_t<A>, std::remove_pointer_t<B>>();
    else if constexpr (std::is_floating_point_v<A> || std::is_floating_point_v<B>)
        return std::is_same_v<A, B>;
    else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
        return is_word<A> && is_word<B>;
    else
        return is_number<A> && is_number<B> && sizeof(A) == sizeof(B);
}

template <class A, class B> struct same_function {
    static constexpr bool value = false;
};

template <class R, class... P, class S, class... Q> struct same_function<R (*)(P...), S (*)(Q...)> {
    static constexpr bool compare()
    {
        if constexpr (sizeof...(P) == sizeof...(Q))
            return same_value<R, S>() && (same_value<P, Q>() && ...);
        else
            return false;
    }
    static constexpr bool value = compare();
};

inline int failures, rows_checked;

// The header's name of the function, after its macros chose a version, must be one that is loaded.
inline void check_name(const gpu_symbol_table &table, gpu_vendor_index vendor, size_t offset,
                       const char *slot, const char *name)
{
    rows_checked++;
    for (size_t i = 0; i < table.num_rows; i++) {
        if (table.rows[i].offset != offset)
            continue;
        for (const char *loaded : table.rows[i].names[vendor]) {
            if (loaded && std::strcmp(loaded, name) == 0)
                return;
        }
    }
    std::printf("# %s: the header's %s is not what the table loads\n", slot, name);
    failures++;
}

inline int count_rows(const gpu_symbol_table &table, gpu_vendor_index vendor)
{
    int num = 0;
    for (size_t i = 0; i < table.num_rows; i++)
        num += table.rows[i].names[vendor][0] != nullptr;
    return num;
}

} // namespace abi

// Macros, for the name after the header's own macros are done with it.
#define ABI_NAME(function) #function
#define ABI_ROW(api, table, vendor, slot, function)                                                \
    do {                                                                                           \
        static_assert(abi::same_function<decltype(api::slot), decltype(&function)>::value,         \
                      #slot " has another shape than " #function);                                 \
        abi::check_name(table, vendor, offsetof(api, slot), #slot, ABI_NAME(function));            \
    } while (0)

// One member of a struct: the same place and size.
#define ABI_MEMBER(ours, member, theirs, their_member)                                             \
    static_assert(offsetof(ours, member) == offsetof(theirs, their_member) &&                      \
                      sizeof(ours::member) == sizeof(theirs::their_member),                        \
                  #theirs "::" #their_member)

#endif

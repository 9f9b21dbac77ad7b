// SPDX-License-Identifier: Apache-2.0
// Which sanitizer a test runs under, by gcc or clang: UNDER_ASAN, UNDER_TSAN.
#ifndef BRAID_TESTS_SANITIZERS_H
#define BRAID_TESTS_SANITIZERS_H

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN
#elif defined(__SANITIZE_THREAD__)
#define UNDER_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#elif __has_feature(thread_sanitizer)
#define UNDER_TSAN
#endif
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
// All of Braid for C++17 and later: objects that free themselves, kernels with typed arguments,
// lambdas as kernels and calls. Header only, over the C interface; a program can mix both.
//
// Include this header, which includes those of cpp/. Each member does as the C function or field of
// its name, with its errors and thread-safety. The names here throw braid::error. The same types of
// namespace braid::checked throw nothing: their functions return a braid::expected.
//
// All that a graph runs, with lambdas and their captures, lives as long as the graph and every exec
// made from it. If a host call or a kernel on the CPU throws, its frame goes on, and the next wait
// throws braid::host_call_error. A queue call that throws ends the program. Objects made from a
// device must go before it: declare the device first.
#ifndef BRAID_BRAID_HPP
#define BRAID_BRAID_HPP

#include <braid/braid.h>
#include <braid/cpp/device.hpp>
#include <braid/cpp/exec.hpp>
#include <braid/cpp/external.hpp>
#include <braid/cpp/failures.hpp>
#include <braid/cpp/graph.hpp>
#include <braid/cpp/import.hpp>
#include <braid/cpp/kernel.hpp>
#include <braid/cpp/ranks.hpp>
#include <braid/cpp/record.hpp>
#include <braid/cpp/result.hpp>
#include <braid/cpp/runner.hpp>
#include <braid/cpp/schedule.hpp>
#include <braid/cpp/task.hpp>

namespace braid
{

using device = basic_device<throwing>;
using stream = basic_stream<throwing>;
using event = basic_event<throwing>;
using memory_pool = basic_memory_pool<throwing>;
using graph = basic_graph<throwing>;
using schedule = basic_schedule<throwing>;
using exec = basic_exec<throwing>;
using ranks = basic_ranks<throwing>;
using imported = basic_imported<throwing>;
using record = basic_record<throwing>;
using runner = basic_runner<throwing>;
using external = basic_external<throwing>;
template <class T> using memory = basic_memory<T>;

namespace checked
{
using device = basic_device<returning>;
using stream = basic_stream<returning>;
using event = basic_event<returning>;
using memory_pool = basic_memory_pool<returning>;
using graph = basic_graph<returning>;
using schedule = basic_schedule<returning>;
using exec = basic_exec<returning>;
using ranks = basic_ranks<returning>;
using imported = basic_imported<returning>;
using record = basic_record<returning>;
using runner = basic_runner<returning>;
using external = basic_external<returning>;
} // namespace checked

} // namespace braid

#endif

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The compiler finds each of these mistakes; the lines without a mistake compile. Speaks TAP.
# The headers are system headers here, as installed ones often are: compilers suppress warnings there.
# mistakes_do_not_compile.sh INCLUDE_DIR COMPILER
set -u
include=$1 compiler=$2
messages=$(mktemp)
compiled=$(mktemp -d) # the header, which g++ then reads in a tenth of the time
trap 'rm -rf "$messages" "$compiled"' EXIT
mkdir "$compiled/braid"
"$compiler" -x c++-header -std=c++17 -isystem "$include" -o "$compiled/braid/braid.hpp.gch" \
    "$include/braid/braid.hpp" || exit 1
number=0 status=0

compiles() {
    printf '%s\n' '#include <braid/braid.hpp>' \
        'struct owner { ~owner() {} };' \
        'void check(braid::device &device, braid::graph &graph, float *x, float (&four)[4])' \
        '{' \
        '    braid::kernel scale("scale", [](const braid_blocks &, float *, float) {});' \
        '    auto node = graph.add(scale, 4, braid::task(), x, 2.0f);' \
        '    auto exec = braid::exec::create(device, graph);' \
        "    $1" \
        '    (void)node; (void)four;' \
        '}' | "$compiler" -x c++ -std=c++17 -fsyntax-only -Werror -isystem "$compiled" -isystem "$include" - 2>"$messages"
}

# expect yes|no NAME CODE [MESSAGE]: the one error has the message
expect() {
    number=$((number + 1))
    if compiles "$3"; then answer=yes; else answer=no; fi
    if [ $answer = "$1" ] &&
        { [ $# = 3 ] || { grep -q "$4" "$messages" && [ "$(grep -c 'error:' "$messages")" = 1 ]; }; }; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        status=1
    fi
}

loss='another type, to which this value does not convert without a loss'
expect yes "right arguments compile" 'graph.add(scale, 4, braid::task(), x, 3.0f); exec.set_arg<1>(node, 4.0f);'
expect no "too few arguments" 'graph.add(scale, 4, braid::task(), x);'
expect no "too many arguments" 'graph.add(scale, 4, braid::task(), x, 2.0f, 1);'
expect no "an argument of another type" 'graph.add(scale, 4, braid::task(), 2.0f, x);'
expect no "a number that loses digits" 'double two = 2; graph.add(scale, 4, braid::task(), x, two);' "$loss"
expect no "a new value that loses digits" 'double two = 2; exec.set_arg<1>(node, two);' "$loss"
expect no "new values that lose digits" 'double two = 2; exec.set_args(node, x, two);' "$loss"
expect no "a new value of another type" 'exec.set_arg<0>(node, 2.0f);' "$loss"
expect no "an argument that is not there" 'exec.set_arg<2>(node, 2.0f);'
expect yes "a resource, a parameter and rows of it compile" 'auto own = graph.scratch("own", 4); auto by = graph.parameter<float>("by"); graph.use<1>(by, graph.add(scale, 4, braid::task(), own, 2.0f)); exec.launch_many(2, nullptr, { braid::rows(by, std::vector<float>(2)) });'
both='braid::kernel both("both", [](const braid_blocks &, float *, const float *) {}); auto r = graph.resource("r"); auto f = graph.transient<float>("f", 4); auto d = graph.transient<double>("d", 4);'
expect yes "accesses as arguments compile" "$both graph.kernel(both, 4, braid::out(f), braid::in(f)); graph.kernel(both, 4, braid::task(), braid::inout(r), braid::in(r)); graph.add(both, 4, braid::task(), f, f);"
expect yes "containers as arguments compile" "$both std::vector<float> v(4); const auto &c = v; graph.kernel(both, 4, v, c); graph.kernel(both, braid::shape(4).code(BRAID_CODE_UNREAD), braid::task(), four, f);"
expect no "a container of another type" "$both std::vector<double> v(4); graph.kernel(both, 4, v, f);" "another type than the container"
expect no "a container that is const" "$both const std::vector<float> v(4); graph.kernel(both, 4, v, f);" "may write what is const"
expect no "a temporary container" "$both graph.kernel(both, 4, f, std::vector<float>(4));" "is a temporary"
expect no "a container that is no pointer" "std::vector<float> v(4); graph.kernel(scale, 4, x, v);" "$loss"
expect no "an access that writes what is const" "$both graph.kernel(both, 4, braid::out(f), braid::out(f));" 'takes a pointer to const'
expect no "an access that updates what is const" "$both graph.kernel(both, 4, braid::out(f), braid::inout(r));" 'takes a pointer to const'
expect no "an access that reads what may be written" "$both graph.kernel(both, 4, braid::in(f), braid::in(f));" 'may write'
expect no "an access to another type" "$both graph.kernel(both, 4, braid::out(d), braid::in(f));" 'another type than the resource'
expect no "a resource of another type" "$both graph.add(both, 4, braid::task(), d, f);" 'another type than the resource'
expect no "an access that is no pointer" "$both graph.kernel(scale, 4, braid::out(f), braid::in(f));" 'is a pointer'
expect yes "a part of a buffer, and views, compile" "$both"' auto part = graph.range(f, 0, 8); graph.kernel(both, 4, braid::out(part), braid::in(f)); graph.kernel(both, 4, braid::out(graph.range(static_cast<braid_resource>(d), 0, 16)), braid::in(f)); struct span { float *p; span(float *q) : p(q) {} float *data() const { return p; } std::size_t size() const { return 4; } }; graph.buffer("span", span(x)); graph.buffer("four", four); graph.fill(braid::task(), f, 1.0f, 4); graph.copy(braid::task(), f, part, 8); graph.copy(braid::task(), f, x, 8);'
expect no "a part of a buffer of another type" "$both graph.kernel(both, 4, braid::out(graph.range(d, 0, 16)), braid::in(f));" 'another type than the resource'
expect no "a copy between buffers of two types" "$both graph.copy(braid::task(), d, f, 8);" 'elements of two types'
expect no "a fill with a value of another type" "$both graph.fill(braid::task(), f, 1.5, 4);" 'does not convert without a loss'
expect no "a fill of large elements" "$both graph.fill(braid::task(), d, 1.5, 4);" 'fill larger elements of a resource as a braid_resource'
expect yes "a fill of large elements in parts compiles" "$both graph.fill(braid::task(), static_cast<braid_resource>(d), 0u, 8);"
expect no "a send of a buffer of another type" "$both graph.send<float>(braid::task(), r, d, 4, 0);" 'elements of another type'
for owner in 'std::vector<float>(4)' 'std::array<float, 4>{}' 'std::string("text")' 'braid::memory<float>()' \
    'std::initializer_list<float>{ 1, 2 }' 'std::move(mine)'; do
    expect no "a temporary as a buffer: $owner" "std::vector<float> mine(4); graph.buffer(\"gone\", $owner);" 'deleted function'
done
expect no "memory of what is no plain value" 'graph.transient<std::string>("text", 4);'
expect no "a resource that is no pointer" 'auto own = graph.scratch("own", 4); graph.add(scale, 4, braid::task(), x, own);'
expect no "a parameter of another type" 'auto by = graph.parameter<double>("by"); graph.use<1>(by, node);'
expect no "rows of another type" 'auto by = graph.parameter<float>("by"); exec.launch_many(2, nullptr, { braid::rows(by, std::vector<int>(2)) });'
expect no "a kernel that takes an array by reference" 'braid::kernel<void(float (&)[4])> k("k"); (void)k;'
expect no "a kernel that takes an owner" 'braid::kernel<void(owner)> k("k"); (void)k;'
shape='a kernel is a function (const braid_blocks &, arguments by value...) that returns nothing'
expect yes "lambdas and functions are kernels" 'struct some { void operator()(const braid_blocks &, int) const noexcept {} }; braid::kernel a("a", some()); braid::kernel b("b", [](const braid_blocks &) {}); braid::kernel c("c", +[](const braid_blocks &, float) {}); (void)a; (void)b; (void)c;'
expect no "a kernel without blocks" 'braid::kernel wrong("wrong", [](float *, float) {}); (void)wrong;' "$shape"
expect no "a kernel that returns something" 'braid::kernel wrong("wrong", [](const braid_blocks &) { return 1; }); (void)wrong;' "$shape"
expect no "a kernel with auto" 'braid::kernel wrong("wrong", [](const braid_blocks &, auto) {}); (void)wrong;' "$shape"
expect no "a kernel that changes itself" 'int n = 0; braid::kernel wrong("wrong", [n](const braid_blocks &) mutable { n++; }); (void)wrong;' "$shape"
expect no "a kernel that is no function" 'braid::kernel wrong("wrong", 3); (void)wrong;' "$shape"
expect no "a wrong kernel in a graph" 'braid::kernel wrong("wrong", [](float *) {}); graph.add(wrong, 4, braid::task(), x);' "$shape"
expect no "a host call with an argument" 'graph.host(braid::task(), [](int) {});'
expect no "a queue call without a status" 'graph.queue_call(braid::task(), [](braid_device *, braid_stream *) {});'
expect no "a copied exec" 'braid::exec other = exec; (void)other;'
expect no "an ignored failure" 'braid::checked::graph::create();'
echo "1..$number"
exit $status

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds Braid on a machine with an NVIDIA GPU and no network, tests it there, and measures it.
#
#   tests/gpu.sh pack           where packages are installed: copies what such a machine lacks
#                               (cmocka, jansson, pkg-config) into .gpu-deps/, to be carried along, and
#                               from PyPI what builds the Python package (cffi) for $BRAID_GPU_PYTHON, 3.12
#   tests/gpu.sh [part ...]     on the machine; without parts: all of them, in this order:
#     build      gcc, meson and ninja; needs no package but those of .gpu-deps/
#     contract   the contract suite and the GPU tests, on streams and as a driver graph
#     hip        the same on streams through the HIP column, over the stand-in HIP library on CUDA
#     amd        the same on an AMD GPU, over the installed libamdhip64; not among "all of them"
#     mpm        sparse_mpm on the device, against the CPU
#     sanitize   compute-sanitizer's memcheck and racecheck on sparse_mpm and on the contract
#     adapters_sanitize  the same on islands of kernels that Triton and Numba compiled; a minute
#     frames     frames in flight and calls that block: checked, and what they bring
#     times      times of frames, by the host's clock too; what they cost; graphs tuned, as one stream, as declared
#     stamped    which part of the code that writes times costs what; among times
#     launch     the table of launches; sweep: every number of lanes; large: kernels that fill the
#                device; rigid: a launch-bound step; islands: each plan as one kernel, and checked
#     first      the first exec of a process without any cache, and the longest frame while a runner makes an island, with nvJitLink
#                and without
#                Both parts take nvJitLink from the path NVJITLINK, where the loader does not find it
#     loops      loops on streams, as a graph and as islands: the contract suite, and what an iteration costs
#     audit      1,000 graphs with a wrong declaration each, and 1,000 with a missing order: the audit names all;
#                its time beside the frame's
#     derived    examples, and kernels of Triton and Numba, with accesses from their code: audits find no other
#     imported   captured streams of random kernels, and an example, imported: the same bytes as by the captured graph;
#                runners try both
#     captures   random plans launched into captures of the program: each replay writes the bytes of a plain launch
#     warp       where Warp and MuJoCo Warp are (not among "all of them"): steps beside Warp's own graph
#     torch      where PyTorch and torchvision are (not among "all of them"): random modules, and models beside PyTorch's graph
#     torch_ranks  two GPUs and PyTorch (not among "all of them"): functions with collectives on two ranks
#     recorded   what the recorder costs; frames recorded and run again in another process; programs of CuPy, Numba
#                and PyTorch, where those are (not among "all of them")
#     solver     conjugate gradients of 1,000 to 1,000,000 unknowns by a loop, by hand, from the host, and by CuPy
#     blackbox   240 failing frames, each in a process of its own: how many name the exact node; the cost of that
#     beside     the benches launch, rigid, islands and loops, and sparse_mpm, of the tree in the folder $BRAID_GPU_BEFORE and of
#                this one, by turns (not among "all of them")
#     beside_cpu the same of the CPU's benches replay, Task Bench and set_arguments
#     wide       a chain of wide kernels that read memory: early starts against the graph as declared
#     adapters   the Python package beside CuPy, PyTorch, Triton and Numba: arrays, a graph of kernels from all of
#                them, and such graphs beside the same kernels launched by their own frameworks; and the example
#                without declared accesses, in C, C++ and Python
#     vulkan     where Vulkan's loader, headers and driver are (not among "all of them"): frames that wait for semaphores of
#                Vulkan and signal them. VK_DRIVER_FILES may name the driver's description
#     devices    two GPUs (not among "all of them"): graphs on groups, on streams and as a graph, the contract
#                suite on both, captured graphs of both imported, what an edge and a byte between them cost, and a tiled Cholesky and
#                sparse_mpm on one and on both
#     ranks      two GPUs (not among "all of them"): two ranks over NCCL, on streams and captured, one that is
#                lost, and a stencil by Braid and by hand; MPI_HOME: also over the MPI there. NCCL is that of Python's package, if it is in no
#                folder of the loader's; ranks find each other over the stand-in, so that no MPI is needed
#
# Each part ends well inside ten minutes. Logs and tables go to $OUT, or to gpu-results/.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
root=$PWD
build=$(realpath -m "${BRAID_GPU_BUILD:-$root/build-gpu}")
results=${OUT:-$root/gpu-results}
deps=$root/.gpu-deps
failed=0
excuses=()

pack() {
    local lib=/usr/lib/$(gcc -print-multiarch)
    rm -rf "$deps" && mkdir -p "$deps/bin" "$deps/include" "$deps/lib/pkgconfig" || return 1
    cp /usr/include/cmocka.h /usr/include/jansson*.h "$deps/include/" &&
        cp -L "$lib/libcmocka.so.0" "$lib/libjansson.so.4" "$deps/lib/" &&
        cp -L "$(command -v pkg-config)" "$deps/bin/pkg-config" &&
        cp -L "$lib/libpkgconf.so.3" "$deps/lib/" || return 1
    describe_library cmocka 1.1.5 && describe_library jansson 2.14 || return 1
    pack_cffi || echo "without cffi: the Python package cannot be built there"
    du -sh "$deps"
}

# As pkg-config reads it.
describe_library() { # name version
    cat >"$deps/lib/pkgconfig/$1.pc" <<END
Name: $1
Description: as copied from another machine
Version: $2
Cflags: -I\${pcfiledir}/../../include
Libs: -L\${pcfiledir}/.. -l$1
END
}

pack_cffi() {
    python3 -m pip download -q --no-deps --only-binary :all: --platform manylinux2014_x86_64 \
        --python-version "${BRAID_GPU_PYTHON:-3.12}" -d "$deps/wheels" cffi pycparser || return 1
    local wheel
    for wheel in "$deps"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$deps/python" || return 1; done
    rm -r "$deps/wheels"
}

use_deps() {
    [ -d "$deps" ] || return 0
    # Links would be lost on the way.
    local library
    for library in "$deps"/lib/lib{cmocka.so.0,jansson.so.4}; do cp "$library" "${library%.[0-9]}"; done
    chmod +x "$deps/bin/pkg-config"
    export C_INCLUDE_PATH=$deps/include${C_INCLUDE_PATH:+:$C_INCLUDE_PATH}
    export PKG_CONFIG_PATH=$deps/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    export LD_LIBRARY_PATH=$deps/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    [ ! -d "$deps/python" ] || export PYTHONPATH=$deps/python${PYTHONPATH:+:$PYTHONPATH}
    command -v pkg-config >/dev/null || export PATH=$PATH:$deps/bin
}

# Runs a command into a log of its own and prints one line about it.
step() {
    local name=$1 start=$SECONDS status
    shift
    "$@" >"$results/$name.log" 2>&1
    status=$?
    case $status in
    0) echo "passed   $name ($((SECONDS - start)) s)" ;;
    77) echo "skipped  $name: $(head -1 "$results/$name.log")" ;;
    *)
        echo "FAILED   $name (status $status, $((SECONDS - start)) s)"
        grep -E "^not ok|FAIL|ERROR|error:|returned|ERROR SUMMARY|RACECHECK" "$results/$name.log" | head -12
        failed=1
        ;;
    esac
    return $status
}

describe() {
    date -u +%Y-%m-%d
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    uname -sm
    gcc --version | head -1
    nvcc --version 2>/dev/null | tail -2
}

build_all() {
    meson setup "$build" --reconfigure -Dtests=enabled -Dtool=auto -Dpython=auto -Dwerror=false 2>/dev/null ||
        meson setup "$build" -Dtests=enabled -Dtool=auto -Dpython=auto -Dwerror=false || return 1
    ninja -C "$build"
}

contract_of() { # backend mode
    BRAID_TEST_BACKEND=$1 BRAID_TEST_MODE=$2 timeout "${BRAID_GPU_LIMIT:-240}" "$build/tests/contract/contract"
}

contract() {
    for mode in streams graph; do
        step "contract-cuda-$mode" contract_of cuda $mode
    done
    step gpu-tests meson test -C "$build" --no-rebuild --suite gpu --print-errorlogs
    step saved-captures saved_captures
    step probe-graphs probe_graphs
    for mode in streams graph; do
        step beside-captures-$mode "$build/tests/gpu/gpu_a_program_may_capture_beside_each_call" cuda $mode
        grep -h "^conflict" "$results/beside-captures-$mode.log"
    done
    step ranges "$build/tests/gpu/gpu_tools_hear_names" nvtx "$build/tests/gpu/listener/liblistener.so"
    step nsight names_in_nsight
}

# Does the driver still answer as it did when its answers were written down? Another may differ.
probe_graphs() {
    local tests=$root/standin/tests machine
    machine=$(nvidia-smi --query-gpu=driver_version,compute_cap --format=csv,noheader | head -1)
    # Only the stand-in is there to link with; the loader finds the real driver.
    gcc -std=c11 -o "$build/probe_graphs" "$tests"/probe_graphs*.c -I"$root/standin" -I"$root/standin/cuda" \
        -L"$build/standin/cuda" -l:libcuda.so.1 || return 1
    python3 "$tests/compare_probe.py" "$tests/probe_graphs.txt" "$build/probe_graphs" >"$results/probe-graphs.txt" 2>&1
    local status=$?
    [[ $status = 0 || $machine = 580.*', 9.0' ]] || { echo "answers of $machine, which differ, are in probe-graphs.txt"; return 77; }
    cat "$results/probe-graphs.txt"
    return $status
}

saved_captures() {
    local tests=$build/tests/tool
    python3 "$root/tests/tool/captures_are_replayed.py" "$build/tools/braid/braid" "$tests/tool_write_capture" \
        "$tests"/libcapture_kernels_{right,wrong,nearly}.so
}

# The names that Nsight Systems shows beside its figures of kernels, where it is installed.
names_in_nsight() {
    command -v nsys >/dev/null || { echo "there is no nsys here"; return 77; }
    timeout 120 nsys profile --trace=cuda,nvtx --force-overwrite=true -o "$results/nsight" \
        "$build/examples/sparse_mpm/sparse_mpm" --quiet --device cuda --mode streams --frames 20 --out "$results/nsight-mpm" &&
        nsys stats --report nvtx_gpu_proj_sum "$results/nsight.nsys-rep" >"$results/nsight.txt" &&
        grep -q "braid frame" "$results/nsight.txt"
}

with_hip() {
    LD_LIBRARY_PATH=$build/standin/hip${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
}

hip() {
    step contract-hip with_hip contract_of hip streams
    step mpm-hip with_hip sparse_mpm --device hip --frames 60
    step launch-hip with_hip "$build/bench/bench_gpu_launch" hip
}

# Streams that share a hardware queue hold each other up: docs/hip.md.
amd() {
    export GPU_MAX_HW_QUEUES=32
    step contract-amd contract_of hip streams
    step mpm-amd sparse_mpm --device hip --frames 60
}

sparse_mpm() {
    timeout 300 "$build/examples/sparse_mpm/sparse_mpm" --quiet --out "$results/mpm" "$@"
}

mpm() {
    step mpm-cuda-streams sparse_mpm --device cuda --mode streams
    step mpm-cuda-graph sparse_mpm --device cuda --mode graph
}

# Errors of calls are not reported: Braid asks the driver some questions that are answered by one
# (how many parameters a kernel has, whether memory is pageable), and checks every other call.
sanitized() { # tool command...
    local tool=$1
    shift
    [ "$tool" = memcheck ] && set -- --report-api-errors no "$@"
    timeout 400 compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 "$@"
}

sanitize() {
    local mpm="$build/examples/sparse_mpm/sparse_mpm"
    for tool in memcheck racecheck; do
        for mode in streams graph; do
            step "$tool-mpm-$mode" sanitized $tool "$mpm" --device cuda --mode $mode --frames 2 \
                --particles 2000 --quiet --out "$results/mpm"
        done
    done
    with_hip step memcheck-mpm-hip sanitized memcheck "$mpm" --device hip --mode streams \
        --frames 2 --particles 2000 --quiet --out "$results/mpm"
    BRAID_TEST_BACKEND=hip BRAID_TEST_MODE=streams with_hip step memcheck-contract-hip \
        sanitized memcheck "$build/tests/contract/contract" a_launch_keeps_the_graphs_order \
        memory_is_copied_and_filled
    for mode in streams graph; do
        BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$mode step "memcheck-contract-$mode" sanitized \
            memcheck "$build/tests/contract/contract" a_launch_keeps_the_graphs_order \
            memory_is_copied_and_filled
    done
}

# Islands of kernels that Triton and Numba compiled. A chain has no words that lanes poll.
adapters_sanitize() {
    local islands=$build/tests/gpu/gpu_islands_of_other_compilers_are_right texts=$root/tests/gpu/ptx
    step others "$islands" "$texts"
    step memcheck-others sanitized memcheck "$islands" "$texts"
    step racecheck-others-chain sanitized racecheck "$islands" "$texts" 'a_chain*'
    step racecheck-partial racecheck_of_partial_barriers
    step racecheck-others-lanes racecheck_of racecheck-others-lanes 128 "$islands" "$texts" 'lanes*'
}

launch() {
    step launch "$build/bench/bench_gpu_launch"
    step checks "$build/bench/bench_gpu_launch" checks
}

sweep() {
    step sweep "$build/bench/bench_gpu_launch" sweep
}

large() {
    step large "$build/bench/bench_gpu_launch" large
}

# Frames in flight, calls that block among them.
frames() {
    for mode in streams graph; do
        for group in a_launch_never_blocks_the_host nodes_change_from_frame_to_frame \
            frames_overlap_where_accesses_allow frames_end_in_launch_order \
            frames_have_versions_in_turn frames_keep_their_times many_frames_are_launched_at_once; do
            BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$mode BRAID_TEST_FRAMES=3 BRAID_TEST_MANY=10000 \
                step "frames-$mode-$group" timeout 60 "$build/tests/contract/contract" $group
        done
    done
    BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=island BRAID_TEST_FRAMES=3 BRAID_TEST_MANY=10000 \
        step frames-island timeout 60 "$build/tests/contract/contract" frames_overlap_where_accesses_allow
    step depths "$build/bench/bench_mpm_depths" cuda 60
    step pipeline "$build/bench/bench_pipeline" 60 cuda
    step arguments "$build/bench/bench_set_arguments" cuda 2000
}

# Which part of the code that writes times costs what: kernels with a part of it left out, in seconds.
stamped() {
    step stamped timeout 110 "$build/bench/bench_gpu_stamped"
    cat "$results/stamped.log"
}

# Times of frames and tuning: what keeping times costs, how near the host's clock they are, and what
# costs are worth for three graphs of real kernels.
times() {
    for mode in streams graph island; do
        BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$mode \
            step "times-$mode" timeout 60 "$build/tests/contract/contract" frames_keep_their_times
    done
    stamped
    step tuned timeout 200 "$build/bench/bench_tuned" cuda
    step profile timeout 100 "$build/bench/bench_gpu_profile"
    cat "$results/tuned.log" "$results/profile.log"
}

# With one connection to the device, too, which all streams share.
loops() {
    for mode in streams graph; do
        for group in loops_run_until_they_end branches_run_one_arm random_loops_run_as_written the_host_drives_loops; do
            [ $mode = streams ] || [ $group != the_host_drives_loops ] || continue
            BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$mode step "loops-$mode-$group" timeout 60 "$build/tests/contract/contract" $group
            BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$mode BRAID_TEST_FRAMES=3 CUDA_DEVICE_MAX_CONNECTIONS=1 \
                step "loops-$mode-in-flight-$group" timeout 60 "$build/tests/contract/contract" $group
        done
    done
    for group in loops_run_until_they_end branches_run_one_arm random_loops_run_as_written the_host_drives_loops; do
        BRAID_TEST_BACKEND=hip BRAID_TEST_MODE=streams BRAID_TEST_FRAMES=2 CUDA_DEVICE_MAX_CONNECTIONS=1 \
            with_hip step "loops-hip-$group" timeout 100 "$build/tests/contract/contract" $group
    done
    export BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=island BRAID_CACHE=$build/island-cache
    for group in loops_run_until_they_end branches_run_one_arm loops_have_lanes_of_many_threads; do
        step "loops-island-$group" timeout 60 "$build/tests/contract/contract" $group
    done
    step loops-island-random in_shares 14 timeout 100 "$build/tests/contract/contract" random_loops_run_as_written
    unset BRAID_TEST_BACKEND BRAID_TEST_MODE BRAID_CACHE
    step loops-solver timeout 30 "$build/examples/conjugate_gradient/conjugate_gradient" --device cuda
    step loops timeout 120 "$build/bench/bench_gpu_loops" && near_best loops
    cat "$results/loops-solver.log" "$results/loops.log"
}

# Conjugate gradients by a loop, beside a WHILE node by hand, loops of the host, and CuPy's cg.
# The audit's frame changes what a program computes, so that only the audits count. sparse_mpm is not among them: 30 of
# its 440 nodes take a struct whose pointers its code indexes, and whose sizes look like an address.
derived() {
    local library=$build/tests/gpu/libderive_and_audit.so audited=tests/gpu/derive_and_audit.sh name
    for name in first_graph from_code/from_code blur_image; do
        step "derived-$(basename "$name")" "$audited" "$library" "$build/examples/$name" 1
    done
    step derived-sparse_mpm "$audited" "$library" "$build/examples/sparse_mpm/sparse_mpm" 146 --device cuda --frames 1 \
        --particles 200 --quiet --out "$results/derived-mpm"
    step derived-solver "$audited" "$library" "$build/examples/conjugate_gradient/conjugate_gradient" 1 --device cuda
    step derived-others "$audited" "$library" "$build/tests/gpu/gpu_islands_of_other_compilers_are_right" 1 \
        "$root/tests/gpu/ptx"
    grep -h 'nodes derived, ' "$results"/derived-*.log | grep execs
}

# These programs are linked with the stand-in, since nothing else is there to link with.
on_the_driver() {
    local driver
    driver=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -1)
    LD_PRELOAD=$driver "$@"
}

imported() {
    local tests=$build/tests/import name
    BRAID_TEST_CAPTURES=300 step imported-random on_the_driver "$tests/import_captured_streams_play_as_before"
    for name in imports_tell_what_they_keep imports_take_whole_graphs_or_refuse conditionals_play_as_captured \
        conditionals_take_later_captures statements_tell_the_memory_of_kernels odd_captures_play_or_are_refused; do
        step "imported-$name" on_the_driver "$tests/import_$name"
    done
    step imported-runner on_the_driver "$tests/import_runners_try_the_captured_graph"
    step imported-example "$build/examples/from_code/captured"
    cat "$results/imported-example.log"
    grep -h summary "$results/imported-random.log"
}

warp() {
    step warp beside_python bench/gpu/captured_mujoco_warp.py --ways --worlds 1 16 256 1024 4096
    step warp-deterministic beside_python bench/gpu/captured_mujoco_warp.py --deterministic --orders 30 --worlds 1 16
    step warp-islands beside_python bench/gpu/captured_mujoco_warp.py --islands
    step warp-conditional beside_python bench/gpu/captured_mujoco_warp.py --conditional --audit --worlds 1 16 256 1024 4096
    grep -h '^|\|^# of\|^# plays\|^# tried\|conditional:\|an audit of' "$results/warp.log" "$results/warp-deterministic.log" \
        "$results/warp-islands.log" "$results/warp-conditional.log"
}

vulkan() {
    local name program
    for name in frames imports; do
        program=$build/tests/gpu/gpu_vulkan_semaphores_order_$name
        [ -x "$program" ] || program="tests/gpu/skip.sh vulkan/vulkan.h was not there when the tests were built"
        step "vulkan-$name" on_the_driver timeout 200 $program
        cat "$results/vulkan-$name.log"
    done
}

captured_plans() { # mode frames graphs
    BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$1 BRAID_TEST_FRAMES=$2 BRAID_TEST_CAPTURES=$3 timeout 100 \
        "$build/tests/contract/contract" plans_are_captured
}

captures() {
    for mode in streams graph; do
        step "captures-$mode" captured_plans $mode 1 1000
        step "captures-$mode-3" captured_plans $mode 3 300
    done
    step captures-island captured_plans island 1 40
}

torch() {
    step torch-modules beside_python tests/python/modules_on_a_gpu.py 200
    step torch beside_python bench/gpu/captured_torch.py --reuse --lanes
    cat "$results/torch-modules.log"
    grep '^|\|^# plays by\|^# tried\|^#.*made in' "$results/torch.log"
}

# The recorder finds the driver behind itself, as the loader does.
recorded_frame() { # name program argument...
    local record=$results/$1.braidrec
    "$build/tools/braid/braid" record --marks --times --memory begin:4000000000 --out "$record" -- "${@:2}" &&
        "$build/tools/braid/braid" report "$record" && "$build/tools/braid/braid" run "$record"
}

recorded() {
    export BRAID_RECORDER=$build/src/libbraid_record.so
    step recorded-launches timeout 100 "$build/bench/bench_recorded_launches"
    step recorded-loop recorded_frame loop "$build/tests/record/record_loop_program" 5 mark
    step recorded-others python3 tests/programs/programs_of_others_are_recorded.py "$build/tools/braid/braid"
    step recorded-torch beside_python bench/gpu/recorded_torch.py "$build/tools/braid/braid" --keep "$results/torch.braidrec"
    step recorded-report "$build/tools/braid/braid" report "$results/torch.braidrec"
    step recorded-run "$build/tools/braid/braid" run "$results/torch.braidrec"
    rm -f "$results"/*.braidrec
    cat "$results"/recorded-*.log
}

torch_ranks() {
    PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH} NCCL_NVLS_ENABLE=0 \
        step torch-ranks timeout 300 python3 tests/python/ranks_of_torch_on_gpus.py 40
    cat "$results/torch-ranks.log"
}

# The tables that a bench has just printed: the default is within 2 % of the best of Braid's ways.
near_best() { # the name of a step
    step "near-best-$1" python3 tests/readme/check_defaults.py . tests/readme/known_misses.txt "$results/$1.log"
    sed -n 's/^# /    /p' "$results/near-best-$1.log"
}

solver() {
    step solver timeout 200 "$build/bench/bench_gpu_solver" && near_best solver
    step solver-cupy timeout 100 python3 bench/gpu/solver.py
    cat "$results/solver.log" "$results/solver-cupy.log"
}

audit() {
    local name
    step audit-graphs timeout 300 "$build/tests/audit/audit_audits_name_each_wrong_declaration" cuda
    step audit-orders timeout 200 "$build/tests/audit/audit_audits_find_undeclared_orders" cuda
    for name in audits_compare_orders audits_compare_orders_of_kernels audits_of_orders_bear_any_frame; do
        BRAID_TEST_BACKEND=cuda step "$name" timeout 60 "$build/tests/audit/audit_$name"
    done
    step audit-times timeout 200 "$build/bench/bench_gpu_audit"
    cat "$results/audit-times.log"
}

blackbox() {
    local times mode kind
    for times in {1..12}; do
        for mode in streams graph island; do
            for kind in null bounds trap endless wait hostcall store; do
                [ $mode-$kind = island-hostcall ] || echo fail $kind $mode
            done
        done
    done | xargs -P 4 -L 1 timeout 60 "$build/bench/bench_gpu_black_box" >"$results/blackbox.txt"
    echo "$(grep -c '^named' "$results/blackbox.txt") of 240 failures name the exact node"
    grep -v '^named' "$results/blackbox.txt" | cut -c1-200 | sort | uniq -c | sort -rn | head -20
    step blackbox-cost timeout 120 "$build/bench/bench_gpu_black_box" cost
    cat "$results/blackbox-cost.log"
}

rigid() {
    step rigid "$build/bench/bench_gpu_rigid" && near_best rigid
}

wide() {
    step wide "$build/bench/bench_gpu_wide" && near_best wide
    cat "$results/wide.log"
}

# With the Python that has cffi, and NumPy as numba-cuda 0.30 knows it: 2.5 has no row_stack.
beside_python() { # script argument...
    PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH} timeout 200 python3 -c 'import runpy, sys
try:
    import braid
except ImportError as missing:
    sys.exit(print(f"the Python package was not built, or cannot be loaded: {missing}") or 77)
import numpy
numpy.row_stack = numpy.vstack
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$@"
}

adapters() {
    step adapters-arrays beside_python tests/python/on_a_gpu.py
    step adapters-example beside_python examples/mixed_kernels.py
    step adapters-captured beside_python examples/captured_kernels.py
    step code-c bash -c 'timeout 60 "$1" | grep "adds up"' - "$build/examples/from_code/from_code"
    step code-cpp bash -c 'timeout 60 "$1" | grep "adds up"' - "$build/examples/from_code/from_code_cpp"
    step code-python beside_python examples/from_code/from_code.py
    step adapters-mixed beside_python bench/gpu/mixed.py
    cat "$results/adapters-example.log" "$results/adapters-captured.log" "$results/adapters-mixed.log"
}

# A bench of the tree before and of this one, by turns.
beside_of() { # name rounds program argument...
    local name=$1
    shift
    step "beside-$name" timeout 300 python3 bench/gpu/beside.py "$build-before" "$build" "$@"
    grep -E '^summary|^\| .*(Braid|chosen)' "$results/beside-$name.log"
}

build_before() {
    meson setup "$build-before" "$BRAID_GPU_BEFORE" -Dtests=disabled -Dtool=auto -Dwerror=false &&
        ninja -C "$build-before"
}

beside_cpu() {
    step build-before build_before || return
    beside_of set_arguments 5 bench/bench_set_arguments cpu 2000
    beside_of replay 3 bench/bench_replay frames short --player braid --body 0 --body 1
    beside_of task_bench 3 bench/bench_task_bench metg --width 8 --player braid --player "braid streams"
}

beside() {
    step build-before build_before || return
    beside_of rigid 2 bench/bench_gpu_rigid
    beside_of launch 2 bench/bench_gpu_launch
    beside_of islands 1 bench/bench_gpu_islands
    beside_of loops 1 bench/bench_gpu_loops
    for tree in "$build-before" "$build" "$build" "$build-before"; do
        step "beside-mpm-$(basename "$tree")" timeout 100 "$tree/examples/sparse_mpm/sparse_mpm" --quiet --device cuda \
            --out "$results/mpm"
        cat "$results/beside-mpm-$(basename "$tree").log"
    done
}

# Two processes, each with a GPU of its own.
on_ranks() {
    timeout 45 "$build/standin/ranks/ranks_run" 2 "$@"
}

# A library before NCCL's: a rank that opens this one dies where it queues its first all-reduce.
make_deadly_nccl() { # folder of NCCL
    printf '#include <signal.h>\nint ncclAllReduce(void);\nint ncclAllReduce(void) { return raise(SIGKILL); }\n' >"$results/deadly.c"
    gcc -shared -fPIC -o "$build/libdeadly_nccl.so" "$results/deadly.c" ${1:+-L"$1"} -Wl,--no-as-needed -l:libnccl.so.2
}

# MPI starts the processes and carries NCCL's id: over any MPI that lies in the folder $MPI_HOME.
ranks_over_mpi() {
    [ -n "${MPI_HOME:-}" ] && [ -x "$MPI_HOME/bin/mpiexec" ] || { echo "MPI_HOME names no folder of an MPI"; return 77; }
    gcc -shared -fPIC -O2 -o "$build/libbraid_mpi.so" addons/ranks/mpi_engine.c -Iinclude -Isrc -Iaddons -I"$MPI_HOME/include" \
        -L"$MPI_HOME/lib" -lmpi -Wl,-rpath,"$MPI_HOME/lib" || return 1
    for mode in streams graph; do
        BRAID_MPI=$build/libbraid_mpi.so BRAID_TEST_MODE=$mode timeout 60 \
            "$MPI_HOME/bin/mpiexec" -n 2 "$build/tests/ranks/ranks_work_on_devices" || return 1
    done
    BRAID_MPI=$build/libbraid_mpi.so timeout 60 "$MPI_HOME/bin/mpiexec" -n 2 "$build/bench/bench_gpu_ranks"
}

find_nccl() {
    python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null
}

ranks() {
    local nccl
    nccl=$(find_nccl)
    export LD_LIBRARY_PATH=$nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export BRAID_MPI=$build/standin/ranks/libstandin_ranks.so BRAID_TEST_DEVICES=2 NCCL_NVLS_ENABLE=0
    for mode in streams graph; do
        BRAID_TEST_MODE=$mode step "ranks-$mode" on_ranks "$build/tests/ranks/ranks_work_on_devices"
    done
    step ranks-deadly make_deadly_nccl "$nccl"
    export BRAID_TEST_DEADLY_NCCL=$build/libdeadly_nccl.so
    step ranks-mpi ranks_over_mpi
    step ranks-bench on_ranks "$build/bench/bench_gpu_ranks"
    cat "$results/ranks-bench.log"
    for mode in streams graph; do
        for how in dies vanishes refuses stays; do
            BRAID_TEST_MODE=$mode step "ranks-$how-$mode" on_ranks "$build/tests/ranks/ranks_fail_on_devices" $how
        done
    done
}

# Several processes run a share each, since most of the time goes into compiling islands; what one has
# compiled the others find. SHARES COMMAND...: each is told its share, K/SHARES.
in_shares() {
    local num=$1 share pid pids=() status=0
    shift
    for ((share = 0; share < num; share++)); do
        BRAID_TEST_PART=$share/$num "$@" >"$results/share-$share.txt" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=1; done
    cat "$results"/share-*.txt
    rm -f "$results"/share-*.txt
    return $status
}

# The groups of the contract suite, but for the random graphs.
contract_groups() {
    sed -n "/^contract_groups = \[/,/^\]/s/^ *'\(.*\)',/\1/p" tests/contract/meson.build | grep -v random
}

# Every group by a process, some at a time.
contract_of_islands() {
    contract_groups | xargs -P 6 -I GROUP sh -c \
        "timeout 100 '$build/tests/contract/contract' GROUP >'$results/island-GROUP.log' 2>&1 || { echo FAILED GROUP; exit 1; }"
}

# What racecheck may say of islands. The program prints its own failures into the same log.
racecheck_log() { # name program argument...
    local log=$results/$1.txt
    shift
    timeout 200 compute-sanitizer --tool racecheck --racecheck-report hazard --print-limit 100000 "$@" >"$log" 2>&1
}

racecheck_of() { # name threads-of-a-lane program argument...
    local name=$1 lane=$2 status=0
    shift 2
    racecheck_log "$name" "$@" || status=1
    python3 tests/racecheck_words.py --lane "$lane" "${excuses[@]}" "$results/$name.txt" || status=1
    return $status
}

# Does racecheck report ordered accesses where only half of a lane met before?
racecheck_of_partial_barriers() {
    local program=$build/partial_barriers
    excuses=()
    nvcc -arch=native -o "$program" tests/gpu/racecheck_of_partial_barriers.cu && racecheck_log racecheck-partial "$program" || return 1
    ! grep -q 'SUMMARY: [1-9]' "$results/racecheck-partial.txt" || excuses=(--partial)
    echo "racecheck takes ${excuses[*]}"
}

# One random graph.
racecheck_of_island() { # seed
    BRAID_TEST_SEED=$1 racecheck_of "racecheck-island-$1" 32 "$build/tests/contract/contract" random_graphs_keep_every_order
}

islands() {
    # Where it is empty nvJitLink is looked for, which tests do not.
    export BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=island BRAID_CACHE=$build/island-cache BRAID_NVJITLINK=${NVJITLINK:-}
    step contract-island contract_of_islands
    step random-islands in_shares 14 timeout 200 "$build/tests/contract/contract" random_graphs_keep_every_order
    step memcheck-island sanitized memcheck \
        "$build/tests/contract/contract" a_launch_keeps_the_graphs_order memory_is_copied_and_filled
    for seed in 3 8 21; do step "racecheck-island-$seed" racecheck_of_island $seed; done
    unset BRAID_TEST_BACKEND BRAID_TEST_MODE BRAID_CACHE BRAID_NVJITLINK
    step islands-faults "$build/tests/gpu/gpu_islands_bear_faults_and_company"
    step many "$build/bench/bench_gpu_many"
    step islands "$build/bench/bench_gpu_islands"
    for way in "by hand" none "the whole" chosen; do
        step "alone-${way// /-}" "$build/bench/bench_gpu_islands" alone "$way"
    done
}

first() {
    local library name way run
    for library in "${NVJITLINK:-}" off; do
        name=${library:+${library##*/}}
        for way in graph island runner; do
            for run in 1 2 3; do
                BRAID_CACHE=off CUDA_CACHE_DISABLE=1 BRAID_NVJITLINK=$library \
                    step "first-$way-${name:-found}-$run" timeout 60 "$build/bench/bench_gpu_first" "$way"
            done
        done
        # The same islands by both compilers: nvJitLink makes relocatable code first.
        BRAID_NVJITLINK=$library step "islands-by-${name:-found}" "$build/bench/bench_gpu_islands"
    done
    rm -rf "$build/first-cache" # an earlier run may have left it
    for run in cold warm; do
        BRAID_CACHE=$build/first-cache CUDA_CACHE_DISABLE=1 BRAID_NVJITLINK=${NVJITLINK:-} \
            step "first-cached-$run" timeout 60 "$build/bench/bench_gpu_first" island
    done
    grep -H '^runner\|^island\|^graph' "$results"/first-*.log
}

groups_of() { # mode places devices frames
    BRAID_TEST_BACKEND=cuda BRAID_TEST_MODE=$1 BRAID_TEST_PLACES=$2 BRAID_TEST_DEVICES=$3 BRAID_TEST_FRAMES=$4 \
        timeout 60 "$build/tests/groups/groups_frames_run_on_several_places"
}

# Captured graphs of both devices, imported into a group.
group_imports() {
    BRAID_TEST_CAPTURES=300 step imports-random on_the_driver "$build/tests/import/import_captures_of_two_devices_play_as_before"
    step imports-refused on_the_driver "$build/tests/import/import_graphs_of_two_devices_are_taken_whole_or_refused"
    NCCL_NVLS_ENABLE=0 LD_LIBRARY_PATH=$(find_nccl)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        step imports-nccl on_the_driver timeout 100 "$build/tests/import/import_collectives_keep_their_orders"
    grep -h summary "$results"/imports-*.log
}

devices() {
    nvidia-smi topo -m >"$results/topology.txt" 2>&1
    for mode in streams graph; do
        step "groups-$mode-2" groups_of $mode 2 2 1
        step "groups-$mode-2-in-flight" groups_of $mode 2 2 3
        step "groups-$mode-4-of-2" groups_of $mode 4 2 1
        step "groups-$mode-2-of-1" groups_of $mode 2 1 1
    done
    for mode in streams graph; do
        BRAID_TEST_PLACES=2 BRAID_TEST_DEVICES=2 BRAID_TEST_GRAPHS=200 \
            step "contract-group-$mode" contract_of cuda $mode
    done
    group_imports
    step places timeout 100 "$build/bench/bench_gpu_places" cuda 2
    step places-mpm timeout 60 "$build/bench/bench_gpu_places_mpm" cuda 2
    cat "$results/places.log" "$results/places-mpm.log"
}

if [ "${1:-}" = pack ]; then
    pack
    exit
fi
mkdir -p "$results"
use_deps
describe | tee "$results/machine.txt"
for part in "${@:-build contract hip mpm sanitize adapters_sanitize launch frames times sweep large rigid wide loops solver audit derived imported captures blackbox islands first adapters}"; do
    for name in $part; do
        case $name in
        build) step build build_all || exit 1 ;;
        contract | hip | amd | mpm | sanitize | adapters_sanitize | launch | first | frames | sweep | large | rigid | wide | loops | solver | audit | derived | imported | captures | blackbox | islands | adapters | beside | beside_cpu | devices | group_imports | ranks | recorded | stamped | times | torch | torch_ranks | vulkan | warp) $name ;;
        *) echo "no part '$name'" && exit 2 ;;
        esac
    done
done
# All logs in one file: some ways of fetching results take few.
tar -czf "$results/logs.tar.gz" -C "$results" $(cd "$results" && ls | grep -v tar.gz)
exit $failed

// SPDX-License-Identifier: Apache-2.0
// An island's walker: the kernel that runs its lists. gpu_island_code.c puts constants in front.
//
// Each lane walks its list: wait, call, publish. A lane is one group or a team of them, which share
// the blocks of each call. Lanes of one block see each other's progress in shared memory. Lanes of
// several blocks see it in global memory, where it is never reset. Each frame begins where the last
// one ended, at the same number on every lane. A frame's arguments are the kernel's own, so frames
// in flight keep theirs. For several frames in one launch they may stand in rows. A row is loaded
// when all groups of the block are done with the frame before. Small arguments are loaded one call
// ahead, and the words of a list two. If a launch has no room for the arguments, they are in memory
// for all its frames. Each block loads those of its lanes, `away` units. Notes are in host memory,
// where they can be read after a fault. For call N of a lane, the note is 2N+1 while it waits and
// 2N+2 while it runs. Between frames it is 0.
//
// Data that other kernels have written is read behind griddepcontrol.wait only. That includes the
// progress, which the frame before may still write. The progress is also read before the block has
// met. A lane without calls tells its first frame right after that, and its other threads would
// begin where that frame ends. The lists are constant, and read before the wait. All threads of all
// blocks wait, so the end of an island implies the end of everything before it (gpu_ptx_early.h).
// The words that lanes of a block poll have a line of their own, and lane g alone writes word g.
// So a tool that reports them (racecheck) tells them by the address.
//
// The bound of blocks gives each thread as many registers as there are. Without it, the assembler
// may take a half, so that two islands would have room, and keep values of the kernels in memory.
//
// Where grids vary, the grid of a call stands in front of its arguments. Both are part of the
// frame. The loop over a call's blocks stays rolled: each copy has all bodies.
//
// If lanes are warps of one block, thread i of each remembers the progress of lane i at its last
// look. Most waits have long ended, and need no look. All threads of a lane tell the same number,
// without a branch around a release. They meet between two numbers, so no word goes back.
//
// In timed islands (BRAID_TIMED), one thread of each lane writes for each call its begin, as a
// complement, and its end. A call begins when its waits have ended, or when the call before it on
// its lane has.
//
// In timed islands with scopes, that thread adds the time of each run to the call's tally instead.
// `counter` tells the frame, which has tallies of its own. An island in a loop of the driver's runs
// several times in a frame. Behind the tallies of calls, `num_tallies` of them, are those of
// scopes. Thread 0 of lane 0 writes them, as it goes on from a step.
//
// In islands with scopes (BRAID_LOOPS), the one frame goes from step to step. Behind a step all
// lanes meet. Thread 0 of lane 0 tests, and writes the answer. Threads of one block read it behind
// a barrier. It has two places by turns, since a chain's step without calls has no barrier. In
// several blocks, lane 0 tells a number behind the last of the step, in a word that is not its
// progress. All threads read that number before the answer. The answer has one place: thread 0
// writes the next one when all lanes have ended the next step, so they have read this one.
//
// The scopes stand behind the arguments. Thread 0 alone changes their copy in shared memory.
//
// The host may cancel the frame, by a word of the device. From then on a lane calls nothing, but
// waits and tells as before, so none waits for ever. Its numbers are larger by BRAID_OFF: a lane
// that waited for them calls nothing either. Lanes of several blocks go back to their numbers when
// all lanes have ended the step.
//
// A lane may be late to go back, while others are a step further. So the end of a step is a number
// of that step, with BRAID_OFF or without.
//
// A lane asks for the word as a call begins, and uses the answer behind it, so it rarely waits for
// the load. If the word is set, any thread gives shape 0, which runs nothing, to the call behind
// the two that were loaded ahead. It does so before the lane meets, and all read the call behind
// that. With BRAID_LEARNS, a lane remembers that it is off. A plain chain has one list instead, in
// which each call drops a later one.
//
// A loop also asks as the last step of an iteration begins, and uses the answer behind it.
// If a lane has the answer at the end of a step, the test has it too, by the block or by the lane's
// number. The test tells it to all lanes, as a bit of its answer. So lists of few calls stop as
// well.

extern "C" __global__ void __launch_bounds__(BRAID_THREADS, BRAID_AT_ONCE)
    braid_island(const uint4 *program, unsigned *progress, unsigned span, unsigned frames,
                 const uint4 *rows, const __grid_constant__ braid_island_args args,
                 volatile unsigned *notes, const unsigned *cancelled, ulonglong2 *times,
                 unsigned first, unsigned room, unsigned stride, unsigned scopes_at,
                 unsigned num_scopes, unsigned away, const unsigned long long *counter,
                 unsigned counts_of_frame, unsigned num_tallies)
{
    static_assert(!BRAID_EARLY || __CUDA_ARCH__ >= 900, "the compiler is older than the device");
    __shared__ __align__(128) unsigned braid_island_done[32];
    const unsigned group = braid_island_group(), index = braid_island_index();
    const unsigned here = group / BRAID_TEAM, rank = braid_island_rank();
    const unsigned lane = blockIdx.x * (BRAID_GROUPS / BRAID_TEAM) + here;
    const unsigned is_off = BRAID_CANCELS ? braid_island_ask(cancelled) : 0u;
    const uint4 head = program[blockIdx.x];
    uint4 *const memory = braid_island_memory + BRAID_GROUPS * BRAID_SHARED / 16;
    uint4 *const own = memory + BRAID_ARGS;
    for (unsigned i = threadIdx.x; i < sizeof(args) / 16; i += BRAID_THREADS)
        memory[i] =
            make_uint4((unsigned)args.bytes[2 * i], (unsigned)(args.bytes[2 * i] >> 32),
                       (unsigned)args.bytes[2 * i + 1], (unsigned)(args.bytes[2 * i + 1] >> 32));
    for (unsigned i = threadIdx.x; i < head.y; i += BRAID_THREADS)
        own[i] = program[head.x + i];
    if (threadIdx.x < BRAID_GROUPS)
        braid_island_done[threadIdx.x] = 0;
    if (BRAID_EARLY)
        asm volatile("griddepcontrol.wait;" : : : "memory");
    for (unsigned i = 0; BRAID_CANCELS && threadIdx.x == 0 && i < BRAID_GROUPS + 2; i++)
        braid_island_off[i] = is_off;
    for (unsigned i = threadIdx.x; rows && i < BRAID_ARGS; i += BRAID_THREADS)
        memory[i] = rows[away * blockIdx.x + i];
    const bool counts = BRAID_BLOCKS > 1 && threadIdx.x < BRAID_GROUPS * BRAID_GROUP;
    unsigned base = counts ? progress[lane * 32] : 0u;
    __syncthreads();
    if (threadIdx.x >= BRAID_GROUPS * BRAID_GROUP)
        return;
    const braid_island_shape *const shapes = (const braid_island_shape *)own;
    const unsigned *const waits = (const unsigned *)(own + head.w);
    uint2 list = ((const uint2 *)(own + head.z + BRAID_LOOPS))[here];
    const unsigned first_call = list.x;
    const char *const frame_args = (const char *)memory;
    const braid_island_small *const small_args = (const braid_island_small *)memory;
    const unsigned first_block = group % BRAID_TEAM; // that a group runs
    const bool is_first = rank == 0, takes_notes = notes && is_first;
    unsigned told = 0;
    if (BRAID_CANCELS && braid_island_off[BRAID_GROUPS + 1]) {
        told = BRAID_OFF;
        list.y = list.x;
    }
    unsigned *const mine = BRAID_BLOCKS == 1 ? braid_island_done + here : progress + lane * 32;
    unsigned seen = 0;
#if BRAID_LOOPS
    braid_island_scope *const scopes = (braid_island_scope *)((char *)memory + scopes_at);
    unsigned step_at = 0, turn = 0;
    bool is_cancelled = false;
    const unsigned long long frame_at = BRAID_TIMED ? *counter / counts_of_frame : 0;
    braid_island_tally *const frame_tallies =
        (braid_island_tally *)times + frame_at % room * (num_tallies + num_scopes);
    braid_island_tally *const tallies = frame_tallies + lane * stride;
    braid_island_tally *const scope_tallies = frame_tallies + num_tallies;
    for (unsigned i = 0; BRAID_CANCELS && lane == 0 && is_first && i < num_scopes; i++)
        braid_island_count(scopes + i);
#endif
    for (unsigned frame = 0; frame < frames; frame++, base += span) {
        if (rows && frame && !away) {
            for (unsigned i = threadIdx.x; i < BRAID_ARGS; i += BRAID_GROUPS * BRAID_GROUP)
                memory[i] = rows[frame * BRAID_ARGS + i];
            braid_island_gather();
        }
#if BRAID_LOOPS
        const uint4 step = own[head.z + step_at];
        braid_island_scope *const scope = scopes + (step.x >> 2);
        const bool asks =
            BRAID_CANCELS && (step_at == 0 || (step.x & 3) == 2) && lane == 0 && is_first;
        const unsigned answer = asks ? braid_island_ask(cancelled) : 0u;
        seen = base;
#endif
        unsigned shape = ~0u, entry = 0, threads = 0, blocks = 0, ends = 0;
        told = BRAID_LEARNS ? told & BRAID_OFF : 0u;
        ulonglong2 *const stamps = times + ((first + frame) % room * BRAID_LANES + lane) * stride;
        unsigned long long now = BRAID_TIMED && is_first ? braid_island_now() : 0;
        uint4 next = own[list.x], after = own[list.x + 1];
        braid_island_small next_args =
            BRAID_SMALL ? small_args[next.y / sizeof(braid_island_small)] : braid_island_small();
#pragma unroll BRAID_UNROLL
        for (unsigned t = list.x; t < list.y; t++) {
            const uint4 task = next;
            const braid_island_small held_args = next_args;
            const char *const args_here = frame_args + task.y;
            next = after;
            after = own[t + 2];
            if (BRAID_SMALL)
                next_args = small_args[next.y / sizeof(braid_island_small)];
            const unsigned num_waits = task.x >> 16 & 0x7fff;
            if (!BRAID_CHAIN && num_waits) {
                bool is_off = false;
                if (takes_notes)
                    notes[lane] = 2 * (t - first_call) + 1;
                if (BRAID_WARPS) {
                    seen = braid_island_see(seen, num_waits, task, waits, base, braid_island_done,
                                            is_off);
                } else {
                    const unsigned inside[2] = { task.z, task.w };
                    for (unsigned i = rank; i < num_waits; i += BRAID_TEAM * BRAID_GROUP) {
                        const unsigned wait =
                            num_waits <= 2 ? (i ? inside[1] : inside[0]) : waits[task.z + i];
                        const unsigned other = wait >> 20, number = base + (wait & 0xfffff);
                        const unsigned *at =
                            BRAID_BLOCKS == 1 ? braid_island_done + other : progress + other * 32;
                        unsigned reached;
                        do
                            reached = braid_island_look(at);
                        while ((int)(reached - number) < 0);
                        if (braid_island_is_off(reached, number))
                            braid_island_off[here] = 1;
                    }
                    braid_island_meet();
                    is_off = BRAID_CANCELS && *(volatile unsigned *)(braid_island_off + here);
                }
                if (BRAID_CANCELS && is_off) {
                    told |= BRAID_OFF;
                    shape = ~0u;
                }
                if (BRAID_TIMED && is_first)
                    now = braid_island_now();
            }
            if (takes_notes)
                notes[lane] = 2 * (t - first_call) + 2;
            ends = BRAID_CANCELS ? braid_island_ask(cancelled) : 0u;
            const uint4 extent =
                BRAID_GRIDS ? *(const uint4 *)(args_here - 16) : make_uint4(0, 0, 0, 0);
            if (BRAID_GRIDS || (task.x & 0xffff) != shape) {
                shape = task.x & 0xffff;
                if (BRAID_LEARNS && (shape == 0 || told & BRAID_OFF)) {
                    told |= BRAID_OFF;
                    shape = 0;
                    braid_island_off[BRAID_GROUPS] = 1;
                }
                entry = shapes[shape].entry;
                threads = shapes[shape].threads;
                blocks = BRAID_GRIDS ? extent.x * extent.y * extent.z : shapes[shape].blocks;
                if (index == 0 && first_block < blocks) {
                    const uint3 grid =
                        BRAID_GRIDS ? make_uint3(extent.x, extent.y, extent.z) : shapes[shape].grid;
                    braid_island_here[group].block = braid_island_place(first_block, grid);
                    braid_island_here[group].grid = grid;
                    braid_island_here[group].dim = shapes[shape].dim;
                }
                braid_island_join();
            }
            if (!BRAID_GRIDS && !BRAID_WIDE) {
                if (BRAID_WHOLE || index < threads)
                    braid_island_call(entry, BRAID_HERE);
            } else {
#pragma unroll 1
                for (unsigned b = first_block; b < blocks; b += BRAID_TEAM) {
                    if (b != first_block) {
                        braid_island_join();
                        if (index == 0)
                            braid_island_here[group].block =
                                braid_island_place(b, braid_island_here[group].grid);
                        braid_island_join();
                        shape = ~0u;
                    }
                    if (index < threads)
                        braid_island_call(entry, BRAID_HERE);
                }
            }
            if (BRAID_CANCELS)
                braid_island_drop(own + t + 3, ends && t + 3 < list.y);
            braid_island_meet();
            if (BRAID_TIMED && is_first) {
                const unsigned long long end = braid_island_now();
#if BRAID_LOOPS
                if (threads && blocks)
                    braid_island_add_up(tallies + t - first_call, frame_at + 1,
                                        end > now ? end - now : 0);
#else
                stamps[t - first_call] = make_ulonglong2(~now, end);
#endif
                now = end;
            }
            if (!BRAID_CHAIN && task.x >> 31) {
                told++;
                if (is_first || BRAID_WARPS)
                    braid_island_tell(mine, base + told);
            }
        }
        if (takes_notes)
            notes[lane] = 0;
#if BRAID_LOOPS
        if (BRAID_CANCELS && ends && is_first) {
            if (BRAID_BLOCKS == 1)
                braid_island_off[BRAID_GROUPS] = 1;
            else
                told |= BRAID_OFF;
        }
#endif
        if (!BRAID_CHAIN && told != span) {
            if (BRAID_WARPS)
                braid_island_join();
            if (is_first)
                braid_island_tell(mine, base + span + (told & BRAID_OFF));
        }
        if (BRAID_BLOCKS == 1) {
            if (!BRAID_CHAIN)
                braid_island_gather();
        } else if (frame + 1 < frames || (!BRAID_LOOPS && told & BRAID_OFF)) {
            for (unsigned i = rank; i < BRAID_LANES; i += BRAID_TEAM * BRAID_GROUP) {
                while ((int)(braid_island_look(progress + i * 32) - (base + span)) < 0)
                    ;
            }
            braid_island_meet();
            if (told & BRAID_OFF && is_first)
                braid_island_tell(mine, base + span);
        }
#if BRAID_LOOPS
        is_cancelled |= answer != 0;
        const unsigned decision =
            braid_island_decide(progress, lane, base + span, turn, step.x & 3, scope, is_cancelled);
        const bool goes_on = decision & 1;
        if (BRAID_CANCELS && decision & 2)
            told |= BRAID_OFF;
        if (BRAID_TIMED && lane == 0 && is_first)
            braid_island_time(scope_tallies + (step.x >> 2), step.x & 3, goes_on, frame_at + 1);
        if (BRAID_BLOCKS > 1 && told & BRAID_OFF && is_first)
            braid_island_tell(mine, base + span);
        turn ^= 1;
        base++;
        step_at = (goes_on ? step.y : step.z) * BRAID_STEP;
        list = ((const uint2 *)(own + head.z + step_at + 1))[here];
        frame -= step_at != 0;
#endif
    }
#if BRAID_LOOPS
    if (BRAID_BLOCKS > 1 && is_first)
        braid_island_tell(mine, base);
    for (unsigned i = 0; lane == 0 && is_first && i < num_scopes; i++) {
        braid_island_count(scopes + i);
        *scopes[i].total = scopes[i].sum + (scopes[i].kind & 2 ? *scopes[i].total : 0);
    }
#endif
}

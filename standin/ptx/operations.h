// SPDX-License-Identifier: Apache-2.0
// The operations that the stand-in runs: one name for each first part of an opcode.
#ifndef BRAID_STANDIN_PTX_OPERATIONS_H
#define BRAID_STANDIN_PTX_OPERATIONS_H

// clang-format off
#define OPERATIONS(X)                                                                              \
    X(add)                                                                                         \
    X(sub) X(mul) X(mad) X(fma) X(div) X(rem) X(abs) X(neg) X(min) X(max) X(and) X(or) X(xor)      \
        X(not ) X(cnot) X(shl) X(shr) X(shf) X(popc) X(clz) X(bfind) X(brev) X(bfe) X(bfi) X(prmt) \
            X(lop3) X(setp) X(set) X(selp) X(slct) X(mov) X(cvt) X(cvta) X(sqrt) X(rcp) X(rsqrt)   \
                X(ex2) X(lg2) X(sin) X(cos) X(copysign) X(sad) X(ld) X(ldu) X(st) X(atom) X(red)   \
                    X(bar) X(barrier) X(shfl) X(vote) X(activemask) X(bra) X(brx) X(ret) X(exit)   \
                        X(trap) X(membar) X(fence) X(nanosleep) X(griddepcontrol) X(prefetch)      \
                            X(isspacep) X(call) X(cp) X(pmevent) X(match)
// clang-format on

#define NAME_OPERATION(name) OP_##name,
enum operation { OPERATIONS(NAME_OPERATION) NUM_OPERATIONS };
#undef NAME_OPERATION

#endif

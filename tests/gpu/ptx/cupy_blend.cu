#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
typedef float T;
typedef int S;
// a preamble
extern "C" __global__ void blend(float *_data_table, ptrdiff_t _num_table, int *_data_x, ptrdiff_t _num_x, const float factor, float *_data_out, ptrdiff_t _num_out)
{
    ptrdiff_t _num = 0x7fffffffffffffff;
    if (_num_x < _num) _num = _num_x;
    if (_num_out < _num) _num = _num_out;
    CIndexer<1> _ind(&_num);
    const CArray<float, 1, true, false> table(_data_table, &_num_table);
    T zero = 0;
    CUPY_FOR(i, _num) {
        _ind.set(i);
        const int &x = _data_x[i];
        float &out = _data_out[i];
        out += table[x] * factor + _ind.size() + table.size();
    }
    zero = 1;
}

// Isotonic regression of each row: the non-decreasing sequence nearest to it in least squares, by pooling neighbours that
// violate the order into blocks (Ayer et al. 1955); and its derivative, which averages over each block. One pass, which no
// few vector operations do. The handlers follow XLA's foreign function interface, whose headers JAX brings along.

#include <cstdint>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

template <typename T>
void Pool(const T* x, T* y, int64_t n) {
  std::vector<double> sum;
  std::vector<int64_t> size;
  for (int64_t i = 0; i < n; ++i) {
    double s = x[i];
    int64_t k = 1;
    while (!sum.empty() && sum.back() * k >= s * size.back()) {  // the block before has the greater mean
      s += sum.back();
      k += size.back();
      sum.pop_back();
      size.pop_back();
    }
    sum.push_back(s);
    size.push_back(k);
  }
  for (size_t b = 0; b < sum.size(); ++b)
    for (int64_t i = 0; i < size[b]; ++i) *y++ = static_cast<T>(sum[b] / size[b]);
}

template <typename T>
void Average(const T* y, const T* dy, T* dx, int64_t n) {
  for (int64_t start = 0, end; start < n; start = end) {
    double s = 0;
    for (end = start; end < n && y[end] == y[start]; ++end) s += dy[end];
    for (int64_t i = start; i < end; ++i) dx[i] = static_cast<T>(s / (end - start));
  }
}

// Calls `row(pointers of one row ..., its length)` for every row, in the buffers' own type.
template <typename Row>
ffi::Error EachRow(ffi::AnyBuffer first, Row row) {
  auto dims = first.dimensions();
  if (dims.size() == 0) return ffi::Error::InvalidArgument("isotonic: at least one axis is needed");
  const int64_t n = dims.back(), rows = n ? first.element_count() / n : 0;
  for (int64_t r = 0; r < rows; ++r) row(r * n, n);
  return ffi::Error::Success();
}

ffi::Error IsotonicImpl(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  if (x.element_type() == ffi::F64)
    return EachRow(x, [&](int64_t at, int64_t n) {
      Pool(x.typed_data<double>() + at, y->typed_data<double>() + at, n);
    });
  return EachRow(x, [&](int64_t at, int64_t n) {
    Pool(x.typed_data<float>() + at, y->typed_data<float>() + at, n);
  });
}

ffi::Error IsotonicGradImpl(ffi::AnyBuffer y, ffi::AnyBuffer dy, ffi::Result<ffi::AnyBuffer> dx) {
  if (y.element_type() == ffi::F64)
    return EachRow(y, [&](int64_t at, int64_t n) {
      Average(y.typed_data<double>() + at, dy.typed_data<double>() + at, dx->typed_data<double>() + at, n);
    });
  return EachRow(y, [&](int64_t at, int64_t n) {
    Average(y.typed_data<float>() + at, dy.typed_data<float>() + at, dx->typed_data<float>() + at, n);
  });
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(Isotonic, IsotonicImpl, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(IsotonicGrad, IsotonicGradImpl,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

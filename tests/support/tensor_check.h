#pragma once

#include <limits>

#include <QString>
#include <QtTest>

#include <ATen/ATen.h>

namespace lathe::testing {

// Largest absolute difference divided by the largest absolute value of what is expected; infinite for another shape
// and where anything is not finite.
inline double relative_difference(const at::Tensor& actual, const at::Tensor& expected) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (!actual.defined() || actual.sizes() != expected.sizes()) return kInfinite;
  if (expected.numel() == 0) return 0.0;
  const at::Tensor a = actual.detach().to(at::kCPU, at::kDouble);
  const at::Tensor b = expected.detach().to(at::kCPU, at::kDouble);
  const double difference = (a - b).abs().max().item<double>();
  const double size = b.abs().max().item<double>();
  if (!std::isfinite(difference) || !std::isfinite(size)) return kInfinite;
  return size == 0.0 ? (difference == 0.0 ? 0.0 : kInfinite) : difference / size;
}

}  // namespace lathe::testing

// Fails with the names and the difference unless `actual` is within `tolerance` (relative, see above) of `expected`.
#define LATHE_CLOSE(actual, expected, tolerance)                                                                    \
  do {                                                                                                              \
    const double lathe_difference = ::lathe::testing::relative_difference((actual), (expected));                    \
    QVERIFY2(                                                                                                       \
        lathe_difference <= (tolerance),                                                                            \
        qPrintable(QStringLiteral("%1: off by %2, allowed %3").arg(#actual).arg(lathe_difference).arg(tolerance))); \
  } while (false)

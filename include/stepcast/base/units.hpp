#pragma once
#include <compare>
#include <cstdint>

namespace stepcast {

/// A quantity is a number with the dimension time^Time * data^Data * work^Work, in seconds, bytes
/// and FLOPs. Only these three dimensions occur, so this is the whole unit system: sums need equal
/// dimensions, products and quotients compose them, and a quotient of equals is a plain double.
template <int Time, int Data, int Work>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double si) : si_{si} {}
  /// The number in SI base units (s, B, FLOP and their products).
  constexpr double value() const { return si_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity{-si_}; }
  constexpr Quantity& operator+=(Quantity o) { return si_ += o.si_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return si_ -= o.si_, *this; }
  constexpr Quantity& operator*=(double k) { return si_ *= k, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity{a.si_ + b.si_}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity{a.si_ - b.si_}; }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity{a.si_ * k}; }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity{k * a.si_}; }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity{a.si_ / k}; }

 private:
  double si_ = 0;
};

template <int T, int B, int F, int U, int C, int G>
constexpr auto operator*(Quantity<T, B, F> a, Quantity<U, C, G> b) {
  if constexpr (T + U == 0 && B + C == 0 && F + G == 0) {
    return a.value() * b.value();
  } else {
    return Quantity<T + U, B + C, F + G>{a.value() * b.value()};
  }
}

template <int T, int B, int F, int U, int C, int G>
constexpr auto operator/(Quantity<T, B, F> a, Quantity<U, C, G> b) {
  if constexpr (T == U && B == C && F == G) {
    return a.value() / b.value();
  } else {
    return Quantity<T - U, B - C, F - G>{a.value() / b.value()};
  }
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds{static_cast<double>(v)}; }
constexpr Seconds operator""_s(unsigned long long v) { return Seconds{static_cast<double>(v)}; }
constexpr Seconds operator""_ms(long double v) { return Seconds{static_cast<double>(v) * 1e-3}; }
constexpr Seconds operator""_ms(unsigned long long v) {
  return Seconds{static_cast<double>(v) * 1e-3};
}
constexpr Seconds operator""_us(long double v) { return Seconds{static_cast<double>(v) * 1e-6}; }
constexpr Seconds operator""_us(unsigned long long v) {
  return Seconds{static_cast<double>(v) * 1e-6};
}
constexpr Bytes operator""_B(unsigned long long v) { return Bytes{static_cast<double>(v)}; }
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes{static_cast<double>(v) * 1024};
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes{static_cast<double>(v) * 1048576};
}
constexpr Bytes operator""_GiB(unsigned long long v) {
  return Bytes{static_cast<double>(v) * 1073741824};
}
constexpr BytesPerSecond operator""_GBps(long double v) {
  return BytesPerSecond{static_cast<double>(v) * 1e9};
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return BytesPerSecond{static_cast<double>(v) * 1e9};
}
constexpr BytesPerSecond operator""_Gbps(unsigned long long v) {
  return BytesPerSecond{static_cast<double>(v) * 1.25e8};
}
constexpr FlopsPerSecond operator""_TFLOPS(long double v) {
  return FlopsPerSecond{static_cast<double>(v) * 1e12};
}
constexpr FlopsPerSecond operator""_TFLOPS(unsigned long long v) {
  return FlopsPerSecond{static_cast<double>(v) * 1e12};
}
}  // namespace literals

static_assert(Seconds{6} / Seconds{3} == 2.0);
static_assert((Bytes{4} / BytesPerSecond{2}).value() == 2.0);

}  // namespace stepcast

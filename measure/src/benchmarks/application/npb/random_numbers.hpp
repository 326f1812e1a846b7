// NPB's random numbers: x(k+1) = 5^13 x(k) mod 2^46, and x 2^-46 is the number (RNR-94-007, 2.3).
//
// 2^46 divides 2^64, so wrapping products of 64-bit integers are exact in the relevant bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace scope::npb {

constexpr std::uint64_t random_modulus = std::uint64_t{1} << 46;
constexpr std::uint64_t random_multiplier = 1220703125;  // 5^13

constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) { return a * b & (random_modulus - 1); }

// a^exponent mod 2^46.
constexpr std::uint64_t power(std::uint64_t a, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, a = product(a, a))
    if (exponent & 1) result = product(result, a);
  return result;
}

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}

  // The next number, in (0, 1).
  double next() {
    state_ = product(random_multiplier, state_);
    return as_real(state_);
  }

  // The state after `count` calls of next().
  void skip(std::uint64_t count) { state_ = product(power(random_multiplier, count), state_); }

  // Equals calls of next(), but computes several numbers at a time: number k + lanes depends only on number k.
  void fill(std::span<double> numbers) {
    constexpr std::uint64_t stride = power(random_multiplier, lanes);
    std::array<std::uint64_t, lanes> states;
    std::uint64_t state = state_;
    for (auto& first : states) first = state = product(random_multiplier, state);
    std::size_t at = 0;
    for (; at + lanes <= numbers.size(); at += lanes) {
      for (int lane = 0; lane < lanes; ++lane) {
        numbers[at + lane] = as_real(states[lane]);
        states[lane] = product(stride, states[lane]);
      }
    }
    state_ = product(power(random_multiplier, at), state_);
    for (; at < numbers.size(); ++at) numbers[at] = next();
  }

 private:
  static constexpr int lanes = 4;
  static double as_real(std::uint64_t state) {
    return static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-46;
  }

  std::uint64_t state_;
};

}  // namespace scope::npb

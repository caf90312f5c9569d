#include "core/base/python_random.h"

#include <algorithm>
#include <bit>

namespace lathe {

namespace {
constexpr std::size_t kWords = 624;
constexpr std::size_t kShift = 397;
}  // namespace

// Matsumoto and Nishimura, init_by_array, with the 32-bit words of the seed as key.
void PythonRandom::seed(std::uint64_t value) {
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(value)};
  if (value >> 32 != 0) key.push_back(static_cast<std::uint32_t>(value >> 32));

  auto& w = state_.words;
  w[0] = 19650218u;
  for (std::uint32_t i = 1; i < kWords; ++i) w[i] = 1812433253u * (w[i - 1] ^ (w[i - 1] >> 30)) + i;

  std::size_t i = 1;
  std::size_t j = 0;
  for (std::size_t k = std::max(kWords, key.size()); k > 0; --k) {
    w[i] = (w[i] ^ ((w[i - 1] ^ (w[i - 1] >> 30)) * 1664525u)) + key[j] + static_cast<std::uint32_t>(j);
    if (++i >= kWords) {
      w[0] = w[kWords - 1];
      i = 1;
    }
    if (++j >= key.size()) j = 0;
  }
  for (std::size_t k = kWords - 1; k > 0; --k) {
    w[i] = (w[i] ^ ((w[i - 1] ^ (w[i - 1] >> 30)) * 1566083941u)) - static_cast<std::uint32_t>(i);
    if (++i >= kWords) {
      w[0] = w[kWords - 1];
      i = 1;
    }
  }
  w[0] = 0x80000000u;
  state_.position = kWords;
}

std::uint32_t PythonRandom::bits32() {
  auto& w = state_.words;
  if (state_.position >= kWords) {
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint32_t y = (w[i] & 0x80000000u) | (w[(i + 1) % kWords] & 0x7fffffffu);
      w[i] = w[(i + kShift) % kWords] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908b0dfu : 0u);
    }
    state_.position = 0;
  }
  std::uint32_t y = w[state_.position++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

std::uint64_t PythonRandom::getrandbits(int count) {
  if (count <= 32) return bits32() >> (32 - count);
  const std::uint64_t low = bits32();
  return low | (static_cast<std::uint64_t>(bits32() >> (64 - count)) << 32);
}

double PythonRandom::random() {
  const std::uint32_t a = bits32() >> 5;
  const std::uint32_t b = bits32() >> 6;
  return (a * 67108864.0 + b) / 9007199254740992.0;
}

std::uint64_t PythonRandom::below(std::uint64_t limit) {
  if (limit == 0) return 0;
  const int count = static_cast<int>(std::bit_width(limit));
  std::uint64_t drawn = getrandbits(count);
  while (drawn >= limit) drawn = getrandbits(count);
  return drawn;
}

std::int64_t PythonRandom::randint(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

double PythonRandom::uniform(double low, double high) {
  return low + (high - low) * random();
}

}  // namespace lathe

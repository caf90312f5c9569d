#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

// SHA-256 (libcrypto), fed in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  std::string hex();  // ends it: 64 lower-case digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
std::string sha256_hex_of_file(const std::filesystem::path& path);

// FNV-1a, 32 bits (the deterministic weights of the golden tests are seeded with it).
std::uint32_t fnv1a_32(std::string_view text);

}  // namespace lathe

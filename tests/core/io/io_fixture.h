#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace lathe::testing {

inline std::string length_bytes(std::uint64_t length) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text;
}

// A safetensors file with this header and `data_bytes` bytes 'd'.
inline std::string raw_file(std::string_view header, std::size_t data_bytes) {
  return length_bytes(header.size()) + std::string(header) + std::string(data_bytes, 'd');
}

// An entry of the header; shape and offsets as they stand between the brackets.
inline std::string tensor(std::string_view name, std::string_view shape, std::string_view offsets,
                          std::string_view dtype = "U8") {
  std::string text = "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":[";
  return text + std::string(shape) + "],\"data_offsets\":[" + std::string(offsets) + "]}";
}

// What the Error of `action` says; empty where it throws none.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace lathe::testing

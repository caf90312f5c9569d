#include <algorithm>
#include <cstring>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/hash.h"
#include "core/io/safetensors.h"
#include "core/io/safetensors_header.h"

namespace lathe::io {
namespace fs = std::filesystem;

namespace {

using Order = std::vector<const TensorToWrite*>;

// What the caller hands in is ours: a fault in it is a fault of the program.
Order checked_order(std::span<const TensorToWrite> tensors) {
  Order order;
  for (const TensorToWrite& tensor : tensors) {
    const std::optional<std::uint64_t> expected = dense_bytes(tensor.dtype, tensor.shape);
    if (!expected || *expected != tensor.bytes.size()) {
      throw Error(ErrorKind::internal,
                  format("tensor '{}' of type {} and shape {} was given {} bytes", printable(tensor.name),
                         name(tensor.dtype), tensor.shape, tensor.bytes.size()));
    }
    if (tensor.name == "__metadata__") throw Error(ErrorKind::internal, "no tensor can be named '__metadata__'");
    order.push_back(&tensor);
  }
  std::ranges::sort(order, [](const TensorToWrite* a, const TensorToWrite* b) {
    return a->dtype != b->dtype ? a->dtype > b->dtype : a->name < b->name;
  });
  std::vector<std::string_view> names;
  for (const TensorToWrite* tensor : order) names.push_back(tensor->name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw Error(ErrorKind::internal, format("duplicate tensor name '{}'", printable(*twice)));
  return order;
}

std::string json_text(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(ErrorKind::internal, format("'{}' cannot be written: it is not UTF-8", printable(text)));
  }
}

// The length and the padded header, as the library writes them. `metadata` null: no `__metadata__` at all.
std::string header_bytes(const Order& order, const Metadata* metadata) {
  std::string text = "{";
  if (metadata != nullptr) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : *metadata) {
      if (text.back() != '{') text += ',';
      text += json_text(key) + ':' + json_text(value);
    }
    text += '}';
  }
  std::uint64_t position = 0;
  for (const TensorToWrite* tensor : order) {
    if (text.back() != '{') text += ',';
    const std::uint64_t end = position + tensor->bytes.size();
    text += json_text(tensor->name) + ":{\"dtype\":\"" + std::string(name(tensor->dtype)) + "\",\"shape\":[";
    for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
      if (i > 0) text += ',';
      text += std::to_string(tensor->shape[i]);
    }
    text += "],\"data_offsets\":[" + std::to_string(position) + ',' + std::to_string(end) + "]}";
    position = end;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kLargestHeader) {
    throw Error(ErrorKind::checkpoint, format("the header would have {} bytes, more than the {} that are allowed",
                                              text.size(), kLargestHeader));
  }
  const std::uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
}

void check_written(const fs::path& temporary, const fs::path& target, const Order& order, const Metadata& metadata) {
  const SafetensorsFile file(temporary);
  bool same = file.tensors().size() == order.size() && file.metadata() == metadata;
  for (std::size_t i = 0; same && i < order.size(); ++i) {
    const TensorInfo& info = file.tensors()[i];
    const std::span<const std::byte> bytes = file.bytes(info);
    same = info.name == order[i]->name && info.dtype == order[i]->dtype && info.shape == order[i]->shape &&
           bytes.size() == order[i]->bytes.size() &&
           (bytes.empty() || std::memcmp(bytes.data(), order[i]->bytes.data(), bytes.size()) == 0);
  }
  if (!same) {
    throw Error(ErrorKind::file, format("'{}' was read back with other contents than were written; the disk may be "
                                        "failing",
                                        target));
  }
}

// The part of `bytes` (which begins at `position` of a file) that lies in [begin, end) of it.
std::span<const std::byte> within(std::span<const std::byte> bytes, std::uint64_t position, std::uint64_t begin,
                                  std::uint64_t end) {
  const std::uint64_t from = std::clamp(begin, position, position + bytes.size()) - position;
  const std::uint64_t to = std::clamp(end, position, position + bytes.size()) - position;
  return bytes.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
}

}  // namespace

void write_safetensors(const fs::path& path, std::span<const TensorToWrite> tensors, const Metadata& metadata) {
  const Order order = checked_order(tensors);
  AtomicFile file(path);
  file.write(header_bytes(order, metadata.empty() ? nullptr : &metadata));
  for (const TensorToWrite* tensor : order) file.write(tensor->bytes);
  file.commit([&](const fs::path& temporary) { check_written(temporary, path, order, metadata); });
}

std::string safetensors_data_hash(std::span<const TensorToWrite> tensors) {
  Sha256 hash;
  for (const TensorToWrite* tensor : checked_order(tensors)) hash.add(tensor->bytes);
  return hash.hex();
}

std::string safetensors_legacy_hash(std::span<const TensorToWrite> tensors, const Metadata& metadata) {
  constexpr std::uint64_t begin = 1u << 20;
  constexpr std::uint64_t end = begin + (1u << 16);
  Metadata kept;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with("ss_")) kept.emplace(key, value);
  }
  const Order order = checked_order(tensors);
  const std::string header = header_bytes(order, &kept);  // an empty map is written too, as the reference does
  Sha256 hash;
  hash.add(within(std::as_bytes(std::span(header)), 0, begin, end));
  std::uint64_t position = header.size();
  for (const TensorToWrite* tensor : order) {
    hash.add(within(tensor->bytes, position, begin, end));
    position += tensor->bytes.size();
  }
  return hash.hex().substr(0, 8);
}

}  // namespace lathe::io

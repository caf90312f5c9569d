#include "core/io/tfevents.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"

namespace lathe::io {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kVersion = "brain.Event:2";

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return std::rotr(crc, 15) + 0xA282EAD8u;  // so that a checksum of data that holds checksums is no weak one
}

template <class T>
void put(std::string& out, T value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  out.append(bytes.data(), bytes.size());
}

// Wire types of protocol buffers.
enum Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Field numbers of Event, Summary and Summary.Value.
enum Field : std::uint32_t {
  kEventTime = 1,
  kEventStep = 2,
  kEventVersion = 3,
  kEventSummary = 5,
  kSummaryValue = 1,
  kValueTag = 1,
  kValueNumber = 2,
};

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, Field field, Wire wire) {
  put_varint(out, field << 3 | wire);
}

void put_bytes(std::string& out, Field field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string encode(const TfEvent& event) {
  std::string out;
  put_key(out, kEventTime, kFixed64);
  put(out, event.wall_time);
  if (event.step != 0) {
    put_key(out, kEventStep, kVarint);
    put_varint(out, static_cast<std::uint64_t>(event.step));
  }
  if (!event.file_version.empty()) put_bytes(out, kEventVersion, event.file_version);
  if (event.scalars.empty()) return out;
  std::string summary;
  for (const TfScalar& scalar : event.scalars) {
    std::string value;
    put_bytes(value, kValueTag, scalar.tag);
    put_key(value, kValueNumber, kFixed32);
    put(value, scalar.value);
    put_bytes(summary, kSummaryValue, value);
  }
  put_bytes(out, kEventSummary, summary);
  return out;
}

std::string record_of(std::string_view data) {
  std::string out;
  put(out, static_cast<std::uint64_t>(data.size()));
  put(out, masked_crc(out));
  out += data;
  put(out, masked_crc(data));
  return out;
}

// Goes through the fields of one message.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : rest_(message) {}

  // False at the end or when the message is damaged.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    field = static_cast<std::uint32_t>(key >> 3);
    number = 0;
    bytes = {};
    switch (key & 7) {
      case kVarint:
        number = varint();
        break;
      case kFixed64:
        bytes = take(8);
        break;
      case kBytes:
        bytes = take(varint());
        break;
      case kFixed32:
        bytes = take(4);
        break;
      default:
        good = false;
    }
    return good;
  }

  std::uint32_t field = 0;
  std::uint64_t number = 0;  // of a varint
  std::string_view bytes;    // of everything else
  bool good = true;

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (std::uint32_t shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty()) return 0;
      value |= (static_cast<std::uint64_t>(byte.front()) & 0x7F) << shift;
      if ((static_cast<unsigned char>(byte.front()) & 0x80) == 0) return value;
    }
    good = false;
    return 0;
  }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      good = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

template <class T>
T number_in(std::string_view bytes) {
  T value{};
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::optional<TfScalar> decode_scalar(std::string_view message) {
  TfScalar scalar;
  bool has_number = false;
  FieldReader reader(message);
  while (reader.next()) {
    if (reader.field == kValueTag) scalar.tag = reader.bytes;
    if (reader.field == kValueNumber) {
      scalar.value = number_in<float>(reader.bytes);
      has_number = true;
    }
  }
  if (!has_number) return std::nullopt;  // a picture, a histogram
  return scalar;
}

TfEvent decode(std::string_view message) {
  TfEvent event;
  FieldReader reader(message);
  while (reader.next()) {
    if (reader.field == kEventTime) event.wall_time = number_in<double>(reader.bytes);
    if (reader.field == kEventStep) event.step = static_cast<std::int64_t>(reader.number);
    if (reader.field == kEventVersion) event.file_version = reader.bytes;
    if (reader.field != kEventSummary) continue;
    FieldReader summary(reader.bytes);
    while (summary.next()) {
      if (summary.field != kSummaryValue) continue;
      if (std::optional<TfScalar> scalar = decode_scalar(summary.bytes)) event.scalars.push_back(std::move(*scalar));
    }
  }
  return event;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  return ~crc;
}

TfEventsWriter::TfEventsWriter(const fs::path& path, double wall_time) : file_(path) {
  if (file_.size() > 0) {
    const TfEvents existing = read_tfevents(path);
    if (existing.events.empty() || existing.events.front().file_version != kVersion) {
      throw Error(ErrorKind::format, format("'{}' is there and is no TensorBoard event file", path));
    }
    if (existing.end < file_.size()) file_.cut_to(existing.end);
    return;
  }
  add({wall_time, 0, std::string(kVersion), {}});
}

bool TfEventsWriter::add(const TfEvent& event) {
  return file_.append(record_of(encode(event)));
}

bool TfEventsWriter::add_scalar(std::string_view tag, float value, std::int64_t step, double wall_time) {
  return add({wall_time, step, {}, {{std::string(tag), value}}});
}

TfEvents read_tfevents(const fs::path& path) {
  constexpr std::size_t length_bytes = sizeof(std::uint64_t);
  constexpr std::size_t head = length_bytes + sizeof(std::uint32_t);
  constexpr std::size_t tail = sizeof(std::uint32_t);
  const MappedFile file(path);
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  TfEvents result;
  while (!rest.empty() && result.problem.empty()) {
    if (rest.size() < head + tail) {
      result.problem = "cut off";
      break;
    }
    const auto length = number_in<std::uint64_t>(rest.substr(0, length_bytes));
    if (number_in<std::uint32_t>(rest.substr(length_bytes, 4)) != masked_crc(rest.substr(0, length_bytes))) {
      result.problem = "wrong checksum";
    } else if (length > rest.size() - head - tail) {
      result.problem = "cut off";
    } else {
      const std::string_view data = rest.substr(head, static_cast<std::size_t>(length));
      if (number_in<std::uint32_t>(rest.substr(head + data.size(), tail)) != masked_crc(data)) {
        result.problem = "wrong checksum";
        break;
      }
      result.events.push_back(decode(data));
      rest.remove_prefix(head + data.size() + tail);
      result.end += head + data.size() + tail;
    }
  }
  return result;
}

std::string tfevents_file_name(double wall_time, std::string_view label) {
  return format("events.out.tfevents.{:010d}.{}", static_cast<std::int64_t>(wall_time), label);
}

}  // namespace lathe::io

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/append_file.h"

namespace lathe::io {

// TensorBoard's event files: records of TFRecord (length, masked CRC-32C, data, masked CRC-32C), each a protocol buffer
// `Event`; of its contents only scalars are written and read.

struct TfScalar {
  std::string tag;  // "loss/current"
  float value = 0.0f;
};

struct TfEvent {
  double wall_time = 0.0;  // seconds since 1970
  std::int64_t step = 0;
  std::string file_version;  // "brain.Event:2" in the first event, else empty
  std::vector<TfScalar> scalars;
};

class TfEventsWriter {
 public:
  // Creates the file with its version event, or continues it after its last whole record (a record that was cut off by
  // a crash is taken away: readers stop at it). Error(file), or Error(format) for an existing file of another kind.
  TfEventsWriter(const std::filesystem::path& path, double wall_time);

  // One event, handed over to the system. False: the disk took nothing of it; it is counted in dropped().
  bool add(const TfEvent& event);
  bool add_scalar(std::string_view tag, float value, std::int64_t step, double wall_time);

  std::uint64_t dropped() const { return file_.dropped(); }
  const std::string& last_problem() const { return file_.last_problem(); }

 private:
  AppendFile file_;
};

struct TfEvents {
  std::vector<TfEvent> events;
  std::uint64_t end = 0;  // bytes up to the end of the last good record
  std::string problem;    // why reading ended before the end of the file ("cut off", "wrong checksum"); else empty
};

// Error(file) when the file cannot be read.
TfEvents read_tfevents(const std::filesystem::path& path);

// "events.out.tfevents.1700000000.<label>": TensorBoard looks for the middle part and sorts by the rest.
std::string tfevents_file_name(double wall_time, std::string_view label);

// CRC-32C (Castagnoli), not masked.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace lathe::io

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace lathe::io {

// A file that grows by whole records while a run goes on. A record that cannot be written (disk full, network share
// gone) is dropped, and what was written of it is taken back, so that the file stays readable and the run goes on.
class AppendFile {
 public:
  // Creates the file or continues it. Error(file) when that is not possible; parent folders must exist.
  explicit AppendFile(std::filesystem::path path);

  // Writes and hands over to the system. False: nothing of it is in the file, dropped() counts it.
  bool append(std::string_view record);
  // Cuts the file to its first `size` bytes. Error(file).
  void cut_to(std::uint64_t size);

  std::uint64_t size() const { return size_; }                       // bytes of whole records
  std::uint64_t dropped() const { return dropped_; }                 // records that could not be written
  const std::string& last_problem() const { return last_problem_; }  // the system's reason for the last one; else empty
  const std::filesystem::path& path() const { return path_; }

 private:
  void open();
  bool restore();

  std::filesystem::path path_;
  std::ofstream stream_;
  std::uint64_t size_ = 0;
  std::uint64_t dropped_ = 0;
  bool torn_ = false;  // part of a dropped record may still be in the file
  std::string last_problem_;
};

}  // namespace lathe::io

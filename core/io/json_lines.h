#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/io/append_file.h"

namespace lathe::io {

// A file of one JSON value a line (UTF-8, ends of lines are '\n').
class JsonLinesWriter {
 public:
  // Creates or continues the file; a last line that was cut off by a crash is ended, so that the next stands alone.
  // Error(file) when the file cannot be opened.
  explicit JsonLinesWriter(const std::filesystem::path& path);

  // One line, handed over to the system. NaN and infinities become null, text that is not UTF-8 gets replacement
  // characters. False: the disk took nothing of it; the line is counted in dropped() and the run may go on.
  bool append(const nlohmann::json& value);

  std::uint64_t dropped() const { return file_.dropped(); }
  const std::string& last_problem() const { return file_.last_problem(); }

 private:
  AppendFile file_;
};

struct JsonLines {
  std::vector<nlohmann::json> values;
  std::vector<std::uint64_t>
      unreadable;              // numbers (from 1, counted from where reading began) of lines that are no JSON
  bool last_line_cut = false;  // the file ends without '\n'; that part is not among the values
  std::uint64_t end = 0;       // bytes up to the end of the last whole line: where to go on reading
};

// Reads whole lines from byte `from` on; empty lines are passed over. Error(file) when the file cannot be read.
JsonLines read_json_lines(const std::filesystem::path& path, std::uint64_t from = 0);

}  // namespace lathe::io

#include "core/io/json_lines.h"

#include <string_view>

#include "core/base/files.h"

namespace lathe::io {

namespace {

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(const std::filesystem::path& path) : file_(path) {
  if (file_.size() == 0) return;
  const bool cut = text_of(MappedFile(path)).back() != '\n';
  if (cut) file_.append("\n");
}

bool JsonLinesWriter::append(const nlohmann::json& value) {
  return file_.append(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

JsonLines read_json_lines(const std::filesystem::path& path, std::uint64_t from) {
  const MappedFile file(path);
  std::string_view rest = text_of(file);
  JsonLines lines;
  lines.end = std::min<std::uint64_t>(from, rest.size());
  rest.remove_prefix(static_cast<std::size_t>(lines.end));
  std::uint64_t number = 0;
  while (!rest.empty()) {
    const std::size_t length = rest.find('\n');
    if (length == std::string_view::npos) {
      lines.last_line_cut = true;
      break;
    }
    ++number;
    const std::string_view line = rest.substr(0, length);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
      if (value.is_discarded()) {
        lines.unreadable.push_back(number);
      } else {
        lines.values.push_back(std::move(value));
      }
    }
    rest.remove_prefix(length + 1);
    lines.end += length + 1;
  }
  return lines;
}

}  // namespace lathe::io

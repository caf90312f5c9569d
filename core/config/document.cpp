#include "core/config/document.h"

#include <algorithm>
#include <system_error>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/config/document_text.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kUnreadable = LATHE_TEXT("file.unreadable", "{}");
constexpr TextId kTooLarge = LATHE_TEXT("file.too_large", "the file has {}; a settings file has at most {}");
constexpr TextId kUtf16 =
    LATHE_TEXT("file.utf16", "the file is UTF-16 text; save it as UTF-8 (\"UTF-8\" in the editor's save dialog)");
constexpr TextId kNotUtf8 = LATHE_TEXT("file.not_utf8", "the file is not UTF-8 text: byte 0x{} begins no character");

using Parse = std::optional<Node> (*)(std::string_view, const std::filesystem::path&, Findings&);

std::optional<Node> read(const std::filesystem::path& file, Findings& findings, Parse parse) {
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  if (!unknown && bytes > kLargestConfigBytes) {
    add_at(findings, file, 0, 0, message(kTooLarge, human_bytes(bytes), human_bytes(kLargestConfigBytes)));
    return std::nullopt;
  }
  std::string text;
  try {
    text = read_text(file);
  } catch (const Error& error) {
    findings.error({}, message(kUnreadable, error.message()));  // it names the file
    return std::nullopt;
  }
  return parse(text, file, findings);
}

}  // namespace

const Member* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &*found;
}

std::string_view Node::kind_name() const {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "a whole number";
    case Kind::real:
      return "a number with a point";
    case Kind::text:
      return "text";
    case Kind::date:
      return "a date";
    case Kind::list:
      return "a list";
    case Kind::table:
      return "a table";
  }
  return "";
}

void add_at(Findings& findings, const std::filesystem::path& file, int line, int column, Message text) {
  findings.add({.severity = Severity::error, .message = std::move(text), .file = file, .line = line, .column = column});
}

int line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

bool is_utf8(std::string_view text, const std::filesystem::path& name, Findings& findings) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    add_at(findings, name, 1, 0, message(kUtf16));
    return false;
  }
  const std::optional<std::size_t> bad = first_invalid_utf8(text);
  if (!bad) return true;
  const std::string byte = format("{:x}", static_cast<std::int64_t>(static_cast<unsigned char>(text[*bad])));
  add_at(findings, name, line_of(text, *bad), 0, message(kNotUtf8, byte));
  return false;
}

std::optional<Node> read_toml(const std::filesystem::path& file, Findings& findings) {
  return read(file, findings, parse_toml);
}

std::optional<Node> read_json(const std::filesystem::path& file, Findings& findings) {
  return read(file, findings, parse_json);
}

}  // namespace lathe::config

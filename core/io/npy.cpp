#include "core/io/npy.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::io {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;     // of the array's first byte
constexpr std::size_t kGrowthDigits = 21;  // NumPy leaves room for so many digits of the first dimension

[[noreturn]] void refuse(std::string reason) {
  throw Error(ErrorKind::format, std::move(reason));
}

// Reads the Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, whose keys come in any order.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  void read(NpyHeader& header) {
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        has_descr = true;
        read_descr(header);
      } else if (key == "fortran_order") {
        has_order = true;
        fortran_ = read_boolean();
      } else if (key == "shape") {
        has_shape = true;
        header.shape = read_shape();
      } else {
        refuse(format("its array header has the unknown key '{}'", key));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) refuse("its array header lacks the type, the order or the shape");
    if (fortran_ && header.shape.size() > 1 && header.problem.empty()) header.problem = "it is stored in Fortran order";
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }

  bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) refuse(format("its array header is damaged ('{}' expected)", std::string(1, c)));
  }

  std::string quoted() {
    skip_space();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse("its array header is damaged (text expected)");
    const std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  void read_descr(NpyHeader& header) {
    skip_space();
    if (text_.starts_with('[')) {  // fields of a record; what follows them is of no use then
      std::size_t depth = 0;
      std::size_t end = 0;
      do {
        if (end == text_.size()) refuse("its array header is damaged (']' expected)");
        depth += text_[end] == '[' ? 1 : 0;
        depth -= text_[end] == ']' ? 1 : 0;
        ++end;
      } while (depth > 0);
      text_.remove_prefix(end);
      header.problem = "its elements are records";
      return;
    }
    const std::string descr = quoted();
    header.dtype = dtype_from_numpy(descr);
    if (header.dtype) return;
    const bool objects = descr.find('O') != std::string::npos;
    header.problem = objects ? "its elements are Python objects" : format("its type '{}' is not supported", descr);
  }

  bool read_boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    refuse("its array header is damaged (True or False expected)");
  }

  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!take(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, failed] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (failed != std::errc() || extent < 0) refuse("its array header is damaged (a dimension expected)");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      shape.push_back(extent);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    if (shape.size() > 32) refuse(format("it has {} dimensions", shape.size()));
    return shape;
  }

  std::string_view text_;
  bool fortran_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with(kMagic) || text.size() < 12) refuse("it is not an array in .npy format");
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(text[i])}; };
  if (byte(6) < 1 || byte(6) > 3) refuse(format("it is of the unknown .npy version {}.{}", byte(6), byte(7)));
  const bool short_length = byte(6) == 1;
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (!short_length) length |= byte(10) << 16 | byte(11) << 24;
  NpyHeader header;
  header.data_begin = (short_length ? 10 : 12) + length;
  if (header.data_begin > text.size()) refuse("its array header is cut off");
  LiteralReader(text.substr(short_length ? 10 : 12, static_cast<std::size_t>(length))).read(header);
  if (!header.problem.empty()) {
    header.dtype.reset();
    return header;
  }
  const std::optional<std::uint64_t> bytes = dense_bytes(*header.dtype, header.shape);
  if (!bytes) refuse("its size is beyond any file");
  header.data_bytes = *bytes;
  return header;
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape) {
  const std::string_view descr = numpy_descr(dtype);
  if (descr.empty()) throw Error(ErrorKind::internal, format("NumPy has no type {}", name(dtype)));
  std::string text = format("{{'descr': '{}', 'fortran_order': False, 'shape': (", descr);
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  if (!shape.empty()) text.append(kGrowthDigits - std::to_string(shape[0]).size(), ' ');

  constexpr std::size_t before = kMagic.size() + 4;  // version and length
  text.append(kAlignment - (before + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace lathe::io

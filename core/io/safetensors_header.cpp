#include "core/io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::io {

namespace {

constexpr std::size_t kMostTensors = 500'000;  // bounds the memory that a header made of names alone can take

[[noreturn]] void refuse(std::string reason) {
  throw Error(ErrorKind::format, std::move(reason));
}

// Receives the header piece by piece. A parser that builds the document would drop the first of two equal keys without
// a word, and would follow any depth of nesting; here both are seen as they come.
class HeaderReader {
 public:
  explicit HeaderReader(SafetensorsHeader& header) : header_(header) {}

  bool start_object(std::size_t) {
    if (place_ == Place::outside) {
      place_ = Place::root;
    } else if (place_ == Place::root) {
      start_entry();
    } else {
      refuse_nesting();
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor) finish_tensor();
    place_ = place_ == Place::root ? Place::outside : Place::root;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      refuse_nesting();
    }
    return true;
  }

  bool end_array() {
    place_ = Place::tensor;
    return true;
  }

  bool key(std::string& key) {
    if (place_ == Place::root) {
      entry_ = std::move(key);
    } else {
      key_ = std::move(key);
    }
    if (place_ == Place::tensor) note_field();
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = std::move(text);
    } else if (place_ == Place::tensor && key_ == "dtype") {
      const std::optional<DType> dtype = dtype_from(text);
      if (!dtype) refuse(format("tensor '{}' has the unknown type '{}'", printable(entry_), printable(text)));
      tensor_.dtype = *dtype;
    } else {
      other_value();
    }
    return true;
  }

  bool number_unsigned(std::uint64_t number) {
    if (place_ == Place::shape) {
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) refuse_number();
      tensor_.shape.push_back(static_cast<std::int64_t>(number));
    } else if (place_ == Place::offsets) {
      if (offset_count_ < 2) (offset_count_ == 0 ? tensor_.begin : tensor_.end) = number;
      ++offset_count_;
    } else {
      other_value();
    }
    return true;
  }

  bool number_integer(std::int64_t number) {
    if (place_ == Place::shape || place_ == Place::offsets) {
      refuse(format("tensor '{}' has a negative {}: {}", printable(entry_),
                    place_ == Place::shape ? "dimension" : "offset", number));
    }
    other_value();
    return true;
  }

  bool number_float(double, const std::string&) {
    other_value();
    return true;
  }

  bool boolean(bool) {
    other_value();
    return true;
  }

  bool null() {
    if (place_ == Place::root && entry_ == "__metadata__") return true;  // the library reads it as "none"
    other_value();
    return true;
  }

  bool binary(nlohmann::json::binary_t&) { return false; }  // never in text

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    // 101 is any fault of syntax; the library's own text repeats the input and may hold line breaks.
    const std::string_view text = error.what();
    const bool encoding = text.find("UTF-8") != std::string_view::npos;
    refuse(format(encoding ? "the header is not UTF-8 (byte {} of it)" : "the header is not JSON (byte {} of it)",
                  position));
  }

 private:
  enum class Place { outside, root, metadata, tensor, shape, offsets };

  void start_entry() {
    key_.clear();
    if (entry_ == "__metadata__") {
      place_ = Place::metadata;
      return;
    }
    place_ = Place::tensor;
    tensor_ = {};
    has_dtype_ = has_shape_ = has_offsets_ = false;
    offset_count_ = 0;
  }

  void note_field() {
    bool* field = key_ == "dtype" ? &has_dtype_ : key_ == "shape" ? &has_shape_ : nullptr;
    if (key_ == "data_offsets") field = &has_offsets_;
    if (field == nullptr) return;
    if (*field) refuse(format("tensor '{}' has two fields '{}'", printable(entry_), key_));
    *field = true;
  }

  void finish_tensor() {
    if (!has_dtype_ || !has_shape_ || !has_offsets_) {
      refuse(format("tensor '{}' has no '{}'", printable(entry_),
                    !has_dtype_   ? "dtype"
                    : !has_shape_ ? "shape"
                                  : "data_offsets"));
    }
    if (offset_count_ != 2) refuse(format("tensor '{}' has {} offsets, expected 2", printable(entry_), offset_count_));
    if (tensor_.end < tensor_.begin) {
      refuse(format("tensor '{}' ends at {} before it begins at {}", printable(entry_), tensor_.end, tensor_.begin));
    }
    const std::optional<std::uint64_t> expected = dense_bytes(tensor_.dtype, tensor_.shape);
    if (!expected) refuse(format("the size of tensor '{}' is beyond any file", printable(entry_)));
    if (*expected != tensor_.end - tensor_.begin) {
      refuse(format("tensor '{}' has {} bytes, its type {} and its shape need {}", printable(entry_),
                    tensor_.end - tensor_.begin, name(tensor_.dtype), *expected));
    }
    if (header_.tensors.size() == kMostTensors) refuse(format("the header lists more than {} tensors", kMostTensors));
    tensor_.name = std::move(entry_);
    tensor_.shape.shrink_to_fit();
    header_.tensors.push_back(std::move(tensor_));
  }

  // A value where no tensor data is expected. Unknown fields with a plain value are passed over, as the library does.
  void other_value() {
    if (place_ == Place::metadata) refuse(format("metadata '{}' is not a text", printable(key_)));
    if (place_ == Place::shape || place_ == Place::offsets) refuse_number();
    const bool known = key_ == "dtype" || key_ == "shape" || key_ == "data_offsets";
    if (place_ == Place::tensor && !known) return;
    if (place_ == Place::tensor) refuse(format("field '{}' of tensor '{}' is not usable", key_, printable(entry_)));
    if (place_ == Place::root) refuse(format("entry '{}' does not describe a tensor", printable(entry_)));
    refuse("the header is not a JSON object");
  }

  [[noreturn]] void refuse_number() {
    refuse(format("tensor '{}' has a {} that is no whole number below 2^63", printable(entry_),
                  place_ == Place::shape ? "dimension" : "offset"));
  }

  [[noreturn]] void refuse_nesting() {
    if (place_ == Place::outside) refuse("the header is not a JSON object");
    refuse(format("entry '{}' of the header is nested too deeply or is no tensor", printable(entry_)));
  }

  SafetensorsHeader& header_;
  Place place_ = Place::outside;
  std::string entry_;  // key in the root: a tensor's name
  std::string key_;    // key inside the entry
  TensorInfo tensor_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::size_t offset_count_ = 0;
};

// The parser holds a whole string, twice, before it hands it over. One of this length belongs to no real header.
void refuse_endless_strings(std::string_view json) {
  constexpr std::size_t longest = 32u << 20;
  bool inside = false;
  std::size_t start = 0;  // of the string we are in
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') {
      inside = !inside;
      start = i;
    } else if (inside && i - start > longest) {
      refuse(format("the header holds a text of more than {} bytes", longest));
    } else if (inside && json[i] == '\\') {
      ++i;
    }
  }
}

void refuse_duplicates(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(format("duplicate tensor name '{}'", printable(*twice)));
}

void refuse_gaps_and_overlaps(const std::vector<TensorInfo>& tensors) {
  std::uint64_t position = 0;
  const TensorInfo* before = nullptr;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin < position) {
      refuse(format("tensors '{}' and '{}' overlap", printable(before->name), printable(tensor.name)));
    }
    if (tensor.begin > position) {
      refuse(format("a gap of {} bytes lies before tensor '{}': expected offset {}, found {}", tensor.begin - position,
                    printable(tensor.name), position, tensor.begin));
    }
    position = tensor.end;
    before = &tensor;
  }
}

}  // namespace

std::string printable(std::string_view name) {
  constexpr std::size_t most = 120;
  std::string text(name.substr(0, most));
  // A cut inside a character would leave text that is no UTF-8.
  while (name.size() > most && !text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80)
    text.pop_back();
  if (name.size() > most && !text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return name.size() > most ? text + "…" : text;
}

SafetensorsHeader parse_safetensors_header(std::string_view json) {
  if (json.empty() || json.front() != '{') refuse("the header does not start with '{'");
  // The parser takes a zero byte for the end of the text and would not look at what follows.
  if (json.find('\0') != std::string_view::npos) refuse("the header is not JSON (it holds a zero byte)");
  refuse_endless_strings(json);
  SafetensorsHeader header;
  HeaderReader reader(header);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) refuse("the header is not JSON");
  refuse_duplicates(header.tensors);
  std::ranges::stable_sort(header.tensors, {}, [](const TensorInfo& t) { return std::tuple(t.begin, t.end); });
  refuse_gaps_and_overlaps(header.tensors);
  return header;
}

}  // namespace lathe::io

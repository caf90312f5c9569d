#include "core/models/common/state_dict.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::models {

namespace {

constexpr std::pair<io::DType, at::ScalarType> kTypes[] = {
    {io::DType::BOOL, at::kBool},
    {io::DType::U8, at::kByte},
    {io::DType::I8, at::kChar},
    {io::DType::I16, at::kShort},
    {io::DType::U16, at::kUInt16},
    {io::DType::F16, at::kHalf},
    {io::DType::BF16, at::kBFloat16},
    {io::DType::I32, at::kInt},
    {io::DType::U32, at::kUInt32},
    {io::DType::F32, at::kFloat},
    {io::DType::I64, at::kLong},
    {io::DType::U64, at::kUInt64},
    {io::DType::F64, at::kDouble},
    {io::DType::F8_E4M3, at::kFloat8_e4m3fn},
    {io::DType::F8_E5M2, at::kFloat8_e5m2},
};

bool fits(at::IntArrayRef found, const std::vector<std::int64_t>& expected) {
  return found.size() == expected.size() &&
         std::equal(expected.begin(), expected.end(), found.begin(),
                    [](std::int64_t want, std::int64_t have) { return want == -1 || want == have; });
}

// "3 missing: a, b, c"; at most ten names.
std::string listed(const std::string& what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  std::string text = format("{} {}: ", names.size(), what);
  text += join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown))}, ", ");
  if (names.size() > kShown) text += ", …";
  return text;
}

}  // namespace

at::ScalarType scalar_type(io::DType dtype) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& pair) { return pair.first == dtype; });
  if (found == std::end(kTypes)) {
    throw Error(ErrorKind::checkpoint, format("tensors of type {} cannot be used as weights", io::name(dtype)));
  }
  return found->second;
}

io::DType file_dtype(at::ScalarType type) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& pair) { return pair.second == type; });
  if (found == std::end(kTypes)) {
    throw Error(ErrorKind::internal, format("tensors of type {} cannot be written", c10::toString(type)));
  }
  return found->first;
}

at::Tensor borrow(const io::SafetensorsFile& file, const io::TensorInfo& info) {
  const std::span<const std::byte> bytes = file.bytes(info);
  const auto options = at::TensorOptions().dtype(scalar_type(info.dtype));
  if (bytes.empty()) return at::empty(info.shape, options);
  // ATen has no read-only tensors; nobody may write to a borrowed one.
  auto* data = const_cast<std::byte*>(bytes.data());
  return at::from_blob(
      data, info.shape, [mapping = file.mapping()](void*) mutable { mapping.reset(); }, options);
}

StateDict StateDict::load(const std::filesystem::path& path,
                          const std::function<std::string(const std::string&)>& rename) {
  StateDict weights;
  for (const io::SafetensorsFile& file : io::open_sharded(path)) {
    for (const io::TensorInfo& info : file.tensors()) {
      std::string key = rename(info.name);
      if (key.empty()) continue;
      if (weights.has(key)) {
        throw Error(ErrorKind::checkpoint, format("two tensors of {} stand for '{}'", path, key));
      }
      weights.put(std::move(key), borrow(file, info));
    }
  }
  return weights;
}

void StateDict::put(std::string key, at::Tensor tensor) {
  tensors_.insert_or_assign(std::move(key), std::move(tensor));
}

bool StateDict::has(const std::string& key) const {
  return tensors_.count(key) != 0;
}

std::vector<std::int64_t> StateDict::shape(const std::string& key) const {
  const auto found = tensors_.find(key);
  return found == tensors_.end() ? std::vector<std::int64_t>() : found->second.sizes().vec();
}

std::vector<std::string> StateDict::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, tensor] : tensors_) all.push_back(key);
  return all;
}

at::Tensor StateDict::take(const std::string& key, std::vector<std::int64_t> shape, at::ScalarType dtype,
                           at::Device device) {
  taken_.insert(key);
  const auto found = tensors_.find(key);
  if (found == tensors_.end()) {
    missing_.push_back(key);
    return at::empty({0}, at::TensorOptions().dtype(dtype).device(device));
  }
  if (!fits(found->second.sizes(), shape)) {
    misshapen_.push_back(format("{} {} instead of {}", key, found->second.sizes().vec(), shape));
  }
  return found->second.to(at::TensorOptions().dtype(dtype).device(device));
}

void StateDict::ignore(const std::string& key) {
  taken_.insert(key);
}

void StateDict::finish(const std::string& what) const {
  std::vector<std::string> unexpected;
  for (const auto& [key, tensor] : tensors_) {
    if (taken_.count(key) == 0) unexpected.push_back(key);
  }
  std::vector<std::string> faults;
  if (!missing_.empty()) faults.push_back(listed("missing", missing_));
  if (!unexpected.empty()) faults.push_back(listed("unexpected", unexpected));
  if (!misshapen_.empty()) faults.push_back(listed("of another shape", misshapen_));
  if (!faults.empty()) throw Error(ErrorKind::checkpoint, format("{}: {}", what, join(faults, "; ")));
}

}  // namespace lathe::models

#include "tests/core/train/golden_file.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "tests/support/golden.h"

namespace lathe::testing {

nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(golden_json_text(name));
}

std::string golden_json_text(const std::string& name) {
  return read_text(golden_folder() / "anima" / from_utf8(name));
}

GoldenTensors::GoldenTensors(const std::string& name) : file_(golden_folder() / "anima" / from_utf8(name)) {}

bool GoldenTensors::has(const std::string& key) const {
  return file_.find(key) != nullptr;
}

bool GoldenTensors::has_any(const std::string& prefix) const {
  return std::ranges::any_of(file_.tensors(),
                             [&](const io::TensorInfo& info) { return info.name.starts_with(prefix); });
}

at::Tensor GoldenTensors::operator[](const std::string& key) const {
  const io::TensorInfo& info = file_.at(key);
  const auto type = info.dtype == io::DType::F32   ? at::kFloat
                    : info.dtype == io::DType::I64 ? at::kLong
                    : info.dtype == io::DType::U8  ? at::kByte
                                                   : at::ScalarType::Undefined;
  if (type == at::ScalarType::Undefined) throw Error(ErrorKind::format, key + " has a type that no golden file has");
  // const_cast: from_blob takes no pointer to const; clone() reads only.
  void* data = const_cast<std::byte*>(file_.bytes(info).data());
  return at::from_blob(data, info.shape, type).clone();
}

at::Tensor fp32(const nlohmann::json& numbers) {
  const auto values = numbers.get<std::vector<float>>();
  return at::tensor(values);
}

at::ScalarType dtype_of(const std::string& name) {
  if (name == "fp32" || name == "torch.float32") return at::kFloat;
  if (name == "bf16" || name == "torch.bfloat16") return at::kBFloat16;
  if (name == "fp16" || name == "torch.float16") return at::kHalf;
  throw Error(ErrorKind::format, "unknown dtype " + name);
}

std::vector<config::KeyValue> literals(const std::vector<std::string>& words) {
  config::Settings settings;
  settings.set("optimizer_args", words, config::Source::command_line);
  config::Findings findings;
  std::vector<config::KeyValue> result = config::parse_literals(settings, "optimizer_args", findings);
  if (!findings.all().empty()) throw Error(ErrorKind::format, findings.all().front().english());
  return result;
}

}  // namespace lathe::testing

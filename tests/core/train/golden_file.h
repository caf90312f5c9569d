#pragma once

#include <string>

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include "core/config/python_literal.h"
#include "core/io/safetensors.h"

namespace lathe::testing {

// A file of golden_folder()/anima.
nlohmann::json golden_json(const std::string& name);
std::string golden_json_text(const std::string& name);

class GoldenTensors {
 public:
  explicit GoldenTensors(const std::string& name);
  bool has(const std::string& key) const;
  bool has_any(const std::string& prefix) const;
  at::Tensor operator[](const std::string& key) const;  // a copy; throws where absent
  const io::SafetensorsFile& file() const { return file_; }

 private:
  io::SafetensorsFile file_;
};

// A JSON list of numbers as fp32 [n].
at::Tensor fp32(const nlohmann::json& numbers);
// What the JSON files call fp32, bf16 or fp16.
at::ScalarType dtype_of(const std::string& name);

// key=value words as optimizer_args and lr_scheduler_args hold them.
std::vector<config::KeyValue> literals(const std::vector<std::string>& words);

}  // namespace lathe::testing

#pragma once

#include <cstdint>
#include <vector>

#include "core/config/settings.h"
#include "core/plan/model_file.h"

namespace lathe::plan {

struct AdapterSize {
  std::int64_t modules = 0;
  std::int64_t parameters = 0;
  std::uint64_t file_bytes = 0;  // tensors and their header; the metadata adds some KiB
  std::uint64_t memory_bytes = 0;
};

// The LoRA that `settings` would make of these tensors: modules by the reference's selection (training spec 3.1), ranks
// by network_dim and network_reg_dims. Patterns that are no regular expressions are left out, as there.
AdapterSize adapter_size(const std::vector<DitTensor>& tensors, const config::Settings& settings);

}  // namespace lathe::plan

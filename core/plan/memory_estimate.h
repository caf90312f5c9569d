#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/config/settings.h"
#include "core/plan/adapter_size.h"

namespace lathe::plan {

// Largest micro-batch of the run, in tokens of the network: images · (latent height / 2) · (latent width / 2).
struct LargestBatch {
  std::int64_t tokens = 0;
  std::int64_t images = 0;
};

struct MemoryPart {
  Message name;  // "activations"
  std::uint64_t bytes = 0;
  Message formula;  // how the number came about, with its numbers in it
};

// What training keeps on the device, by formulas that are stated with each part. The activations are fitted to
// measurements of the 2-billion-parameter network in bf16 (1024², batch 4: 8.6 GiB with gradient checkpointing, 63.6
// GiB without; the formulas give 8.5 and 64.2): a block keeps 26 + 2·(MLP width / width) rows of its width for each
// token, the work of one backward needs 12 more, and checkpointing keeps one row a block and one block's rows.
std::vector<MemoryPart> memory_estimate(const DitShape& dit, const AdapterSize& adapter, const LargestBatch& batch,
                                        const config::Settings& settings);

// Weights of a model, `bytes` each.
MemoryPart weights_part(TextId name, std::int64_t parameters, std::int64_t bytes);

std::uint64_t total(const std::vector<MemoryPart>& parts);

// Bytes the optimizer keeps for each trained parameter, by optimizer_type.
double optimizer_bytes_per_parameter(const config::Settings& settings);

}  // namespace lathe::plan

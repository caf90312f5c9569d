#include "core/plan/memory_estimate.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace lathe::plan {

namespace {

constexpr TextId kWeights = LATHE_TEXT("plan.memory.weights", "model weights");
constexpr TextId kWeightsFormula = LATHE_TEXT("plan.memory.weights_formula", "{} parameters of {} bytes");
constexpr TextId kAdapter = LATHE_TEXT("plan.memory.adapter", "adapter and its gradients");
constexpr TextId kAdapterFormula = LATHE_TEXT("plan.memory.adapter_formula", "{} parameters, twice {} bytes");
constexpr TextId kOptimizer = LATHE_TEXT("plan.memory.optimizer", "optimizer");
constexpr TextId kOptimizerFormula = LATHE_TEXT("plan.memory.optimizer_formula", "{} parameters, {} bytes each");
constexpr TextId kActivations = LATHE_TEXT("plan.memory.activations", "activations");
constexpr TextId kAllFormula =
    LATHE_TEXT("plan.memory.activations_formula", "{} tokens of width {}, {} bytes, {} blocks of {} rows and 12 more");
constexpr TextId kCheckpointFormula =
    LATHE_TEXT("plan.memory.checkpoint_formula",
               "{} tokens of width {}, {} bytes, one row for each of {} blocks, {} rows of one block and 12 more");

constexpr std::int64_t kWorkingRows = 12;
constexpr std::int64_t kAttentionRows = 26;  // of a block, beside the two activations inside its MLP

std::int64_t element_bytes(const config::Settings& settings) {
  return settings.text("mixed_precision") == "no" ? 4 : 2;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

double optimizer_bytes_per_parameter(const config::Settings& settings) {
  const std::string name = lower(settings.text("optimizer_type"));
  const double element = settings.flag("full_fp16") || settings.flag("full_bf16") ? 2.0 : 4.0;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const double state = has("8bit") ? 1.0 : element;
  if (has("adafactor")) return 0.1;                           // one number a row and a column
  if (has("prodigy") || has("dadapt")) return 4.0 * element;  // two moments, the start and a running sum
  if (has("lion") || has("sgd")) return state;                // one moment
  return 2.0 * state;                                         // two moments, as AdamW
}

std::vector<MemoryPart> memory_estimate(const DitShape& dit, const AdapterSize& adapter, const LargestBatch& batch,
                                        const config::Settings& settings) {
  const std::int64_t bytes = element_bytes(settings);
  const auto unsigned_of = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  std::vector<MemoryPart> parts;
  parts.push_back(weights_part(kWeights, dit.parameters, bytes));
  const std::uint64_t held = adapter.parameters > 0 ? adapter.memory_bytes / unsigned_of(adapter.parameters) : 0;
  parts.push_back({message(kAdapter), 2 * adapter.memory_bytes, message(kAdapterFormula, adapter.parameters, held)});
  const double state = optimizer_bytes_per_parameter(settings);
  parts.push_back({message(kOptimizer), static_cast<std::uint64_t>(state * static_cast<double>(adapter.parameters)),
                   message(kOptimizerFormula, adapter.parameters, state)});

  const std::int64_t row = batch.tokens * dit.width * bytes;
  const std::int64_t rows = kAttentionRows + (dit.width > 0 ? 2 * dit.mlp_width / dit.width : 0);
  const bool checkpointing = settings.flag("gradient_checkpointing");
  const std::int64_t all = checkpointing ? dit.blocks + rows : dit.blocks * rows;
  parts.push_back(
      {message(kActivations), unsigned_of((all + kWorkingRows) * row),
       message(checkpointing ? kCheckpointFormula : kAllFormula, batch.tokens, dit.width, bytes, dit.blocks, rows)});
  return parts;
}

MemoryPart weights_part(TextId name, std::int64_t parameters, std::int64_t bytes) {
  return {message(name), static_cast<std::uint64_t>(parameters * bytes), message(kWeightsFormula, parameters, bytes)};
}

std::uint64_t total(const std::vector<MemoryPart>& parts) {
  std::uint64_t sum = 0;
  for (const MemoryPart& part : parts) sum += part.bytes;
  return sum;
}

}  // namespace lathe::plan

#pragma once

#include <vector>

#include "core/models/qwen3/qwen3.h"
#include "core/train/assets.h"
#include "core/train/preview.h"
#include "core/train/run_context.h"

namespace lathe::train {

// The prompts of sample_prompts, encoded (the negative ones too, where guidance uses them). What is odd in the file is
// posted; Error(settings) names what cannot be used, all at once.
std::vector<PreviewPrompt> encode_sample_prompts(const RunContext& context, const models::Qwen3& encoder,
                                                 const Tokenizers& tokenizers, at::ScalarType dtype, at::Device device);

// Draws all prompts into <output_dir>/sample and posts each picture. `epoch`: at the end of one, else the step names
// the files.
void draw_samples(const RunContext& context, const PreviewModels& models, const std::vector<PreviewPrompt>& prompts,
                  std::int64_t step, std::optional<std::int64_t> epoch);

}  // namespace lathe::train

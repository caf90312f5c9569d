#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/image_file.h"
#include "core/models/anima/dit.h"
#include "core/models/vae/vae.h"
#include "core/run/events.h"
#include "core/train/prompts.h"

// Sample images while a run goes on (spec 4.15).
namespace lathe::train {

// What the text encoder and the tokenizers made of one text, batch 1, on any device.
struct EncodedText {
  at::Tensor text;             // [1, S, C]
  at::Tensor text_mask;        // [1, S]
  at::Tensor t5_ids, t5_mask;  // [1, N]
};

struct PreviewPrompt {
  Prompt prompt;
  EncodedText positive;
  std::optional<EncodedText> negative;
};

// When and where: either `epoch` (at an epoch's end) or `step` names the files.
struct PreviewPlace {
  std::filesystem::path folder;  // <output_dir>/sample; made if it is not there
  std::string output_name;       // empty: unset
  std::int64_t step = 0;
  std::optional<std::int64_t> epoch;
};

struct PreviewModels {
  const models::anima::Dit* dit = nullptr;
  const models::Vae* vae = nullptr;
  models::RunBlock run_block = models::run_eagerly;
};

// "[name_]e000002_00_20261201142530[_7].png", or the step in six digits without the e. `time` as %Y%m%d%H%M%S.
std::string preview_file_name(const PreviewPlace& place, const Prompt& prompt, const std::string& time);

// Pixels [3, H, W] in [−1, 1] → 8 bits, (x + 1) / 2 · 255, clamped, cut (not rounded).
io::Image to_image(const at::Tensor& pixels);

// Draws every prompt and writes its file, then calls `on_ready`. The random state of the CPU and of the models' device
// is the same afterwards. The models stay where they are, the adapter stays active. `check` is called before every
// denoising step and may throw.
void draw_previews(const PreviewModels& models, const std::vector<PreviewPrompt>& prompts, const PreviewPlace& place,
                   const std::function<void(const run::SampleReady&)>& on_ready,
                   const std::function<void()>& check = {});

}  // namespace lathe::train

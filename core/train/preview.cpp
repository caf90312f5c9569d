#include "core/train/preview.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/train/precision.h"
#include "core/train/random_state.h"
#include "core/train/sampler.h"

namespace lathe::train {

namespace {

// The adapter's output for one text, in P on the model's device.
at::Tensor adapted(const models::anima::Dit& dit, const EncodedText& text) {
  const models::anima::DitOptions& options = dit.options();
  models::anima::DitInputs inputs;
  inputs.text = text.text.to(options.device, options.dtype);
  inputs.text_mask = text.text_mask.to(options.device);
  inputs.t5_ids = text.t5_ids.to(options.device);
  inputs.t5_mask = text.t5_mask.to(options.device);
  const AutocastGuard autocast(options.device.type(), options.dtype);
  return dit.adapt_text(inputs);
}

io::Image draw(const PreviewModels& models, const PreviewPrompt& wanted, const std::function<void()>& check) {
  const models::anima::DitOptions& options = models.dit->options();
  const Prompt& prompt = wanted.prompt;
  const at::Tensor noise = sampling_noise(prompt.height, prompt.width, prompt.seed).to(options.device);
  const at::Tensor positive = adapted(*models.dit, wanted.positive);
  const at::Tensor negative = wanted.negative ? adapted(*models.dit, *wanted.negative) : at::Tensor();
  const at::Tensor latents =
      sample_flow({prompt.steps, prompt.scale, prompt.flow_shift, options.dtype}, noise, wanted.negative.has_value(),
                  dit_velocity(*models.dit, positive, negative, models.run_block), [&](std::int64_t) {
                    if (check) check();
                  });
  return to_image(models.vae->decode(latents.squeeze(2).to(models.vae->dtype()))[0]);
}

}  // namespace

std::string preview_file_name(const PreviewPlace& place, const Prompt& prompt, const std::string& time) {
  const std::string name = place.output_name.empty() ? "" : place.output_name + "_";
  const std::string moment = place.epoch ? format("e{:06d}", *place.epoch) : format("{:06d}", place.step);
  const std::string seed = prompt.seed ? format("_{}", *prompt.seed) : "";
  return format("{}{}_{:02d}_{}{}.png", name, moment, prompt.index, time, seed);
}

io::Image to_image(const at::Tensor& pixels) {
  const at::Tensor scaled = ((pixels.to(at::kCPU, at::kFloat) + 1) / 2).clamp(0, 1) * 255;
  const at::Tensor bytes = scaled.to(at::kByte).permute({1, 2, 0}).contiguous();
  io::Image image;
  image.height = static_cast<std::int32_t>(bytes.size(0));
  image.width = static_cast<std::int32_t>(bytes.size(1));
  image.channels = 3;
  const std::uint8_t* data = bytes.const_data_ptr<std::uint8_t>();
  image.pixels.assign(data, data + bytes.numel());
  return image;
}

void draw_previews(const PreviewModels& models, const std::vector<PreviewPrompt>& prompts, const PreviewPlace& place,
                   const std::function<void(const run::SampleReady&)>& on_ready, const std::function<void()>& check) {
  const c10::NoGradGuard no_grad;
  const RandomStateKeeper keeper(models.dit->options().device);
  std::error_code error;
  std::filesystem::create_directories(place.folder, error);
  if (error) throw Error(ErrorKind::file, format("the folder {} cannot be made: {}", place.folder, error.message()));
  for (const PreviewPrompt& wanted : prompts) {
    const Stopwatch watch;
    const io::Image image = draw(models, wanted, check);
    const std::filesystem::path path =
        place.folder / from_utf8(preview_file_name(place, wanted.prompt, local_time("%Y%m%d%H%M%S")));
    io::encode_png(path, image);
    on_ready({path, place.step, place.epoch.value_or(0), wanted.prompt.index, wanted.prompt.text, watch.seconds()});
  }
}

}  // namespace lathe::train

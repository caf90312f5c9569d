#include "core/train/sample_prompts.h"

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::train {

namespace {

constexpr TextId kSampling = LATHE_TEXT("train.sampling", "drawing sample pictures");

EncodedText encoded(const models::Qwen3& encoder, const Tokenizers& tokenizers, const std::string& text,
                    at::ScalarType dtype, at::Device device) {
  const data::TextOutputs outputs = encode_caption(encoder, tokenizers, text, dtype, device);
  return {outputs.embeddings.unsqueeze(0).to(device, dtype), outputs.mask.unsqueeze(0).to(device),
          outputs.t5_ids.unsqueeze(0).to(device), outputs.t5_mask.unsqueeze(0).to(device)};
}

}  // namespace

std::vector<PreviewPrompt> encode_sample_prompts(const RunContext& context, const models::Qwen3& encoder,
                                                 const Tokenizers& tokenizers, at::ScalarType dtype,
                                                 at::Device device) {
  config::Findings findings;
  const std::vector<Prompt> prompts = read_prompts(from_utf8(context.settings().text("sample_prompts")), findings);
  std::vector<std::string> errors;
  for (const config::Finding& finding : findings.all()) {
    if (finding.severity == config::Severity::error) {
      errors.push_back(finding.english());
    } else {
      context.warn(finding.message, "options of sample prompts without effect");
    }
  }
  if (!errors.empty()) throw Error(ErrorKind::settings, join(errors, "; "));

  std::vector<PreviewPrompt> out;
  for (const Prompt& prompt : prompts) {
    PreviewPrompt preview{prompt, encoded(encoder, tokenizers, prompt.text, dtype, device), std::nullopt};
    if (prompt.scale > 1.0) preview.negative = encoded(encoder, tokenizers, prompt.negative_prompt, dtype, device);
    out.push_back(std::move(preview));
  }
  return out;
}

void draw_samples(const RunContext& context, const PreviewModels& models, const std::vector<PreviewPrompt>& prompts,
                  std::int64_t step, std::optional<std::int64_t> epoch) {
  Progress progress(context, run::Phase::sampling, message(kSampling), static_cast<std::int64_t>(prompts.size()));
  PreviewPlace place{from_utf8(context.settings().text("output_dir")) / "sample",
                     context.settings().text("output_name"), step, epoch};
  std::int64_t done = 0;
  draw_previews(
      models, prompts, place,
      [&](const run::SampleReady& ready) {
        context.post(ready);
        ++done;
        progress.show(done);
      },
      [&] { context.control().check(); });
}

}  // namespace lathe::train

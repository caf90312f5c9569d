#include "core/train/assets.h"

#include <algorithm>
#include <charconv>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/hash.h"
#include "core/base/paths.h"
#include "core/train/precision.h"

namespace lathe::train {

namespace fs = std::filesystem;

namespace {

constexpr TextId kLoadingVae = LATHE_TEXT("train.loading_vae", "loading the VAE {}");
constexpr TextId kLoadingText = LATHE_TEXT("train.loading_text", "loading the text encoder {}");
constexpr TextId kLoadingDit = LATHE_TEXT("train.loading_dit", "loading the diffusion transformer {}");
constexpr std::size_t kHashedPart = 1 << 20;

fs::path required_path(const config::Settings& settings, std::string_view option) {
  const std::string text = settings.text(option);
  if (text.empty()) throw Error(ErrorKind::settings, format("{} is not set", option));
  return from_utf8(text);
}

at::Tensor to_tensor(const std::vector<std::int32_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

}  // namespace

at::Device chosen_device(const config::Settings& settings) {
  const std::string text = settings.text("device");
  if (text == "cpu") return at::kCPU;
  const bool has_card = at::globalContext().hasCUDA();
  if (!has_card) {
    throw Error(
        ErrorKind::settings,
        format("device '{}': this build or this machine has no usable CUDA card; set device = cpu to train on the "
               "processor",
               text.empty() ? std::string("auto") : text));
  }
  const std::size_t colon = text.find(':');
  int index = 0;
  if (colon != std::string::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index));
}

int device_count() {
  return at::globalContext().hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

Tokenizers load_tokenizers(const config::Settings& settings) {
  const fs::path resources = resource_folder() / "tokenizers";
  // A Hugging Face folder of the text encoder brings its own tokenizer.
  const fs::path encoder = from_utf8(settings.text("qwen3"));
  const bool own =
      fs::is_directory(encoder) && (fs::exists(encoder / "vocab.json") || fs::exists(encoder / "tokenizer.json"));
  const std::string t5 = settings.text("t5_tokenizer_path");
  return {text::Qwen3Tokenizer::load(own ? encoder : resources / "qwen3"),
          text::T5Tokenizer::load(t5.empty() ? resources / "t5" : from_utf8(t5)),
          settings.integer("qwen3_max_token_length"), settings.integer("t5_max_token_length")};
}

std::unique_ptr<models::Vae> load_vae(const RunContext& context, at::Device device) {
  const config::Settings& settings = context.settings();
  const fs::path path = required_path(settings, "vae");
  context.phase(run::Phase::loading, message(kLoadingVae, path.filename()));
  // The reference rounds the weights to P first, also when it then computes in fp32 (no_half_vae).
  auto vae = models::Vae::load(path, base_dtype(settings.text("mixed_precision")), device);
  if (settings.flag("no_half_vae")) vae->to(at::kFloat);
  vae->set_chunk_size(settings.maybe_integer("vae_chunk_size").value_or(0));
  return vae;
}

std::unique_ptr<models::Qwen3> load_qwen3(const RunContext& context, at::Device device) {
  const fs::path path = required_path(context.settings(), "qwen3");
  context.phase(run::Phase::loading, message(kLoadingText, path.filename()));
  return models::Qwen3::load(path, base_dtype(context.settings().text("mixed_precision")), device);
}

std::unique_ptr<models::anima::Dit> load_dit(const RunContext& context, at::Device device) {
  const config::Settings& settings = context.settings();
  const fs::path path = required_path(settings, "pretrained_model_name_or_path");
  context.phase(run::Phase::loading, message(kLoadingDit, path.filename()));
  models::anima::DitOptions options;
  options.dtype = base_dtype(settings.text("mixed_precision"));
  options.device = device;
  options.attention = settings.flag("split_attn") ? models::anima::Attention::split : models::anima::Attention::torch;
  return models::anima::Dit::load(path, options);
}

data::TextOutputs encode_caption(const models::Qwen3& encoder, const Tokenizers& tokenizers, const std::string& caption,
                                 at::ScalarType dtype, at::Device device) {
  const at::NoGradGuard no_grad;
  const text::TokenRow words = tokenizers.qwen3.row(caption, static_cast<std::size_t>(tokenizers.qwen3_length));
  const text::TokenRow t5 = tokenizers.t5.row(caption, static_cast<std::size_t>(tokenizers.t5_length));
  const at::Tensor ids = to_tensor(words.ids);
  const at::Tensor mask = to_tensor(words.mask);
  data::TextOutputs outputs;
  {
    const AutocastGuard autocast(device.type(), dtype);
    const at::Tensor embedded = encoder.forward(ids.unsqueeze(0).to(device), mask.unsqueeze(0).to(device));
    const at::ScalarType kept = embedded.scalar_type() == at::kHalf ? at::kHalf : at::kFloat;
    outputs.embeddings = embedded.squeeze(0).to(at::kCPU, kept);
  }
  outputs.mask = mask;
  outputs.t5_ids = to_tensor(t5.ids);
  outputs.t5_mask = to_tensor(t5.mask);
  return outputs;
}

void apply_matmul_settings(const RunContext& context) {
  const config::Settings& settings = context.settings();
  const std::string precision = settings.text("float32_matmul_precision");
  apply(MatmulSettings{settings.flag("cuda_allow_tf32"), settings.flag("cuda_cudnn_benchmark"), precision});
}

std::string attention_kernel(const models::anima::Dit& dit) {
  constexpr std::int64_t kTokens = 64;
  const models::anima::DitSizes& sizes = dit.sizes();
  const at::Tensor q = at::zeros({1, sizes.heads, kTokens, sizes.head_size},
                                 at::TensorOptions(dit.options().device).dtype(dit.options().dtype));
  switch (at::_fused_sdp_choice(q.requires_grad_(), q, q)) {
    case 1:
      return "flash";
    case 2:
      return "memory-efficient";
    case 3:
      return "cuDNN";
    default:
      return "math";
  }
}

std::string file_fingerprint(const fs::path& path) {
  std::error_code failed;
  Sha256 hash;
  // The head holds names and shapes, the tail the last weights; hashing gigabytes at each start would be felt.
  const auto add = [&hash](const fs::path& file) {
    const MappedFile mapped(file);
    const auto bytes = mapped.bytes();
    hash.add(std::to_string(bytes.size()));
    hash.add(bytes.first(std::min(kHashedPart, bytes.size())));
    hash.add(bytes.last(std::min(kHashedPart, bytes.size())));
  };
  if (fs::is_directory(path, failed)) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
      if (entry.is_regular_file(failed)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) add(file);
  } else if (fs::is_regular_file(path, failed)) {
    add(path);
  } else {
    return {};
  }
  return hash.hex().substr(0, 32);
}

}  // namespace lathe::train

#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/data/text_cache.h"
#include "core/models/anima/dit.h"
#include "core/models/qwen3/qwen3.h"
#include "core/models/vae/vae.h"
#include "core/text/qwen3_tokenizer.h"
#include "core/text/t5_tokenizer.h"
#include "core/train/run_context.h"

namespace lathe::train {

// Where a run computes, from `device` (auto, cpu, cuda, cuda:n). Error(settings) where that device is not there.
at::Device chosen_device(const config::Settings& settings);

// CUDA cards that can be used; 0 in a build without CUDA.
int device_count();

// The two tokenizers of the captions, with the lengths that they pad to.
struct Tokenizers {
  text::Qwen3Tokenizer qwen3;
  text::T5Tokenizer t5;
  std::int64_t qwen3_length, t5_length;
};
Tokenizers load_tokenizers(const config::Settings& settings);

// Models as the settings name them, with dtype P (VAE: V). Each posts its loading phase.
std::unique_ptr<models::Vae> load_vae(const RunContext& context, at::Device device);
std::unique_ptr<models::Qwen3> load_qwen3(const RunContext& context, at::Device device);
std::unique_ptr<models::anima::Dit> load_dit(const RunContext& context, at::Device device);

// One caption as the text encoder and both tokenizers see it; tensors on the CPU. Runs under autocast in P.
data::TextOutputs encode_caption(const models::Qwen3& encoder, const Tokenizers& tokenizers, const std::string& caption,
                                 at::ScalarType dtype, at::Device device);

// cuda_allow_tf32, cuda_cudnn_benchmark and float32_matmul_precision, for the whole process.
void apply_matmul_settings(const RunContext& context);

// The kernel that torch chooses for the blocks' self-attention: "flash", "memory-efficient", "cuDNN" or "math".
std::string attention_kernel(const models::anima::Dit& dit);

// Identity of a weights file, or of a Hugging Face folder with its tokenizer, for cache fingerprints: sizes and a hash
// over head and tail of each file; "" where it cannot be read.
std::string file_fingerprint(const std::filesystem::path& path);

}  // namespace lathe::train

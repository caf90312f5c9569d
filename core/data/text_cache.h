#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/base/message.h"
#include "core/dataset/manifest.h"

namespace lathe::data {

// What the text encoder and the tokenizers make of one caption.
struct TextOutputs {
  at::Tensor embeddings;              // [S, C]: fp32, or fp16 where the encoder ran in it; padded rows zero
  at::Tensor mask;                    // [S] int64
  at::Tensor t5_ids;                  // [N] int64 (int32 on disk)
  at::Tensor t5_mask;                 // [N] int64 (int32 on disk)
  double caption_dropout_rate = 0.0;  // the subset's, when it was cached
};

struct TextCacheOptions {
  bool on_disk = false;
  bool skip_check = false;
  std::string encoder_fingerprint;
};

// Text outputs of images, in the reference's .npz layout on disk (data spec 5.3) or in memory. An edited caption or
// another encoder makes an entry stale (sidecar fingerprint); a cache without sidecar is trusted as the reference
// would.
class TextCache {
 public:
  explicit TextCache(TextCacheOptions options);
  ~TextCache();

  std::optional<Message> why_stale(const dataset::Image& image) const;
  void put(const dataset::Image& image, const TextOutputs& outputs);
  TextOutputs get(const dataset::Image& image) const;

  const TextCacheOptions& options() const { return options_; }

 private:
  TextCacheOptions options_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::data

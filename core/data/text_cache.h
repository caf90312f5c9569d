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
  std::string encoder_fingerprint;  // of the weights, and of what else shapes the outputs (type, lengths); "": unknown
};

// Text outputs of images, in the reference's .npz layout on disk (data spec 5.3) or in memory. An edited caption or
// another encoder makes an entry stale (sidecar, cache_records.h); a cache without a record there, or one that another
// program has written since, is trusted as the reference would. put() and get() may be called from several threads, for
// different images.
class TextCache {
 public:
  explicit TextCache(TextCacheOptions options);
  ~TextCache();

  // Nothing: usable as it is; else why not (stale_reasons.h). With `caption_dropout_rate` (the subset's present one) a
  // cache of ours that holds another rate is stale too: training drops captions by the rate in the cache.
  std::optional<Message> why_stale(const dataset::Image& image,
                                   std::optional<double> caption_dropout_rate = std::nullopt) const;
  void put(const dataset::Image& image, const TextOutputs& outputs);
  // Error(dataset) that names the file where it cannot be read or lacks an array.
  TextOutputs get(const dataset::Image& image) const;
  // get().caption_dropout_rate without reading the rest; read once an image.
  double dropout_rate(const dataset::Image& image) const;

  const TextCacheOptions& options() const { return options_; }

 private:
  TextCacheOptions options_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::data

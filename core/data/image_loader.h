#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/python_random.h"
#include "core/data/latent_cache.h"
#include "core/data/text_cache.h"
#include "core/dataset/manifest.h"
#include "core/dataset/order.h"
#include "core/text/qwen3_tokenizer.h"
#include "core/text/t5_tokenizer.h"

namespace lathe::data {

// One micro-batch as the training step takes it (data spec 11). On the CPU.
struct TrainBatch {
  at::Tensor latents;       // [B, 16, h, w]: fp32 from disk, VAE dtype from memory; undefined without a latent cache
  at::Tensor pixels;        // [B, 3, H, W] fp32; undefined with one
  at::Tensor embeddings;    // [B, S, C] fp32; undefined without a text cache
  at::Tensor text_mask;     // [B, S] int64
  at::Tensor qwen3_ids;     // [B, S] int64; undefined with a text cache
  at::Tensor t5_ids;        // [B, N] int64
  at::Tensor t5_mask;       // [B, N] int64
  at::Tensor loss_weights;  // [B] fp32
  at::Tensor alpha_mask;    // [B, H, W] fp32, ones for items without one; undefined where no item has one
  std::vector<std::string> captions;  // as encoded; "" where dropped
  std::vector<bool> flipped, dropped;
  dataset::Batch batch;
  dataset::Size bucket;
  double wait_seconds = 0.0;  // how long next() waited for it
};

struct LoaderOptions {
  int workers = 0;   // 0: the work is done in next()
  int prefetch = 4;  // finished batches kept ready
  double prior_loss_weight = 1.0;
  std::int64_t qwen3_length = 512, t5_length = 512;
  std::int64_t max_train_steps = 0;  // for token_warmup_step as a share
};

// Makes batches ahead of the training step, in order, with the same result for any number of workers: every random
// draw (flip, random crop, caption processing, caption drop) is made in batch order from `random` before work is handed
// out. Of one batch, item by item: flip, crop, caption; then, where a cached dropout rate is not 0, one draw an item
// for the caption drop.
class ImageLoader {
 public:
  // `latents`, `texts`: null where not cached; the tokenizers are only needed without a text cache. All of them and
  // `datasets` outlive the loader. Error(settings) where a subset asks for color_aug or face_crop_aug_range, which
  // nothing here does.
  ImageLoader(const std::vector<dataset::Dataset>& datasets, const LatentCache* latents, const TextCache* texts,
              const text::Qwen3Tokenizer* qwen3, const text::T5Tokenizer* t5, LoaderOptions options);
  ~ImageLoader();  // stops the workers

  // Begins an epoch with these batches; what is left of another is dropped. `step`: optimizer steps done so far (tag
  // warm-up); `steps_per_batch`: how far it advances a batch (1 / gradient_accumulation_steps). The first `skip`
  // batches are not made, but draw what they would have drawn; `step` is that of the first of them.
  void start_epoch(std::vector<dataset::Batch> order, const PythonRandom& random, std::int64_t epoch, std::int64_t step,
                   double steps_per_batch, std::size_t skip = 0);
  // The next batch, or nothing at the end of the epoch. Throws what a worker threw (Error(dataset) names the file); the
  // batch after it can be had all the same.
  std::optional<TrainBatch> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::data

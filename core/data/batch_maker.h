#pragma once

#include "core/data/batch_plan.h"
#include "core/data/image_loader.h"
#include "core/data/latent_cache.h"

namespace lathe::data {

// Where a batch comes from; see ImageLoader.
struct BatchSources {
  const LatentCache* latents = nullptr;
  const TextCache* texts = nullptr;
  const text::Qwen3Tokenizer* qwen3 = nullptr;
  const text::T5Tokenizer* t5 = nullptr;
};

// Reads and computes what a plan says; chance has no part in it, so any thread may do it. Uses none of LibTorch's
// thread pools.
TrainBatch make_batch(const BatchPlan& plan, const BatchSources& sources, const LoaderOptions& options);

}  // namespace lathe::data

#pragma once

#include <memory>

#include "core/data/latent_cache.h"
#include "core/data/text_cache.h"
#include "core/dataset/manifest.h"
#include "core/train/assets.h"
#include "core/train/run_context.h"

namespace lathe::train {

// Caches as the settings ask for them; null where a kind is not cached.
struct Caches {
  std::unique_ptr<data::LatentCache> latents;
  std::unique_ptr<data::TextCache> texts;
};
Caches make_caches(const config::Settings& settings);

// Encodes what is missing or stale in the caches, for training and validation sets: latents first (the VAE is loaded
// and given up again), then texts (the text encoder likewise). What is reused and what is made anew, and why, is
// posted. Images that cannot be read stop the run with all their names, after everything else was cached.
void fill_caches(const RunContext& context, const dataset::Manifest& manifest, Caches& caches,
                 const Tokenizers& tokenizers, at::Device device);

}  // namespace lathe::train

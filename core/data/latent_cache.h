#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/base/message.h"
#include "core/dataset/manifest.h"

namespace lathe::data {

struct CachedLatents {
  at::Tensor latents;     // [16, h, w]; fp32 from disk, the VAE's dtype from memory
  at::Tensor flipped;     // [16, h, w] of the mirrored picture; undefined without flip_aug
  at::Tensor alpha_mask;  // [8h, 8w] fp32 in [0, 1], not mirrored; undefined without alpha_mask
};

struct LatentCacheOptions {
  bool on_disk = false;         // cache_latents_to_disk; otherwise kept in memory
  bool skip_check = false;      // skip_cache_check: an existing file is good
  bool recheck = false;         // recheck_cache: compare the images' content, not only size and time
  std::string vae_fingerprint;  // of the weights file, and of what else shapes its output (V); "" where unknown
};

// Latents of images, in the reference's .npz layout on disk (data spec 5.1) or in memory. What they were made from
// (VAE, image, resizing) lies in a sidecar file (cache_records.h); a cache without a record there, or one that another
// program has written since, is trusted as the reference would. put() and get() may be called from several threads, for
// different images.
class LatentCache {
 public:
  explicit LatentCache(LatentCacheOptions options);
  ~LatentCache();

  // Nothing: usable as it is. Otherwise why it has to be made (stale_reasons.h: missing, another VAE, the image changed
  // …); a summary may count by the message's id.
  std::optional<Message> why_stale(const dataset::Dataset& dataset, const dataset::Image& image) const;
  // A file keeps its arrays of other sizes; those of this size are replaced, also the ones that are not given. Throws
  // Error(dataset) where a latent is not finite, Error(file) where the folder cannot be written.
  void put(const dataset::Dataset& dataset, const dataset::Image& image, const CachedLatents& latents);
  // Error(dataset) that names the file where it cannot be read or lacks what the subset's settings ask for.
  CachedLatents get(const dataset::Dataset& dataset, const dataset::Image& image) const;

  const LatentCacheOptions& options() const { return options_; }

 private:
  LatentCacheOptions options_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::data

#include "core/train/caching.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/data/image_tensor.h"
#include "core/train/precision.h"

namespace lathe::train {

namespace {

constexpr TextId kCachingLatents = LATHE_TEXT("train.caching_latents", "caching latents");
constexpr TextId kCachingTexts = LATHE_TEXT("train.caching_texts", "caching text outputs");
constexpr TextId kReused = LATHE_TEXT("train.cache_reused", "{}: {} of {} are in the cache already");
constexpr TextId kRebuilt = LATHE_TEXT("train.cache_rebuilt", "{}: {} made anew: {}");

struct Item {
  const dataset::Dataset* dataset;
  const dataset::Image* image;
  bool flipped = false;  // the mirrored latents are needed, too
};

std::vector<Item> all_items(const dataset::Manifest& manifest) {
  std::vector<Item> items;
  for (const auto* sets : {&manifest.training, &manifest.validation}) {
    for (const dataset::Dataset& set : *sets) {
      for (const dataset::Image& image : set.images) items.push_back({&set, &image, false});
    }
  }
  return items;
}

const config::SubsetConfig& subset_of(const Item& item) {
  return item.dataset->config.subsets[item.image->subset];
}

// Tells how many entries are reused, and for the others each reason with its count.
void report(const RunContext& context, std::string_view what, std::size_t total,
            const std::map<std::string, std::int64_t>& reasons) {
  std::int64_t stale = 0;
  for (const auto& [reason, count] : reasons) {
    stale += count;
    context.note(message(kRebuilt, what, count, reason));
  }
  if (static_cast<std::size_t>(stale) < total) {
    context.note(message(kReused, what, static_cast<std::int64_t>(total) - stale, static_cast<std::int64_t>(total)));
  }
}

// Images of one bucket and the same treatment, at most `vae_batch_size` of them, in order of bucket area.
std::vector<std::vector<Item>> batches_for_vae(std::vector<Item> items, std::int64_t batch_size) {
  const auto area = [](const Item& item) {
    return std::int64_t{item.image->fit.bucket.width} * item.image->fit.bucket.height;
  };
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return area(a) < area(b); });
  std::vector<std::vector<Item>> batches;
  for (const Item& item : items) {
    const bool joins = !batches.empty() && static_cast<std::int64_t>(batches.back().size()) < batch_size &&
                       batches.back()[0].image->fit.bucket == item.image->fit.bucket &&
                       batches.back()[0].flipped == item.flipped &&
                       subset_of(batches.back()[0]).alpha_mask == subset_of(item).alpha_mask;
    if (!joins) batches.emplace_back();
    batches.back().push_back(item);
  }
  return batches;
}

// One image may be in several datasets of one size, and they share its cache file: it is encoded once, with everything
// that any of them needs.
std::vector<Item> shared_once(const std::vector<Item>& stale, const std::vector<Item>& all) {
  using Key = std::pair<std::filesystem::path, dataset::Size>;
  const auto key_of = [](const Item& item) { return Key(item.image->latent_cache, item.image->fit.bucket); };
  std::set<Key> flipped, masked, taken;
  for (const Item& item : all) {
    if (subset_of(item).flip_aug) flipped.insert(key_of(item));
    if (subset_of(item).alpha_mask) masked.insert(key_of(item));
  }
  std::vector<Item> once;
  for (Item item : stale) {
    if (masked.contains(key_of(item)) && !subset_of(item).alpha_mask) continue;  // the one with the mask is encoded
    if (!taken.insert(key_of(item)).second) continue;
    item.flipped = flipped.contains(key_of(item));
    once.push_back(item);
  }
  return once;
}

// Encodes one batch and stores it; unreadable images are added to `broken` and left out.
void encode_latents(const models::Vae& vae, const std::vector<Item>& batch, data::LatentCache& cache, at::Device device,
                    std::vector<std::string>& broken) {
  const at::NoGradGuard no_grad;
  std::vector<Item> good;
  std::vector<at::Tensor> pixels, masks;
  for (const Item& item : batch) {
    try {
      data::ImageTensor image = data::load_image_tensor(*item.dataset, *item.image);
      pixels.push_back(image.pixels);
      masks.push_back(image.alpha_mask);
      good.push_back(item);
    } catch (const Error& error) {
      broken.push_back(error.what());
    }
  }
  if (good.empty()) return;
  const at::Tensor input = at::stack(pixels).to(device, vae.dtype());
  const at::Tensor latents = vae.encode(input).to(at::kCPU);
  at::Tensor flipped;
  if (good[0].flipped) flipped = vae.encode(input.flip({3})).to(at::kCPU);
  for (std::size_t i = 0; i < good.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    cache.put(*good[i].dataset, *good[i].image,
              {latents[row].clone(), flipped.defined() ? flipped[row].clone() : at::Tensor(), masks[i]});
  }
}

[[noreturn]] void refuse(const std::vector<std::string>& broken) {
  throw Error(ErrorKind::dataset,
              format("{} images cannot be read; mend or remove them and start again (what was cached "
                     "is kept): {}",
                     broken.size(), join(broken, "; ")));
}

void fill_latents(const RunContext& context, const std::vector<Item>& items, data::LatentCache& cache,
                  at::Device device) {
  std::map<std::string, std::int64_t> reasons;
  std::vector<Item> stale;
  for (const Item& item : items) {
    if (const auto why = cache.why_stale(*item.dataset, *item.image)) {
      ++reasons[why->english()];
      stale.push_back(item);
    }
  }
  report(context, "latents", items.size(), reasons);
  if (stale.empty()) return;
  stale = shared_once(stale, items);

  const auto vae = load_vae(context, device);
  Progress progress(context, run::Phase::caching_latents, message(kCachingLatents),
                    static_cast<std::int64_t>(stale.size()));
  std::int64_t done = 0;
  std::vector<std::string> broken;
  progress.at(done);
  for (const auto& batch : batches_for_vae(stale, context.settings().integer("vae_batch_size"))) {
    encode_latents(*vae, batch, cache, device, broken);
    done += static_cast<std::int64_t>(batch.size());
    progress.at(done);
  }
  if (!broken.empty()) refuse(broken);
}

void fill_texts(const RunContext& context, const std::vector<Item>& items, data::TextCache& cache,
                const Tokenizers& tokenizers, at::Device device) {
  std::map<std::string, std::int64_t> reasons;
  std::vector<Item> stale;
  for (const Item& item : items) {
    if (const auto why = cache.why_stale(*item.image, subset_of(item).caption_dropout_rate)) {
      ++reasons[why->english()];
      stale.push_back(item);
    }
  }
  report(context, "text outputs", items.size(), reasons);
  if (stale.empty()) return;

  const auto encoder = load_qwen3(context, device);
  const at::ScalarType dtype = base_dtype(context.settings().text("mixed_precision"));
  Progress progress(context, run::Phase::caching_text, message(kCachingTexts), static_cast<std::int64_t>(stale.size()));
  progress.at(0);
  // One caption at a time: only real tokens are run, so there is no padding that a batch could share.
  for (std::size_t i = 0; i < stale.size(); ++i) {
    data::TextOutputs outputs = encode_caption(*encoder, tokenizers, stale[i].image->caption, dtype, device);
    outputs.caption_dropout_rate = subset_of(stale[i]).caption_dropout_rate;
    cache.put(*stale[i].image, outputs);
    progress.at(static_cast<std::int64_t>(i) + 1);
  }
}

}  // namespace

Caches make_caches(const config::Settings& settings) {
  Caches caches;
  const bool skip = settings.flag("skip_cache_check");
  const std::string precision = settings.text("mixed_precision");
  if (settings.flag("cache_latents") || settings.flag("cache_latents_to_disk")) {
    const std::string made_by = format("{}, {}, no_half_vae {}", file_fingerprint(from_utf8(settings.text("vae"))),
                                       precision, settings.flag("no_half_vae"));
    caches.latents = std::make_unique<data::LatentCache>(data::LatentCacheOptions{
        settings.flag("cache_latents_to_disk"), skip, settings.flag("recheck_cache"), made_by});
  }
  if (settings.flag("cache_text_encoder_outputs") || settings.flag("cache_text_encoder_outputs_to_disk")) {
    const std::string made_by =
        format("{}, {}, {}, lengths {} and {}", file_fingerprint(from_utf8(settings.text("qwen3"))),
               file_fingerprint(from_utf8(settings.text("t5_tokenizer_path"))), precision,
               settings.integer("qwen3_max_token_length"), settings.integer("t5_max_token_length"));
    caches.texts = std::make_unique<data::TextCache>(
        data::TextCacheOptions{settings.flag("cache_text_encoder_outputs_to_disk"), skip, made_by});
  }
  return caches;
}

void fill_caches(const RunContext& context, const dataset::Manifest& manifest, Caches& caches,
                 const Tokenizers& tokenizers, at::Device device) {
  const std::vector<Item> items = all_items(manifest);
  if (caches.latents) fill_latents(context, items, *caches.latents, device);
  if (caches.texts) fill_texts(context, items, *caches.texts, tokenizers, device);
}

}  // namespace lathe::train

#include "core/data/latent_cache.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/log.h"
#include "core/data/cache_records.h"
#include "core/data/npz_tensor.h"
#include "core/data/stale_reasons.h"
#include "core/dataset/crop.h"
#include "core/dataset/fingerprint.h"
#include "core/dataset/resize.h"

namespace lathe::data {
namespace {

namespace fs = std::filesystem;
using dataset::Dataset;
using dataset::Image;
using dataset::Interpolation;
using dataset::Size;

constexpr std::int64_t kChannels = 16, kFactor = 8;
constexpr const char* kVae = "vae";
constexpr const char* kResize = "resize";

// Names of the arrays of one image at one size: "latents_6x10" (height × width of the latents) and so on.
struct ArrayNames {
  std::string latents, original_size, crop, flipped, alpha;

  explicit ArrayNames(Size bucket) {
    const std::string suffix = format("_{}x{}", bucket.height / kFactor, bucket.width / kFactor);
    latents = "latents" + suffix;
    original_size = "original_size" + suffix;
    crop = "crop_ltrb" + suffix;
    flipped = "latents_flipped" + suffix;
    alpha = "alpha_mask" + suffix;
  }
  bool contains(const std::string& name) const {
    return name == latents || name == original_size || name == crop || name == flipped || name == alpha;
  }
};

const char* name(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::automatic:
      return "automatic";
    case Interpolation::lanczos:
      return "lanczos";
    case Interpolation::box:
      return "box";
    case Interpolation::area:
      return "area";
    case Interpolation::linear:
      return "linear";
    case Interpolation::cubic:
      return "cubic";
    case Interpolation::nearest:
      return "nearest";
  }
  return "";
}

// What decides the pixels besides the image itself: "area 80x56", "lanczos 80x56 alpha". The alpha mask takes part
// since Pillow's filters weight colours by it.
std::string resizing(const Dataset& dataset, const Image& image) {
  const Size to = image.fit.resized;
  std::string text = "none";
  if (to != image.size) {
    Interpolation chosen = dataset::interpolation_of(dataset.config, image.subset);
    if (chosen == Interpolation::automatic) {
      const bool grows = to.width > image.size.width || to.height > image.size.height;
      chosen = grows ? Interpolation::lanczos : Interpolation::area;
    }
    text = format("{} {}x{}", name(chosen), to.width, to.height);
  }
  return dataset.config.subsets.at(image.subset).alpha_mask ? text + " alpha" : text;
}

std::vector<std::int64_t> latent_shape(Size bucket) {
  return {kChannels, bucket.height / kFactor, bucket.width / kFactor};
}

// Old caches hold [16, 1, h, w].
at::Tensor without_frame(const at::Tensor& latents) {
  return latents.dim() == 4 && latents.size(1) == 1 ? latents.squeeze(1) : latents;
}

// Whether the file is as we left it: same size and time, or else the same latents.
bool is_ours(const fs::path& path, const CacheRecord& record, const ArrayNames& names) {
  const auto now = stamp(path);
  if (now && same_size_and_time(*now, record.cache)) return true;
  return tensor_sha256(read_tensor(io::NpzFile(path), names.latents)) == record.cache.sha256;
}

}  // namespace

struct LatentCache::State {
  CacheRecords records;
  std::mutex writing;  // one image may be in several datasets, whose sizes share a file
  mutable std::mutex mutex;
  std::map<std::string, CachedLatents> in_memory;  // guarded by mutex
};

namespace {

// One image may be in several datasets, at several sizes or resized otherwise.
std::string memory_key(const Dataset& dataset, const Image& image) {
  return format("{}|{}x{}|{}", image.key, image.fit.bucket.width, image.fit.bucket.height, resizing(dataset, image));
}

std::optional<Message> wrong_array(const io::NpzFile& file, const std::string& name,
                                   const std::vector<std::int64_t>& shape) {
  const io::NpzEntry* entry = file.find(name);
  if (entry == nullptr) return message(kArrayMissing, name);
  if (!entry->problem.empty()) return message(kUnreadable, entry->problem);
  std::vector<std::int64_t> found = entry->shape;
  if (found.size() == 4 && found[1] == 1) found.erase(found.begin() + 1);
  if (found != shape) return message(kArrayShape, name, entry->shape);
  return std::nullopt;
}

// What the reference looks at: the arrays that the settings need. Their shapes are looked at too.
std::optional<Message> wrong_file(const fs::path& path, const Dataset& dataset, const Image& image) {
  const ArrayNames names(image.fit.bucket);
  const auto& subset = dataset.config.subsets.at(image.subset);
  try {
    const io::NpzFile file(path);
    const auto shape = latent_shape(image.fit.bucket);
    if (auto wrong = wrong_array(file, names.latents, shape)) return wrong;
    if (subset.flip_aug) {
      if (auto wrong = wrong_array(file, names.flipped, shape)) return wrong;
    }
    if (subset.alpha_mask) return wrong_array(file, names.alpha, {image.fit.bucket.height, image.fit.bucket.width});
    return std::nullopt;
  } catch (const Error& error) {
    return message(kUnreadable, error.message());
  }
}

// Arrays of an existing cache file but those of `names`: what the same image has at other sizes. Empty where the file
// is not there or cannot be read.
std::vector<io::NpzArray> other_arrays(const fs::path& path, const ArrayNames& names) {
  std::vector<io::NpzArray> others;
  if (!fs::exists(path)) return others;
  try {
    const io::NpzFile file(path);
    for (const io::NpzEntry& entry : file.entries()) {
      if (!names.contains(entry.name)) others.push_back(file.read(entry.name));
    }
  } catch (const Error& error) {
    log::warning("{} is written anew: {}", path, error.message());
    others.clear();
  }
  return others;
}

// All arrays of this size are replaced, not only those given: mirrored latents of another VAE would else stay behind.
void write_latents(const Image& image, const CachedLatents& latents) {
  const ArrayNames names(image.fit.bucket);
  NpzTensors tensors;
  tensors.add(names.latents, latents.latents.to(at::kFloat));
  const std::vector<std::int64_t> size = {image.size.width, image.size.height};
  tensors.add(names.original_size, at::tensor(size));
  tensors.add(names.crop, at::tensor(at::ArrayRef<double>(dataset::crop_ltrb(image.fit.bucket, image.size))));
  if (latents.flipped.defined()) tensors.add(names.flipped, latents.flipped.to(at::kFloat));
  if (latents.alpha_mask.defined()) tensors.add(names.alpha, latents.alpha_mask.to(at::kFloat));

  const std::vector<io::NpzArray> others = other_arrays(image.latent_cache, names);
  std::vector<io::TensorToWrite> arrays;
  for (const io::NpzArray& array : others) arrays.push_back({array.name, array.dtype, array.shape, array.bytes});
  arrays.insert(arrays.end(), tensors.arrays().begin(), tensors.arrays().end());
  io::write_npz(image.latent_cache, arrays);
}

CachedLatents read_latents(const Dataset& dataset, const Image& image) {
  if (auto wrong = wrong_file(image.latent_cache, dataset, image)) {
    throw Error(ErrorKind::dataset, format("{}: {}", image.latent_cache, wrong->english()));
  }
  const auto& subset = dataset.config.subsets.at(image.subset);
  const ArrayNames names(image.fit.bucket);
  const io::NpzFile file(image.latent_cache);
  CachedLatents latents;
  latents.latents = without_frame(read_tensor(file, names.latents)).to(at::kFloat);
  if (subset.flip_aug) latents.flipped = without_frame(read_tensor(file, names.flipped)).to(at::kFloat);
  if (subset.alpha_mask) latents.alpha_mask = read_tensor(file, names.alpha).to(at::kFloat);
  return latents;
}

}  // namespace

LatentCache::LatentCache(LatentCacheOptions options)
    : options_(std::move(options)), state_(std::make_unique<State>()) {}
LatentCache::~LatentCache() = default;

std::optional<Message> LatentCache::why_stale(const Dataset& dataset, const Image& image) const {
  if (!options_.on_disk) {
    const std::lock_guard lock(state_->mutex);
    if (state_->in_memory.contains(memory_key(dataset, image))) return std::nullopt;
    return message(kNotCached);
  }
  if (!fs::exists(image.latent_cache)) return message(kNotCached);
  if (options_.skip_check) return std::nullopt;
  if (auto wrong = wrong_file(image.latent_cache, dataset, image)) return wrong;

  const ArrayNames names(image.fit.bucket);
  const auto record = state_->records.find(image.latent_cache, names.latents);
  if (!record) return std::nullopt;
  try {
    if (!is_ours(image.latent_cache, *record, names)) return std::nullopt;
  } catch (const Error& error) {
    return message(kUnreadable, error.message());
  }
  const auto made_with = [&](const char* what) {
    const auto found = record->made_with.find(what);
    return found == record->made_with.end() ? std::string() : found->second;
  };
  const std::string vae = made_with(kVae), resize = made_with(kResize), resize_now = resizing(dataset, image);
  if (!vae.empty() && !options_.vae_fingerprint.empty() && vae != options_.vae_fingerprint) return message(kOtherVae);
  if (resize != resize_now) return message(kOtherResize, resize, resize_now);
  if (record->source && !dataset::is_unchanged(image.path, *record->source, options_.recheck))
    return message(kImageChanged);
  return std::nullopt;
}

void LatentCache::put(const Dataset& dataset, const Image& image, const CachedLatents& latents) {
  for (const at::Tensor& tensor : {latents.latents, latents.flipped}) {
    if (tensor.defined() && !tensor.isfinite().all().item<bool>()) {
      throw Error(ErrorKind::dataset, format("the latents of {} are not finite; try no_half_vae", image.path));
    }
  }
  if (!options_.on_disk) {
    const auto keep = [](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.detach().to(at::kCPU).clone() : at::Tensor();
    };
    CachedLatents kept{keep(latents.latents), keep(latents.flipped), keep(latents.alpha_mask)};
    const std::lock_guard lock(state_->mutex);
    state_->in_memory[memory_key(dataset, image)] = std::move(kept);
    return;
  }

  const ArrayNames names(image.fit.bucket);
  const std::lock_guard lock(state_->writing);
  write_latents(image, latents);
  CacheRecord record;
  record.made_with = {{kVae, options_.vae_fingerprint}, {kResize, resizing(dataset, image)}};
  record.source = dataset::fingerprint_of(image.path);
  if (const auto written = stamp(image.latent_cache)) record.cache = *written;
  record.cache.sha256 = tensor_sha256(latents.latents.to(at::kFloat));
  state_->records.put(image.latent_cache, names.latents, record);
}

CachedLatents LatentCache::get(const Dataset& dataset, const Image& image) const {
  CachedLatents latents;
  if (options_.on_disk) {
    latents = read_latents(dataset, image);
  } else {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->in_memory.find(memory_key(dataset, image));
    if (found == state_->in_memory.end()) {
      throw Error(ErrorKind::internal, format("{} has no latents in memory", image.path));
    }
    latents = found->second;
  }
  const auto& subset = dataset.config.subsets.at(image.subset);
  if (!subset.flip_aug) latents.flipped.reset();
  if (!subset.alpha_mask) latents.alpha_mask.reset();
  return latents;
}

}  // namespace lathe::data

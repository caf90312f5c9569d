#include "core/data/text_cache.h"

#include <map>
#include <mutex>
#include <utility>

#include <ATen/ops/scalar_tensor.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/hash.h"
#include "core/data/cache_records.h"
#include "core/data/npz_tensor.h"
#include "core/data/stale_reasons.h"

namespace lathe::data {
namespace {

namespace fs = std::filesystem;
using dataset::Image;

constexpr const char* kEmbeddings = "prompt_embeds";
constexpr const char* kMask = "attn_mask";
constexpr const char* kT5Ids = "t5_input_ids";
constexpr const char* kT5Mask = "t5_attn_mask";
constexpr const char* kDropout = "caption_dropout_rate";

constexpr const char* kEntry = "text";
constexpr const char* kCaption = "caption";
constexpr const char* kEncoder = "encoder";

// The arrays that the reference wants. Nothing: all there.
std::optional<Message> wrong_file(const fs::path& path) {
  try {
    const io::NpzFile file(path);
    for (const char* name : {kEmbeddings, kMask, kT5Ids, kT5Mask, kDropout}) {
      const io::NpzEntry* entry = file.find(name);
      if (entry == nullptr) return message(kArrayMissing, name);
      if (!entry->problem.empty()) return message(kUnreadable, entry->problem);
      const std::size_t dims = name == kEmbeddings ? 2 : name == kDropout ? 0 : 1;
      if (entry->shape.size() != dims) return message(kArrayShape, name, entry->shape);
    }
    return std::nullopt;
  } catch (const Error& error) {
    return message(kUnreadable, error.message());
  }
}

// Whether the file is as we left it: same size and time, or else the same embeddings.
bool is_ours(const fs::path& path, const CacheRecord& record) {
  const auto now = stamp(path);
  if (now && same_size_and_time(*now, record.cache)) return true;
  return tensor_sha256(read_tensor(io::NpzFile(path), kEmbeddings)) == record.cache.sha256;
}

// The rate as the file holds it: fp32.
std::string rate_text(double rate) {
  return format("{}", static_cast<float>(rate));
}

// Subsets may give one image different captions.
std::string memory_key(const Image& image) {
  return image.key + '\n' + image.caption;
}

double read_rate(const io::NpzFile& file) {
  return read_tensor(file, kDropout).item<double>();
}

}  // namespace

struct TextCache::State {
  CacheRecords records;
  mutable std::mutex mutex;
  std::map<std::string, TextOutputs> in_memory;  // guarded by mutex; by memory_key
  std::map<fs::path, double> rates;              // guarded by mutex
};

TextCache::TextCache(TextCacheOptions options) : options_(std::move(options)), state_(std::make_unique<State>()) {}
TextCache::~TextCache() = default;

std::optional<Message> TextCache::why_stale(const Image& image, std::optional<double> caption_dropout_rate) const {
  if (!options_.on_disk) {
    const std::lock_guard lock(state_->mutex);
    return state_->in_memory.contains(memory_key(image)) ? std::nullopt : std::optional(message(kNotCached));
  }
  if (!fs::exists(image.text_cache)) return message(kNotCached);
  if (options_.skip_check) return std::nullopt;
  if (auto wrong = wrong_file(image.text_cache)) return wrong;

  const auto record = state_->records.find(image.text_cache, kEntry);
  if (!record) return std::nullopt;
  try {
    if (!is_ours(image.text_cache, *record)) return std::nullopt;
    const std::string rate = rate_text(read_rate(io::NpzFile(image.text_cache)));
    if (caption_dropout_rate && rate != rate_text(*caption_dropout_rate)) {
      return message(kOtherDropout, rate, rate_text(*caption_dropout_rate));
    }
  } catch (const Error& error) {
    return message(kUnreadable, error.message());
  }
  const auto made_with = [&](const char* what) {
    const auto found = record->made_with.find(what);
    return found == record->made_with.end() ? std::string() : found->second;
  };
  const std::string encoder = made_with(kEncoder);
  if (!encoder.empty() && !options_.encoder_fingerprint.empty() && encoder != options_.encoder_fingerprint) {
    return message(kOtherEncoder);
  }
  if (made_with(kCaption) != sha256_hex(image.caption)) return message(kCaptionChanged);
  return std::nullopt;
}

void TextCache::put(const Image& image, const TextOutputs& outputs) {
  const at::ScalarType type = outputs.embeddings.scalar_type();
  const at::Tensor embeddings =
      outputs.embeddings.detach().to(at::kCPU, type == at::kHalf ? at::kHalf : at::kFloat).contiguous();
  if (!options_.on_disk) {
    const auto keep = [](const at::Tensor& tensor) { return tensor.to(at::kCPU, at::kLong).clone(); };
    TextOutputs kept{embeddings.clone(), keep(outputs.mask), keep(outputs.t5_ids), keep(outputs.t5_mask),
                     static_cast<float>(outputs.caption_dropout_rate)};
    const std::lock_guard lock(state_->mutex);
    state_->in_memory[memory_key(image)] = std::move(kept);
    return;
  }
  NpzTensors tensors;
  tensors.add(kEmbeddings, embeddings);
  tensors.add(kMask, outputs.mask.to(at::kLong));
  tensors.add(kT5Ids, outputs.t5_ids.to(at::kInt));
  tensors.add(kT5Mask, outputs.t5_mask.to(at::kInt));
  tensors.add(kDropout, at::scalar_tensor(outputs.caption_dropout_rate, at::TensorOptions().dtype(at::kFloat)));
  io::write_npz(image.text_cache, tensors.arrays());

  CacheRecord record;
  record.made_with = {{kEncoder, options_.encoder_fingerprint}, {kCaption, sha256_hex(image.caption)}};
  if (const auto written = stamp(image.text_cache)) record.cache = *written;
  record.cache.sha256 = tensor_sha256(embeddings);
  state_->records.put(image.text_cache, kEntry, record);
  const std::lock_guard lock(state_->mutex);
  state_->rates.erase(image.text_cache);
}

TextOutputs TextCache::get(const Image& image) const {
  if (!options_.on_disk) {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->in_memory.find(memory_key(image));
    if (found == state_->in_memory.end()) {
      throw Error(ErrorKind::internal, format("{} has no text outputs in memory", image.path));
    }
    return found->second;
  }
  if (auto wrong = wrong_file(image.text_cache)) {
    throw Error(ErrorKind::dataset, format("{}: {}", image.text_cache, wrong->english()));
  }
  const io::NpzFile file(image.text_cache);
  TextOutputs outputs;
  outputs.embeddings = read_tensor(file, kEmbeddings);
  outputs.mask = read_tensor(file, kMask).to(at::kLong);
  outputs.t5_ids = read_tensor(file, kT5Ids).to(at::kLong);
  outputs.t5_mask = read_tensor(file, kT5Mask).to(at::kLong);
  outputs.caption_dropout_rate = read_rate(file);
  return outputs;
}

double TextCache::dropout_rate(const Image& image) const {
  if (!options_.on_disk) return get(image).caption_dropout_rate;
  {
    const std::lock_guard lock(state_->mutex);
    const auto known = state_->rates.find(image.text_cache);
    if (known != state_->rates.end()) return known->second;
  }
  const double rate = read_rate(io::NpzFile(image.text_cache));
  const std::lock_guard lock(state_->mutex);
  state_->rates[image.text_cache] = rate;
  return rate;
}

}  // namespace lathe::data

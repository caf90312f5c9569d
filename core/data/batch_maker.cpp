#include "core/data/batch_maker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::data {
namespace {

using Shape = std::vector<std::int64_t>;

// Rows of equal type as one tensor. Shorter rows are filled up with zeros at the end of their first dimension, as the
// reference does with texts of unequal length.
at::Tensor stack(const std::vector<at::Tensor>& rows) {
  Shape shape = rows.front().sizes().vec();
  for (const at::Tensor& row : rows) shape[0] = std::max(shape[0], row.size(0));
  Shape all = shape;
  all.insert(all.begin(), static_cast<std::int64_t>(rows.size()));
  at::Tensor result = at::empty(all, rows.front().options());
  const std::size_t row_bytes = result.nbytes() / rows.size();
  auto* bytes = static_cast<std::byte*>(result.mutable_data_ptr());
  for (const at::Tensor& row : rows) {
    std::memcpy(bytes, row.const_data_ptr(), row.nbytes());
    std::memset(bytes + row.nbytes(), 0, row_bytes - row.nbytes());
    bytes += row_bytes;
  }
  return result;
}

at::Tensor filled(at::IntArrayRef shape, float value) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(at::kFloat));
  std::fill_n(tensor.mutable_data_ptr<float>(), tensor.numel(), value);
  return tensor;
}

// A contiguous fp32 tensor mirrored along its last dimension.
at::Tensor mirrored(const at::Tensor& tensor) {
  at::Tensor result = at::empty(tensor.sizes(), tensor.options());
  const std::int64_t width = tensor.size(-1);
  const auto* from = tensor.const_data_ptr<float>();
  auto* to = result.mutable_data_ptr<float>();
  for (std::int64_t row = 0; row < tensor.numel() / width; ++row, from += width, to += width) {
    std::reverse_copy(from, from + width, to);
  }
  return result;
}

at::Tensor mirrored_latents(const CachedLatents& cached, const dataset::Image& image) {
  if (cached.flipped.defined()) return cached.flipped;
  throw Error(ErrorKind::dataset, format("the cached latents of {} have no mirrored ones (flip_aug)", image.path));
}

void add_pictures(TrainBatch& batch, const BatchPlan& plan, const BatchSources& sources) {
  std::vector<at::Tensor> pictures, masks;
  bool any_mask = false;
  for (const ItemPlan& item : plan.items) {
    at::Tensor mask;
    if (sources.latents != nullptr) {
      const CachedLatents cached = sources.latents->get(*plan.dataset, *item.image);
      pictures.push_back(item.flip ? mirrored_latents(cached, *item.image) : cached.latents);
      mask = cached.alpha_mask;
    } else {
      ImageTensor image = load_image_tensor(*plan.dataset, *item.image, item.crop);
      pictures.push_back(item.flip ? mirrored(image.pixels) : std::move(image.pixels));
      mask = image.alpha_mask;
    }
    any_mask = any_mask || mask.defined();
    masks.push_back(mask.defined() && item.flip ? mirrored(mask) : mask);
  }
  (sources.latents != nullptr ? batch.latents : batch.pixels) = stack(pictures);
  if (!any_mask) return;
  const Shape size = {batch.bucket.height, batch.bucket.width};
  for (at::Tensor& mask : masks) {
    if (!mask.defined()) mask = filled(size, 1.0f);
  }
  batch.alpha_mask = stack(masks);
}

// The outputs of an empty text: no token for the encoder, the end token alone for T5.
void drop(TextOutputs& outputs) {
  outputs.embeddings = filled(outputs.embeddings.sizes(), 0.0f);
  outputs.mask = at::zeros(outputs.mask.sizes(), outputs.mask.options());
  outputs.t5_ids = at::zeros(outputs.t5_ids.sizes(), outputs.t5_ids.options());
  outputs.t5_ids.mutable_data_ptr<std::int64_t>()[0] = 1;
  outputs.t5_mask = outputs.t5_ids;
}

void add_cached_texts(TrainBatch& batch, const BatchPlan& plan, const TextCache& texts) {
  std::vector<at::Tensor> embeddings, masks, t5_ids, t5_masks;
  for (const ItemPlan& item : plan.items) {
    TextOutputs outputs = texts.get(*item.image);
    if (item.drop_caption) drop(outputs);
    embeddings.push_back(outputs.embeddings.to(at::kFloat));
    masks.push_back(outputs.mask);
    t5_ids.push_back(outputs.t5_ids);
    t5_masks.push_back(outputs.t5_mask);
  }
  batch.embeddings = stack(embeddings);
  batch.text_mask = stack(masks);
  batch.t5_ids = stack(t5_ids);
  batch.t5_mask = stack(t5_masks);
}

at::Tensor to_tensor(const std::vector<std::int32_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions().dtype(at::kLong));
  std::ranges::copy(values, tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

void add_token_rows(TrainBatch& batch, const BatchPlan& plan, const BatchSources& sources,
                    const LoaderOptions& options) {
  std::vector<at::Tensor> ids, masks, t5_ids, t5_masks;
  for (const ItemPlan& item : plan.items) {
    const text::TokenRow qwen3 = sources.qwen3->row(item.caption, static_cast<std::size_t>(options.qwen3_length));
    const text::TokenRow t5 = sources.t5->row(item.caption, static_cast<std::size_t>(options.t5_length));
    ids.push_back(to_tensor(qwen3.ids));
    masks.push_back(to_tensor(qwen3.mask));
    t5_ids.push_back(to_tensor(t5.ids));
    t5_masks.push_back(to_tensor(t5.mask));
  }
  batch.qwen3_ids = stack(ids);
  batch.text_mask = stack(masks);
  batch.t5_ids = stack(t5_ids);
  batch.t5_mask = stack(t5_masks);
}

}  // namespace

TrainBatch make_batch(const BatchPlan& plan, const BatchSources& sources, const LoaderOptions& options) {
  TrainBatch batch;
  batch.batch = plan.batch;
  batch.bucket = plan.items.front().image->fit.bucket;
  batch.loss_weights = at::empty({static_cast<std::int64_t>(plan.items.size())}, at::TensorOptions().dtype(at::kFloat));
  auto* weight = batch.loss_weights.mutable_data_ptr<float>();
  for (const ItemPlan& item : plan.items) {
    *weight++ = item.image->is_reg ? static_cast<float>(options.prior_loss_weight) : 1.0f;
    batch.captions.push_back(item.caption);
    batch.flipped.push_back(item.flip);
    batch.dropped.push_back(item.drop_caption);
  }
  add_pictures(batch, plan, sources);
  if (sources.texts != nullptr) {
    add_cached_texts(batch, plan, *sources.texts);
  } else {
    add_token_rows(batch, plan, sources, options);
  }
  return batch;
}

}  // namespace lathe::data

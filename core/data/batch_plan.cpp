#include "core/data/batch_plan.h"

#include <algorithm>
#include <utility>

namespace lathe::data {
namespace {

text::CaptionOptions caption_options(const config::SubsetConfig& subset) {
  text::CaptionOptions options;
  options.caption_prefix = subset.caption_prefix.value_or("");
  options.caption_suffix = subset.caption_suffix.value_or("");
  options.caption_separator = subset.caption_separator;
  options.secondary_separator = subset.secondary_separator.value_or("");
  options.keep_tokens_separator = subset.keep_tokens_separator;
  options.keep_tokens = subset.keep_tokens;
  options.shuffle_caption = subset.shuffle_caption;
  options.enable_wildcard = subset.enable_wildcard;
  options.caption_dropout_rate = subset.caption_dropout_rate;
  options.caption_dropout_every_n_epochs = subset.caption_dropout_every_n_epochs;
  options.caption_tag_dropout_rate = subset.caption_tag_dropout_rate;
  options.token_warmup_min = subset.token_warmup_min;
  options.token_warmup_step = subset.token_warmup_step;
  return options;
}

// One draw an item as soon as one rate is not 0, also for the items whose own rate is.
void draw_caption_drops(std::vector<ItemPlan>& items, const TextCache& texts, PythonRandom& random) {
  std::vector<double> rates;
  for (const ItemPlan& item : items) rates.push_back(texts.dropout_rate(*item.image));
  if (std::ranges::all_of(rates, [](double rate) { return rate == 0.0; })) return;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].drop_caption = random.random() < rates[i];
    if (items[i].drop_caption) items[i].caption.clear();
  }
}

}  // namespace

BatchPlan plan_batch(const std::vector<dataset::Dataset>& datasets, dataset::Batch batch, const PlanOptions& options,
                     const text::CaptionMoment& moment, PythonRandom& random) {
  BatchPlan plan{std::move(batch), nullptr, {}};
  plan.dataset = &datasets.at(plan.batch.dataset);
  text::PythonCaptionDraws draws(random);
  for (const std::size_t index : plan.batch.items) {
    ItemPlan item;
    item.image = &plan.dataset->images.at(index);
    const config::SubsetConfig& subset = plan.dataset->config.subsets.at(item.image->subset);
    item.flip = subset.flip_aug && random.random() < 0.5;
    if (!options.latents_cached && subset.random_crop) item.crop = draw_crop(*plan.dataset, *item.image, random);
    item.caption = item.image->caption;
    if (options.texts == nullptr) {
      item.caption = text::process_caption(item.image->caption, caption_options(subset), moment, draws);
      item.drop_caption = item.caption.empty() && !item.image->caption.empty();
    }
    plan.items.push_back(std::move(item));
  }
  if (options.texts != nullptr) draw_caption_drops(plan.items, *options.texts, random);
  return plan;
}

}  // namespace lathe::data

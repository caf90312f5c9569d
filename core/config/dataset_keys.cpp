#include "core/config/dataset_keys.h"

#include <algorithm>
#include <iterator>

namespace lathe::config {

namespace {

constexpr std::string_view kPrefix = "dataset_key.";

DatasetKey key(TextId text, KeyType type) {
  return {.name = text.id.substr(kPrefix.size()), .type = type, .help = text};
}

// Keys of a dataset; `option` is mostly of the same name.
DatasetKey of_dataset(TextId text, KeyType type, std::string_view option) {
  DatasetKey made = key(text, type);
  made.in_general = made.in_dataset = true;
  made.option = option;
  return made;
}

DatasetKey of_dataset(TextId text, KeyType type) {
  return of_dataset(text, type, text.id.substr(kPrefix.size()));
}

// Keys of a subset that may also stand above it.
DatasetKey inherited(TextId text, KeyType type, std::string_view option) {
  DatasetKey made = of_dataset(text, type, option);
  made.in_subset = true;
  return made;
}

DatasetKey inherited(TextId text, KeyType type) {
  return inherited(text, type, text.id.substr(kPrefix.size()));
}

DatasetKey of_subset(TextId text, KeyType type) {
  DatasetKey made = key(text, type);
  made.in_subset = true;
  return made;
}

DatasetKey without(DatasetKey made, std::initializer_list<DatasetKind> kinds) {
  for (const DatasetKind kind : kinds) {
    if (kind == DatasetKind::folder) made.of_folder = false;
    if (kind == DatasetKind::metadata) made.of_metadata = false;
    if (kind == DatasetKind::masked) made.of_masked = false;
  }
  return made;
}

std::vector<DatasetKey> keys_of_datasets() {
  DatasetKey interpolation =
      inherited(LATHE_TEXT("dataset_key.resize_interpolation", "How pixels are computed when an image is resized."),
                KeyType::text);
  interpolation.choices = {"lanczos", "nearest", "bilinear", "linear", "bicubic", "cubic", "area", "box"};
  return {
      of_dataset(LATHE_TEXT("dataset_key.resolution", "Training size in pixels: 1024 or [width, height]."),
                 KeyType::size),
      of_dataset(LATHE_TEXT("dataset_key.batch_size", "Images in one batch."), KeyType::integer, "train_batch_size"),
      of_dataset(LATHE_TEXT("dataset_key.enable_bucket", "Sorts images into buckets by aspect ratio."),
                 KeyType::boolean),
      of_dataset(LATHE_TEXT("dataset_key.min_bucket_reso", "Shortest side of a bucket, in pixels."), KeyType::integer),
      of_dataset(LATHE_TEXT("dataset_key.max_bucket_reso", "Longest side of a bucket, in pixels."), KeyType::integer),
      of_dataset(LATHE_TEXT("dataset_key.bucket_reso_steps", "Sides of buckets are multiples of this."),
                 KeyType::integer),
      of_dataset(LATHE_TEXT("dataset_key.bucket_no_upscale", "Gives each image a bucket of its own size."),
                 KeyType::boolean),
      of_dataset(LATHE_TEXT("dataset_key.network_multiplier", "Strength of the adapter; nothing reads it for Anima."),
                 KeyType::real, ""),
      of_dataset(LATHE_TEXT("dataset_key.validation_seed", "Seed that chooses the images held back."),
                 KeyType::integer),
      of_dataset(LATHE_TEXT("dataset_key.validation_split", "Share of the images held back to validate with."),
                 KeyType::real),
      std::move(interpolation),
  };
}

std::vector<DatasetKey> keys_of_captions() {
  return {
      inherited(LATHE_TEXT("dataset_key.shuffle_caption", "Shuffles the parts of a caption each time."),
                KeyType::boolean),
      inherited(LATHE_TEXT("dataset_key.caption_separator", "What stands between the parts of a caption."),
                KeyType::text),
      inherited(LATHE_TEXT("dataset_key.keep_tokens", "First parts of a caption that keep their place."),
                KeyType::integer),
      inherited(LATHE_TEXT("dataset_key.keep_tokens_separator", "A mark before which parts keep their place."),
                KeyType::text),
      inherited(LATHE_TEXT("dataset_key.secondary_separator", "A mark that joins parts which stay together."),
                KeyType::text),
      inherited(LATHE_TEXT("dataset_key.enable_wildcard", "Understands {a|b} and captions of several lines."),
                KeyType::boolean),
      inherited(LATHE_TEXT("dataset_key.caption_prefix", "Text put before every caption."), KeyType::text),
      inherited(LATHE_TEXT("dataset_key.caption_suffix", "Text put after every caption."), KeyType::text),
      inherited(LATHE_TEXT("dataset_key.token_warmup_min", "Parts of a caption used at the first step."),
                KeyType::integer),
      inherited(LATHE_TEXT("dataset_key.token_warmup_step", "Steps, or a share of them, until all parts are used."),
                KeyType::number),
      inherited(LATHE_TEXT("dataset_key.caption_dropout_rate", "Chance of an empty caption."), KeyType::number),
      inherited(LATHE_TEXT("dataset_key.caption_dropout_every_n_epochs", "Every so many epochs captions are empty."),
                KeyType::integer),
      inherited(LATHE_TEXT("dataset_key.caption_tag_dropout_rate", "Chance that a part of a caption is left out."),
                KeyType::number),
      without(inherited(LATHE_TEXT("dataset_key.caption_extension", "Ending of the files that hold captions."),
                        KeyType::text),
              {DatasetKind::metadata}),
      without(inherited(LATHE_TEXT("dataset_key.class_tokens", "The caption of images without a caption file."),
                        KeyType::text, ""),
              {DatasetKind::metadata, DatasetKind::masked}),
  };
}

std::vector<DatasetKey> keys_of_subsets() {
  return {
      inherited(LATHE_TEXT("dataset_key.num_repeats", "How often an epoch shows each image."), KeyType::integer,
                "dataset_repeats"),
      inherited(LATHE_TEXT("dataset_key.color_aug", "Shifts hue and gamma at random."), KeyType::boolean),
      inherited(LATHE_TEXT("dataset_key.flip_aug", "Mirrors every second image at random."), KeyType::boolean),
      inherited(LATHE_TEXT("dataset_key.face_crop_aug_range", "Range of the scale of a crop around a face."),
                KeyType::range),
      inherited(LATHE_TEXT("dataset_key.random_crop", "Crops at a random place."), KeyType::boolean),
      inherited(LATHE_TEXT("dataset_key.custom_attributes", "Anything; nothing reads it for Anima."), KeyType::table,
                ""),
      without(inherited(LATHE_TEXT("dataset_key.cache_info", "Keeps captions and sizes in metadata_cache.json."),
                        KeyType::boolean),
              {DatasetKind::metadata}),
      of_subset(LATHE_TEXT("dataset_key.image_dir", "Folder of the images."), KeyType::path),
      without(of_subset(LATHE_TEXT("dataset_key.metadata_file", "JSON or JSON lines that list images and captions."),
                        KeyType::path),
              {DatasetKind::folder, DatasetKind::masked}),
      without(of_subset(LATHE_TEXT("dataset_key.conditioning_data_dir", "Folder of mask images; needs masked_loss."),
                        KeyType::path),
              {DatasetKind::folder, DatasetKind::metadata}),
      without(of_subset(LATHE_TEXT("dataset_key.is_reg", "Marks regularisation images."), KeyType::boolean),
              {DatasetKind::metadata, DatasetKind::masked}),
      without(of_subset(LATHE_TEXT("dataset_key.alpha_mask", "Weights the loss by the image's transparency."),
                        KeyType::boolean),
              {DatasetKind::masked}),
  };
}

std::vector<DatasetKey> all_keys() {
  std::vector<DatasetKey> all = keys_of_datasets();
  for (std::vector<DatasetKey> more : {keys_of_subsets(), keys_of_captions()}) {
    std::ranges::move(more, std::back_inserter(all));
  }
  for (DatasetKey& made : all) {
    if (made.name == "alpha_mask") made.option = "alpha_mask";  // a flag may stand in for it, the file's tables may not
  }
  return all;
}

}  // namespace

bool DatasetKey::stands_at(KeyLevel level) const {
  return level == KeyLevel::general ? in_general : level == KeyLevel::dataset ? in_dataset : in_subset;
}

bool DatasetKey::belongs_to(DatasetKind kind) const {
  return kind == DatasetKind::folder ? of_folder : kind == DatasetKind::metadata ? of_metadata : of_masked;
}

const std::vector<DatasetKey>& dataset_keys() {
  static const std::vector<DatasetKey> all = all_keys();
  return all;
}

const DatasetKey* find_dataset_key(std::string_view name) {
  const auto found = std::ranges::find(dataset_keys(), name, &DatasetKey::name);
  return found == dataset_keys().end() ? nullptr : &*found;
}

std::vector<std::string> dataset_key_names(KeyLevel level, DatasetKind kind) {
  std::vector<std::string> names;
  for (const DatasetKey& row : dataset_keys()) {
    if (row.stands_at(level) && (level == KeyLevel::general || row.belongs_to(kind))) names.emplace_back(row.name);
  }
  return names;
}

std::string_view name(KeyType type) {
  switch (type) {
    case KeyType::boolean:
      return "true or false";
    case KeyType::integer:
      return "a whole number";
    case KeyType::real:
      return "a number with a point";
    case KeyType::number:
      return "a number";
    case KeyType::text:
      return "text";
    case KeyType::path:
      return "a path";
    case KeyType::size:
      return "a whole number or [width, height]";
    case KeyType::range:
      return "two numbers with a point, such as [1.0, 3.0]";
    case KeyType::table:
      return "a table";
  }
  return "";
}

std::string_view name(KeyLevel level) {
  switch (level) {
    case KeyLevel::general:
      return "[general]";
    case KeyLevel::dataset:
      return "[[datasets]]";
    case KeyLevel::subset:
      return "[[datasets.subsets]]";
  }
  return "";
}

}  // namespace lathe::config

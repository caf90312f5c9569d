#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kPythonClass =
    LATHE_TEXT("reason.python_class", "{}: it names a Python class, and no Python runs here");
constexpr TextId kUsePlan = LATHE_TEXT(
    "reason.use_plan", "{}: it shows the items and leaves; `lathe-batch plan` lists what the dataset holds instead");

// Where pictures come from and how they are brought to size.
std::vector<Option> picture_options() {
  return {
      file(LATHE_TEXT("option.dataset_config",
                      "A TOML or JSON file that describes the datasets; it replaces "
                      "train_data_dir, reg_data_dir and in_json.")),
      folder(LATHE_TEXT("option.train_data_dir",
                        "Folder of the training images: its subfolders are named N_name, "
                        "where N says how often an epoch shows each image.")),
      folder(LATHE_TEXT("option.reg_data_dir", "Folder of regularisation images, laid out as train_data_dir.")),
      file(LATHE_TEXT("option.in_json",
                      "A metadata file (JSON or JSON lines) that lists the images of train_data_dir "
                      "with captions and tags.")),
      integer(LATHE_TEXT("option.dataset_repeats", "How often an epoch shows each image where nothing else says so."),
              1),
      choice(LATHE_TEXT("option.unnumbered_folders",
                        "What becomes of subfolders of train_data_dir without a number, and of images directly in it: "
                        "skipped as in the reference, or shown once an epoch."),
             {"skip", "once"}, "skip")
          .ours(),
      text(LATHE_TEXT("option.resolution", "Training size in pixels: \"1024\", or \"width,height\".")),
      integer(LATHE_TEXT("option.train_batch_size", "Images in one batch."), 1).at_least(1),
      flag(LATHE_TEXT("option.enable_bucket",
                      "Sorts images into buckets by aspect ratio instead of cropping all to "
                      "one shape.")),
      integer(LATHE_TEXT("option.min_bucket_reso", "Shortest side of a bucket, in pixels."), 256).at_least(16),
      integer(LATHE_TEXT("option.max_bucket_reso", "Longest side of a bucket, in pixels."), 1024).at_least(16),
      integer(LATHE_TEXT("option.bucket_reso_steps",
                         "Sides of buckets are multiples of this; itself a multiple of "
                         "16."),
              64)
          .at_least(1),
      flag(LATHE_TEXT("option.bucket_no_upscale",
                      "Gives each image a bucket of its own size instead of enlarging "
                      "it.")),
      choice(LATHE_TEXT("option.bucket_remainder",
                        "What becomes of the images that do not fill a bucket's last batch: "
                        "a smaller batch, some repeated, a neighbouring bucket, or left "
                        "out."),
             {"smaller", "repeat", "merge", "drop"}, "smaller")
          .ours(),
      choice(LATHE_TEXT("option.resize_interpolation",
                        "How pixels are computed when an image is resized; unset "
                        "averages areas downwards and takes Lanczos upwards."),
             {"lanczos", "nearest", "bilinear", "linear", "bicubic", "cubic", "area", "box"}),
      flag(LATHE_TEXT("option.color_aug",
                      "Shifts hue and gamma of each image at random; latents cannot be cached "
                      "then."))
          .not_yet(kLater),
      flag(LATHE_TEXT("option.flip_aug",
                      "Mirrors every second image at random; cached latents take twice the "
                      "space.")),
      text(LATHE_TEXT("option.face_crop_aug_range",
                      "Range \"low,high\" of the scale of a crop around a face whose "
                      "place the file name gives."))
          .not_yet(kLater),
      flag(LATHE_TEXT("option.random_crop",
                      "Crops at a random place instead of the centre; latents cannot be cached "
                      "then.")),
      flag(LATHE_TEXT("option.alpha_mask", "Weights the loss by the image's transparency.")),
      text(LATHE_TEXT("option.alpha_background",
                      "Colour that shows through transparent pixels, as \"#rrggbb\"; unset "
                      "drops the transparency and keeps the colour underneath."))
          .not_yet(kLater)
          .ours(),
      folder(LATHE_TEXT("option.conditioning_data_dir", "Folder of mask images for masked_loss."))
          .no_effect(
              LATHE_TEXT("reason.masks_in_file", "{}: mask images are named by the subsets of dataset_config only")),
      flag(LATHE_TEXT("option.cache_info",
                      "Keeps captions and sizes of a folder in metadata_cache.json and trusts "
                      "that file afterwards.")),
      text(LATHE_TEXT("option.skip_image_resolution", "Leaves out images that are not larger than this size."))
          .not_yet(kLater)
          .later(),
      text(LATHE_TEXT("option.dataset_class", "A Python class to use as the dataset.")).refused(kPythonClass),
      flag(LATHE_TEXT("option.debug_dataset", "Shows the dataset's items and leaves without training."))
          .refused(kUsePlan),
  };
}

std::vector<Option> caption_options() {
  return {
      text(LATHE_TEXT("option.caption_extension", "Ending of the files that hold captions."), ".caption"),
      text(LATHE_TEXT("option.caption_extention", "Old spelling of caption_extension; wins where it is given.")),
      text(LATHE_TEXT("option.caption_separator", "What stands between the parts (tags) of a caption."), ","),
      flag(LATHE_TEXT("option.shuffle_caption", "Shuffles the parts of a caption each time an image is shown.")),
      integer(LATHE_TEXT("option.keep_tokens", "First parts of a caption that keep their place."), 0).at_least(0),
      text(LATHE_TEXT("option.keep_tokens_separator",
                      "A mark in the caption before which parts keep their place; a "
                      "second one does so for the end."),
           ""),
      text(LATHE_TEXT("option.secondary_separator",
                      "A mark that joins parts which stay together; replaced by "
                      "caption_separator in the end.")),
      flag(LATHE_TEXT("option.enable_wildcard",
                      "Understands {a|b} as a choice, and takes one line of a caption of "
                      "several.")),
      text(LATHE_TEXT("option.caption_prefix", "Text put before every caption.")),
      text(LATHE_TEXT("option.caption_suffix", "Text put after every caption.")),
      integer(LATHE_TEXT("option.token_warmup_min", "Parts of a caption that are used at the first step."), 1)
          .at_least(0),
      real_from_integer(LATHE_TEXT("option.token_warmup_step",
                                   "Steps until all parts of a caption are used; below 1, "
                                   "a share of all steps."),
                        0)
          .at_least(0),
      real(LATHE_TEXT("option.caption_dropout_rate", "Chance that an image is shown with an empty caption."), 0.0)
          .between(0, 1),
      integer(LATHE_TEXT("option.caption_dropout_every_n_epochs",
                         "Every so many epochs all captions are empty; 0 "
                         "never."),
              0)
          .at_least(0),
      real(LATHE_TEXT("option.caption_tag_dropout_rate", "Chance that a part of a caption is left out."), 0.0)
          .between(0, 1),
      flag(LATHE_TEXT("option.weighted_captions", "Understands (word:1.2) as a weight."))
          .refused(LATHE_TEXT("reason.weighted_captions",
                              "{}: the reference has no such captions for Anima either and "
                              "stops at the first one")),
  };
}

std::vector<Option> cache_options() {
  return {
      flag(LATHE_TEXT("option.cache_latents", "Encodes all images once, before training.")),
      flag(LATHE_TEXT("option.cache_latents_to_disk", "Keeps the encoded images as files beside the originals.")),
      integer(LATHE_TEXT("option.vae_batch_size", "Images that the VAE encodes at once."), 1).at_least(1),
      flag(LATHE_TEXT("option.cache_text_encoder_outputs", "Encodes all captions once, before training.")),
      flag(LATHE_TEXT("option.cache_text_encoder_outputs_to_disk",
                      "Keeps the encoded captions as files beside the "
                      "images.")),
      integer(LATHE_TEXT("option.text_encoder_batch_size",
                         "Captions that are encoded at once; unset takes the batch "
                         "size of the dataset."))
          .at_least(1)
          .no_effect(LATHE_TEXT("reason.one_by_one",
                                "{}: captions are encoded one by one, since only their real tokens are computed")),
      flag(LATHE_TEXT("option.skip_cache_check", "Trusts cache files that exist without opening them.")),
      flag(LATHE_TEXT("option.recheck_cache",
                      "Compares every cache file with the picture, caption and settings it was "
                      "made from."))
          .ours(),
      real(LATHE_TEXT("option.coverage_threshold",
                      "Share of the images that must be used; below it the run ends with "
                      "exit code 4."),
           0.0)
          .between(0, 1)
          .ours(),
      real(LATHE_TEXT("option.validation_split", "Share of the images held back to validate with."), 0.0)
          .not_yet(kLater),
      integer(LATHE_TEXT("option.validation_seed", "Seed that chooses the images held back and the noise they get.")),
      integer(LATHE_TEXT("option.validate_every_n_steps", "Steps between two validations.")).at_least(1),
      integer(LATHE_TEXT("option.validate_every_n_epochs",
                         "Epochs between two validations; unset validates after each "
                         "one."))
          .at_least(1),
      integer(LATHE_TEXT("option.max_validation_steps", "Batches that one validation looks at, at most.")).at_least(1),
  };
}

}  // namespace

std::vector<Option> dataset_options() {
  std::vector<Option> all = picture_options();
  for (std::vector<Option> more : {caption_options(), cache_options()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace lathe::config::table

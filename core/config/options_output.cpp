#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kStateLater = LATHE_TEXT("reason.state", "{}: saving and continuing a run is not in this version yet");
constexpr TextId kHubLater = LATHE_TEXT("reason.hub", "{}: uploading is not in this version yet");
constexpr TextId kPickle = LATHE_TEXT("reason.pickle", "{}: this version writes safetensors only");
constexpr TextId kNeverWritten = LATHE_TEXT("reason.never_written", "{}: it is not written for Anima adapters");

std::vector<Option> saving_options() {
  return {
      folder(LATHE_TEXT("option.output_dir", "Folder for adapters, samples and the record of the run.")),
      text(LATHE_TEXT("option.output_name", "File name of the adapter without its ending; unset is \"last\".")),
      integer(LATHE_TEXT("option.save_every_n_epochs", "Epochs between two saved adapters.")).at_least(1),
      integer(LATHE_TEXT("option.save_every_n_steps", "Steps between two saved adapters.")).at_least(1),
      integer(LATHE_TEXT("option.save_n_epoch_ratio",
                         "Saves about this many adapters over the run; sets "
                         "save_every_n_epochs."))
          .at_least(1),
      integer(LATHE_TEXT("option.save_last_n_epochs", "Keeps only so many of the adapters saved by epoch."))
          .at_least(0),
      integer(LATHE_TEXT("option.save_last_n_steps", "Keeps only the adapters saved within so many steps."))
          .at_least(0),
      choice(LATHE_TEXT("option.save_precision", "Number type in the adapter file; unset keeps that of training."),
             {"float", "fp16", "bf16"}),
      choice(LATHE_TEXT("option.save_model_as", "Kind of the adapter file."), {"ckpt", "pt", "safetensors"},
             "safetensors")
          .not_yet({"ckpt", "pt"}, kPickle),
      integer(LATHE_TEXT("option.save_retries", "Times that a failed save is tried again before the run ends."), 3)
          .at_least(0)
          .ours(),
      flag(LATHE_TEXT("option.save_state", "Saves the state of the run with every adapter, to continue from."))
          .not_yet(kStateLater),
      flag(LATHE_TEXT("option.save_state_on_train_end", "Saves the state of the run at its end.")).not_yet(kStateLater),
      integer(LATHE_TEXT("option.save_last_n_epochs_state", "As save_last_n_epochs, for states.")).at_least(0),
      integer(LATHE_TEXT("option.save_last_n_steps_state", "As save_last_n_steps, for states.")).at_least(0),
      file(LATHE_TEXT("option.config_file", "A TOML file of options; what stands on the command line wins over it.")),
      flag(LATHE_TEXT("option.output_config",
                      "Writes all settings that differ from their defaults to config_file and "
                      "leaves.")),
  };
}

std::vector<Option> metadata_options() {
  return {
      flag(LATHE_TEXT("option.no_metadata", "Leaves the record of the training settings out of the adapter file.")),
      text(LATHE_TEXT("option.training_comment", "Free text for the adapter's metadata.")),
      text(LATHE_TEXT("option.metadata_title", "Title in the metadata; unset is output_name.")),
      text(LATHE_TEXT("option.metadata_author", "Author in the metadata.")),
      text(LATHE_TEXT("option.metadata_description", "Description in the metadata.")),
      text(LATHE_TEXT("option.metadata_license", "Licence in the metadata.")),
      text(LATHE_TEXT("option.metadata_tags", "Tags in the metadata, with commas between.")),
      text(LATHE_TEXT("option.metadata_usage_hint", "Usage hint in the metadata.")).no_effect(kNeverWritten),
      text(LATHE_TEXT("option.metadata_thumbnail", "Thumbnail in the metadata.")).no_effect(kNeverWritten),
      text(LATHE_TEXT("option.metadata_merged_from", "Sources of a merge in the metadata.")).no_effect(kNeverWritten),
      text(LATHE_TEXT("option.metadata_trigger_phrase", "Trigger phrase in the metadata.")).no_effect(kNeverWritten),
      text(LATHE_TEXT("option.metadata_preprocessor", "Preprocessor in the metadata.")).no_effect(kNeverWritten),
      text(LATHE_TEXT("option.metadata_is_negative_embedding",
                      "Whether this is a negative embedding, in the "
                      "metadata."))
          .no_effect(kNeverWritten),
  };
}

std::vector<Option> hub_options() {
  return {
      text(LATHE_TEXT("option.huggingface_repo_id", "Repository on the Hugging Face hub to upload to."))
          .not_yet(kHubLater),
      text(LATHE_TEXT("option.huggingface_repo_type", "Kind of that repository.")).not_yet(kHubLater),
      text(LATHE_TEXT("option.huggingface_path_in_repo", "Folder in that repository.")).not_yet(kHubLater),
      text(LATHE_TEXT("option.huggingface_token", "Token of the hub.")).not_yet(kHubLater).is_secret(),
      text(LATHE_TEXT("option.huggingface_repo_visibility", "public, or anything else for private."))
          .not_yet(kHubLater),
      flag(LATHE_TEXT("option.save_state_to_huggingface", "Uploads states too.")).not_yet(kHubLater),
      flag(LATHE_TEXT("option.resume_from_huggingface", "Reads resume as a place on the hub.")).not_yet(kHubLater),
      flag(LATHE_TEXT("option.async_upload", "Uploads while training goes on.")).not_yet(kHubLater),
  };
}

}  // namespace

std::vector<Option> output_options() {
  std::vector<Option> all = saving_options();
  for (std::vector<Option> more : {metadata_options(), hub_options()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace lathe::config::table

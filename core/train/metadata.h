#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/config/settings.h"
#include "core/dataset/manifest.h"
#include "core/io/safetensors.h"

// What the reference writes into the header of an adapter file (spec 3.9). Every value is a text, the str() of Python's
// value.
namespace lathe::train {

// A model file as the metadata names it.
struct ModelFile {
  std::string name;      // base name of a path that exists, else the text as it is
  std::string hash;      // first 8 hex digits of the SHA-256 of 64 KiB at offset 1 MiB; empty: there is no such path
  std::string new_hash;  // SHA-256 of the whole file
};
// `path` as the option holds it. Reads the whole file. A folder has "IsADirectory" as both hashes.
ModelFile describe_model_file(const std::string& path);

// What a run knows beside its settings.
struct MetadataFacts {
  std::uint32_t session_id = 0;
  double started_at = 0.0;                       // seconds since 1970
  std::int64_t seed = 0;                         // as drawn where the option was unset
  std::int64_t max_train_steps = 0, epochs = 0;  // as the run length came out
  std::int64_t batches_per_epoch = 0;
  std::int64_t processes = 1;
  std::string optimizer;     // Optimizer::metadata_name()
  std::string lr_scheduler;  // lr_scheduler, or what the optimizer put in its place
  const dataset::Manifest* manifest = nullptr;
  bool datasets_from_file = false;  // config::DataConfig::from_file
  std::optional<ModelFile> base_model, vae;
};

// All that stays the same for every file of a run. With no_metadata: the network's entries only.
io::Metadata run_metadata(const config::Settings& settings, const MetadataFacts& facts);

struct SaveFacts {
  std::int64_t steps = 0, epoch = 0;  // epoch: 0-based in step saves, 1-based else (spec 4.11)
  double now = 0.0;                   // seconds since 1970
};

// `run` with what belongs to one file: ss_steps, ss_epoch, ss_training_finished_at (not with no_metadata) and the
// modelspec entries. The hashes come from save_adapter().
io::Metadata file_metadata(const io::Metadata& run, const config::Settings& settings, const SaveFacts& facts);

}  // namespace lathe::train

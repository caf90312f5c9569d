#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/config/dataset_config.h"
#include "core/config/settings.h"
#include "core/run/control.h"
#include "core/run/events.h"

namespace lathe::run {

// What a run is made of: validated settings and the folders it may write to.
struct Job {
  config::Settings settings;
  config::DataConfig data;
  std::filesystem::path run_folder;  // exists; events, logs, effective settings
};

// The engine behind a run. `train` implements it with LibTorch; the window, the batch program and their tests see only
// this. Every function posts events to `events`, reads `control`, and throws lathe::Error.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual EndStatus train(const Job& job, EventSink& events, Control& control) = 0;
  // Graphics cards that this build and this machine can compute on.
  virtual int card_count() = 0;

  // Latents and text outputs of the whole dataset, to disk.
  virtual void cache(const Job& job, EventSink& events, Control& control) = 0;
  // The prompts of sample_prompts with the adapter of network_weights (if given), into output_dir.
  virtual void sample(const Job& job, EventSink& events, Control& control) = 0;
  // Tiny stand-in models with the real key names, for the demo: dit.safetensors, qwen3.safetensors, vae.safetensors.
  virtual void write_tiny_models(const std::filesystem::path& folder) = 0;
};

// Made by the engine library (core/train/engine.h).
using MakeBackend = std::unique_ptr<Backend> (*)();

}  // namespace lathe::run

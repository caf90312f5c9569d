#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/settings.h"
#include "core/plan/run_length.h"

namespace lathe::plan {

enum class SaveMoment { step, epoch, last };

// One save: names are relative to output_dir.
struct Save {
  SaveMoment moment = SaveMoment::last;
  std::int64_t step = 0;         // optimizer steps done
  std::int64_t epoch = 0;        // from 1; of a step save: the epoch it lies in
  std::string adapter;           // file
  std::string state;             // folder; empty: no state is saved
  std::string outdated_adapter;  // to be removed once the new one is safe, if it is there; empty: none
  std::string outdated_state;
  bool operator==(const Save&) const = default;
};

// When adapters and states are saved, what they are called and which older ones go (training spec 4.11, 4.12). The
// trainer asks it step by step, the forecast for all at once, so that both agree.
class SavePlan {
 public:
  SavePlan(const config::Settings& settings, const RunLength& length);

  // After optimizer step `step` (from 1): save_every_n_steps.
  std::optional<Save> after_step(std::int64_t step) const;
  // At the end of epoch `epoch` (from 1) with `step` steps done: save_every_n_epochs; never after the last epoch.
  std::optional<Save> after_epoch(std::int64_t epoch, std::int64_t step) const;
  // When training ended, at whatever step.
  Save at_end(std::int64_t step, std::int64_t epoch) const;

  // When somebody asks for a save, or stops the run: named by the step. Nothing is removed for it.
  Save on_request(std::int64_t step, std::int64_t epoch) const;

  // All of a run that is not stopped, in order.
  std::vector<Save> all() const;

  // What save_n_epoch_ratio made of it, too. Nothing: not saved by epoch.
  const std::optional<std::int64_t>& every_n_epochs() const { return every_n_epochs_; }

 private:
  std::string file(std::string_view default_name, std::string_view suffix) const;
  std::string folder(std::string_view default_name, std::string_view suffix) const;

  RunLength length_;
  std::string name_;       // empty: the reference's default of each kind
  std::string extension_;  // ".safetensors"
  std::optional<std::int64_t> every_n_epochs_, every_n_steps_;
  std::optional<std::int64_t> last_n_epochs_, last_n_steps_;              // adapters kept
  std::optional<std::int64_t> last_n_epochs_state_, last_n_steps_state_;  // states kept
  bool states_ = false, state_at_end_ = false;
};

// Sample images: at the start (sample_at_first), else by epoch where sample_every_n_epochs is set, else by step.
class SamplePlan {
 public:
  explicit SamplePlan(const config::Settings& settings);

  bool at_start() const { return at_first_; }
  bool after_step(std::int64_t step) const;    // from 1
  bool after_epoch(std::int64_t epoch) const;  // from 1
  std::int64_t count(const RunLength& length) const;

 private:
  bool at_first_ = false;
  std::optional<std::int64_t> every_n_steps_, every_n_epochs_;
};

}  // namespace lathe::plan

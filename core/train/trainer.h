#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/python_random.h"
#include "core/data/image_loader.h"
#include "core/dataset/manifest.h"
#include "core/dataset/order.h"
#include "core/models/adapters/lora.h"
#include "core/plan/run_length.h"
#include "core/plan/save_plan.h"
#include "core/train/assets.h"
#include "core/train/caching.h"
#include "core/train/grad_scaler.h"
#include "core/train/loss_average.h"
#include "core/train/lr_schedule.h"
#include "core/train/metadata.h"
#include "core/train/optimizers/optimizer.h"
#include "core/train/preview.h"
#include "core/train/run_context.h"
#include "core/train/train_step.h"

namespace lathe::train {

// One LoRA training run, from the settings to the adapter (training spec 4.1 for the order of everything that draws).
class Trainer {
 public:
  explicit Trainer(const RunContext& context);
  ~Trainer();

  // Trains to the end or until a stop is asked for; then the adapter is saved, too.
  run::EndStatus run();

 private:
  void prepare_data();
  void prepare_sampling();
  void prepare_network();
  void prepare_optimizer();
  void prepare_metadata();
  void start_epoch(std::int64_t epoch);
  // Whether to go on: false after a stop or the last step.
  bool train_epoch(std::int64_t epoch);
  // Whether the optimizer steps after it: every accumulation-th micro-batch, and the last of the epoch.
  bool train_micro_batch(const data::TrainBatch& batch);
  void take_optimizer_step();
  void limit_norms(double limit);
  void check_numbers() const;
  void note_nonfinite(const data::TrainBatch& batch, double loss);
  void post_step(std::int64_t epoch);
  void answer_requests(std::int64_t epoch);

  StepBatch on_device(const data::TrainBatch& batch);
  at::Tensor encode_pixels(const at::Tensor& pixels);  // [B, 3, H, W] → [B, 16, H/8, W/8], vae_batch_size at a time
  void save(const plan::Save& save);
  void sample(std::optional<std::int64_t> epoch);  // epoch: at the end of one
  void warn_no_samples(const std::string& why);

  const RunContext& context_;
  at::Device device_;
  at::ScalarType dtype_;
  std::int64_t seed_;
  PythonRandom random_;

  dataset::Manifest manifest_;
  std::optional<Tokenizers> tokenizers_;
  Caches caches_;
  std::unique_ptr<models::Vae> vae_;      // kept where latents are not cached, or for sample pictures
  std::unique_ptr<models::Qwen3> qwen3_;  // kept where texts are not cached
  std::vector<PreviewPrompt> prompts_;

  std::unique_ptr<models::anima::Dit> dit_;
  std::unique_ptr<models::LoraNetwork> network_;
  models::RunBlock run_block_;
  StepOptions step_options_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<LrSchedule> schedule_;
  std::optional<GradScaler> scaler_;
  std::unique_ptr<data::ImageLoader> loader_;
  std::unique_ptr<dataset::BatchOrder> order_;

  plan::RunLength length_;
  std::optional<plan::SavePlan> saves_;
  std::optional<plan::SamplePlan> samples_;
  io::Metadata metadata_;  // the part that all files of the run share

  // Progress.
  std::int64_t step_ = 0;            // optimizer steps done
  std::int64_t schedule_step_ = 0;   // behind step_ where fp16 gradients overflowed
  std::int64_t micro_in_epoch_ = 0;  // micro-batches begun in this epoch
  std::int64_t nonfinite_ = 0;       // micro-batches skipped
  std::int64_t finite_micro_batches_ = 0;  // that were learnt from
  LossAverage loss_average_;
  run::StepDone current_;  // what this optimizer step gathers
  double loss_sum_ = 0.0;
  std::int64_t loss_count_ = 0;
  Stopwatch step_watch_;
  std::deque<double> recent_seconds_;  // of the last steps, for the time left
};

}  // namespace lathe::train

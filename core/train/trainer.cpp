#include "core/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/train/checkpoint.h"
#include "core/train/precision.h"
#include "core/train/run_options.h"
#include "core/train/sample_prompts.h"

namespace lathe::train {

namespace {

constexpr TextId kNonfinite =
    LATHE_TEXT("train.nonfinite", "step {}: the loss of {} is not finite ({}); the micro-batch was left out");
constexpr TextId kEpoch = LATHE_TEXT("train.epoch", "epoch {} of {}");
constexpr TextId kSaving = LATHE_TEXT("train.saving", "saving the adapter");
constexpr TextId kRetry = LATHE_TEXT("train.save_retry", "saving failed at try {}: {}; trying again");
constexpr TextId kNoSamples = LATHE_TEXT("train.no_samples", "sample pictures were not drawn: {}");
constexpr TextId kNoPrompts = LATHE_TEXT(
    "train.no_prompts", "no picture was drawn: the run began without sample_prompts and a time to draw them");
constexpr TextId kOverflow =
    LATHE_TEXT("train.overflow", "step {}: fp16 gradients overflowed; the step was left out and the loss scale halved");
constexpr TextId kNotRemoved = LATHE_TEXT("train.not_removed", "an old adapter stays: {}");
constexpr std::size_t kStepsForPace = 50;

std::string names_of(const dataset::Manifest& manifest, const dataset::Batch& batch) {
  std::vector<std::string> names;
  for (const std::size_t item : batch.items) names.push_back(manifest.training[batch.dataset].images[item].key);
  return join(names, ", ");
}

}  // namespace

run::EndStatus Trainer::run() {
  prepare_data();
  prepare_sampling();
  prepare_network();
  prepare_optimizer();
  prepare_metadata();
  if (samples_->at_start()) sample(std::nullopt);

  bool stopped = false;
  std::int64_t epoch = 1;
  for (; epoch <= length_.epochs && step_ < length_.steps && !stopped; ++epoch) {
    start_epoch(epoch);
    stopped = !train_epoch(epoch);
    if (stopped) break;
    context_.post(run::Metric{"loss/epoch_average", epoch, loss_average_.average()});
    if (const auto at = saves_->after_epoch(epoch, step_)) save(*at);
    if (samples_->after_epoch(epoch)) sample(epoch);
    stopped = context_.control().stop_requested() && step_ < length_.steps;
  }
  const std::int64_t reached = std::min(epoch, length_.epochs);
  save(stopped ? saves_->on_request(step_, reached) : saves_->at_end(step_, reached));
  return stopped ? run::EndStatus::stopped : run::EndStatus::completed;
}

// --- the loop --------------------------------------------------------------------------------------------------------

void Trainer::start_epoch(std::int64_t epoch) {
  order_->advance_to(epoch);
  std::vector<dataset::Batch> batches = order_->batches();
  // The reference's DataLoader: a permutation from a generator seeded by one draw of torch's default generator.
  const auto seed = at::empty({}, at::kLong).random_().item<std::int64_t>();
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(static_cast<std::uint64_t>(seed));
  const at::Tensor permutation = at::randperm(static_cast<std::int64_t>(batches.size()), generator);
  std::vector<dataset::Batch> shuffled;
  for (std::int64_t i = 0; i < permutation.numel(); ++i) {
    shuffled.push_back(std::move(batches[static_cast<std::size_t>(permutation[i].item<std::int64_t>())]));
  }
  loader_->start_epoch(std::move(shuffled), order_->random(), epoch, step_,
                       1.0 / static_cast<double>(length_.accumulation));
  micro_in_epoch_ = 0;
}

bool Trainer::train_epoch(std::int64_t epoch) {
  context_.phase(run::Phase::training, message(kEpoch, epoch, length_.epochs));
  step_watch_.restart();
  while (const auto batch = loader_->next()) {
    const bool steps = train_micro_batch(*batch);
    if (steps) take_optimizer_step();
    // After every micro-batch, as the reference does (spec 3.8).
    if (const auto limit = context_.settings().maybe_real("scale_weight_norms")) limit_norms(*limit);
    if (!steps) continue;
    post_step(epoch);
    if (const auto at = saves_->after_step(step_)) save(*at);
    if (samples_->after_step(step_)) sample(std::nullopt);
    answer_requests(epoch);
    step_watch_.restart();
    if (step_ >= length_.steps) return true;
    if (context_.control().stop_requested()) return false;
  }
  return true;
}

bool Trainer::train_micro_batch(const data::TrainBatch& batch) {
  current_.data_seconds += batch.wait_seconds;
  current_.images += static_cast<std::int64_t>(batch.batch.items.size());
  current_.buckets.push_back(format("{}x{}", batch.bucket.width, batch.bucket.height));

  const StepBatch inputs = on_device(batch);
  const StepDraws draws = draw_step(step_options_.timesteps, inputs.latents);
  const StepResult result = micro_step(*dit_, step_options_, inputs, draws, run_block_, scaler_ ? &*scaler_ : nullptr);
  const double loss = result.loss.item<double>();
  if (result.backward_done) {
    loss_average_.add(micro_in_epoch_, loss);
    loss_sum_ += loss;
    ++loss_count_;
    ++finite_micro_batches_;
  } else {
    note_nonfinite(batch, loss);
  }
  ++micro_in_epoch_;
  return micro_in_epoch_ % length_.accumulation == 0 || micro_in_epoch_ == length_.batches_per_epoch;
}

// A run that learnt nothing, or whose weights are no numbers, must not end as finished.
void Trainer::check_numbers() const {
  if (step_ > 0 && finite_micro_batches_ == 0) {
    throw Error(ErrorKind::numerics,
                "no micro-batch gave a finite loss: nothing was learnt and nothing is saved; check the models and "
                "caches for NaN");
  }
  for (const models::LoraModule& module : network_->modules()) {
    for (const at::Tensor& weight : {module.down, module.up}) {
      if (at::isfinite(weight).all().item<bool>()) continue;
      throw Error(
          ErrorKind::numerics,
          format("the adapter's weights are not finite (first in {}): nothing more is saved; lower the learning rate",
                 module.lora_name));
    }
  }
}

void Trainer::note_nonfinite(const data::TrainBatch& batch, double loss) {
  ++nonfinite_;
  context_.warn(message(kNonfinite, step_ + 1, names_of(manifest_, batch.batch), loss),
                "micro-batches whose loss was not finite", step_ + 1);
  const std::int64_t limit = context_.settings().integer("max_nonfinite_steps");
  if (nonfinite_ <= limit) return;
  throw Error(ErrorKind::numerics,
              format("{} micro-batches gave a loss that is not finite (max_nonfinite_steps = {}); lower the "
                     "learning rate, or use mixed_precision = bf16",
                     nonfinite_, limit));
}

at::Tensor Trainer::encode_pixels(const at::Tensor& pixels) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : pixels.split(context_.settings().integer("vae_batch_size"))) {
    parts.push_back(vae_->encode(part.to(device_, vae_->dtype())));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

StepBatch Trainer::on_device(const data::TrainBatch& batch) {
  const at::NoGradGuard no_grad;
  StepBatch out;
  out.latents = batch.latents.defined() ? batch.latents.to(device_) : encode_pixels(batch.pixels);
  if (batch.embeddings.defined()) {
    out.text = batch.embeddings.to(device_, dtype_);
  } else {
    const AutocastGuard autocast(device_.type(), dtype_);
    out.text = qwen3_->forward(batch.qwen3_ids.to(device_), batch.text_mask.to(device_)).to(dtype_);
  }
  out.text_mask = batch.text_mask.to(device_);
  out.t5_ids = batch.t5_ids.to(device_, at::kLong);
  out.t5_mask = batch.t5_mask.to(device_);
  out.loss_weights = batch.loss_weights.to(device_);
  if (batch.alpha_mask.defined()) out.alpha_mask = batch.alpha_mask.to(device_);
  return out;
}

void Trainer::take_optimizer_step() {
  const double factor = schedule_->factor(schedule_step_);
  for (ParameterGroup& group : optimizer_->groups()) {
    group.learning_rate = group.initial_learning_rate * factor;
    current_.learning_rates.emplace_back(group.name, group.learning_rate);
  }
  ++step_;
  if (loss_count_ == 0) {  // nothing finite in this step: no gradient to go by
    optimizer_->zero_grad();
    current_.gradient_norm = -1.0;
    return;
  }
  const OptimizerStep done = optimizer_step(*optimizer_, network_->parameters(),
                                            context_.settings().real("max_grad_norm"), scaler_ ? &*scaler_ : nullptr);
  if (done.stepped) {
    ++schedule_step_;
  } else {
    context_.warn(message(kOverflow, step_), "steps left out because fp16 gradients overflowed", step_);
  }
  current_.gradient_norm = done.gradient_norm.defined() ? done.gradient_norm.item<double>() : -1.0;
}

void Trainer::limit_norms(double limit) {
  const auto report = network_->limit_norms(limit);
  context_.post(run::Metric{"max_norm/keys_scaled", step_, static_cast<double>(report.scaled)});
  context_.post(run::Metric{"max_norm/max_key_norm", step_, report.maximum});
  context_.post(run::Metric{"norm/avg_key_norm", step_, report.mean});
}

void Trainer::post_step(std::int64_t epoch) {
  current_.step = step_;
  current_.steps = length_.steps;
  current_.epoch = epoch;
  current_.epochs = length_.epochs;
  current_.loss = loss_count_ > 0 ? loss_sum_ / static_cast<double>(loss_count_) : std::nan("");
  current_.average_loss = loss_average_.average();
  current_.seconds = step_watch_.seconds();
  current_.compute_seconds = std::max(0.0, current_.seconds - current_.data_seconds - current_.compile_seconds);
  recent_seconds_.push_back(current_.seconds);
  if (recent_seconds_.size() > kStepsForPace) recent_seconds_.pop_front();
  const double pace = std::accumulate(recent_seconds_.begin(), recent_seconds_.end(), 0.0) /
                      static_cast<double>(recent_seconds_.size());
  current_.seconds_left = pace * static_cast<double>(length_.steps - step_);
  context_.post(current_);
  current_ = {};
  loss_sum_ = 0.0;
  loss_count_ = 0;
}

void Trainer::answer_requests(std::int64_t epoch) {
  run::Control& control = context_.control();
  if (control.take_save_request()) save(saves_->on_request(step_, epoch));
  if (control.take_sample_request()) {
    if (prompts_.empty()) context_.warn(message(kNoPrompts), "samples asked for and not drawn", step_);
    sample(std::nullopt);
  }
  control.wait_while_paused();
}

// --- what leaves the run ---------------------------------------------------------------------------------------------

void Trainer::save(const plan::Save& save) {
  check_numbers();
  context_.phase(run::Phase::saving, message(kSaving));
  const std::filesystem::path folder = from_utf8(context_.settings().text("output_dir"));
  const std::filesystem::path path = folder / from_utf8(save.adapter);
  const std::int64_t epoch =
      save.moment == plan::SaveMoment::step ? save.epoch - 1 : save.epoch;  // as the reference counts
  const io::Metadata metadata = file_metadata(metadata_, context_.settings(), {step_, epoch, unix_seconds()});
  const SavedFile saved =
      save_adapter(path, network_->state(), metadata, save_options(context_.settings()),
                   [this](const std::string& error, int attempt) {
                     context_.warn(message(kRetry, attempt, error), "saves that were tried again", step_);
                   });
  context_.post(run::CheckpointSaved{run::SavedKind::adapter, path, step_, save.epoch, saved.bytes, saved.seconds,
                                     save.moment == plan::SaveMoment::last});
  if (save.outdated_adapter.empty()) return;
  const std::string problem = remove_outdated(folder / from_utf8(save.outdated_adapter));
  if (!problem.empty()) context_.warn(message(kNotRemoved, problem), "old adapters that could not be removed", step_);
}

void Trainer::sample(std::optional<std::int64_t> epoch) {
  if (prompts_.empty()) return;
  try {
    draw_samples(context_, {dit_.get(), vae_.get(), models::run_eagerly}, prompts_, step_, epoch);
  } catch (const Error& error) {
    // What was trained must not be lost for a picture: the loop sees the stop and saves.
    if (step_ == 0) throw;
    if (error.kind() != ErrorKind::stopped) warn_no_samples(error.what());
  } catch (const std::exception& error) {
    if (step_ == 0) throw;
    warn_no_samples(error.what());
  }
}

void Trainer::warn_no_samples(const std::string& why) {
  context_.warn(message(kNoSamples, why.substr(0, why.find('\n'))), "sample pictures that were not drawn", step_);
}

}  // namespace lathe::train

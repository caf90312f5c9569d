#include <algorithm>
#include <random>
#include <thread>

#include <ATen/ATen.h>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/base/paths.h"
#include "core/train/checkpointing.h"
#include "core/train/make_lora.h"
#include "core/train/precision.h"
#include "core/train/random_state.h"
#include "core/train/run_options.h"
#include "core/train/sample_prompts.h"
#include "core/train/trainer.h"

namespace lathe::train {

namespace {

constexpr TextId kStart =
    LATHE_TEXT("train.start", "training {} tensors, {} numbers, on {}: {} steps, {} epochs of {} batches");
constexpr TextId kDevice = LATHE_TEXT("train.device", "device {}, seed {}, {}");
constexpr TextId kHashing = LATHE_TEXT("train.hashing", "hashing the model files for the metadata");
constexpr TextId kAttention = LATHE_TEXT("train.attention", "attention: {} (torch's scaled_dot_product_attention)");
constexpr TextId kSkipped = LATHE_TEXT("train.skipped", "left out {}: {}");

std::int64_t chosen_seed(const config::Settings& settings) {
  if (const auto seed = settings.maybe_integer("seed")) return *seed;
  return static_cast<std::int64_t>(std::random_device()());
}

}  // namespace

Trainer::Trainer(const RunContext& context)
    : context_(context),
      device_(chosen_device(context.settings())),
      dtype_(base_dtype(context.settings().text("mixed_precision"))),
      seed_(chosen_seed(context.settings())),
      random_(static_cast<std::uint64_t>(seed_)) {
  seed_everything(static_cast<std::uint64_t>(seed_));
  apply_matmul_settings(context);
  context_.note(message(kDevice, device_.str(), seed_, matmul_settings_text()));
}

Trainer::~Trainer() = default;

void Trainer::prepare_data() {
  config::Findings findings;
  manifest_ = dataset::build_manifest(context_.job().data, context_.settings(), random_, findings,
                                      [this](std::size_t, std::size_t) { context_.control().check(); });
  for (const config::Finding& finding : findings.all()) {
    if (finding.severity == config::Severity::error) throw Error(ErrorKind::settings, finding.english());
  }
  for (const dataset::SkippedFile& skipped : manifest_.skipped) {
    context_.warn(message(kSkipped, skipped.path, skipped.reason.english()), "skipped files");
  }
  length_ = plan::run_length(static_cast<std::int64_t>(manifest_.batch_count()), context_.settings());
  if (length_.steps == 0) throw Error(ErrorKind::dataset, "there is nothing to train on: no image is left");
  saves_.emplace(context_.settings(), length_);
  samples_.emplace(context_.settings());
  order_ = std::make_unique<dataset::BatchOrder>(manifest_.training, random_.randint(0, std::int64_t{1} << 31));

  tokenizers_ = load_tokenizers(context_.settings());
  caches_ = make_caches(context_.settings());
  fill_caches(context_, manifest_, caches_, *tokenizers_, device_);
}

void Trainer::prepare_sampling() {
  const bool wanted = samples_->count(length_) > 0 && !context_.settings().text("sample_prompts").empty();
  if (!caches_.latents || wanted) vae_ = load_vae(context_, device_);
  if (!caches_.texts || wanted) qwen3_ = load_qwen3(context_, device_);
  if (wanted) prompts_ = encode_sample_prompts(context_, *qwen3_, *tokenizers_, dtype_, device_);
  if (caches_.texts) qwen3_.reset();
}

void Trainer::prepare_network() {
  dit_ = load_dit(context_, device_);
  network_ = make_lora(context_, *dit_);
  network_->to(device_);
  if (context_.settings().flag("full_fp16") || context_.settings().flag("full_bf16")) network_->to(dtype_);
  network_->set_training(true);
  context_.note(message(kAttention, attention_kernel(*dit_)));
  run_block_ = models::run_eagerly;
  if (context_.settings().flag("gradient_checkpointing")) run_block_ = with_checkpointing(run_block_);
}

void Trainer::prepare_optimizer() {
  const config::Settings& settings = context_.settings();
  step_options_ = step_options(settings, dtype_);
  optimizer_ = optimizer_for(settings, *network_);
  schedule_ = schedule_for(settings, length_.steps);
  if (dtype_ == at::kHalf) scaler_.emplace(device_);

  data::LoaderOptions options;
  // At most as many as the processor has cores, as in the reference.
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  options.workers = static_cast<int>(std::min(settings.integer("max_data_loader_n_workers"), cores));
  options.prior_loss_weight = settings.real("prior_loss_weight");
  options.qwen3_length = tokenizers_->qwen3_length;
  options.t5_length = tokenizers_->t5_length;
  options.max_train_steps = length_.steps;
  loader_ = std::make_unique<data::ImageLoader>(manifest_.training, caches_.latents.get(), caches_.texts.get(),
                                                &tokenizers_->qwen3, &tokenizers_->t5, options);
  std::int64_t count = 0;
  for (const at::Tensor& parameter : optimizer_->parameters()) count += parameter.numel();
  context_.note(message(kStart, static_cast<std::int64_t>(optimizer_->parameters().size()), count, device_.str(),
                        length_.steps, length_.epochs, length_.batches_per_epoch));
}

void Trainer::prepare_metadata() {
  const config::Settings& settings = context_.settings();
  MetadataFacts facts;
  facts.session_id = std::random_device()();
  facts.started_at = unix_seconds();
  facts.seed = seed_;
  facts.max_train_steps = length_.steps;
  facts.epochs = length_.epochs;
  facts.batches_per_epoch = length_.batches_per_epoch;
  facts.optimizer = optimizer_->metadata_name();
  facts.lr_scheduler = settings.text("lr_scheduler");
  facts.manifest = &manifest_;
  facts.datasets_from_file = context_.job().data.from_file;
  if (!settings.flag("no_metadata")) {
    context_.phase(run::Phase::loading, message(kHashing));
    facts.base_model = describe_model_file(settings.text("pretrained_model_name_or_path"));
    context_.control().check();
    facts.vae = describe_model_file(settings.text("vae"));
  }
  metadata_ = run_metadata(settings, facts);
}

}  // namespace lathe::train

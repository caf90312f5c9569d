#include "core/data/image_loader.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/format.h"
#include "core/data/batch_maker.h"
#include "core/data/batch_plan.h"

namespace lathe::data {
namespace {

void check_settings(const std::vector<dataset::Dataset>& datasets, bool latents_cached) {
  for (const dataset::Dataset& dataset : datasets) {
    for (const config::SubsetConfig& subset : dataset.config.subsets) {
      if (latents_cached && subset.random_crop) {
        throw Error(ErrorKind::settings, "random_crop cannot be used with cached latents");
      }
      if (subset.color_aug) throw Error(ErrorKind::settings, "color_aug is not available");
      if (!latents_cached && !dataset.config.enable_bucket && subset.face_crop_aug_range) {
        throw Error(ErrorKind::settings, "face_crop_aug_range is not available");
      }
    }
  }
}

}  // namespace

struct ImageLoader::State {
  // A finished batch, or what went wrong.
  struct Result {
    TrainBatch batch;
    std::exception_ptr error;
  };

  State(const std::vector<dataset::Dataset>& all_datasets, const BatchSources& all_sources,
        const LoaderOptions& loader_options)
      : datasets(all_datasets), sources(all_sources), options(loader_options) {}

  const std::vector<dataset::Dataset>& datasets;
  BatchSources sources;
  LoaderOptions options;

  std::mutex mutex;
  std::condition_variable work_waits, result_waits;
  // All below: guarded by mutex.
  bool ending = false;
  std::uint64_t generation = 0;  // of the epoch: what was begun for an older one is thrown away
  std::vector<dataset::Batch> order;
  PythonRandom random;
  text::CaptionMoment moment;  // of the epoch's first batch
  double steps_per_batch = 0.0;
  std::size_t planned = 0;             // batches whose draws are made
  std::size_t taken = 0;               // batches handed to next()
  std::map<std::size_t, Result> done;  // by place in the order

  std::vector<std::thread> workers;

  // Makes the draws of the next batch. Called in order, under the mutex: what threads do later decides nothing.
  BatchPlan plan_next() {
    const std::size_t place = planned++;
    text::CaptionMoment now = moment;
    now.step += static_cast<std::int64_t>(static_cast<double>(place) * steps_per_batch + 1e-6);
    return plan_batch(datasets, order[place], {sources.latents != nullptr, sources.texts}, now, random);
  }

  bool may_plan() const {
    const std::size_t ahead = static_cast<std::size_t>(options.prefetch) + workers.size();
    return planned < order.size() && planned < taken + ahead;
  }

  // One batch from plan to `done`. `lock` is held on entry and on return, not in between.
  void make_next(std::unique_lock<std::mutex>& lock) {
    const std::size_t place = planned;
    const std::uint64_t mine = generation;
    Result result;
    try {
      const BatchPlan plan = plan_next();
      lock.unlock();
      result.batch = make_batch(plan, sources, options);
    } catch (...) {
      result.error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    if (mine != generation) return;
    done[place] = std::move(result);
    result_waits.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      work_waits.wait(lock, [this] { return ending || may_plan(); });
      if (ending) return;
      make_next(lock);
    }
  }
};

ImageLoader::ImageLoader(const std::vector<dataset::Dataset>& datasets, const LatentCache* latents,
                         const TextCache* texts, const text::Qwen3Tokenizer* qwen3, const text::T5Tokenizer* t5,
                         LoaderOptions options)
    : state_(std::make_unique<State>(datasets, BatchSources{latents, texts, qwen3, t5}, options)) {
  check_settings(datasets, latents != nullptr);
  if (texts == nullptr && (qwen3 == nullptr || t5 == nullptr)) {
    throw Error(ErrorKind::internal, "a loader without cached texts needs both tokenizers");
  }
  State* state = state_.get();
  // Under the lock: a worker asks for the number of workers.
  const std::lock_guard lock(state->mutex);
  for (int i = 0; i < options.workers; ++i) state->workers.emplace_back([state] { state->work(); });
}

ImageLoader::~ImageLoader() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->work_waits.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

void ImageLoader::start_epoch(std::vector<dataset::Batch> order, const PythonRandom& random, std::int64_t epoch,
                              std::int64_t step, double steps_per_batch, std::size_t skip) {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->generation;
    state_->order = std::move(order);
    state_->random = random;
    state_->moment = {epoch, step, state_->options.max_train_steps};
    state_->steps_per_batch = steps_per_batch;
    state_->planned = 0;
    state_->done.clear();
    while (state_->planned < std::min(skip, state_->order.size())) state_->plan_next();
    state_->taken = state_->planned;
  }
  state_->work_waits.notify_all();
}

std::optional<TrainBatch> ImageLoader::next() {
  const Stopwatch watch;
  std::unique_lock lock(state_->mutex);
  if (state_->taken == state_->order.size()) return std::nullopt;
  const std::size_t place = state_->taken;
  if (state_->workers.empty()) {
    state_->make_next(lock);
  } else {
    state_->result_waits.wait(lock, [&] { return state_->done.contains(place); });
  }
  State::Result result = std::move(state_->done.at(place));
  state_->done.erase(place);
  ++state_->taken;
  lock.unlock();
  state_->work_waits.notify_all();
  if (result.error) std::rethrow_exception(result.error);
  result.batch.wait_seconds = watch.seconds();
  return std::move(result.batch);
}

}  // namespace lathe::data

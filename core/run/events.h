#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "core/base/message.h"
#include "core/config/diagnostic.h"

// What a run tells the world, in plain values. One stream for the console, the files of the run folder and the window.
namespace lathe::run {

enum class Phase {
  starting,
  loading,
  caching_latents,
  caching_text,
  compiling,
  training,
  sampling,
  saving,
  validating,
  ended
};

// A phase began or moved: "caching latents 12 of 48".
struct PhaseChanged {
  Phase phase = Phase::starting;
  std::int64_t done = 0, total = 0;  // 0 of 0: not counted
  double seconds_left = -1.0;        // < 0: unknown
  Message what;
};

struct StepDone {
  std::int64_t step = 0, steps = 0;                            // optimizer steps, from 1
  std::int64_t epoch = 0, epochs = 0;                          // from 1
  double loss = 0.0;                                           // mean over the micro-batches of this step, undivided
  double average_loss = 0.0;                                   // the reference's loss/average
  std::vector<std::pair<std::string, double>> learning_rates;  // by group, as used in this step
  double gradient_norm = 0.0;                                  // before clipping; < 0: not computed
  double seconds = 0.0;                                        // whole step
  double data_seconds = 0.0, compute_seconds = 0.0, compile_seconds = 0.0;
  std::int64_t images = 0;
  std::vector<std::string> buckets;                    // "512x768" of each micro-batch
  std::uint64_t memory_used = 0, memory_reserved = 0;  // bytes on the device; 0 on the CPU
  double seconds_left = -1.0;
};

enum class CompileKind { compile, recompile, cache_hit, graph_break, limit, fallback };

struct CompileReport {
  CompileKind kind = CompileKind::compile;
  std::int64_t step = 0;
  std::string block_family;
  int block_index = 0;
  Message cause;  // one sentence, old → new
  std::string shapes;
  double seconds = 0.0, capture_seconds = 0.0, passes_seconds = 0.0, build_seconds = 0.0;
  std::string origin = "train";  // train, validation, sample
};

struct SampleReady {
  std::filesystem::path path;
  std::int64_t step = 0, epoch = 0;
  int prompt_index = 0;
  std::string prompt;
  double seconds = 0.0;
};

enum class SavedKind { adapter, state };

struct CheckpointSaved {
  SavedKind kind = SavedKind::adapter;
  std::filesystem::path path;
  std::int64_t step = 0, epoch = 0;
  std::uint64_t bytes = 0;
  double seconds = 0.0;
  bool last = false;
};

// A named number of the reference's tracker that StepDone does not hold: loss/validation/…, max_norm/….
struct Metric {
  std::string name;
  std::int64_t x = 0;  // step, or epoch for epoch logs
  double value = 0.0;
};

struct Warning {
  config::Severity severity = config::Severity::warning;
  Message message;
  std::int64_t step = 0;
  std::string group;  // equal warnings share it and are counted
};

struct RunFailed {
  Message message;  // what, where, what to do
  std::string kind;
  std::filesystem::path last_checkpoint;
};

enum class EndStatus { completed, stopped, failed };

struct RunEnded {
  EndStatus status = EndStatus::completed;
  std::int64_t steps = 0;
  double seconds = 0.0;
  double first_loss = 0.0, last_loss = 0.0;
  std::filesystem::path result;                              // the final adapter
  std::vector<std::pair<std::string, std::int64_t>> counts;  // skipped files, eager calls, fallbacks …: never silent
};

using Body = std::variant<PhaseChanged, StepDone, CompileReport, SampleReady, CheckpointSaved, Metric, Warning,
                          RunFailed, RunEnded>;

struct Event {
  double time = 0.0;  // seconds since 1970
  Body body;
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void post(Event event) = 0;  // on the run's thread; quick, never throws
};

}  // namespace lathe::run

#include "app/batch/console.h"

#include <algorithm>

#include "core/base/format.h"
#include "core/run/events_json.h"

namespace lathe::batch {

namespace {

constexpr double kSecondsBetweenLines = 2.0;

std::string time_left(double seconds) {
  return seconds < 0 ? std::string() : ", " + human_seconds(seconds) + " left";
}

std::string_view label(config::Severity severity) {
  switch (severity) {
    case config::Severity::error:
      return "error";
    case config::Severity::warning:
      return "warning";
    case config::Severity::note:
      return "note";
  }
  return "note";
}

}  // namespace

Console::Console(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {}

Console::~Console() {
  const std::lock_guard lock(mutex_);
  if (unfinished_) std::fputc('\n', out_);
  std::fflush(out_);
}

void Console::post(run::Event event) {
  const std::lock_guard lock(mutex_);
  std::visit([this](const auto& body) { show(body); }, event.body);
}

void Console::line(const std::string& text) {
  if (unfinished_) std::fputs("\r\033[K", out_);
  unfinished_ = false;
  std::fprintf(out_, "%s\n", text.c_str());
  std::fflush(out_);
}

void Console::progress(const std::string& text, bool always) {
  if (terminal_ && !always) {
    std::fprintf(out_, "\r\033[K%s", text.c_str());
    std::fflush(out_);
    unfinished_ = true;
    return;
  }
  const double now = watch_.seconds();
  if (!always && last_progress_ >= 0 && now - last_progress_ < kSecondsBetweenLines) return;
  last_progress_ = now;
  line(text);
}

void Console::show(const run::PhaseChanged& event) {
  if (event.phase == run::Phase::training || event.phase == run::Phase::ended) return;
  const std::string what = event.what.english();
  if (event.total == 0) return progress(what, true);
  const bool ends = event.done == event.total;
  progress(format("{} {} of {}{}", what, event.done, event.total, ends ? std::string() : time_left(event.seconds_left)),
           ends);
}

void Console::show(const run::StepDone& event) {
  const bool always = event.step == 1 || event.step == event.steps;
  progress(
      format("step {} of {}, epoch {} of {}, loss {:.5f} (average {:.5f}), {:.3f} s a step{}", event.step, event.steps,
             event.epoch, event.epochs, event.loss, event.average_loss, event.seconds, time_left(event.seconds_left)),
      always);
}

void Console::show(const run::CompileReport& event) {
  line(format("{}: {} block {}: {} ({:.2f} s)", run::name(event.kind), event.block_family, event.block_index,
              event.cause.english(), event.seconds));
}

void Console::show(const run::SampleReady& event) {
  line(format("sample {} at step {}: {} ({})", event.prompt_index + 1, event.step, event.path,
              human_seconds(event.seconds)));
}

void Console::show(const run::CheckpointSaved& event) {
  line(format("saved at step {}: {} ({}, {})", event.step, event.path, human_bytes(event.bytes),
              human_seconds(event.seconds)));
}

void Console::show(const run::Warning& event) {
  line(format("{}: {}", label(event.severity), event.message.english()));
}

void Console::show(const run::RunFailed& event) {
  line(format("failed: {}", event.message.english()));
  if (!event.last_checkpoint.empty()) line(format("last checkpoint: {}", event.last_checkpoint));
}

void Console::show(const run::RunEnded& event) {
  std::string text = format("{} after {}", run::name(event.status), human_seconds(event.seconds));
  if (event.steps > 0) {
    text += format(", {} steps, loss {:.5f} first, {:.5f} last", event.steps, event.first_loss, event.last_loss);
  }
  line(text);
  for (const auto& [what, count] : event.counts) line(format("  {}: {}", what, count));
  if (!event.result.empty()) line(format("  result: {}", event.result));
}

void JsonConsole::post(run::Event event) {
  const std::lock_guard lock(mutex_);
  std::fprintf(out_, "%s\n", run::to_json(event).c_str());
  std::fflush(out_);
}

void print(const config::Findings& findings) {
  std::vector<const config::Finding*> ordered;
  for (const config::Finding& finding : findings.all()) ordered.push_back(&finding);
  std::stable_sort(ordered.begin(), ordered.end(), [](auto* a, auto* b) { return a->severity < b->severity; });
  for (const config::Finding* finding : ordered) {
    std::fprintf(stderr, "%s: %s\n", std::string(label(finding->severity)).c_str(), finding->english().c_str());
    for (const config::Fix& fix : finding->fixes) std::fprintf(stderr, "    fix: %s\n", fix.label.english().c_str());
  }
}

}  // namespace lathe::batch

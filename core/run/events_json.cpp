#include "core/run/events_json.h"

#include <array>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/base/paths.h"

namespace lathe::run {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 10> kPhases = {"starting",   "loading",  "caching_latents", "caching_text",
                                                      "compiling",  "training", "sampling",        "saving",
                                                      "validating", "ended"};
constexpr std::array<std::string_view, 6> kCompileKinds = {"compile",     "recompile", "cache_hit",
                                                           "graph_break", "limit",     "fallback"};
constexpr std::array<std::string_view, 3> kEnds = {"completed", "stopped", "failed"};
constexpr std::array<std::string_view, 3> kSeverities = {"error", "warning", "note"};
constexpr std::array<std::string_view, 2> kSaved = {"adapter", "state"};

template <class Enum, std::size_t N>
Enum from_name(const std::array<std::string_view, N>& names, const std::string& text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  throw json::other_error::create(501, "unknown name '" + text + "'", nullptr);
}

json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

json to_value(const Message& message) {
  return {
      {"id", message.id}, {"pattern", message.pattern}, {"arguments", message.arguments}, {"text", message.english()}};
}

Message to_message(const json& value) {
  return {value.at("id"), value.at("pattern"), value.at("arguments").get<std::vector<std::string>>()};
}

std::filesystem::path to_path(const json& value) {
  return from_utf8(value.get<std::string>());
}

// --- one pair a type -----------------------------------------------------------------------------------------------

json write(const PhaseChanged& e) {
  return {{"type", "phase_changed"},
          {"phase", name(e.phase)},
          {"done", e.done},
          {"total", e.total},
          {"seconds_left", number(e.seconds_left)},
          {"what", to_value(e.what)}};
}
PhaseChanged read_phase_changed(const json& v) {
  return {from_name<Phase>(kPhases, v.at("phase")), v.at("done"), v.at("total"), number(v.at("seconds_left")),
          to_message(v.at("what"))};
}

json write(const StepDone& e) {
  json rates = json::array();
  for (const auto& [group, rate] : e.learning_rates) rates.push_back({group, number(rate)});
  return {{"type", "step_done"},
          {"step", e.step},
          {"steps", e.steps},
          {"epoch", e.epoch},
          {"epochs", e.epochs},
          {"loss", number(e.loss)},
          {"average_loss", number(e.average_loss)},
          {"learning_rates", rates},
          {"gradient_norm", number(e.gradient_norm)},
          {"seconds", number(e.seconds)},
          {"data_seconds", number(e.data_seconds)},
          {"compute_seconds", number(e.compute_seconds)},
          {"compile_seconds", number(e.compile_seconds)},
          {"images", e.images},
          {"buckets", e.buckets},
          {"memory_used", e.memory_used},
          {"memory_reserved", e.memory_reserved},
          {"seconds_left", number(e.seconds_left)}};
}
StepDone read_step_done(const json& v) {
  StepDone e;
  e.step = v.at("step");
  e.steps = v.at("steps");
  e.epoch = v.at("epoch");
  e.epochs = v.at("epochs");
  e.loss = number(v.at("loss"));
  e.average_loss = number(v.at("average_loss"));
  for (const json& rate : v.at("learning_rates")) e.learning_rates.emplace_back(rate.at(0), number(rate.at(1)));
  e.gradient_norm = number(v.at("gradient_norm"));
  e.seconds = number(v.at("seconds"));
  e.data_seconds = number(v.at("data_seconds"));
  e.compute_seconds = number(v.at("compute_seconds"));
  e.compile_seconds = number(v.at("compile_seconds"));
  e.images = v.at("images");
  e.buckets = v.at("buckets").get<std::vector<std::string>>();
  e.memory_used = v.at("memory_used");
  e.memory_reserved = v.at("memory_reserved");
  e.seconds_left = number(v.at("seconds_left"));
  return e;
}

json write(const CompileReport& e) {
  return {{"type", "compile_report"},
          {"kind", name(e.kind)},
          {"step", e.step},
          {"block_family", e.block_family},
          {"block_index", e.block_index},
          {"cause", to_value(e.cause)},
          {"shapes", e.shapes},
          {"seconds", number(e.seconds)},
          {"capture_seconds", number(e.capture_seconds)},
          {"passes_seconds", number(e.passes_seconds)},
          {"build_seconds", number(e.build_seconds)},
          {"origin", e.origin}};
}
CompileReport read_compile_report(const json& v) {
  return {from_name<CompileKind>(kCompileKinds, v.at("kind")),
          v.at("step"),
          v.at("block_family"),
          v.at("block_index"),
          to_message(v.at("cause")),
          v.at("shapes"),
          number(v.at("seconds")),
          number(v.at("capture_seconds")),
          number(v.at("passes_seconds")),
          number(v.at("build_seconds")),
          v.at("origin")};
}

json write(const SampleReady& e) {
  return {{"type", "sample_ready"},
          {"path", to_generic_utf8(e.path)},
          {"step", e.step},
          {"epoch", e.epoch},
          {"prompt_index", e.prompt_index},
          {"prompt", e.prompt},
          {"seconds", number(e.seconds)}};
}
SampleReady read_sample_ready(const json& v) {
  return {to_path(v.at("path")), v.at("step"),   v.at("epoch"),
          v.at("prompt_index"),  v.at("prompt"), number(v.at("seconds"))};
}

json write(const CheckpointSaved& e) {
  return {{"type", "checkpoint_saved"},
          {"kind", kSaved.at(static_cast<std::size_t>(e.kind))},
          {"path", to_generic_utf8(e.path)},
          {"step", e.step},
          {"epoch", e.epoch},
          {"bytes", e.bytes},
          {"seconds", number(e.seconds)},
          {"last", e.last}};
}
CheckpointSaved read_checkpoint_saved(const json& v) {
  return {from_name<SavedKind>(kSaved, v.at("kind")),
          to_path(v.at("path")),
          v.at("step"),
          v.at("epoch"),
          v.at("bytes"),
          number(v.at("seconds")),
          v.at("last")};
}

json write(const Metric& e) {
  return {{"type", "metric"}, {"name", e.name}, {"x", e.x}, {"value", number(e.value)}};
}
Metric read_metric(const json& v) {
  return {v.at("name"), v.at("x"), number(v.at("value"))};
}

json write(const Warning& e) {
  return {{"type", "warning"},
          {"severity", kSeverities.at(static_cast<std::size_t>(e.severity))},
          {"message", to_value(e.message)},
          {"step", e.step},
          {"group", e.group}};
}
Warning read_warning(const json& v) {
  return {from_name<config::Severity>(kSeverities, v.at("severity")), to_message(v.at("message")), v.at("step"),
          v.at("group")};
}

json write(const RunFailed& e) {
  return {{"type", "run_failed"},
          {"message", to_value(e.message)},
          {"kind", e.kind},
          {"last_checkpoint", to_generic_utf8(e.last_checkpoint)}};
}
RunFailed read_run_failed(const json& v) {
  return {to_message(v.at("message")), v.at("kind"), to_path(v.at("last_checkpoint"))};
}

json write(const RunEnded& e) {
  json counts = json::array();
  for (const auto& [what, count] : e.counts) counts.push_back({what, count});
  return {{"type", "run_ended"},
          {"status", name(e.status)},
          {"steps", e.steps},
          {"seconds", number(e.seconds)},
          {"first_loss", number(e.first_loss)},
          {"last_loss", number(e.last_loss)},
          {"result", to_generic_utf8(e.result)},
          {"counts", counts}};
}
RunEnded read_run_ended(const json& v) {
  RunEnded e{from_name<EndStatus>(kEnds, v.at("status")),
             v.at("steps"),
             number(v.at("seconds")),
             number(v.at("first_loss")),
             number(v.at("last_loss")),
             to_path(v.at("result")),
             {}};
  for (const json& count : v.at("counts")) e.counts.emplace_back(count.at(0), count.at(1));
  return e;
}

std::optional<Body> read_body(const json& v) {
  const std::string type = v.at("type");
  if (type == "phase_changed") return read_phase_changed(v);
  if (type == "step_done") return read_step_done(v);
  if (type == "compile_report") return read_compile_report(v);
  if (type == "sample_ready") return read_sample_ready(v);
  if (type == "checkpoint_saved") return read_checkpoint_saved(v);
  if (type == "metric") return read_metric(v);
  if (type == "warning") return read_warning(v);
  if (type == "run_failed") return read_run_failed(v);
  if (type == "run_ended") return read_run_ended(v);
  return std::nullopt;
}

}  // namespace

std::string_view name(Phase phase) {
  return kPhases.at(static_cast<std::size_t>(phase));
}
std::string_view name(CompileKind kind) {
  return kCompileKinds.at(static_cast<std::size_t>(kind));
}
std::string_view name(EndStatus status) {
  return kEnds.at(static_cast<std::size_t>(status));
}

json to_json_value(const Event& event) {
  json value = std::visit([](const auto& body) { return write(body); }, event.body);
  value["time"] = event.time;
  return value;
}

std::string to_json(const Event& event) {
  return to_json_value(event).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Event> event_from_json_value(const json& value) {
  try {
    std::optional<Body> body = read_body(value);
    if (!body) return std::nullopt;
    return Event{value.at("time").get<double>(), std::move(*body)};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::optional<Event> event_from_json(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  return value.is_discarded() ? std::nullopt : event_from_json_value(value);
}

}  // namespace lathe::run

#include "core/train/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "core/base/error.h"
#include "core/base/format.h"

namespace lathe::train {

namespace {

constexpr TextId kCustomClass = LATHE_TEXT(
    "train.lr_class_not_yet", "lr_scheduler_type {} is not supported yet; lr_scheduler has the built-in schedules");
constexpr TextId kAdafactorSchedule =
    LATHE_TEXT("train.lr_adafactor_not_yet",
               "the learning rate of {} follows the optimizer's own rule, which is not supported yet");

using Factor = std::function<double(std::int64_t)>;
constexpr double kPi = std::numbers::pi;

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

// One schedule's numbers: w warm-up steps, `total` steps in all.
struct Spans {
  std::int64_t warmup = 0, decay = 0, total = 0;
  double warmup_factor(std::int64_t k) const { return ratio(k, std::max<std::int64_t>(1, warmup)); }
  double progress(std::int64_t k) const { return ratio(k - warmup, std::max<std::int64_t>(1, total - warmup)); }
};

// Linear warm-up in front of `after`.
Factor after_warmup(const Spans& spans, Factor after) {
  return [spans, after = std::move(after)](std::int64_t k) {
    return k < spans.warmup ? spans.warmup_factor(k) : after(k);
  };
}

double wave(double cycles, double progress) {
  return 0.5 * (1.0 + std::cos(kPi * cycles * 2.0 * progress));
}

Factor linear(const Spans& spans) {
  return after_warmup(spans, [spans](std::int64_t k) {
    return std::max(0.0, ratio(spans.total - k, std::max<std::int64_t>(1, spans.total - spans.warmup)));
  });
}

Factor cosine(const Spans& spans, double cycles) {
  return after_warmup(spans,
                      [spans, cycles](std::int64_t k) { return std::max(0.0, wave(cycles, spans.progress(k))); });
}

Factor cosine_with_restarts(const Spans& spans, std::int64_t cycles) {
  return after_warmup(spans, [spans, cycles](std::int64_t k) {
    const double progress = spans.progress(k);
    if (progress >= 1.0) return 0.0;
    return std::max(0.0, wave(0.5, std::fmod(static_cast<double>(cycles) * progress, 1.0)));
  });
}

Factor polynomial(const Spans& spans, double power, double start, double end) {
  if (!(start > end)) {
    throw Error(ErrorKind::settings,
                format("lr_scheduler polynomial ends at {}, which must be less than learning_rate {}", end, start));
  }
  return after_warmup(spans, [spans, power, start, end](std::int64_t k) {
    if (k > spans.total) return end / start;
    const double remaining = 1 - ratio(k - spans.warmup, std::max<std::int64_t>(1, spans.total - spans.warmup));
    return ((start - end) * std::pow(remaining, power) + end) / start;
  });
}

Factor inverse_sqrt(const Spans& spans, std::optional<std::int64_t> timescale) {
  const std::int64_t scale = timescale.value_or(spans.warmup != 0 ? spans.warmup : 10000);
  return after_warmup(
      spans, [spans, scale](std::int64_t k) { return 1.0 / std::sqrt(ratio(k + scale - spans.warmup, scale)); });
}

Factor cosine_with_min_lr(const Spans& spans, double cycles, double minimum) {
  return after_warmup(spans, [spans, cycles, minimum](std::int64_t k) {
    return std::max(0.0, wave(cycles, spans.progress(k)) * (1 - minimum) + minimum);
  });
}

// Share of the way up (warm-up) or down (decay): linear, cosine or 1-sqrt.
double ramp(const std::string& type, bool up, double progress, double cycles) {
  if (type == "linear") return up ? progress : 1.0 - progress;
  if (type == "cosine") return up ? 0.5 * (1.0 - std::cos(kPi * progress)) : wave(cycles, progress);
  if (type == "1-sqrt") return up ? 1.0 - std::sqrt(1.0 - progress) : 1.0 - std::sqrt(progress);
  throw Error(ErrorKind::settings,
              format("lr_scheduler_args: '{}' is no ramp; it can be linear, cosine or 1-sqrt", type));
}

Factor warmup_stable_decay(const Spans& spans, double cycles, double minimum, const std::string& warmup_type,
                           const std::string& decay_type) {
  ramp(warmup_type, true, 0.0, cycles);  // a wrong name is told now
  ramp(decay_type, false, 0.0, cycles);
  const auto above_minimum = [minimum](double share) { return std::max(0.0, share * (1.0 - minimum) + minimum); };
  const std::int64_t decay_start = spans.total - spans.decay;
  return [=](std::int64_t k) {
    if (k < spans.warmup) return above_minimum(ramp(warmup_type, true, spans.warmup_factor(k), cycles));
    if (k < decay_start) return 1.0;
    if (k >= std::max(decay_start, spans.warmup) + spans.decay) return minimum;
    const double progress = ratio(k - decay_start, std::max<std::int64_t>(1, spans.decay));
    return above_minimum(ramp(decay_type, false, progress, cycles));
  };
}

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::settings, text);
}

// "1:10,0.1:20,0.01": 1 before step 10, 0.1 before step 20, 0.01 from there on.
Factor piecewise_constant(const std::string& rules) {
  const auto malformed = [&rules] {
    refuse(format("lr_scheduler_args: step_rules is '{}'; expected e.g. '1:10,0.1:20,0.01'", rules));
  };
  std::map<std::int64_t, double> until;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = rules.find(',', begin);
    const std::string rule = rules.substr(begin, comma - begin);
    const std::size_t colon = rule.find(':');
    const std::optional<double> value = config::parse_python_float(rule.substr(0, colon));
    if (!value || (comma == std::string::npos) != (colon == std::string::npos)) malformed();
    if (comma == std::string::npos) {
      return [until, last = *value](std::int64_t k) {
        const auto next = until.upper_bound(k);
        return next != until.end() ? next->second : last;
      };
    }
    const std::optional<std::int64_t> step = config::parse_python_int(rule.substr(colon + 1));
    if (!step) malformed();
    until[*step] = *value;
    begin = comma + 1;
  }
}

// The extra keyword arguments of a schedule; what nobody took is an error, as in the reference.
class Extras {
 public:
  explicit Extras(const LrScheduleOptions& options) : name_(options.name), arguments_(options.arguments) {}

  std::optional<double> real(std::string_view name) {
    const auto found = take(name);
    if (!found) return std::nullopt;
    const std::optional<double> number = found->value.number();
    if (!number) refuse(format("lr_scheduler_args: {} is {}, which is no number", found->key, found->text));
    return number;
  }
  std::optional<std::string> text(std::string_view name) {
    const auto found = take(name);
    return found ? std::optional(config::python_str(found->value)) : std::nullopt;
  }
  void expect_nothing_else() const {
    if (arguments_.empty()) return;
    refuse(format("lr_scheduler_args: lr_scheduler {} has no argument '{}'", name_, arguments_.front().key));
  }

 private:
  std::optional<config::KeyValue> take(std::string_view name) {
    const auto found = std::ranges::find(arguments_, name, &config::KeyValue::key);
    if (found == arguments_.end()) return std::nullopt;
    config::KeyValue result = std::move(*found);
    arguments_.erase(found);
    return result;
  }

  std::string name_;
  std::vector<config::KeyValue> arguments_;
};

double min_lr_share(const LrScheduleOptions& options, Extras& extras) {
  const std::optional<double> minimum = extras.real("min_lr");
  if (minimum && options.min_lr_ratio)
    refuse("lr_scheduler_args min_lr and lr_scheduler_min_lr_ratio: only one can be given");
  if (minimum) return *minimum / options.default_learning_rate;
  if (!options.min_lr_ratio) refuse("lr_scheduler cosine_with_min_lr needs lr_scheduler_min_lr_ratio");
  return *options.min_lr_ratio;
}

Factor built_in(const LrScheduleOptions& options, const Spans& spans, Extras& extras) {
  const std::string& name = options.name;
  const double cycles = static_cast<double>(options.num_cycles);
  if (name == "constant") return [](std::int64_t) { return 1.0; };
  if (name == "piecewise_constant") {
    const std::optional<std::string> rules = extras.text("step_rules");
    if (!rules) refuse("lr_scheduler piecewise_constant needs lr_scheduler_args step_rules='1:10,0.1:20,0.01'");
    return piecewise_constant(*rules);
  }
  if (name == "constant_with_warmup") return after_warmup(spans, [](std::int64_t) { return 1.0; });
  if (name == "linear") return linear(spans);
  if (name == "cosine")
    return cosine(spans, extras.real("num_cycles").value_or(0.5));  // lr_scheduler_num_cycles is not passed
  if (name == "cosine_with_restarts") return cosine_with_restarts(spans, options.num_cycles);
  if (name == "polynomial") {
    return polynomial(spans, options.power, options.default_learning_rate, extras.real("lr_end").value_or(1e-7));
  }
  if (name == "inverse_sqrt") return inverse_sqrt(spans, options.timescale);
  if (name == "cosine_with_min_lr") return cosine_with_min_lr(spans, cycles / 2, min_lr_share(options, extras));
  if (name == "warmup_stable_decay") {
    return warmup_stable_decay(spans, cycles / 2, options.min_lr_ratio.value_or(0.0),
                               extras.text("warmup_type").value_or("linear"),
                               extras.text("decay_type").value_or("cosine"));
  }
  if (name == "reduce_lr_on_plateau" || name == "cosine_warmup_with_min_lr") {
    refuse(format("lr_scheduler {} does not work: the reference passes it arguments that it does not take", name));
  }
  refuse(format("lr_scheduler '{}' does not exist", name));
}

bool same_name(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

// Whether the optimizer, not the schedule, decides the learning rate (spec 4.7).
bool optimizer_decides(const LrScheduleOptions& options) {
  const std::string_view type = options.optimizer_type;
  return same_name(type, "radamschedulefree") || same_name(type, "adamwschedulefree") ||
         same_name(type, "sgdschedulefree");
}

}  // namespace

std::int64_t resolve_steps(const config::Steps& steps, std::int64_t total) {
  return steps.is_ratio ? static_cast<std::int64_t>(steps.ratio * static_cast<double>(total)) : steps.steps;
}

OrNotYet<LrSchedule> make_lr_schedule(const LrScheduleOptions& options) {
  if (optimizer_decides(options)) return NotYet{message(kAdafactorSchedule, options.optimizer_type)};
  const bool adafactor = options.name.starts_with("adafactor");
  Spans spans;
  spans.total = options.max_train_steps * options.num_processes;
  spans.warmup = resolve_steps(options.warmup_steps, spans.total);
  spans.decay = resolve_steps(options.decay_steps, spans.total);
  if (spans.warmup != 0 && (options.name == "constant" || adafactor || !options.custom_class.empty())) {
    refuse(format("lr_warmup_steps is {}, but lr_scheduler {} has no warm-up; use constant_with_warmup or set it to 0",
                  spans.warmup, options.custom_class.empty() ? options.name : options.custom_class));
  }
  if (!options.custom_class.empty()) return NotYet{message(kCustomClass, options.custom_class)};
  if (adafactor) {
    if (!same_name(options.optimizer_type, "adafactor"))
      refuse(format("lr_scheduler {} needs optimizer_type Adafactor", options.name));
    return NotYet{message(kAdafactorSchedule, options.optimizer_type)};
  }
  Extras extras(options);
  Factor factor = built_in(options, spans, extras);
  extras.expect_nothing_else();
  return LrSchedule(std::move(factor));
}

}  // namespace lathe::train

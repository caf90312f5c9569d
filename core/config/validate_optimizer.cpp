// Optimizer, learning rates and schedule.
#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "core/config/fixes.h"
#include "core/config/python_literal.h"
#include "core/config/schema.h"
#include "core/config/utf8.h"
#include "core/config/validate_steps.h"

namespace lathe::config {

namespace {

constexpr TextId kTwoNames = LATHE_TEXT("optimizer.two_names", "{} and {} both name the optimizer; keep one");
constexpr TextId kUnknown = LATHE_TEXT("optimizer.unknown", "there is no optimizer '{}' here; this version has AdamW");
constexpr TextId kUnknownNear =
    LATHE_TEXT("optimizer.unknown_near", "there is no optimizer '{}' here; did you mean {}?");
constexpr TextId kUnknownArgument =
    LATHE_TEXT("optimizer.unknown_argument", "optimizer_args: AdamW has no argument '{}'");
constexpr TextId kUnknownArgumentNear =
    LATHE_TEXT("optimizer.unknown_argument_near", "optimizer_args: AdamW has no argument '{}'; did you mean '{}'?");
constexpr TextId kUseLearningRate =
    LATHE_TEXT("optimizer.use_learning_rate", "optimizer_args: give the learning rate as learning_rate, not as lr");
constexpr TextId kBadArgument = LATHE_TEXT("optimizer.bad_argument", "optimizer_args: {} must be {}, not {}");
constexpr TextId kHowComputed =
    LATHE_TEXT("optimizer.how_computed",
               "optimizer_args: {} only chooses how PyTorch computes the same step; it has no effect here");
constexpr TextId kFused = LATHE_TEXT("optimizer.fused",
                                     "fused_backward_pass needs optimizer_type Adafactor and "
                                     "gradient_accumulation_steps 1");
constexpr TextId kNothing = LATHE_TEXT("optimizer.nothing", "the learning rate is 0: nothing would be trained");
constexpr TextId kLowRate =
    LATHE_TEXT("optimizer.low_rate", "{} finds its own learning rate and wants learning_rate about 1, not {}");
constexpr TextId kTwoRates =
    LATHE_TEXT("optimizer.two_rates", "{} can have one learning rate only: unet_lr is {}, text_encoder_lr {}");
constexpr TextId kRelativeStep =
    LATHE_TEXT("optimizer.relative_step",
               "Adafactor with relative_step finds its own learning rate; lr_scheduler becomes adafactor");
constexpr TextId kFixedAdafactor = LATHE_TEXT("optimizer.fixed_adafactor",
                                              "Adafactor without relative_step works best with max_grad_norm 0 and "
                                              "lr_scheduler constant_with_warmup");

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return text;
}

// The optimizer asked for, in lower case.
std::string optimizer_of(const Settings& settings) {
  if (settings.flag("use_8bit_adam")) return "adamw8bit";
  if (settings.flag("use_lion_optimizer")) return "lion";
  const std::string name = lower(settings.text("optimizer_type"));
  return name.empty() ? "adamw" : name;
}

void check_name(const Settings& settings, Findings& findings) {
  std::vector<std::string> given;
  for (const std::string name : {"use_8bit_adam", "use_lion_optimizer"}) {
    if (settings.flag(name)) given.push_back(name);
  }
  if (!settings.text("optimizer_type").empty()) given.emplace_back("optimizer_type");
  if (given.size() > 1) {
    Finding& finding = findings.error(given, message(kTwoNames, given[0], given[1]));
    for (const std::string& name : given) finding.fixes.push_back(leave_out(name));
  }
  const std::string written = settings.text("optimizer_type");
  std::vector<std::string> known;
  for (const std::string_view name : option("optimizer_type").choices) known.emplace_back(name);
  const bool is_known =
      std::ranges::any_of(known, [&](const std::string& name) { return lower(name) == lower(written); });
  if (written.empty() || is_known) return;
  const std::string nearest = nearest_name(written, known);
  Finding& finding =
      findings.error({"optimizer_type"}, nearest.empty() ? message(kUnknown, one_line(written))
                                                         : message(kUnknownNear, one_line(written), nearest));
  finding.fixes.push_back(set_to("optimizer_type", "AdamW"));
}

bool is_number_between(const PythonValue& value, double low, double below) {
  const std::optional<double> number = value.number();
  return number && *number >= low && *number < below;
}

// What torch.optim.AdamW takes.
void check_adamw_argument(const KeyValue& argument, Findings& findings) {
  constexpr double kNoLimit = 1e300;
  const PythonValue& value = argument.value;
  const auto expect = [&](bool good, std::string_view what) {
    if (!good) findings.error({"optimizer_args"}, message(kBadArgument, argument.key, what, argument.text));
  };
  if (argument.key == "betas") {
    const bool list = value.kind == PythonValue::Kind::tuple || value.kind == PythonValue::Kind::list;
    expect(list && value.items.size() == 2 && is_number_between(value.items[0], 0.0, 1.0) &&
               is_number_between(value.items[1], 0.0, 1.0),
           "two numbers from 0 to below 1, such as (0.9, 0.99)");
  } else if (argument.key == "eps" || argument.key == "weight_decay") {
    expect(is_number_between(value, 0.0, kNoLimit), "a number of at least 0");
  } else if (argument.key == "amsgrad" || argument.key == "maximize") {
    expect(value.kind == PythonValue::Kind::boolean, "True or False");
  } else if (argument.key == "foreach" || argument.key == "fused" || argument.key == "capturable" ||
             argument.key == "differentiable") {
    findings.note({"optimizer_args"}, message(kHowComputed, argument.key));
  } else if (argument.key == "lr") {
    findings.error({"optimizer_args", "learning_rate"}, message(kUseLearningRate));
  } else {
    const std::string nearest = nearest_name(argument.key, {"betas", "eps", "weight_decay", "amsgrad", "maximize"});
    findings.error({"optimizer_args"}, nearest.empty() ? message(kUnknownArgument, argument.key)
                                                       : message(kUnknownArgumentNear, argument.key, nearest));
  }
}

void check_adafactor(const Settings& settings, const std::vector<KeyValue>& arguments, Findings& findings) {
  const auto relative = std::ranges::find(arguments, "relative_step", &KeyValue::key);
  const bool fixed =
      relative != arguments.end() && relative->value.kind == PythonValue::Kind::boolean && !relative->value.boolean;
  if (!fixed) {
    findings.note({"optimizer_type", "learning_rate"}, message(kRelativeStep));
  } else if (settings.real("max_grad_norm") != 0.0 || settings.text("lr_scheduler") != "constant_with_warmup") {
    findings.warning({"optimizer_type", "max_grad_norm", "lr_scheduler"}, message(kFixedAdafactor));
  }
}

void check_rates(const Settings& settings, const std::string& optimizer, Findings& findings) {
  const double base = settings.real("learning_rate");
  const double unet = settings.maybe_real("unet_lr").value_or(base);
  if (unet == 0.0 && !settings.flag("network_train_text_encoder_only")) {
    findings.error({settings.is_set("unet_lr") ? "unet_lr" : "learning_rate"}, message(kNothing));
  }
  if (!optimizer.starts_with("dadapt") && !optimizer.starts_with("prodigy")) return;
  if (base <= 0.1)
    findings.warning({"learning_rate", "optimizer_type"},
                     message(kLowRate, settings.text("optimizer_type"), python_repr(base)));
  const std::vector<double> text_rates = settings.reals("text_encoder_lr");
  const double text = text_rates.empty() ? base : text_rates.front();
  if (!settings.flag("network_train_unet_only") && unet != text && unet != 0.0 && text != 0.0) {
    findings.error({"unet_lr", "text_encoder_lr"},
                   message(kTwoRates, settings.text("optimizer_type"), python_repr(unet), python_repr(text)));
  }
}

constexpr TextId kUnknownSchedule = LATHE_TEXT("schedule.unknown", "there is no lr_scheduler '{}'; there are {}");
constexpr TextId kUnknownScheduleNear =
    LATHE_TEXT("schedule.unknown_near", "there is no lr_scheduler '{}'; did you mean {}?");
constexpr TextId kNoWarmup =
    LATHE_TEXT("schedule.no_warmup", "lr_scheduler {} takes no warm-up: leave lr_warmup_steps out");
constexpr TextId kAdafactorOnly =
    LATHE_TEXT("schedule.adafactor_only", "lr_scheduler {} belongs to optimizer_type Adafactor");
constexpr TextId kNoRatio =
    LATHE_TEXT("schedule.no_ratio", "lr_scheduler cosine_with_min_lr needs lr_scheduler_min_lr_ratio");
constexpr TextId kTwoRatios = LATHE_TEXT(
    "schedule.two_ratios", "lr_scheduler_min_lr_ratio and lr_scheduler_args min_lr both name the lowest learning rate");
constexpr TextId kScheduleValue = LATHE_TEXT("schedule.value", "lr_scheduler_args: {} must be {}, not {}");
constexpr TextId kTinyRate =
    LATHE_TEXT("schedule.tiny_rate", "lr_scheduler polynomial ends at 1e-07: learning_rate must be larger");
constexpr TextId kNoRules = LATHE_TEXT(
    "schedule.no_rules",
    "lr_scheduler piecewise_constant needs lr_scheduler_args step_rules, such as \"step_rules='1:10,0.1:20,0.01'\"");
constexpr TextId kOtherArgument =
    LATHE_TEXT("schedule.other_argument", "lr_scheduler_args: {} is not available for lr_scheduler {}");
constexpr TextId kLongShare =
    LATHE_TEXT("schedule.long_share", "{} is {} of the whole run: a number below 1 is a share, from 1 on it is steps");

bool has_steps(const Steps& steps) {
  return steps.is_ratio ? steps.ratio != 0.0 : steps.steps != 0;
}

void check_schedule(const Settings& settings, const std::string& optimizer, Findings& findings) {
  const std::string schedule = settings.text("lr_scheduler");
  const bool adafactor = schedule.starts_with("adafactor");
  const bool own_class = !settings.text("lr_scheduler_type").empty();
  std::vector<std::string> known;
  for (const std::string_view name : option("lr_scheduler").choices) known.emplace_back(name);
  const bool refused = schedule == "reduce_lr_on_plateau" || schedule == "cosine_warmup_with_min_lr";
  if (!own_class && !adafactor && !refused && std::ranges::find(known, schedule) == known.end()) {
    const std::string nearest = nearest_name(schedule, known);
    findings.error({"lr_scheduler"}, nearest.empty() ? message(kUnknownSchedule, one_line(schedule), join(known, ", "))
                                                     : message(kUnknownScheduleNear, one_line(schedule), nearest));
    return;
  }
  if (has_steps(settings.steps("lr_warmup_steps")) && (own_class || adafactor || schedule == "constant")) {
    Finding& finding = findings.error({"lr_scheduler", "lr_warmup_steps"},
                                      message(kNoWarmup, own_class ? settings.text("lr_scheduler_type") : schedule));
    if (schedule == "constant" && !own_class) finding.fixes.push_back(set_to("lr_scheduler", "constant_with_warmup"));
    finding.fixes.push_back(leave_out("lr_warmup_steps"));
  }
  if (adafactor && optimizer != "adafactor") {
    findings.error({"lr_scheduler", "optimizer_type"}, message(kAdafactorOnly, schedule))
        .fixes.push_back(leave_out("lr_scheduler"));
  }
  if (own_class) return;
  if (schedule == "polynomial" && settings.real("learning_rate") <= 1e-7) {
    findings.error({"lr_scheduler", "learning_rate"}, message(kTinyRate));
  }
}

// What each built-in schedule takes through lr_scheduler_args.
struct ScheduleArgument {
  std::string_view schedule, key;
  bool is_number;
};
constexpr ScheduleArgument kScheduleArguments[] = {
    {"cosine", "num_cycles", true},
    {"polynomial", "lr_end", true},
    {"cosine_with_min_lr", "min_lr", true},
    {"warmup_stable_decay", "warmup_type", false},
    {"warmup_stable_decay", "decay_type", false},
    {"piecewise_constant", "step_rules", false},
};

void check_schedule_argument(const KeyValue& argument, const std::string& schedule, Findings& findings) {
  const auto known = std::ranges::find_if(kScheduleArguments, [&](const ScheduleArgument& row) {
    return row.schedule == schedule && row.key == argument.key;
  });
  if (known == std::end(kScheduleArguments)) {
    findings.error({"lr_scheduler_args"}, message(kOtherArgument, argument.key, schedule));
  } else if (known->is_number != argument.value.number().has_value()) {
    findings.error({"lr_scheduler_args"}, message(kScheduleValue, argument.key,
                                                  known->is_number ? "a number" : "text in quotes", argument.text));
  }
}

void check_schedule_arguments(const Settings& settings, Findings& findings) {
  const std::string schedule = settings.text("lr_scheduler");
  if (!settings.text("lr_scheduler_type").empty()) return;
  std::set<std::string> given;
  for (const KeyValue& argument : parse_literals(settings, "lr_scheduler_args", findings)) {
    given.insert(argument.key);
    check_schedule_argument(argument, schedule, findings);
  }
  const bool has_ratio = settings.is_set("lr_scheduler_min_lr_ratio");
  if (schedule == "cosine_with_min_lr" && has_ratio == given.contains("min_lr")) {
    Finding& finding =
        findings.error({"lr_scheduler", "lr_scheduler_min_lr_ratio"}, message(has_ratio ? kTwoRatios : kNoRatio));
    finding.fixes.push_back(has_ratio ? leave_out("lr_scheduler_args") : set_to("lr_scheduler_min_lr_ratio", "0.1"));
  }
  if (schedule == "piecewise_constant" && !given.contains("step_rules")) {
    findings.error({"lr_scheduler", "lr_scheduler_args"}, message(kNoRules));
  }
}

void check_shares(const Settings& settings, Findings& findings) {
  for (const std::string name : {"lr_warmup_steps", "lr_decay_steps"}) {
    const Steps steps = settings.steps(name);
    if (!steps.is_ratio || steps.ratio < 1.0) continue;
    findings.warning({name}, message(kLongShare, name, format("{:g}%", steps.ratio * 100.0)));
  }
}

}  // namespace

void check_optimizer(const Settings& settings, Findings& findings) {
  const std::string optimizer = optimizer_of(settings);
  check_name(settings, findings);
  const std::vector<KeyValue> arguments = parse_literals(settings, "optimizer_args", findings);
  if (optimizer == "adamw") {
    for (const KeyValue& argument : arguments) check_adamw_argument(argument, findings);
  }
  if (optimizer == "adafactor") check_adafactor(settings, arguments, findings);
  if (settings.flag("fused_backward_pass") &&
      (optimizer != "adafactor" || settings.integer("gradient_accumulation_steps") > 1)) {
    findings.error({"fused_backward_pass", "optimizer_type", "gradient_accumulation_steps"}, message(kFused))
        .fixes.push_back(turn_off("fused_backward_pass"));
  }
  check_rates(settings, optimizer, findings);
  check_schedule(settings, optimizer, findings);
  check_schedule_arguments(settings, findings);
  check_shares(settings, findings);
}

}  // namespace lathe::config

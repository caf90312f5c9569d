// The adapter: its kind, network_args, the weights it starts from.
#include <string>
#include <vector>

#include "core/config/fixes.h"
#include "core/config/python_literal.h"
#include "core/config/utf8.h"
#include "core/config/validate_steps.h"

namespace lathe::config {

namespace {

constexpr TextId kOtherModule =
    LATHE_TEXT("adapter.other_module", "network_module {} is not for Anima; it must be networks.lora_anima");
constexpr TextId kNeedsWeights = LATHE_TEXT("adapter.needs_weights", "dim_from_weights needs network_weights");
constexpr TextId kUnknown =
    LATHE_TEXT("adapter.unknown", "network_args: '{}' is not known and has no effect, in the reference neither");
constexpr TextId kUnknownNear =
    LATHE_TEXT("adapter.unknown_near",
               "network_args: '{}' is not known and has no effect, in the reference neither; did you mean '{}'?");
constexpr TextId kDropoutIgnored =
    LATHE_TEXT("adapter.dropout", "network_args: dropout has no effect, in the reference neither; use network_dropout");
constexpr TextId kNumber = LATHE_TEXT("adapter.number", "network_args: {} must be {}, not '{}'");
constexpr TextId kPatterns = LATHE_TEXT(
    "adapter.patterns", "network_args: {} must be a list of texts in Python's notation, such as ['.*mlp.*'], not {}");
constexpr TextId kBadEntry = LATHE_TEXT(
    "adapter.bad_entry", "network_args: '{}' in {} is not of the form pattern={} and is skipped, as in the reference");
constexpr TextId kIgnoredWithWeights =
    LATHE_TEXT("adapter.ignored_with_weights",
               "dim_from_weights takes the adapter as it is in network_weights: {} is "
               "ignored, as in the reference");

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> names = {
      "train_llm_adapter", "exclude_patterns",  "include_patterns",       "network_reg_dims",
      "network_reg_lrs",   "loraplus_lr_ratio", "loraplus_unet_lr_ratio", "loraplus_text_encoder_lr_ratio",
      "rank_dropout",      "module_dropout"};
  return names;
}

std::vector<std::string> entries_of(const std::string& text) {
  std::vector<std::string> entries(1);
  for (const char c : text) {
    if (c == ',') {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  return entries;
}

class ArgumentCheck {
 public:
  explicit ArgumentCheck(Findings& findings) : findings_(findings) {}

  void check(const KeyValue& argument) {
    const std::string& key = argument.key;
    if (key == "rank_dropout" || key == "module_dropout") {
      expect_number(argument, 0.0, 1.0, "a number from 0 to 1");
    } else if (key.starts_with("loraplus_") && key.ends_with("lr_ratio")) {
      expect_number(argument, 0.0, 1e300, "a number of at least 0");
    } else if (key == "exclude_patterns" || key == "include_patterns") {
      check_patterns(argument);
    } else if (key == "network_reg_dims") {
      check_entries(argument, true);
    } else if (key == "network_reg_lrs") {
      check_entries(argument, false);
    } else if (key == "dropout") {
      findings_.warning({"network_args", "network_dropout"}, message(kDropoutIgnored));
    } else if (key != "train_llm_adapter") {
      const std::string nearest = nearest_name(key, known_keys());
      findings_.warning({"network_args"}, nearest.empty() ? message(kUnknown, one_line(key))
                                                          : message(kUnknownNear, one_line(key), nearest));
    }
  }

 private:
  void expect_number(const KeyValue& argument, double low, double high, std::string_view what) {
    const std::optional<double> number = parse_python_float(argument.text);
    if (number && *number >= low && *number <= high) return;
    findings_.error({"network_args"}, message(kNumber, argument.key, what, one_line(argument.text)));
  }

  void check_patterns(const KeyValue& argument) {
    const std::optional<PythonValue> value = parse_python_literal(argument.text);
    bool good = value && (value->kind == PythonValue::Kind::text || value->kind == PythonValue::Kind::list);
    for (const PythonValue& item : value ? value->items : std::vector<PythonValue>()) {
      good = good && item.kind == PythonValue::Kind::text;
    }
    if (!good) findings_.error({"network_args"}, message(kPatterns, argument.key, one_line(argument.text)));
  }

  // "pattern=value,pattern=value", cut at commas and then at the first '='.
  void check_entries(const KeyValue& argument, bool whole) {
    for (const std::string& entry : entries_of(argument.text)) {
      const std::size_t at = entry.find('=');
      const std::string value = at == std::string::npos ? "" : entry.substr(at + 1);
      const bool good = whole ? parse_python_int(value).has_value() : parse_python_float(value).has_value();
      if (good && at > 0) continue;
      findings_.warning({"network_args"}, message(kBadEntry, one_line(entry), argument.key, whole ? "rank" : "rate"));
    }
  }

  Findings& findings_;
};

}  // namespace

void check_adapter(const Settings& settings, Findings& findings) {
  if (const std::string module = settings.text("network_module"); module != "networks.lora_anima") {
    findings.error({"network_module"}, message(kOtherModule, one_line(module)))
        .fixes.push_back(leave_out("network_module"));
  }
  ArgumentCheck check(findings);
  const std::vector<KeyValue> arguments = parse_key_values(settings, "network_args", findings);
  for (const KeyValue& argument : arguments) check.check(argument);
  if (!settings.flag("dim_from_weights")) return;
  if (!settings.is_set("network_weights")) {
    findings.error({"dim_from_weights", "network_weights"}, message(kNeedsWeights))
        .fixes.push_back(turn_off("dim_from_weights"));
  }
  std::vector<std::string> ignored;
  for (const std::string name : {"network_dim", "network_dropout", "network_args"}) {
    if (!settings.is_default(name)) ignored.push_back(name);
  }
  if (!ignored.empty()) findings.note(ignored, message(kIgnoredWithWeights, join(ignored, ", ")));
}

}  // namespace lathe::config

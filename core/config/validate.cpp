#include "core/config/validate.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/config/fixes.h"
#include "core/config/schema.h"
#include "core/config/utf8.h"
#include "core/config/validate_steps.h"
#include "core/config/value_check.h"
#include "core/config/value_text.h"

namespace lathe::config {

namespace {

constexpr TextId kNoEffect = LATHE_TEXT(
    "validate.no_effect", "accepted without effect on the training, as in the reference: {}; see help for each");
constexpr TextId kZeroByte = LATHE_TEXT("validate.zero_byte", "{} holds a zero byte");
constexpr TextId kTooLong = LATHE_TEXT("validate.too_long", "{} has {} bytes; at most {} go into the metadata");

constexpr std::size_t kLongestText = 1u << 20;  // 1 MiB

const ValueState* state_of_value(const Option& option, const std::string& value) {
  const auto found = std::ranges::find_if(option.values, [&](const ValueState& state) {
    return std::ranges::equal(state.value, value,
                              [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  });
  return found == option.values.end() ? nullptr : &*found;
}

// xformers only chooses attn_mode where that is not given.
bool is_overruled(const Option& option, const Settings& settings) {
  return option.name == "xformers" && settings.is_set("attn_mode");
}

class OptionCheck {
 public:
  OptionCheck(const Settings& settings, Findings& findings) : settings_(settings), findings_(findings) {}

  void check(const Option& option) {
    if (settings_.is_default(option.name)) return;
    const Value& value = settings_.value(option.name);
    const std::string name(option.name);
    if (auto problem = value_problem(option, option.name, value)) {
      findings_.error({name}, std::move(*problem)).fixes.push_back(leave_out(name));
      return;
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (!check_text(name, *text)) return;
      if (const ValueState* state = state_of_value(option, *text)) {
        refuse(name, message(state->reason, format("{}={}", name, *text)));
        return;
      }
    }
    if (option.state == OptionClass::no_effect || is_overruled(option, settings_)) {
      without_effect_.push_back(name);
    } else if (option.state != OptionClass::works) {
      refuse(name, message(option.reason, name));
    }
  }

  void finish() {
    if (!without_effect_.empty()) findings_.note(without_effect_, message(kNoEffect, join(without_effect_, ", ")));
  }

 private:
  bool check_text(const std::string& name, const std::string& text) {
    if (text.find('\0') != std::string::npos) {
      findings_.error({name}, message(kZeroByte, name));
    } else if (text.size() > kLongestText) {
      findings_.error({name}, message(kTooLong, name, text.size(), kLongestText));
    } else {
      return true;
    }
    return false;
  }

  void refuse(const std::string& name, Message text) {
    findings_.error({name}, std::move(text)).fixes.push_back(leave_out(name));
  }

  const Settings& settings_;
  Findings& findings_;
  std::vector<std::string> without_effect_;
};

}  // namespace

void check_options(const Settings& settings, Findings& findings) {
  OptionCheck check(settings, findings);
  for (const Option& option : options()) check.check(option);
  check.finish();
}

void validate(Settings& settings, const DataConfig& data, Findings& findings, const ValidateOptions& options) {
  Findings own;
  make_automatic_changes(settings, own);
  check_options(settings, own);
  check_clashes(settings, own);
  check_compile(settings, own);
  check_data_clashes(settings, data, own);
  check_optimizer(settings, own);
  check_adapter(settings, own);
  check_required(settings, options.purpose, own);
  check_device(settings, options.cards, own);
  if (options.check_files) check_paths(settings, own);

  for (Finding finding : own.all()) {
    const auto place = finding.fields.size() == 1 ? options.places.find(finding.fields[0]) : options.places.end();
    if (finding.file.empty() && place != options.places.end()) {
      finding.file = place->second.file;
      finding.line = place->second.line;
      finding.column = place->second.column;
    }
    findings.add(std::move(finding));
  }
}

}  // namespace lathe::config

#include "core/config/launcher.h"

#include <algorithm>
#include <string_view>

#include "core/base/paths.h"
#include "core/config/fixes.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kNoEffect = LATHE_TEXT("launcher.no_effect", "launcher option --{} has no effect here");
constexpr TextId kUnknown = LATHE_TEXT("launcher.unknown", "launcher option --{} is unknown and has no effect here");
constexpr TextId kThreads = LATHE_TEXT(
    "launcher.threads", "launcher option --{} has no effect here: the number of threads follows the processor's cores");
constexpr TextId kCompileInside =
    LATHE_TEXT("launcher.dynamo", "launcher option --{} has no effect: compiling is asked for with --compile");
constexpr TextId kOneProcess =
    LATHE_TEXT("launcher.one_process", "launcher option --{}: this version trains in one process on one device");
constexpr TextId kFramework =
    LATHE_TEXT("launcher.framework", "launcher option --{}: this way of training is not available here");
constexpr TextId kConfigFile =
    LATHE_TEXT("launcher.config_file",
               "launcher option --config_file {}: the launcher's own file is not read; what it says about "
               "processes and devices is not followed");
constexpr TextId kDevice = LATHE_TEXT("launcher.device", "launcher option --{}: trains on {}");
constexpr TextId kEnvironment = LATHE_TEXT(
    "launcher.environment", "'{}' before the command has no effect here: set the variable before starting Lathe");
constexpr TextId kOtherScript =
    LATHE_TEXT("launcher.other_script", "{} is not the Anima LoRA trainer (anima_train_network.py)");
constexpr TextId kNoScript = LATHE_TEXT("launcher.no_script", "the command names no script (anima_train_network.py)");
constexpr TextId kPrecisionIgnored =
    LATHE_TEXT("launcher.precision",
               "the launcher's mixed precision ({}) has no effect, in the reference neither: mixed_precision is {}");

enum class Answer { none, threads, dynamo, several, framework, config_file, mixed_precision, gpus, cpu };

struct LauncherOption {
  std::string_view name;
  bool takes_value;
  Answer answer;
};

// What differs from "no effect", and the options whose value could be taken for the script.
constexpr LauncherOption kOptions[] = {
    {"config_file", true, Answer::config_file},
    {"mixed_precision", true, Answer::mixed_precision},
    {"num_processes", true, Answer::several},
    {"num_machines", true, Answer::several},
    {"multi_gpu", false, Answer::several},
    {"gpu_ids", true, Answer::gpus},
    {"cpu", false, Answer::cpu},
    {"num_cpu_threads_per_process", true, Answer::threads},
    {"enable_cpu_affinity", false, Answer::threads},
    {"dynamo_backend", true, Answer::dynamo},
    {"dynamo_mode", true, Answer::dynamo},
    {"dynamo_use_fullgraph", false, Answer::dynamo},
    {"dynamo_use_dynamic", false, Answer::dynamo},
    {"dynamo_use_regional_compilation", false, Answer::dynamo},
    {"use_deepspeed", false, Answer::framework},
    {"use_fsdp", false, Answer::framework},
    {"use_megatron_lm", false, Answer::framework},
    {"tpu", false, Answer::framework},
    {"use_xpu", false, Answer::framework},
    {"ipex", false, Answer::none},
    {"quiet", false, Answer::none},
    {"debug", false, Answer::none},
    {"module", false, Answer::none},
    {"no_python", false, Answer::none},
    {"same_network", false, Answer::none},
    {"machine_rank", true, Answer::none},
    {"main_process_ip", true, Answer::none},
    {"main_process_port", true, Answer::none},
    {"main_training_function", true, Answer::none},
    {"downcast_bf16", false, Answer::none},
    {"tee", true, Answer::none},
    {"log_dir", true, Answer::none},
    {"role", true, Answer::none},
    {"rdzv_backend", true, Answer::none},
    {"rdzv_conf", true, Answer::none},
    {"max_restarts", true, Answer::none},
    {"monitor_interval", true, Answer::none},
};

std::string base_name(const std::string& word) {
  return word.substr(word.find_last_of("/\\") + 1);
}

bool is_python(const std::string& word) {
  std::string name = base_name(word);
  if (name.ends_with(".exe")) name.resize(name.size() - 4);
  if (name == "py") return true;
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && std::ranges::all_of(word.substr(0, equals), [](char c) {
           return (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
         });
}

class Launcher {
 public:
  Launcher(const std::vector<std::string>& words, Findings& findings) : words_(words), findings_(findings) {}

  LauncherWords read() {
    std::size_t first = 0;
    while (first < words_.size() && is_assignment(words_[first])) ++first;
    const bool launched = starts_launcher(first);
    if (!launched && !is_script(first)) return {words_, {}, {}};
    for (std::size_t i = 0; i < first; ++i) findings_.note({}, message(kEnvironment, one_line(words_[i])));
    if (launched) read_options();
    read_script();
    found_.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
    return std::move(found_);
  }

 private:
  // Whether `accelerate launch` or `python` stands at `first`; at_ is then after it.
  bool starts_launcher(std::size_t first) {
    at_ = first;
    if (first >= words_.size()) return false;
    const std::string name = base_name(words_[first]);
    if (name == "accelerate-launch" || name == "accelerate-launch.exe") return ++at_, true;
    if (name == "accelerate" || name == "accelerate.exe") {
      if (first + 1 >= words_.size() || words_[first + 1] != "launch") return false;
      return at_ += 2, true;
    }
    if (!is_python(words_[first])) return false;
    ++at_;
    while (at_ < words_.size() && words_[at_].starts_with('-')) {
      const bool module = words_[at_] == "-m";
      ++at_;
      if (!module || at_ == words_.size()) continue;
      if (words_[at_++] == "accelerate" && at_ < words_.size() && words_[at_] == "launch") ++at_;
      break;  // accelerate.commands.launch, accelerate launch
    }
    return true;
  }

  bool is_script(std::size_t at) const { return at < words_.size() && words_[at].ends_with(".py"); }

  void read_options() {
    while (at_ < words_.size() && words_[at_].starts_with('-')) {
      const std::string& word = words_[at_++];
      const std::size_t equals = word.find('=');
      std::string name =
          word.substr(word.find_first_not_of('-') == std::string::npos ? 0 : word.find_first_not_of('-'));
      name = name.substr(0, name.find('='));
      std::ranges::replace(name, '-', '_');
      if (name == "q") name = "quiet";
      if (name == "m") name = "module";
      const auto known = std::ranges::find(kOptions, name, &LauncherOption::name);
      const bool unknown = known == std::end(kOptions);
      std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
      const bool takes_value = unknown ? true : known->takes_value;
      const bool free_word = at_ < words_.size() && !words_[at_].starts_with('-') && !(unknown && is_script(at_));
      if (equals == std::string::npos && takes_value && free_word) value = words_[at_++];
      answer(unknown ? Answer::none : known->answer, name, value, unknown);
    }
  }

  void answer(Answer kind, const std::string& name, const std::string& value, bool unknown) {
    const std::string shown = one_line(name + (value.empty() ? "" : " " + value));
    switch (kind) {
      case Answer::none:
        findings_.note({}, message(unknown ? kUnknown : kNoEffect, shown));
        break;
      case Answer::threads:
        findings_.note({}, message(kThreads, shown));
        break;
      case Answer::dynamo:
        findings_.note({"compile"}, message(kCompileInside, shown));
        break;
      case Answer::several:
        if (value == "1") {
          findings_.note({}, message(kOneProcess, shown));
        } else {
          findings_.error({}, message(kOneProcess, shown));
        }
        break;
      case Answer::framework:
        findings_.error({}, message(kFramework, shown));
        break;
      case Answer::config_file:
        findings_.warning({}, message(kConfigFile, one_line(value)));
        break;
      case Answer::mixed_precision:
        found_.mixed_precision = value;
        break;
      case Answer::gpus:
        read_gpus(value, shown);
        break;
      case Answer::cpu:
        found_.device = "cpu";
        findings_.note({"device"}, message(kDevice, shown, "cpu"));
        break;
    }
  }

  void read_gpus(const std::string& value, const std::string& shown) {
    const bool one =
        !value.empty() && value.size() <= 3 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    if (one) {
      found_.device = "cuda:" + value;
      findings_.note({"device"}, message(kDevice, shown, *found_.device));
    } else if (value == "all") {
      findings_.note({}, message(kNoEffect, shown));
    } else {
      findings_.error({"device"}, message(kOneProcess, shown));
    }
  }

  void read_script() {
    if (at_ == words_.size() || words_[at_].starts_with("--")) {
      findings_.error({}, message(kNoScript));
      return;
    }
    const std::string& script = words_[at_++];
    const std::string name = base_name(script);
    if (name != "anima_train_network.py" && name != "anima_train_network") {
      findings_.error({}, message(kOtherScript, one_line(script)));
    }
  }

  const std::vector<std::string>& words_;
  Findings& findings_;
  std::size_t at_ = 0;
  LauncherWords found_;
};

}  // namespace

LauncherWords strip_launcher(const std::vector<std::string>& words, Findings& findings) {
  return Launcher(words, findings).read();
}

void answer_launcher(const LauncherWords& launcher, Settings& settings, Findings& findings) {
  if (launcher.device && settings.source("device") == Source::standard) {
    settings.set("device", *launcher.device, Source::command_line);
  }
  if (!launcher.mixed_precision) return;
  const std::string asked = one_line(*launcher.mixed_precision);
  const std::string own = settings.text("mixed_precision");
  const Message text = message(kPrecisionIgnored, asked, own);
  if (asked == own || settings.source("mixed_precision") != Source::standard) {
    findings.note({"mixed_precision"}, text);
    return;
  }
  Finding& finding = findings.warning({"mixed_precision"}, text);
  if (asked == "bf16" || asked == "fp16") {
    finding.fixes.push_back(set_to("mixed_precision", asked));
  }
}

}  // namespace lathe::config

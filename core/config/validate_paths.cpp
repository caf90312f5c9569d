// Required options, files, folders, disk, device.
#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/config/fixes.h"
#include "core/config/path_hint.h"
#include "core/config/schema.h"
#include "core/config/utf8.h"
#include "core/config/validate_steps.h"

namespace lathe::config {

namespace fs = std::filesystem;

namespace {

constexpr TextId kRequired = LATHE_TEXT("paths.required", "{} is required and not given (help {} says what it is)");
constexpr TextId kControl = LATHE_TEXT(
    "paths.control", "{} holds a {}: \"{}\"; a backslash begins an escape inside \"…\": write '…', \"\\\\\" or '/'");
constexpr TextId kIsFolder = LATHE_TEXT("paths.is_folder", "{} must be a file, and {} is a folder");
constexpr TextId kIsFile = LATHE_TEXT("paths.is_file", "{} must be a folder, and {} is a file");
constexpr TextId kNotWritable = LATHE_TEXT("paths.not_writable", "{}: cannot write to {}: {}");
constexpr TextId kNoSpace =
    LATHE_TEXT("paths.no_space", "the run will write {} to {}, and only {} are free on that disk");
constexpr TextId kLittleSpace =
    LATHE_TEXT("paths.little_space", "the run will write {} to {}, and then less than {} are left on that disk");
constexpr TextId kUnknownSpace = LATHE_TEXT("paths.unknown_space", "{}");
constexpr TextId kNoDevice = LATHE_TEXT("device.unknown", "device must be auto, cpu, cuda, or cuda:N; not '{}'");
constexpr TextId kNoCard = LATHE_TEXT(
    "device.no_card",
    "there is no graphics card that can be used here; training on the processor is slow and must be asked for");
constexpr TextId kFewCards =
    LATHE_TEXT("device.few_cards", "device is {}, and there are {} graphics cards, counted from 0");

constexpr std::uint64_t kSpareBytes = 1ull << 30;

// Files that are read. dataset_config, train_data_dir, reg_data_dir and in_json are looked at by read_data_config().
constexpr std::string_view kInputs[] = {"pretrained_model_name_or_path",
                                        "qwen3",
                                        "vae",
                                        "t5_tokenizer_path",
                                        "network_weights",
                                        "resume",
                                        "sample_prompts"};
constexpr std::string_view kOutputs[] = {"output_dir", "logging_dir", "compile_cache_dir"};

// A folder given for a file, and the one weight file in it.
std::string only_weights_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().extension() == ".safetensors") found.push_back(entry->path());
  }
  return found.size() == 1 ? to_utf8(found[0]) : std::string();
}

void check_input(const Option& option, const std::string& text, Findings& findings) {
  const std::string name(option.name);
  const fs::path path = from_utf8(text);
  std::error_code ignored;
  const std::string control = control_character(text);
  if (!fs::exists(path, ignored)) {
    findings.error({name}, control.empty() ? missing_path(name, path, option.path == PathKind::folder)
                                           : message(kControl, name, control, one_line(text)));
  } else if (option.path == PathKind::file && fs::is_directory(path, ignored)) {
    Finding& finding = findings.error({name}, message(kIsFolder, name, path));
    if (const std::string weights = only_weights_in(path); !weights.empty())
      finding.fixes.push_back(set_to(name, weights));
  } else if (option.path == PathKind::folder && !fs::is_directory(path, ignored)) {
    findings.error({name}, message(kIsFile, name, path));
  }
}

void check_output(const std::string& name, const std::string& text, Findings& findings) {
  if (const std::string control = control_character(text); !control.empty()) {
    findings.error({name}, message(kControl, name, control, one_line(text)));
    return;
  }
  std::error_code failed;
  fs::path place = fs::absolute(from_utf8(text), failed);
  if (fs::exists(place, failed) && !fs::is_directory(place, failed)) {
    findings.error({name}, message(kIsFile, name, text));
    return;
  }
  while (!fs::exists(place, failed) && place.has_parent_path() && place != place.parent_path()) {
    place = place.parent_path();  // where it would be made
  }
  if (const std::string why = why_not_writable(place); !why.empty()) {
    findings.error({name}, message(kNotWritable, name, place, why));
  }
}

constexpr TextId kBadName = LATHE_TEXT("paths.bad_name",
                                       "output_name must be a plain file name without / \\ : * ? \" < > | and line "
                                       "ends, not '{}'; folders go into output_dir");

std::vector<std::string> required_for(Purpose purpose) {
  switch (purpose) {
    case Purpose::train:
      return {"pretrained_model_name_or_path", "qwen3", "vae", "output_dir"};
    case Purpose::cache:
      return {"qwen3", "vae", "output_dir"};
    case Purpose::sample:
      return {"pretrained_model_name_or_path", "qwen3", "vae", "output_dir", "sample_prompts"};
    case Purpose::plan:
      return {};
  }
  return {};
}

}  // namespace

// output_name is the beginning of file names in output_dir, nothing else.
void check_output_name(const Settings& settings, Findings& findings) {
  const std::string name = settings.text("output_name");
  const bool control = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 32; });
  if (control || name.find_first_of("/\\:*?\"<>|") != std::string::npos || name == "." || name == "..") {
    findings.error({"output_name"}, message(kBadName, name));
  }
}

void check_required(const Settings& settings, Purpose purpose, Findings& findings) {
  for (const std::string& name : required_for(purpose)) {
    if (settings.text(name).empty()) findings.error({name}, message(kRequired, name, name));
  }
}

void check_paths(const Settings& settings, Findings& findings) {
  check_output_name(settings, findings);
  for (const std::string_view name : kInputs) {
    const std::string text = settings.text(name);
    if (!text.empty()) check_input(option(name), text, findings);
  }
  for (const std::string_view name : kOutputs) {
    const std::string text = settings.text(name);
    if (!text.empty()) check_output(std::string(name), text, findings);
  }
}

void check_device(const Settings& settings, std::optional<int> cards, Findings& findings) {
  const std::string device = settings.text("device");
  const bool numbered = device.starts_with("cuda:") && device.size() > 5 && device.size() <= 8 &&
                        std::all_of(device.begin() + 5, device.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (device != "auto" && device != "cpu" && device != "cuda" && !numbered) {
    findings.error({"device"}, message(kNoDevice, one_line(device))).fixes.push_back(leave_out("device"));
    return;
  }
  if (!cards || device == "cpu") return;
  if (*cards == 0) {
    findings.error({"device"}, message(kNoCard)).fixes.push_back(set_to("device", "cpu"));
  } else if (numbered && std::stoi(device.substr(5)) >= *cards) {
    findings.error({"device"}, message(kFewCards, device, *cards)).fixes.push_back(set_to("device", "cuda"));
  }
}

void check_disk_space(const Settings& settings, std::uint64_t bytes, Findings& findings) {
  const std::string folder = settings.text("output_dir");
  if (folder.empty() || bytes == 0) return;
  std::uint64_t free = 0;
  try {
    free = free_disk_space(from_utf8(folder));
  } catch (const Error& error) {
    findings.warning({"output_dir"}, message(kUnknownSpace, error.message()));
    return;
  }
  if (free < bytes) {
    findings.error({"output_dir"}, message(kNoSpace, human_bytes(bytes), folder, human_bytes(free)));
  } else if (free - bytes < kSpareBytes) {
    findings.warning({"output_dir"}, message(kLittleSpace, human_bytes(bytes), folder, human_bytes(kSpareBytes)));
  }
}

}  // namespace lathe::config

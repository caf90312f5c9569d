#include "core/train/prompts.h"

#include <algorithm>
#include <cctype>

#include "core/base/files.h"
#include "core/base/paths.h"
#include "core/config/document.h"
#include "core/config/python_literal.h"

namespace lathe::train {

namespace {

using config::Findings;
using config::Node;
using config::Severity;

constexpr TextId kUnknownOption =
    LATHE_TEXT("prompts.unknown_option", "prompt option '--{}' does not exist and is left out");
constexpr TextId kUnknownKey = LATHE_TEXT("prompts.unknown_key", "prompt entry '{}' does not exist and is left out");
constexpr TextId kNoEffect = LATHE_TEXT("prompts.no_effect", "prompt option '{}' has no effect with Anima");
constexpr TextId kBadValue = LATHE_TEXT("prompts.bad_value", "prompt option '{}' is '{}'; it must be {}");
constexpr TextId kTooLarge =
    LATHE_TEXT("prompts.too_large", "{} of {} pixels is more than the {} that the model can draw");
constexpr TextId kNoText = LATHE_TEXT("prompts.no_text", "there is no prompt here");
constexpr TextId kNoPrompts = LATHE_TEXT("prompts.none", "the file holds no prompt");
constexpr TextId kNotAList = LATHE_TEXT("prompts.not_a_list", "expected a list of prompts, found {}");
constexpr TextId kNoSubsets = LATHE_TEXT("prompts.no_subsets", "expected [[prompt.subset]], one for each prompt");
constexpr TextId kKind = LATHE_TEXT("prompts.kind", "prompt files end in .txt, .toml or .json; this one does not");

constexpr std::int64_t kLargestSide = 4096;  // 256 tokens of 16 pixels

// Where a prompt stands, for messages.
struct Place {
  const std::filesystem::path& file;
  int line;
  Findings& findings;

  void report(Severity severity, Message text) const {
    findings.add(
        {.severity = severity, .fields = {"sample_prompts"}, .message = std::move(text), .file = file, .line = line});
  }
};

// The options: short name on a line, name in tables, and what they set.
enum class Kind { integer, real, text, ignored };
struct PromptOption {
  std::string_view letter;
  std::string_view name;
  Kind kind;
  void (*set)(Prompt&, std::int64_t, double, const std::string&);
};
constexpr PromptOption kOptions[] = {
    {"w", "width", Kind::integer, [](Prompt& p, std::int64_t i, double, const std::string&) { p.width = i; }},
    {"h", "height", Kind::integer, [](Prompt& p, std::int64_t i, double, const std::string&) { p.height = i; }},
    {"d", "seed", Kind::integer, [](Prompt& p, std::int64_t i, double, const std::string&) { p.seed = i; }},
    {"s", "sample_steps", Kind::integer, [](Prompt& p, std::int64_t i, double, const std::string&) { p.steps = i; }},
    {"l", "scale", Kind::real, [](Prompt& p, std::int64_t, double r, const std::string&) { p.scale = r; }},
    {"fs", "flow_shift", Kind::real, [](Prompt& p, std::int64_t, double r, const std::string&) { p.flow_shift = r; }},
    {"n", "negative_prompt", Kind::text,
     [](Prompt& p, std::int64_t, double, const std::string& t) { p.negative_prompt = t; }},
    {"", "prompt", Kind::text, [](Prompt& p, std::int64_t, double, const std::string& t) { p.text = t; }},
    {"g", "guidance_scale", Kind::ignored, nullptr},
    {"ss", "sample_sampler", Kind::ignored, nullptr},
    {"cn", "controlnet_image", Kind::ignored, nullptr},
    {"ctr", "cfg_trunc_ratio", Kind::ignored, nullptr},
    {"rcfg", "renorm_cfg", Kind::ignored, nullptr},
};

void set_from_text(Prompt& prompt, const PromptOption& option, const std::string& value, const Place& place) {
  const auto integer = config::parse_python_int(value);
  const auto real = config::parse_python_float(value);
  switch (option.kind) {
    case Kind::ignored:
      return place.report(Severity::note, message(kNoEffect, option.name));
    case Kind::integer:
      if (integer) return option.set(prompt, *integer, 0.0, value);
      return place.report(Severity::error, message(kBadValue, option.name, value, "a whole number"));
    case Kind::real:
      if (real) return option.set(prompt, 0, *real, value);
      return place.report(Severity::error, message(kBadValue, option.name, value, "a number"));
    case Kind::text:
      return option.set(prompt, 0, 0.0, value);
  }
}

void set_from_node(Prompt& prompt, const config::Member& member, const Place& place) {
  const auto option = std::ranges::find(kOptions, std::string_view(member.key), &PromptOption::name);
  if (option == std::end(kOptions)) return place.report(Severity::warning, message(kUnknownKey, member.key));
  const Node& value = member.value;
  if (value.kind == Node::Kind::null) return;
  const bool whole = value.kind == Node::Kind::integer;
  const bool number = whole || value.kind == Node::Kind::real;
  const double real = whole ? static_cast<double>(value.integer) : value.real;
  switch (option->kind) {
    case Kind::ignored:
      return place.report(Severity::note, message(kNoEffect, option->name));
    case Kind::integer:
      if (whole) return option->set(prompt, value.integer, real, value.text);
      return place.report(Severity::error, message(kBadValue, option->name, value.kind_name(), "a whole number"));
    case Kind::real:
      if (number) return option->set(prompt, value.integer, real, value.text);
      return place.report(Severity::error, message(kBadValue, option->name, value.kind_name(), "a number"));
    case Kind::text:
      if (value.kind == Node::Kind::text) return option->set(prompt, 0, 0.0, value.text);
      return place.report(Severity::error, message(kBadValue, option->name, value.kind_name(), "a text"));
  }
}

// Sizes as the model takes them, steps within their range.
void finish(Prompt& prompt, const Place& place) {
  if (prompt.text.empty()) place.report(Severity::error, message(kNoText));
  for (const auto& [name, side] : {std::pair("width", &prompt.width), std::pair("height", &prompt.height)}) {
    if (*side > kLargestSide) place.report(Severity::error, message(kTooLarge, name, *side, kLargestSide));
    *side = std::max<std::int64_t>(64, *side - *side % 16);
  }
  prompt.steps = std::clamp<std::int64_t>(prompt.steps, 1, 1000);
}

std::string_view strip(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

void parse_option(Prompt& prompt, std::string_view part, const Place& place) {
  const std::size_t space = std::min(part.find(' '), part.size());
  std::string letter(part.substr(0, space));
  std::ranges::transform(letter, letter.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto option = std::ranges::find(kOptions, std::string_view(letter), &PromptOption::letter);
  if (letter.empty() || option == std::end(kOptions)) {
    return place.report(Severity::warning, message(kUnknownOption, part.substr(0, space)));
  }
  set_from_text(prompt, *option, std::string(strip(part.substr(space))), place);
}

std::vector<Prompt> read_lines(const std::filesystem::path& file, Findings& findings) {
  std::vector<Prompt> prompts;
  const std::string content = read_text(file);
  std::string_view rest = content;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (strip(text).empty() || text.starts_with('#')) continue;
    prompts.push_back(parse_prompt_line(strip(text), file, line, findings));
  }
  return prompts;
}

Prompt prompt_from_table(const Node& defaults, const Node& entry, const std::filesystem::path& file,
                         Findings& findings) {
  Prompt prompt;
  prompt.line = entry.line;
  for (const Node* table : {&defaults, &entry}) {
    for (const config::Member& member : table->members) {
      if (member.key != "subset") set_from_node(prompt, member, {file, member.line, findings});
    }
  }
  finish(prompt, {file, entry.line, findings});
  return prompt;
}

std::vector<Prompt> read_tables(const std::filesystem::path& file, Findings& findings) {
  const std::optional<Node> root = config::read_toml(file, findings);
  if (!root) return {};
  const config::Member* table = root->find("prompt");
  const config::Member* subsets = table != nullptr ? table->value.find("subset") : nullptr;
  if (subsets == nullptr || subsets->value.kind != Node::Kind::list) {
    Place{file, table != nullptr ? table->line : 0, findings}.report(Severity::error, message(kNoSubsets));
    return {};
  }
  std::vector<Prompt> prompts;
  for (const Node& entry : subsets->value.items)
    prompts.push_back(prompt_from_table(table->value, entry, file, findings));
  return prompts;
}

std::vector<Prompt> read_list(const std::filesystem::path& file, Findings& findings) {
  const std::optional<Node> root = config::read_json(file, findings);
  if (!root) return {};
  if (root->kind != Node::Kind::list) {
    Place{file, root->line, findings}.report(Severity::error, message(kNotAList, root->kind_name()));
    return {};
  }
  std::vector<Prompt> prompts;
  for (const Node& entry : root->items) {
    if (entry.kind == Node::Kind::text) {
      prompts.push_back(parse_prompt_line(entry.text, file, entry.line, findings));
    } else {
      prompts.push_back(prompt_from_table({}, entry, file, findings));
    }
  }
  return prompts;
}

}  // namespace

Prompt parse_prompt_line(std::string_view text, const std::filesystem::path& file, int line, Findings& findings) {
  const Place place{file, line, findings};
  Prompt prompt;
  prompt.line = line;
  std::size_t end = std::min(text.find(" --"), text.size());
  prompt.text = text.substr(0, end);
  while (end < text.size()) {
    const std::size_t begin = end + 3;
    end = std::min(text.find(" --", begin), text.size());
    parse_option(prompt, text.substr(begin, end - begin), place);
  }
  finish(prompt, place);
  return prompt;
}

std::vector<Prompt> read_prompts(const std::filesystem::path& file, Findings& findings) {
  std::vector<Prompt> prompts;
  const std::string extension = to_utf8(file.extension());
  const std::size_t earlier = findings.count(Severity::error);
  if (extension == ".txt") {
    prompts = read_lines(file, findings);
  } else if (extension == ".toml") {
    prompts = read_tables(file, findings);
  } else if (extension == ".json") {
    prompts = read_list(file, findings);
  } else {
    Place{file, 0, findings}.report(Severity::error, message(kKind));
    return {};
  }
  if (prompts.empty() && findings.count(Severity::error) == earlier) {
    Place{file, 0, findings}.report(Severity::error, message(kNoPrompts));
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) prompts[i].index = static_cast<int>(i);
  return prompts;
}

}  // namespace lathe::train

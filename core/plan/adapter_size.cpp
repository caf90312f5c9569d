#include "core/plan/adapter_size.h"

#include <algorithm>
#include <utility>

#include "core/config/python_literal.h"
#include "core/text/python_regex.h"

namespace lathe::plan {

namespace {

constexpr std::string_view kAlwaysExcluded = ".*(_modulation|_norm|_embedder|final_layer).*";
constexpr std::string_view kWeight = ".weight";
constexpr std::int64_t kDefaultRank = 4;
// A header entry beside its name: "":{"dtype":"F32","shape":[,],"data_offsets":[,]}, with room for the numbers.
constexpr std::uint64_t kHeaderEntry = 90;
constexpr std::uint64_t kTensorsOfAModule = 3;  // alpha, down, up

using Patterns = std::vector<text::PythonRegex>;

void add_pattern(Patterns& patterns, std::string_view pattern) {
  if (auto compiled = text::PythonRegex::compile(pattern); compiled.regex) {
    patterns.push_back(std::move(*compiled.regex));
  }
}

bool is_true(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text == "true";
}

// A Python list of texts, or one text.
void add_patterns(Patterns& patterns, const std::string& literal) {
  const auto value = config::parse_python_literal(literal);
  if (!value) return;
  using Kind = config::PythonValue::Kind;
  if (value->kind == Kind::text) add_pattern(patterns, value->text);
  for (const config::PythonValue& item : value->items) {
    if (item.kind == Kind::text) add_pattern(patterns, item.text);
  }
}

bool matches(const Patterns& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const text::PythonRegex& regex) { return regex.full_match(name); });
}

struct Selection {
  bool llm_adapter = false;
  Patterns exclude, include;
  std::vector<std::pair<text::PythonRegex, std::int64_t>> ranks;
  std::int64_t rank = kDefaultRank;

  bool takes(std::string_view name) const {
    const bool target = is_below_numbered(name, "blocks.") || name.starts_with("x_embedder.") ||
                        name.starts_with("t_embedder.1.") || name.starts_with("final_layer.") ||
                        (llm_adapter && is_below_numbered(name, "llm_adapter.blocks."));
    return target && (!matches(exclude, name) || matches(include, name));
  }

  std::int64_t rank_of(std::string_view name) const {
    for (const auto& [regex, value] : ranks) {
      if (regex.full_match(name)) return value;
    }
    return rank;
  }
};

// "pattern=rank, pattern=rank"; malformed ones are left out.
void add_ranks(Selection& selection, std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const auto rank = config::parse_python_int(entry.substr(equals + 1));
    std::string_view pattern = entry.substr(0, equals);
    while (pattern.starts_with(' ')) pattern.remove_prefix(1);
    while (pattern.ends_with(' ')) pattern.remove_suffix(1);
    auto compiled = text::PythonRegex::compile(pattern);
    if (rank && compiled.regex) selection.ranks.emplace_back(std::move(*compiled.regex), *rank);
  }
}

Selection selection_of(const config::Settings& settings) {
  Selection selection;
  selection.rank = settings.maybe_integer("network_dim").value_or(kDefaultRank);
  config::Findings said_elsewhere;  // the validator reads the same option
  for (const config::KeyValue& argument : config::parse_key_values(settings, "network_args", said_elsewhere)) {
    if (argument.key == "train_llm_adapter") selection.llm_adapter = is_true(argument.text);
    if (argument.key == "exclude_patterns") add_patterns(selection.exclude, argument.text);
    if (argument.key == "include_patterns") add_patterns(selection.include, argument.text);
    if (argument.key == "network_reg_dims") add_ranks(selection, argument.text);
  }
  add_pattern(selection.exclude, kAlwaysExcluded);
  return selection;
}

std::uint64_t saved_element_bytes(const config::Settings& settings) {
  const std::string precision = settings.text("save_precision");
  if (precision == "fp16" || precision == "bf16") return 2;
  if (precision == "float") return 4;
  return settings.flag("full_fp16") || settings.flag("full_bf16") ? 2 : 4;
}

}  // namespace

AdapterSize adapter_size(const std::vector<DitTensor>& tensors, const config::Settings& settings) {
  const Selection selection = selection_of(settings);
  const std::uint64_t saved = saved_element_bytes(settings);
  const std::uint64_t held = settings.flag("full_fp16") || settings.flag("full_bf16") ? 2 : 4;
  AdapterSize size;
  for (const DitTensor& tensor : tensors) {
    if (tensor.shape.size() != 2 || !std::string_view(tensor.name).ends_with(kWeight)) continue;
    const std::string_view name = std::string_view(tensor.name).substr(0, tensor.name.size() - kWeight.size());
    if (!selection.takes(name)) continue;
    const std::int64_t rank = selection.rank_of(name);
    if (rank <= 0) continue;
    ++size.modules;
    size.parameters += rank * (tensor.shape[0] + tensor.shape[1]);
    size.file_bytes += kTensorsOfAModule * (name.size() + kHeaderEntry);
  }
  size.file_bytes += (static_cast<std::uint64_t>(size.parameters) + static_cast<std::uint64_t>(size.modules)) * saved;
  size.memory_bytes = static_cast<std::uint64_t>(size.parameters) * held;
  return size;
}

}  // namespace lathe::plan

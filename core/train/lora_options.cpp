#include "core/train/lora_options.h"

#include <algorithm>

#include "core/base/paths.h"
#include "core/config/python_literal.h"

namespace lathe::train {

namespace {

constexpr TextId kBadPair = LATHE_TEXT("lora.bad_pair", "network_args: '{}' in {} is no pattern=value and is left out");
constexpr TextId kBadPatterns =
    LATHE_TEXT("lora.bad_patterns", "network_args: {} is neither a text nor a list of texts and is left out: {}");
constexpr TextId kUnknown =
    LATHE_TEXT("lora.unknown_argument", "network_args: '{}' is no argument of this network and has no effect");
constexpr TextId kBadNumber = LATHE_TEXT("lora.bad_number", "network_args: {}={} is no number");
constexpr TextId kLoadNote = LATHE_TEXT("lora.load_note", "network_weights: {}");
constexpr const char* kPrefix = "lora_unet";

class Reader {
 public:
  explicit Reader(config::Findings& findings) : findings_(findings) {}

  double number(const config::KeyValue& argument) {
    const auto value = config::parse_python_float(argument.text);
    if (!value) findings_.error({"network_args"}, message(kBadNumber, argument.key, argument.text));
    return value.value_or(0.0);
  }

  std::vector<std::string> patterns(const config::KeyValue& argument) {
    const auto value = config::parse_python_literal(argument.text);
    std::vector<std::string> out;
    bool good = value.has_value();
    if (good && value->kind == config::PythonValue::Kind::text) {
      out.push_back(value->text);
    } else if (good && value->kind == config::PythonValue::Kind::list) {
      for (const config::PythonValue& item : value->items) {
        good = good && item.kind == config::PythonValue::Kind::text;
        out.push_back(item.text);
      }
    } else {
      good = false;
    }
    if (good) return out;
    findings_.warning({"network_args"}, message(kBadPatterns, argument.key, argument.text));
    return {};
  }

  // "pattern=value,pattern=value"; the reference splits at every comma and at the first '='.
  template <class Use>
  void pairs(const config::KeyValue& argument, Use&& use) {
    std::size_t start = 0;
    while (start <= argument.text.size()) {
      const std::size_t end = std::min(argument.text.find(',', start), argument.text.size());
      const std::string pair = argument.text.substr(start, end - start);
      start = end + 1;
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos || !use(trimmed(pair.substr(0, equals)), pair.substr(equals + 1))) {
        findings_.warning({"network_args"}, message(kBadPair, pair, argument.key));
      }
    }
  }

 private:
  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  }

  config::Findings& findings_;
};

bool is_true(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text == "true";
}

void read_argument(const config::KeyValue& argument, models::LoraOptions& options, Reader& reader,
                   config::Findings& findings) {
  const std::string& key = argument.key;
  if (key == "train_llm_adapter") {
    options.train_llm_adapter = is_true(argument.text);
  } else if (key == "exclude_patterns") {
    options.exclude_patterns = reader.patterns(argument);
  } else if (key == "include_patterns") {
    options.include_patterns = reader.patterns(argument);
  } else if (key == "rank_dropout") {
    options.rank_dropout = reader.number(argument);
  } else if (key == "module_dropout") {
    options.module_dropout = reader.number(argument);
  } else if (key == "loraplus_lr_ratio") {
    options.loraplus_lr_ratio = reader.number(argument);
  } else if (key == "loraplus_unet_lr_ratio") {
    options.loraplus_unet_lr_ratio = reader.number(argument);
  } else if (key == "loraplus_text_encoder_lr_ratio") {
    options.loraplus_text_encoder_lr_ratio = reader.number(argument);
  } else if (key == "network_reg_dims") {
    reader.pairs(argument, [&](const std::string& pattern, const std::string& value) {
      const auto rank = config::parse_python_int(value);
      if (rank) options.rank_by_pattern.emplace_back(pattern, *rank);
      return rank.has_value();
    });
  } else if (key == "network_reg_lrs") {
    reader.pairs(argument, [&](const std::string& pattern, const std::string& value) {
      const auto rate = config::parse_python_float(value);
      if (rate) options.lr_by_pattern.emplace_back(pattern, *rate);
      return rate.has_value();
    });
  } else if (key != "verbose" && key != "dropout") {  // both are ignored there without a word
    findings.warning({"network_args"}, message(kUnknown, key));
  }
}

}  // namespace

models::LoraOptions lora_options(const config::Settings& settings, config::Findings& findings) {
  models::LoraOptions options;
  options.rank = settings.maybe_integer("network_dim").value_or(4);
  options.alpha = settings.real("network_alpha");
  options.alpha_is_integer = settings.is_default("network_alpha");  // the reference's untouched default is an int
  options.dropout = settings.maybe_real("network_dropout").value_or(0.0);
  Reader reader(findings);
  for (const config::KeyValue& argument : config::parse_key_values(settings, "network_args", findings)) {
    read_argument(argument, options, reader, findings);
  }
  return options;
}

std::unique_ptr<models::LoraNetwork> make_lora(const RunContext& context, models::anima::Dit& dit) {
  const config::Settings& settings = context.settings();
  config::Findings findings;
  const models::LoraOptions options = lora_options(settings, findings);
  for (const config::Finding& finding : findings.all()) {
    if (finding.severity == config::Severity::error) throw Error(ErrorKind::settings, finding.english());
    context.warn(finding.message, "network arguments without effect");
  }
  const std::filesystem::path weights = from_utf8(settings.text("network_weights"));
  std::unique_ptr<models::LoraNetwork> network;
  if (!weights.empty() && settings.flag("dim_from_weights")) {
    network = models::LoraNetwork::from_weights(dit.linears(), kPrefix, weights);
  } else {
    network = std::make_unique<models::LoraNetwork>(dit.linears(), kPrefix, options);
  }
  if (!weights.empty()) {
    for (const std::string& line : network->load(weights))
      context.note(message(kLoadNote, line), "keys of network_weights that do not fit");
  }
  if (network->modules().empty())
    throw Error(ErrorKind::settings,
                "network_args leave no module to train: check exclude_patterns and network_reg_dims");
  return network;
}

}  // namespace lathe::train

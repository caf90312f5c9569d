#include "core/train/optimizers/make_optimizer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/train/optimizers/adamw.h"

namespace lathe::train {

namespace {

constexpr TextId kNotYet = LATHE_TEXT("train.optimizer_not_yet", "optimizer_type {} is not supported yet; AdamW is");

[[noreturn]] void wrong_kind(const config::KeyValue& argument, std::string_view expected) {
  throw Error(ErrorKind::settings,
              format("optimizer_args: {} is {}; it must be {}", argument.key, argument.text, expected));
}

double number_of(const config::KeyValue& argument) {
  const std::optional<double> number = argument.value.number();
  if (!number) wrong_kind(argument, "a number");
  return *number;
}

bool flag_of(const config::KeyValue& argument) {
  if (argument.value.kind != config::PythonValue::Kind::boolean) wrong_kind(argument, "True or False");
  return argument.value.boolean;
}

std::pair<double, double> pair_of(const config::KeyValue& argument) {
  const std::vector<config::PythonValue>& items = argument.value.items;
  if (items.size() != 2 || !items[0].number() || !items[1].number()) wrong_kind(argument, "two numbers, as 0.9,0.999");
  return {*items[0].number(), *items[1].number()};
}

AdamwOptions adamw_options(const std::vector<config::KeyValue>& arguments) {
  AdamwOptions options;
  for (const config::KeyValue& argument : arguments) {
    const std::string& key = argument.key;
    if (key == "betas") {
      std::tie(options.beta1, options.beta2) = pair_of(argument);
    } else if (key == "eps") {
      options.eps = number_of(argument);
    } else if (key == "weight_decay") {
      options.weight_decay = number_of(argument);
    } else if (key == "amsgrad") {
      options.amsgrad = flag_of(argument);
    } else if (key == "maximize") {
      options.maximize = flag_of(argument);
    } else if (key != "foreach" && key != "fused" && key != "capturable" && key != "differentiable") {
      // Those four choose an implementation in the reference; there is one here.
      throw Error(ErrorKind::settings, format("optimizer_args: AdamW has no argument '{}'", key));
    }
  }
  const auto share = [](double beta) { return beta >= 0.0 && beta < 1.0; };
  if (!share(options.beta1) || !share(options.beta2) || options.eps < 0.0 || options.weight_decay < 0.0) {
    throw Error(ErrorKind::settings,
                format("optimizer_args: AdamW needs betas in [0, 1) and eps and weight_decay not below 0; they are "
                       "({}, {}), {}, {}",
                       options.beta1, options.beta2, options.eps, options.weight_decay));
  }
  return options;
}

// "weight_decay=0.1,betas=(0.9, 0.99)"
std::string text_of(const std::vector<config::KeyValue>& arguments) {
  std::vector<std::string> parts;
  for (const config::KeyValue& argument : arguments) {
    parts.push_back(argument.key + "=" + config::python_str(argument.value));
  }
  return join(parts, ",");
}

}  // namespace

OrNotYet<std::unique_ptr<Optimizer>> make_optimizer(std::string_view type,
                                                    const std::vector<config::KeyValue>& arguments,
                                                    std::vector<ParameterGroup> groups) {
  std::string lower(type);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (!lower.empty() && lower != "adamw") return NotYet{message(kNotYet, type)};
  return std::make_unique<Adamw>(adamw_options(arguments), text_of(arguments), std::move(groups));
}

}  // namespace lathe::train

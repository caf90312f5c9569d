#include "core/text/captions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/text/utf8.h"

namespace lathe::text {

namespace {

using Items = std::vector<std::string_view>;

bool is_dropped(const CaptionOptions& options, const CaptionMoment& moment, CaptionDraws& draws) {
  const bool by_chance = options.caption_dropout_rate > 0 && draws.random() < options.caption_dropout_rate;
  const std::int64_t every = options.caption_dropout_every_n_epochs;
  return by_chance || (every > 0 && moment.epoch % every == 0);
}

// {a|b}: one of them. A group holds at least one character, none of them '}'; what is put in is not looked at again.
std::string choose_in_groups(std::string_view text, CaptionDraws& draws) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) return result += text.substr(at);
    result += text.substr(at, open - at);
    if (close == open + 1) {  // "{}" stays
      result += "{}";
    } else {
      const Items choices = python_split(text.substr(open + 1, close - open - 1), "|");
      result += choices[draws.choice(choices.size())];
    }
    at = close + 1;
  }
  return result;
}

// One line of several, then the groups; {{ and }} are literal braces.
std::string resolve_wildcards(std::string_view caption, CaptionDraws& draws) {
  if (caption.find('\n') != std::string_view::npos) {
    const Items lines = python_split(caption, "\n");
    caption = lines[draws.choice(lines.size())];
  }
  // Literal braces hide behind ⦅ and ⦆ (U+2985, U+2986), as many as the caption has not.
  std::string open = "\xE2\xA6\x85";
  std::string close = "\xE2\xA6\x86";
  while (caption.find(open) != std::string_view::npos || caption.find(close) != std::string_view::npos) {
    open += "\xE2\xA6\x85";
    close += "\xE2\xA6\x86";
  }
  const std::string hidden = replace_all(replace_all(caption, "{{", open), "}}", close);
  return replace_all(replace_all(choose_in_groups(hidden, draws), open, "{"), close, "}");
}

struct Tags {
  Items fixed;
  Items flexible;
  Items fixed_suffix;
};

Items stripped_items(std::string_view text, std::string_view separator, bool keep_empty) {
  Items items;
  for (const std::string_view item : python_split(text, separator)) {
    const std::string_view stripped = python_strip(item);
    if (keep_empty || !stripped.empty()) items.push_back(stripped);
  }
  return items;
}

Tags split_tags(std::string_view caption, const CaptionOptions& options) {
  const std::string_view separator = options.caption_separator;
  if (separator.empty()) {
    throw Error(ErrorKind::settings,
                "caption_separator is empty; give the text between two tags, such as \",\", or turn off "
                "shuffle_caption, token_warmup_step and caption_tag_dropout_rate");
  }
  const std::string_view keep = options.keep_tokens_separator;
  const std::size_t first = keep.empty() ? std::string_view::npos : caption.find(keep);
  if (first == std::string_view::npos) {
    Tags tags = {.flexible = stripped_items(python_strip(caption), separator, true)};
    const std::int64_t count = std::clamp<std::int64_t>(options.keep_tokens, 0, std::ssize(tags.flexible));
    tags.fixed.assign(tags.flexible.begin(), tags.flexible.begin() + count);
    tags.flexible.erase(tags.flexible.begin(), tags.flexible.begin() + count);
    return tags;
  }
  const std::string_view rest = caption.substr(first + keep.size());
  const std::size_t second = rest.find(keep);
  Tags tags;
  tags.fixed = stripped_items(caption.substr(0, first), separator, false);
  tags.flexible = stripped_items(rest.substr(0, second), separator, false);
  if (second != std::string_view::npos) {
    tags.fixed_suffix = stripped_items(rest.substr(second + keep.size()), separator, false);
  }
  return tags;
}

// Keeps the first few tags, more with each step, until the warm-up is over.
void warm_up(Items& tags, const CaptionOptions& options, const CaptionMoment& moment) {
  double steps = options.token_warmup_step;
  if (steps < 1) steps = std::floor(steps * static_cast<double>(moment.max_train_steps));
  if (steps == 0 || static_cast<double>(moment.step) >= steps) return;
  const std::int64_t total = std::ssize(tags);
  const double per_step = static_cast<double>(total - options.token_warmup_min) / steps;
  const double grown = std::floor(static_cast<double>(moment.step) * per_step);
  std::int64_t count = static_cast<std::int64_t>(grown) + options.token_warmup_min;
  if (count < 0) count += total;  // as a Python slice
  tags.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, total)));
}

Items shuffled(const Items& items, CaptionDraws& draws) {
  Items result;
  for (const std::size_t old : draws.shuffle(items.size())) result.push_back(items[old]);
  return result;
}

std::string rearrange_tags(std::string_view caption, const CaptionOptions& options, const CaptionMoment& moment,
                           CaptionDraws& draws) {
  Tags tags = split_tags(caption, options);
  warm_up(tags.flexible, options, moment);
  if (options.shuffle_caption) tags.flexible = shuffled(tags.flexible, draws);
  if (options.caption_tag_dropout_rate > 0) {
    Items kept;
    for (const std::string_view tag : tags.flexible) {
      if (draws.random() >= options.caption_tag_dropout_rate) kept.push_back(tag);
    }
    tags.flexible = std::move(kept);
  }

  std::vector<std::string> all;
  for (const Items* items : {&tags.fixed, &tags.flexible, &tags.fixed_suffix}) {
    all.insert(all.end(), items->begin(), items->end());
  }
  return join(all, ", ");
}

}  // namespace

std::vector<std::size_t> PythonCaptionDraws::shuffle(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random_.shuffle(order);
  return order;
}

std::string process_caption(std::string_view caption, const CaptionOptions& options, const CaptionMoment& moment,
                            CaptionDraws& draws) {
  std::string result(caption);
  if (!options.caption_prefix.empty()) result = options.caption_prefix + " " + result;
  if (!options.caption_suffix.empty()) result += " " + options.caption_suffix;

  if (is_dropped(options, moment, draws)) return {};

  result = options.enable_wildcard ? resolve_wildcards(result, draws) : result.substr(0, result.find('\n'));
  if (options.shuffle_caption || options.token_warmup_step > 0 || options.caption_tag_dropout_rate > 0) {
    result = rearrange_tags(result, options, moment, draws);
  }
  return replace_all(result, options.secondary_separator, options.caption_separator);
}

}  // namespace lathe::text

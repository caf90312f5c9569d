#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/format.h"

namespace lathe {

// A text that core shows to a person: an id, the English pattern ({} fields, in order), and arguments. Headless prints
// english(); the window looks `pattern` up in its translations and fills the same arguments in. The patterns stand as
// constants beside their use and are found by lupdate through the name LATHE_TEXT:
//   constexpr TextId kTooFew = LATHE_TEXT("dataset.too_few", "only {} images; need {}");
//   findings.error({"train_data_dir"}, message(kTooFew, 3, 10));
struct TextId {
  std::string_view id;
  std::string_view pattern;
};

struct Message {
  std::string id;
  std::string pattern;
  std::vector<std::string> arguments;  // already as text, in the order of the fields

  std::string english() const;
  bool operator==(const Message&) const = default;
};

std::string argument_text(const FormatArgument& argument);

template <class... Arguments>
Message message(TextId text, Arguments&&... arguments) {
  return {std::string(text.id),
          std::string(text.pattern),
          {argument_text(FormatArgument(std::forward<Arguments>(arguments)))...}};
}

}  // namespace lathe

// lupdate is told that LATHE_TEXT marks a text: the id is its context.
#define LATHE_TEXT(id, pattern) \
  ::lathe::TextId {             \
    id, pattern                 \
  }

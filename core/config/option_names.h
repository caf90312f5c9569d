#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/schema.h"

namespace lathe::config {

struct NameMatch {
  const Option* option = nullptr;       // nullptr: none, or several
  std::vector<std::string> candidates;  // several that begin with the name
};

// The option that a written name means: exact, another name of it (train_dir is output_dir), '-' for '_'.
const Option* option_by_written_name(std::string_view written);
// As above, and unambiguous beginnings of names. A beginning that fits options of the reference never means one of
// ours, so that a command line written for the reference keeps its meaning.
NameMatch match_option(std::string_view written);

}  // namespace lathe::config

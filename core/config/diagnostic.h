#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/message.h"

namespace lathe::config {

enum class Severity { error, warning, note };

// Setting changes that resolve a finding: {"compile_fullgraph", "false"}; an empty value means back to the default.
struct Fix {
  Message label;  // "turn compile_fullgraph off"
  std::vector<std::pair<std::string, std::string>> set;
};

// Something about the settings or the data that a person should know before the run starts.
struct Finding {
  Severity severity = Severity::error;
  std::vector<std::string> fields;  // option names that the finding marks; empty: none in particular
  Message message;
  std::vector<Fix> fixes;
  std::filesystem::path file;  // where it stands, if in a file
  int line = 0, column = 0;    // from 1; 0: unknown

  std::string english() const;  // "dataset.toml:12: unknown key 'resolutoin'; did you mean 'resolution'?"
};

// Every reader and check adds to one list, so that all problems are seen at once.
class Findings {
 public:
  Finding& error(std::vector<std::string> fields, Message message);
  Finding& warning(std::vector<std::string> fields, Message message);
  Finding& note(std::vector<std::string> fields, Message message);
  Finding& add(Finding finding);

  bool has_errors() const;
  std::size_t count(Severity severity) const;
  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

// The name of `known` that is nearest to `name` (edit distance, at most a third of its length), or empty.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace lathe::config

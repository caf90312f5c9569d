#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/config/dataset_config.h"

// The one table of the keys of a dataset file, for its reader and for the help.
namespace lathe::config {

enum class KeyType {
  boolean,  // true or false only
  integer,  // true counts as 1, as in the reference
  real,     // with a point only
  number,   // with or without a point
  text,
  path,   // text
  size,   // 1024 or [width, height]
  range,  // [1.0, 3.0]
  table,
};

enum class KeyLevel { general, dataset, subset };

struct DatasetKey {
  std::string_view name;
  KeyType type = KeyType::text;
  bool in_general = false, in_dataset = false, in_subset = false;
  bool of_folder = true, of_metadata = true, of_masked = true;  // kinds of datasets and subsets that have it
  std::string_view option;  // gives the value where the file has none; empty: nothing does
  TextId help;
  std::vector<std::string_view> choices;

  bool stands_at(KeyLevel level) const;
  bool belongs_to(DatasetKind kind) const;
};

const std::vector<DatasetKey>& dataset_keys();
const DatasetKey* find_dataset_key(std::string_view name);
// Names that may stand at `level`; below general only those of `kind`.
std::vector<std::string> dataset_key_names(KeyLevel level, DatasetKind kind);
std::string_view name(KeyType type);
// "[general]", "[[datasets]]", "[[datasets.subsets]]"
std::string_view name(KeyLevel level);

}  // namespace lathe::config

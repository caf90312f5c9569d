#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/dataset_config.h"
#include "core/config/dataset_keys.h"
#include "core/config/document.h"

// The steps of read_data_config(), each in a file of its own: what stands in the file or in the folders as one tree,
// the tree checked against the table of keys, the checked tree resolved into datasets.
namespace lathe::config {

// The file `dataset_config` names, or nullopt and findings.
std::optional<Node> read_dataset_file(const std::filesystem::path& file, Findings& findings);

// The tree that the folders of train_data_dir and reg_data_dir, or in_json, stand for. nullopt: none is given.
std::optional<Node> dataset_from_folders(const Settings& settings, Findings& findings);

// Reports every unknown key, wrong type, missing key, and mix of kinds, and takes out what cannot be used.
void check_dataset_tree(Node& root, const std::filesystem::path& file, bool masked_loss, Findings& findings);

// Kind of a dataset by its subsets; nullopt: they differ.
std::optional<DatasetKind> kind_of(const Node& dataset, bool masked_loss);
// The tables of a list `key` in `table`; none where it is absent.
std::vector<const Node*> tables_of(const Node& table, std::string_view key);

// A checked scalar of the file as a setting's value would be; monostate for lists and tables.
Value value_of(const Node& node, KeyType type);

// Where the values of one dataset or subset come from: tables from the innermost outwards, then the settings.
class Scope {
 public:
  Scope(std::vector<const Node*> tables, const Settings& settings, const std::filesystem::path& file)
      : tables_(std::move(tables)), settings_(settings), file_(file) {}

  // The value of a key as a setting's value would be; monostate: nothing gives it, or it is a size, range or table.
  Value value(std::string_view key) const;
  // Whether an option is set.
  bool is_set(std::string_view option) const { return settings_.is_set(option); }
  // The key in the file, or nullptr.
  const Member* member(std::string_view key) const;

  void read(std::string_view key, bool& to) const;
  void read(std::string_view key, std::int64_t& to) const;
  void read(std::string_view key, double& to) const;
  void read(std::string_view key, std::string& to) const;
  void read(std::string_view key, std::optional<std::int64_t>& to) const;
  void read(std::string_view key, std::optional<std::string>& to) const;

  // A finding at the key, or at the innermost table where the file does not hold it.
  Finding finding(Severity severity, std::string_view key, Message text) const;

 private:
  std::vector<const Node*> tables_;
  const Settings& settings_;
  const std::filesystem::path& file_;
};

// Checks of a whole dataset: sizes against buckets, values against their ranges. Rounds the bucket limits as the
// reference does.
void check_dataset(DatasetConfig& dataset, const Scope& scope, Findings& findings);
// Ranges and choices of the values that stand in one table of the file.
void check_values(const Node& table, const std::filesystem::path& file, Findings& findings);

}  // namespace lathe::config

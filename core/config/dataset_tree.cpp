// The tree of a dataset file against the table of keys.
#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/paths.h"
#include "core/config/dataset_keys.h"
#include "core/config/dataset_reader.h"
#include "core/config/fixes.h"
#include "core/config/path_hint.h"
#include "core/config/python_literal.h"
#include "core/config/schema.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

namespace fs = std::filesystem;

constexpr TextId kUnknown = LATHE_TEXT("data.unknown", "unknown key '{}'");
constexpr TextId kUnknownNear = LATHE_TEXT("data.unknown_near", "unknown key '{}'; did you mean '{}'?");
constexpr TextId kElsewhere = LATHE_TEXT("data.elsewhere", "'{}' cannot stand in {}; it may stand in {}");
constexpr TextId kOtherKind = LATHE_TEXT("data.other_kind", "'{}' has no meaning here: these images are given by {}");
constexpr TextId kIsOption = LATHE_TEXT(
    "data.is_option", "'{}' is an option of the run: it belongs into the settings file or on the command line");
constexpr TextId kType = LATHE_TEXT("data.type", "{} must be {}, not {}");
constexpr TextId kNeedsPoint = LATHE_TEXT("data.needs_point", "{} must have a decimal point: write {}");
constexpr TextId kTableOfTables = LATHE_TEXT("data.list_of_tables", "{} must be a list of tables: write [[{}]]");
constexpr TextId kMissing = LATHE_TEXT("data.missing", "this subset has no {}");
constexpr TextId kMixed = LATHE_TEXT(
    "data.mixed", "the subsets of one dataset must be of one kind: either all have metadata_file or none has");
constexpr TextId kNoSubsets = LATHE_TEXT("data.no_subsets", "this dataset has no [[datasets.subsets]]");
constexpr TextId kNeedsMaskedLoss =
    LATHE_TEXT("data.needs_masked_loss", "conditioning_data_dir (mask images) needs masked_loss");
constexpr TextId kControl = LATHE_TEXT(
    "data.control", "{} holds a {}: \"{}\"; a backslash begins an escape inside \"…\": write '…', \"\\\\\" or '/'");
constexpr TextId kExtension = LATHE_TEXT("data.extension", "dataset_config must end in .toml or .json: {}");

std::string_view kind_name(DatasetKind kind) {
  switch (kind) {
    case DatasetKind::folder:
      return "image_dir";
    case DatasetKind::metadata:
      return "metadata_file";
    case DatasetKind::masked:
      return "conditioning_data_dir";
  }
  return "";
}

bool are_numbers(const Node& list, Node::Kind kind) {
  return list.kind == Node::Kind::list && list.items.size() == 2 &&
         std::ranges::all_of(list.items, [kind](const Node& item) { return item.kind == kind; });
}

bool fits(KeyType type, const Node& node) {
  using Kind = Node::Kind;
  switch (type) {
    case KeyType::boolean:
      return node.kind == Kind::boolean;
    case KeyType::integer:
      return node.kind == Kind::integer || node.kind == Kind::boolean;
    case KeyType::real:
      return node.kind == Kind::real;
    case KeyType::number:
      return node.kind == Kind::integer || node.kind == Kind::real || node.kind == Kind::boolean;
    case KeyType::text:
    case KeyType::path:
      return node.kind == Kind::text;
    case KeyType::size:
      return node.kind == Kind::integer || are_numbers(node, Kind::integer);
    case KeyType::range:
      return are_numbers(node, Kind::real);
    case KeyType::table:
      return node.kind == Kind::table;
  }
  return false;
}

// Drops what `good` refuses; unlike erase_if, it may change what it looks at.
template <class Item, class Good>
void keep(std::vector<Item>& items, Good good) {
  std::vector<Item> kept;
  for (Item& item : items) {
    if (good(item)) kept.push_back(std::move(item));
  }
  items = std::move(kept);
}

class TreeCheck {
 public:
  TreeCheck(const fs::path& file, bool masked_loss, Findings& findings)
      : file_(file), masked_loss_(masked_loss), findings_(findings) {}

  void check(Node& root) {
    keep(root.members, [this](Member& member) { return check_top(member); });
    for (Member& member : root.members) {
      if (member.key == "datasets") keep(member.value.items, [this](Node& item) { return check_dataset_table(item); });
    }
  }

 private:
  void error(int line, int column, std::vector<std::string> fields, Message text, std::vector<Fix> fixes = {}) {
    findings_.add({Severity::error, std::move(fields), std::move(text), std::move(fixes), file_, line, column});
  }
  void error(const Member& member, Message text) { error(member.line, member.column, {member.key}, std::move(text)); }

  // false: the member is of no use.
  bool check_top(Member& member) {
    if (member.key == "general") {
      if (member.value.kind != Node::Kind::table) {
        error(member, message(kType, "general", name(KeyType::table), member.value.kind_name()));
        return false;
      }
      keep(member.value.members,
           [this](Member& inner) { return check_key(inner, KeyLevel::general, DatasetKind::folder); });
      return true;
    }
    if (member.key == "datasets") return check_list(member, "datasets");
    const DatasetKey* known = find_dataset_key(member.key);
    if (known != nullptr) {
      error(member, message(kElsewhere, member.key, "the top level", places_of(*known)));
    } else {
      report_unknown(member, {"general", "datasets"});
    }
    return false;
  }

  bool check_list(const Member& member, std::string_view shown) {
    const bool tables =
        member.value.kind == Node::Kind::list &&
        std::ranges::all_of(member.value.items, [](const Node& item) { return item.kind == Node::Kind::table; });
    if (!tables) error(member, message(kTableOfTables, member.key, shown));
    return tables;
  }

  bool check_dataset_table(Node& dataset) {
    if (const Member* list = dataset.find("subsets"); list != nullptr && !check_list(*list, "datasets.subsets")) {
      return false;
    }
    const std::optional<DatasetKind> kind = kind_of(dataset, masked_loss_);
    if (!kind) error(dataset.line, dataset.column, {"metadata_file"}, message(kMixed));
    keep(dataset.members, [&](Member& member) {
      return member.key == "subsets" || check_key(member, KeyLevel::dataset, kind.value_or(DatasetKind::folder));
    });
    Member* subsets = nullptr;
    for (Member& member : dataset.members) {
      if (member.key == "subsets") subsets = &member;
    }
    if (subsets == nullptr || subsets->value.items.empty()) {
      error(dataset.line, dataset.column, {"dataset_config"}, message(kNoSubsets));
      return false;
    }
    keep(subsets->value.items, [&](Node& subset) { return check_subset(subset, kind); });
    return kind.has_value();
  }

  bool check_subset(Node& subset, std::optional<DatasetKind> kind) {
    // Of a mixed dataset each subset is checked as what it is itself.
    const DatasetKind own =
        kind.value_or(subset.find("metadata_file") != nullptr ? DatasetKind::metadata : DatasetKind::folder);
    const bool has_place = subset.find(own == DatasetKind::metadata ? "metadata_file" : "image_dir") != nullptr;
    if (!has_place) error(subset.line, subset.column, {"image_dir"}, message(kMissing, "image_dir"));
    bool usable = has_place;
    keep(subset.members, [&](Member& member) {
      const bool good = check_key(member, KeyLevel::subset, own);
      const bool required = member.key == "image_dir" || member.key == "metadata_file";
      if (!good && required) usable = false;
      return good;
    });
    return usable;
  }

  bool check_key(Member& member, KeyLevel level, DatasetKind kind) {
    const DatasetKey* key = find_dataset_key(member.key);
    if (key == nullptr) {
      std::vector<std::string> known = dataset_key_names(level, kind);
      if (level == KeyLevel::dataset) known.emplace_back("subsets");
      report_unknown(member, known);
      return false;
    }
    if (!key->stands_at(level)) {
      error(member, message(kElsewhere, member.key, name(level), places_of(*key)));
      return false;
    }
    if (member.key == "conditioning_data_dir" && !masked_loss_) {
      error(member.line, member.column, {"masked_loss"}, message(kNeedsMaskedLoss), {turn_on("masked_loss")});
      return false;
    }
    if (level != KeyLevel::general && !key->belongs_to(kind)) {
      error(member, message(kOtherKind, member.key, kind_name(kind)));
      return false;
    }
    return check_type(member, *key) && check_path(member, *key);
  }

  bool check_type(Member& member, const DatasetKey& key) {
    const Node& node = member.value;
    if (fits(key.type, node)) return true;
    if (key.type == KeyType::real && node.kind == Node::Kind::integer) {
      error(member, message(kNeedsPoint, member.key, std::to_string(node.integer) + ".0"));
    } else if (key.type == KeyType::range && are_numbers(node, Node::Kind::integer)) {
      error(member,
            message(kNeedsPoint, member.key, format("[{}.0, {}.0]", node.items[0].integer, node.items[1].integer)));
    } else {
      error(member, message(kType, member.key, name(key.type), node.kind_name()));
    }
    if (key.type != KeyType::size) return false;
    member.value.kind = Node::Kind::null;  // kept, so that it does not count as missing
    return true;
  }

  // A path with a control character that does not exist: "data\train" has become data, TAB, rain.
  bool check_path(const Member& member, const DatasetKey& key) {
    if (key.type != KeyType::path) return true;
    const std::string control = control_character(member.value.text);
    std::error_code ignored;
    if (control.empty() || fs::exists(from_utf8(member.value.text), ignored)) return true;
    error(member, message(kControl, member.key, control, one_line(member.value.text)));
    return false;
  }

  void report_unknown(const Member& member, const std::vector<std::string>& known) {
    const std::string shown = one_line(member.key);
    const std::string nearest = nearest_name(member.key, known);
    if (find_option(member.key) != nullptr) {
      error(member, message(kIsOption, shown));
    } else if (nearest.empty()) {
      error(member, message(kUnknown, shown));
    } else {
      error(member, message(kUnknownNear, shown, nearest));
    }
  }

  static std::string places_of(const DatasetKey& key) {
    std::vector<std::string> places;
    for (const KeyLevel level : {KeyLevel::general, KeyLevel::dataset, KeyLevel::subset}) {
      if (key.stands_at(level)) places.emplace_back(name(level));
    }
    return join(places, ", ");
  }

  const fs::path& file_;
  bool masked_loss_;
  Findings& findings_;
};

}  // namespace

std::optional<Node> read_dataset_file(const fs::path& file, Findings& findings) {
  std::string name = to_utf8(file.filename());
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  const bool json = name.ends_with(".json");
  if (!json && !name.ends_with(".toml")) {
    findings.error({"dataset_config"}, message(kExtension, file));
    return std::nullopt;
  }
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) {
    findings.error({"dataset_config"}, missing_path("dataset_config", file));
    return std::nullopt;
  }
  std::optional<Node> root = json ? read_json(file, findings) : read_toml(file, findings);
  if (root && root->kind != Node::Kind::table) {
    findings.add({.severity = Severity::error,
                  .fields = {"dataset_config"},
                  .message = message(kType, "the file", "an object", root->kind_name()),
                  .file = file,
                  .line = root->line});
    return std::nullopt;
  }
  return root;
}

void check_dataset_tree(Node& root, const fs::path& file, bool masked_loss, Findings& findings) {
  TreeCheck(file, masked_loss, findings).check(root);
}

std::vector<const Node*> tables_of(const Node& table, std::string_view key) {
  std::vector<const Node*> tables;
  const Member* member = table.find(key);
  if (member == nullptr) return tables;
  for (const Node& item : member->value.items) tables.push_back(&item);
  return tables;
}

std::optional<DatasetKind> kind_of(const Node& dataset, bool masked_loss) {
  const std::vector<const Node*> subsets = tables_of(dataset, "subsets");
  const auto holds = [](std::string_view key) {
    return [key](const Node* subset) { return subset->find(key) != nullptr; };
  };
  if (masked_loss && !subsets.empty() && std::ranges::all_of(subsets, holds("conditioning_data_dir"))) {
    return DatasetKind::masked;
  }
  if (!subsets.empty() && std::ranges::all_of(subsets, holds("metadata_file"))) return DatasetKind::metadata;
  if (std::ranges::none_of(subsets, holds("metadata_file"))) return DatasetKind::folder;
  return std::nullopt;
}

}  // namespace lathe::config

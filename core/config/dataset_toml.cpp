// Datasets from the checked tree of a file or of folders.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/paths.h"
#include "core/config/dataset_reader.h"
#include "core/config/python_literal.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace {

constexpr TextId kFileWins = LATHE_TEXT("data.file_wins", "{} is ignored because dataset_config is given");
constexpr TextId kNothing = LATHE_TEXT(
    "data.nothing", "no dataset is given: set dataset_config, or train_data_dir with subfolders named N_name");
constexpr TextId kEmptyFile = LATHE_TEXT("data.empty_file", "the file holds no [[datasets]]");
constexpr TextId kNoRepeats =
    LATHE_TEXT("data.no_repeats", "the subset {} is left out: num_repeats is {}, it must be at least 1");
constexpr TextId kDuplicate =
    LATHE_TEXT("data.duplicate", "the subset {} stands twice in this dataset; the later one is left out");
constexpr TextId kBadSize =
    LATHE_TEXT("data.bad_size", "resolution must be \"1024\" or \"width,height\" in pixels, not '{}'");
constexpr TextId kBadRange = LATHE_TEXT(
    "data.bad_range", "face_crop_aug_range must be two numbers \"low,high\" with low at most high, not '{}'");
constexpr TextId kEmptyPath = LATHE_TEXT("data.empty_path", "{} is empty");

constexpr std::int64_t kLargestSide = 1 << 20;  // far above what any network takes; keeps int from overflowing

std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// "1024" or "1024,768", as the command line gives it.
std::optional<std::pair<int, int>> size_from(const std::string& text) {
  std::vector<int> sides;
  for (const std::string& part : at_commas(text)) {
    const std::optional<std::int64_t> side = parse_python_int(part);
    if (!side || *side < 1 || *side > kLargestSide) return std::nullopt;
    sides.push_back(static_cast<int>(*side));
  }
  if (sides.size() == 1) return std::pair(sides[0], sides[0]);
  if (sides.size() == 2) return std::pair(sides[0], sides[1]);
  return std::nullopt;
}

std::string size_text(const Node& node) {
  if (node.kind != Node::Kind::list) return std::to_string(node.integer);  // null too: its text is not looked at
  return std::to_string(node.items[0].integer) + "," + std::to_string(node.items[1].integer);
}

class Resolver {
 public:
  Resolver(const Node& root, const Settings& settings, const std::filesystem::path& file, Findings& findings)
      : settings_(settings), file_(file), findings_(findings) {
    if (const Member* found = root.find("general")) general_ = &found->value;
  }

  void check_general() {
    if (general_ != nullptr) check_values(*general_, file_, findings_);
  }

  DatasetConfig resolve(const Node& table, DatasetKind kind) {
    DatasetConfig dataset;
    dataset.kind = kind;
    check_values(table, file_, findings_);
    const Scope scope = scope_of({&table});
    read_size(scope, dataset);
    scope.read("batch_size", dataset.batch_size);
    scope.read("enable_bucket", dataset.enable_bucket);
    scope.read("min_bucket_reso", dataset.min_bucket_reso);
    scope.read("max_bucket_reso", dataset.max_bucket_reso);
    scope.read("bucket_reso_steps", dataset.bucket_reso_steps);
    scope.read("bucket_no_upscale", dataset.bucket_no_upscale);
    scope.read("network_multiplier", dataset.network_multiplier);
    scope.read("validation_seed", dataset.validation_seed);
    scope.read("validation_split", dataset.validation_split);
    scope.read("resize_interpolation", dataset.resize_interpolation);
    std::set<std::string> places;
    for (const Node* subset : tables_of(table, "subsets")) add_subset(*subset, table, dataset, places);
    check_dataset(dataset, scope, findings_);
    return dataset;
  }

 private:
  Scope scope_of(std::vector<const Node*> tables) const {
    if (general_ != nullptr) tables.push_back(general_);
    return Scope(std::move(tables), settings_, file_);
  }

  void read_size(const Scope& scope, DatasetConfig& dataset) {
    const Member* member = scope.member("resolution");
    const std::string text = member != nullptr ? size_text(member->value) : settings_.text("resolution");
    if (member == nullptr ? !settings_.is_set("resolution") : member->value.kind == Node::Kind::null) return;
    if (const auto size = size_from(text)) {
      std::tie(dataset.width, dataset.height) = *size;
    } else if (member != nullptr) {
      findings_.add(scope.finding(Severity::error, "resolution", message(kBadSize, one_line(text))));
    } else if (!std::exchange(size_said_, true)) {
      findings_.error({"resolution"}, message(kBadSize, one_line(text)));
    }
  }

  void read_range(const Scope& scope, SubsetConfig& subset) {
    if (const Member* member = scope.member("face_crop_aug_range")) {
      subset.face_crop_aug_range = {member->value.items[0].real, member->value.items[1].real};
      return;
    }
    const std::string text = settings_.text("face_crop_aug_range");
    if (text.empty()) return;
    const std::vector<std::string> parts = at_commas(text);
    const auto low = parse_python_float(parts.front()), high = parse_python_float(parts.back());
    if (parts.size() == 2 && low && high && *low <= *high) {
      subset.face_crop_aug_range = {*low, *high};
    } else if (!std::exchange(range_said_, true)) {
      findings_.error({"face_crop_aug_range"}, message(kBadRange, one_line(text)));
    }
  }

  void add_subset(const Node& table, const Node& dataset_table, DatasetConfig& dataset, std::set<std::string>& places) {
    check_values(table, file_, findings_);
    const Scope scope = scope_of({&table, &dataset_table});
    SubsetConfig subset = read_subset(scope);
    const std::string_view key = dataset.kind == DatasetKind::metadata ? "metadata_file" : "image_dir";
    const std::string& place = dataset.kind == DatasetKind::metadata ? subset.metadata_file : subset.image_dir;
    if (place.empty()) {
      findings_.add(scope.finding(Severity::error, key, message(kEmptyPath, key)));
    } else if (subset.num_repeats < 1) {
      findings_.add(scope.finding(Severity::warning, "num_repeats", message(kNoRepeats, place, subset.num_repeats)));
    } else if (!places.insert(place).second) {
      findings_.add(scope.finding(Severity::warning, key, message(kDuplicate, place)));
    } else {
      dataset.subsets.push_back(std::move(subset));
    }
  }

  SubsetConfig read_subset(const Scope& scope) {
    SubsetConfig subset;
    scope.read("image_dir", subset.image_dir);
    scope.read("metadata_file", subset.metadata_file);
    scope.read("conditioning_data_dir", subset.conditioning_data_dir);
    scope.read("num_repeats", subset.num_repeats);
    scope.read("shuffle_caption", subset.shuffle_caption);
    scope.read("caption_separator", subset.caption_separator);
    scope.read("keep_tokens", subset.keep_tokens);
    scope.read("keep_tokens_separator", subset.keep_tokens_separator);
    scope.read("secondary_separator", subset.secondary_separator);
    scope.read("enable_wildcard", subset.enable_wildcard);
    scope.read("caption_prefix", subset.caption_prefix);
    scope.read("caption_suffix", subset.caption_suffix);
    scope.read("token_warmup_min", subset.token_warmup_min);
    scope.read("token_warmup_step", subset.token_warmup_step);
    scope.read("caption_dropout_rate", subset.caption_dropout_rate);
    scope.read("caption_dropout_every_n_epochs", subset.caption_dropout_every_n_epochs);
    scope.read("caption_tag_dropout_rate", subset.caption_tag_dropout_rate);
    scope.read("color_aug", subset.color_aug);
    scope.read("flip_aug", subset.flip_aug);
    scope.read("random_crop", subset.random_crop);
    scope.read("resize_interpolation", subset.resize_interpolation);
    scope.read("caption_extension", subset.caption_extension);
    scope.read("class_tokens", subset.class_tokens);
    scope.read("cache_info", subset.cache_info);
    scope.read("is_reg", subset.is_reg);
    scope.read("alpha_mask", subset.alpha_mask);
    read_range(scope, subset);
    // The old spelling replaces the option, and stands below the file like it.
    if (scope.member("caption_extension") == nullptr && settings_.is_set("caption_extention")) {
      subset.caption_extension = settings_.text("caption_extention");
    }
    if (!subset.caption_extension.empty() && !subset.caption_extension.starts_with('.')) {
      subset.caption_extension.insert(0, ".");
    }
    return subset;
  }

  const Node* general_ = nullptr;
  const Settings& settings_;
  const std::filesystem::path& file_;
  Findings& findings_;
  bool size_said_ = false, range_said_ = false;  // of the option, which all datasets share
};

DataConfig resolve_tree(const Node& root, const Settings& settings, const std::filesystem::path& file,
                        Findings& findings) {
  DataConfig config;
  Resolver resolver(root, settings, file, findings);
  resolver.check_general();
  for (const Node* dataset : tables_of(root, "datasets")) {
    const std::optional<DatasetKind> kind = kind_of(*dataset, settings.flag("masked_loss"));
    if (kind) config.datasets.push_back(resolver.resolve(*dataset, *kind));
  }
  return config;
}

}  // namespace

DataConfig read_data_config(const Settings& settings, Findings& findings) {
  if (!settings.is_set("dataset_config")) {
    const std::optional<Node> root = dataset_from_folders(settings, findings);
    if (!root) findings.error({"dataset_config", "train_data_dir"}, message(kNothing));
    return root ? resolve_tree(*root, settings, {}, findings) : DataConfig();
  }
  for (const std::string_view other : {"train_data_dir", "reg_data_dir", "in_json"}) {
    if (settings.is_set(other)) findings.warning({std::string(other)}, message(kFileWins, other));
  }
  const std::filesystem::path file = from_utf8(settings.text("dataset_config"));
  std::optional<Node> root = read_dataset_file(file, findings);
  DataConfig config;
  if (root) {
    const bool empty = tables_of(*root, "datasets").empty();
    const std::size_t errors = findings.count(Severity::error);
    check_dataset_tree(*root, file, settings.flag("masked_loss"), findings);
    if (empty && findings.count(Severity::error) == errors) {
      findings.add(
          {.severity = Severity::error, .fields = {"dataset_config"}, .message = message(kEmptyFile), .file = file});
    }
    config = resolve_tree(*root, settings, file, findings);
  }
  config.from_file = true;
  return config;
}

}  // namespace lathe::config

// The datasets that train_data_dir, reg_data_dir and in_json stand for.
#include <algorithm>
#include <cctype>
#include <system_error>

#include "core/base/paths.h"
#include "core/config/dataset_reader.h"
#include "core/config/path_hint.h"
#include "core/config/python_literal.h"
#include "core/config/utf8.h"

namespace lathe::config {

namespace fs = std::filesystem;

namespace {

constexpr TextId kControl = LATHE_TEXT(
    "folders.control", "{}: there is no folder \"{}\"; it holds a {}, perhaps from a backslash inside \"…\"");
constexpr TextId kIsLeaf =
    LATHE_TEXT("folders.is_leaf",
               "{}: {} images lie directly in {}; only images in its subfolders named N_name are used, N being "
               "how often an epoch shows each");
constexpr TextId kSomeDirect =
    LATHE_TEXT("folders.some_direct",
               "{}: {} images lie directly in {} and are not used; only those in subfolders named N_name are");
constexpr TextId kNoNumber =
    LATHE_TEXT("folders.no_number",
               "{}: the subfolder {} ({} images) is not used, as in the reference: its name has no number of "
               "repeats in front, like 1_{}");
constexpr TextId kZero = LATHE_TEXT("folders.zero", "{}: the subfolder {} is not used: its number of repeats is {}");
constexpr TextId kDeeper = LATHE_TEXT("folders.deeper", "{}: no images in {}; {} in its subfolder {}");
constexpr TextId kNone = LATHE_TEXT("folders.none", "{}: {} holds neither images nor subfolders named N_name");
constexpr TextId kOnce = LATHE_TEXT("folders.once", "{}: the images in {} are shown once an epoch");
constexpr TextId kUseParent = LATHE_TEXT("fix.use_parent", "take the folder above, {}");
constexpr TextId kUseOnce = LATHE_TEXT("fix.use_once", "show them once an epoch");
constexpr TextId kRegIgnored = LATHE_TEXT("folders.reg_ignored", "reg_data_dir is not used together with in_json");

bool is_image(const fs::path& name) {
  std::string extension = to_utf8(name.extension());
  std::ranges::transform(extension, extension.begin(),
                         [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  constexpr std::string_view kKnown[] = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".jfif"};
  return std::ranges::find(kKnown, extension) != std::end(kKnown) && !to_utf8(name).starts_with('.');
}

struct Contents {
  std::size_t images = 0;
  std::vector<std::string> folders;  // names, sorted: the reference takes them as the system lists them
};

Contents list(const fs::path& folder) {
  Contents found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    const fs::path name = entry->path().filename();
    if (entry->is_directory(ignored)) {
      if (first_invalid_utf8(to_utf8(name)) == std::nullopt) found.folders.push_back(to_utf8(name));
    } else if (is_image(name)) {
      ++found.images;
    }
  }
  std::ranges::sort(found.folders);
  return found;
}

// N and name of "N_name"; nullopt: no number in front.
std::optional<std::pair<std::int64_t, std::string>> repeats_of(const std::string& folder) {
  const std::size_t at = folder.find('_');
  const std::optional<std::int64_t> repeats = parse_python_int(std::string_view(folder).substr(0, at));
  if (!repeats) return std::nullopt;
  return std::pair(*repeats, at == std::string::npos ? "" : folder.substr(at + 1));
}

Member text_member(std::string key, std::string text) {
  return {std::move(key), Node{.kind = Node::Kind::text, .text = std::move(text)}, 0, 0};
}

class FolderReader {
 public:
  FolderReader(const Settings& settings, Findings& findings) : settings_(settings), findings_(findings) {}

  std::vector<Node> subsets;

  void read(const std::string& option, bool is_reg) {
    if (settings_.text(option).empty()) return;
    option_ = option;
    is_reg_ = is_reg;
    const fs::path folder = from_utf8(settings_.text(option));
    const std::string shown = to_utf8(folder);
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
      report_missing(folder, shown);
      return;
    }
    const Contents contents = list(folder);
    const std::size_t before = subsets.size();
    for (const std::string& name : contents.folders) read_subfolder(folder, name);
    if (contents.images > 0) read_direct_images(folder, shown, contents.images, subsets.size() > before);
    if (subsets.size() == before && contents.images == 0 && !found_images_) report_nothing(folder, shown, contents);
  }

 private:
  bool once() const { return settings_.text("unnumbered_folders") == "once"; }

  void add(const fs::path& folder, std::int64_t repeats, const std::string& class_tokens) {
    Node subset{.kind = Node::Kind::table};
    subset.members.push_back(text_member("image_dir", to_utf8(folder)));
    subset.members.push_back({"num_repeats", Node{.kind = Node::Kind::integer, .integer = repeats}, 0, 0});
    subset.members.push_back({"is_reg", Node{.kind = Node::Kind::boolean, .boolean = is_reg_}, 0, 0});
    subset.members.push_back(text_member("class_tokens", class_tokens));
    subsets.push_back(std::move(subset));
  }

  void read_subfolder(const fs::path& parent, const std::string& name) {
    const fs::path folder = parent / from_utf8(name);
    const auto numbered = repeats_of(name);
    if (numbered && numbered->first >= 1) {
      add(folder, numbered->first, numbered->second);
      return;
    }
    const std::size_t images = list(folder).images;
    if (numbered) {
      findings_.warning({option_}, message(kZero, option_, name, numbered->first));
    } else if (images > 0 && once()) {
      add(folder, 1, name);
      findings_.note({option_}, message(kOnce, option_, folder));
    } else if (images > 0) {
      found_images_ = true;
      Finding& finding = findings_.warning({option_}, message(kNoNumber, option_, name, images, name));
      finding.fixes.push_back({message(kUseOnce), {{"unnumbered_folders", "once"}}});
    }
  }

  void read_direct_images(const fs::path& folder, const std::string& shown, std::size_t images, bool has_subsets) {
    if (once()) {
      add(folder, 1, "");
      findings_.note({option_}, message(kOnce, option_, folder));
      return;
    }
    found_images_ = true;
    if (has_subsets) {
      findings_.warning({option_}, message(kSomeDirect, option_, images, shown));
      return;
    }
    Finding& finding = findings_.warning({option_}, message(kIsLeaf, option_, images, shown));
    const fs::path parent = (folder.has_filename() ? folder : folder.parent_path()).parent_path();
    const fs::path leaf = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
    const auto numbered = repeats_of(to_utf8(leaf));
    if (numbered && numbered->first >= 1 && !parent.empty()) {
      finding.fixes.push_back({message(kUseParent, parent), {{option_, to_utf8(parent)}}});
    }
    finding.fixes.push_back({message(kUseOnce), {{"unnumbered_folders", "once"}}});
  }

  void report_missing(const fs::path& folder, const std::string& shown) {
    const std::string control = control_character(shown);
    Message text =
        control.empty() ? missing_path(option_, folder, true) : message(kControl, option_, one_line(shown), control);
    findings_.error({option_}, std::move(text));
  }

  // Neither images nor numbered subfolders: perhaps they lie one level further down.
  void report_nothing(const fs::path& folder, const std::string& shown, const Contents& contents) {
    for (const std::string& name : contents.folders) {
      const fs::path below = folder / from_utf8(name);
      std::size_t images = 0;
      for (const std::string& inner : list(below).folders) images += list(below / from_utf8(inner)).images;
      if (images == 0) continue;
      findings_.warning({option_}, message(kDeeper, option_, shown, images, name));
      return;
    }
    findings_.warning({option_}, message(kNone, option_, shown));
  }

  const Settings& settings_;
  Findings& findings_;
  std::string option_;
  bool is_reg_ = false;
  bool found_images_ = false;  // images were found where they are not used, and that was said
};

Node dataset_of(std::vector<Node> subsets) {
  Node list{.kind = Node::Kind::list};
  list.items = std::move(subsets);
  Node dataset{.kind = Node::Kind::table};
  dataset.members.push_back({"subsets", std::move(list), 0, 0});
  Node datasets{.kind = Node::Kind::list};
  datasets.items.push_back(std::move(dataset));
  Node root{.kind = Node::Kind::table};
  root.members.push_back({"datasets", std::move(datasets), 0, 0});
  return root;
}

}  // namespace

std::optional<Node> dataset_from_folders(const Settings& settings, Findings& findings) {
  if (settings.is_set("in_json")) {
    const fs::path file = from_utf8(settings.text("in_json"));
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) {
      findings.error({"in_json"}, missing_path("in_json", file));
    }
    if (settings.is_set("reg_data_dir")) findings.warning({"reg_data_dir"}, message(kRegIgnored));
    Node subset{.kind = Node::Kind::table};
    if (settings.is_set("train_data_dir")) {
      subset.members.push_back(text_member("image_dir", settings.text("train_data_dir")));
    }
    subset.members.push_back(text_member("metadata_file", settings.text("in_json")));
    return dataset_of({std::move(subset)});
  }
  if (settings.text("train_data_dir").empty()) return std::nullopt;
  FolderReader reader(settings, findings);
  reader.read("train_data_dir", false);
  reader.read("reg_data_dir", true);
  return dataset_of(std::move(reader.subsets));
}

}  // namespace lathe::config

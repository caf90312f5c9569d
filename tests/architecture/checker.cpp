#include "tests/architecture/checker.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <sstream>

#include "core/base/files.h"
#include "core/base/format.h"
#include "core/base/paths.h"

namespace lathe::architecture {

namespace {

constexpr int kLongFile = 350;

struct Source {
  std::string path;    // from the root
  std::string folder;  // of the path
  std::string layer;   // listed folder that it belongs to; tests: that of the folder they test
  Kind kind = Kind::plain;
  bool header = false;
  bool test = false;
};

bool is_source(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cpp";
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

bool is_torch(std::string_view include) {
  return starts_with_any(include, {"torch/", "ATen/", "c10/", "caffe2/"});
}

bool is_qt(std::string_view include) {  // <QString>, <QtTest/QTest>, <qglobal.h>, "qcustomplot.h"
  return include.size() > 1 && ((include[0] == 'Q' && std::isupper(static_cast<unsigned char>(include[1])) != 0) ||
                                starts_with_any(include, {"Qt", "qglobal", "qcustomplot", "qt"}));
}

class Checker {
 public:
  Checker(const std::filesystem::path& root, const Layers& layers) : root_(root), layers_(layers) {
    report_.violations = layers.problems;
  }

  Report run() {
    for (const char* top : {"core", "app", "ui", "tests"}) {
      if (!std::filesystem::is_directory(root_ / top)) continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root_ / top)) {
        if (entry.is_regular_file() && is_source(entry.path())) check_file(entry.path());
      }
    }
    check_mirror();
    std::ranges::sort(report_.violations);
    std::ranges::sort(report_.warnings);
    return report_;
  }

 private:
  void violation(const Source& source, int line, const std::string& what) {
    report_.violations.push_back(format("{}:{}: {}", source.path, line, what));
  }

  // Nothing where the folder has no line: that is reported, and nothing else can be said of the file.
  std::optional<Source> locate(const std::filesystem::path& path) {
    Source source;
    source.path = to_generic_utf8(path.lexically_relative(root_));
    source.folder = source.path.substr(0, source.path.rfind('/'));
    source.header = path.extension() == ".h";
    ++report_.files;
    std::string judged = source.folder;
    if (judged == "tests/architecture") return std::nullopt;  // it speaks of everything and is included by nobody
    if (judged.starts_with("tests/") && judged != "tests/support") {
      source.test = true;
      judged = judged.substr(6);
      test_folders_.insert(judged);
    }
    const auto owner = layers_.owner(judged);
    if (!owner || layers_.needs_a_line(judged)) {
      violation(source, 1, format("folder '{}' has no line in tests/architecture/layers.txt", judged));
      return std::nullopt;
    }
    source.layer = *owner;
    source.kind = layers_.layers.at(*owner).kind;
    if (!source.test && !source.header && source.kind != Kind::any)
      source_folders_.insert(*owner);  // "any" is for mains
    return source;
  }

  void check_file(const std::filesystem::path& path) {
    const auto source = locate(path);
    const std::string text = read_text(path);
    std::istringstream lines(text);
    static const std::regex include_line(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
    int number = 0;
    bool once = false;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (!source) continue;
      once = once || line.starts_with("#pragma once");
      std::smatch match;
      if (std::regex_search(line, match, include_line)) check_include(*source, number, match[2], match[1] == "\"");
    }
    if (source && !source->test) check_texts(*source, text);
    if (source && source->header && !once) violation(*source, 1, "a header starts with #pragma once");
    if (number > kLongFile) {
      report_.warnings.push_back(format("{}: {} lines", to_generic_utf8(path.lexically_relative(root_)), number));
    }
  }

  void check_include(const Source& source, int line, const std::string& include, bool quoted) {
    if (is_torch(include) && !sees_torch(source.kind)) {
      violation(source, line, format("'{}' in folder '{}', which may not see torch", include, source.layer));
    }
    if (is_qt(include) && !sees_qt(source.kind) && !source.test) {
      violation(source, line, format("'{}' in folder '{}', which may not see Qt", include, source.layer));
    }
    if (source.header && starts_with_any(include, {"spdlog/", "fmt/"})) {
      violation(source, line, format("'{}' in a header: torch brings another fmt", include));
    }
    if (source.header && include == "torch/torch.h") {
      violation(source, line, "'torch/torch.h' in a header: it costs every reader some twenty seconds");
    }
    if (quoted && !include.ends_with(".moc") && !starts_with_any(include, {"ui_", "qcustomplot"})) {
      check_own_include(source, line, include);
    }
  }

  void check_own_include(const Source& source, int line, const std::string& include) {
    if (!include.ends_with(".h") || !starts_with_any(include, {"core/", "app/", "ui/", "tests/"})) {
      violation(source, line, format("'{}' is no header's path from the root", include));
      return;
    }
    const std::string folder = include.substr(0, include.rfind('/'));
    if (source.test && (folder == "tests/support" || folder == source.folder)) return;
    const auto target = layers_.owner(folder);
    const auto more = source.test ? layers_.layers.find(source.folder) : layers_.layers.end();
    if (target && more != layers_.layers.end() && more->second.reach.contains(*target)) return;
    if (!target || !layers_.layers.at(source.layer).reach.contains(*target)) {
      violation(source, line, format("'{}' may not include '{}'", source.layer, include));
    }
  }

  void check_texts(const Source& source, const std::string& text) {
    static const std::regex marked(R"re(LATHE_TEXT\(\s*"([^"]+)")re");  // the id may stand on the next line
    for (std::sregex_iterator i(text.begin(), text.end(), marked), end; i != end; ++i) {
      const int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + i->position(1), '\n'));
      const auto [first, fresh] = texts_.emplace((*i)[1], format("{}:{}", source.path, line));
      if (!fresh) violation(source, line, format("text id '{}' is taken: {}", first->first, first->second));
    }
  }

  void check_mirror() {
    for (const std::string& folder : test_folders_) {
      if (!std::filesystem::is_directory(root_ / folder)) {
        report_.violations.push_back(format("tests/{}: there is no folder '{}' that it tests", folder, folder));
      }
    }
    for (const std::string& folder : source_folders_) {
      const bool tested = std::ranges::any_of(
          test_folders_, [&](const std::string& test) { return layers_.owner(test).value_or(test) == folder; });
      if (!tested && !folder.starts_with("tests/")) {
        report_.violations.push_back(format("{}: no test in tests/{}", folder, folder));
      }
    }
  }

  const std::filesystem::path root_;
  const Layers& layers_;
  Report report_;
  std::set<std::string> test_folders_;        // what is tested
  std::set<std::string> source_folders_;      // listed folders that hold a .cpp
  std::map<std::string, std::string> texts_;  // id → where
};

}  // namespace

Report check_tree(const std::filesystem::path& root, const Layers& layers) {
  return Checker(root, layers).run();
}

}  // namespace lathe::architecture

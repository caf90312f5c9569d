#include "tests/architecture/checker.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_main.h"

// The checker on small made-up trees: each kind of violation is found, and nothing else is.
class TestArchitectureChecker : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void acceptsATreeThatKeepsTheRules();
  void findsTheViolation_data();
  void findsTheViolation();
  void findsFaultsInTheRules_data();
  void findsFaultsInTheRules();
  void letsATestSeeMoreWhereALineSaysSo();
  void warnsOfLongFiles();
};

namespace {

constexpr const char* kRules =
    "base: | plain\nio: base | plain\ncompile/ir: base | plain\ncompile: compile/ir | torch\n"
    "models: io | torch\nui: io | qt\ntests/support: base | qt\n";

struct Tree {
  Tree() {
    folder.write("core/base/error.h", "#pragma once\n#include <string>\n");
    folder.write("core/base/error.cpp", "#include \"core/base/error.h\"\n#include <spdlog/spdlog.h>\n");
    folder.write("core/io/npz.h", "#pragma once\n#include \"core/base/error.h\"\n");
    folder.write("core/io/npz.cpp", "#include \"core/io/npz.h\"\nauto a = LATHE_TEXT(\"io.npz\", \"no\");\n");
    folder.write("core/compile/compile.h", "#pragma once\n#include <ATen/core/Tensor.h>\n");
    folder.write("core/models/vae/vae.h", "#pragma once\n#include \"core/base/error.h\"\n");  // through io
    folder.write("ui/window.h", "#pragma once\n#include <QWidget>\n#include \"core/io/npz.h\"\n");
    folder.write("tests/support/golden.h", "#pragma once\n#include <QTest>\n");
    folder.write("tests/core/base/error_test.cpp",
                 "#include \"core/base/error.h\"\n#include \"tests/support/golden.h\"\n#include \"error_test.moc\"\n");
    folder.write("tests/core/io/npz_test.cpp", "#include \"core/io/npz.h\"\n#include <QTest>\n");
  }
  lathe::architecture::Report check(const char* rules = kRules) const {
    return lathe::architecture::check_tree(folder.path(), lathe::architecture::parse_layers(rules));
  }
  lathe::testing::TemporaryFolder folder;
};

QString joined(const std::vector<std::string>& lines) {
  QStringList list;
  for (const std::string& line : lines) list << QString::fromStdString(line);
  return list.join('\n');
}

}  // namespace

void TestArchitectureChecker::acceptsATreeThatKeepsTheRules() {
  const auto report = Tree().check();
  QCOMPARE(joined(report.violations), QString());
  QCOMPARE(report.files, 10);
}

void TestArchitectureChecker::findsTheViolation_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("expected");
  const auto row = [](const char* name, const char* path, const char* text, const char* expected) {
    QTest::newRow(name) << path << text << expected;
  };
  row("arrow backwards", "core/base/a.h", "#pragma once\n#include \"core/io/npz.h\"\n",
      "core/base/a.h:2: 'core/base' may not include 'core/io/npz.h'");
  row("no arrow", "core/models/a.h", "#pragma once\n  #  include \"core/compile/compile.h\"\n",
      "core/models/a.h:2: 'core/models' may not include 'core/compile/compile.h'");
  row("torch in a plain folder", "core/io/a.cpp", "#include <c10/util/Half.h>\n",
      "core/io/a.cpp:1: 'c10/util/Half.h' in folder 'core/io', which may not see torch");
  row("torch in the window", "ui/a.cpp", "#include <torch/torch.h>\n",
      "ui/a.cpp:1: 'torch/torch.h' in folder 'ui', which may not see torch");
  row("Qt in a plain folder", "core/io/a.cpp", "#include <QString>\n",
      "core/io/a.cpp:1: 'QString' in folder 'core/io', which may not see Qt");
  row("Qt in a torch folder", "core/models/a.h", "#pragma once\n#include <QtCore/QtGlobal>\n",
      "core/models/a.h:2: 'QtCore/QtGlobal' in folder 'core/models', which may not see Qt");
  row("fmt in a header", "core/base/a.h", "#pragma once\n#include <fmt/format.h>\n",
      "core/base/a.h:2: 'fmt/format.h' in a header: torch brings another fmt");
  row("torch.h in a header", "core/models/a.h", "#pragma once\n#include <torch/torch.h>\n",
      "core/models/a.h:2: 'torch/torch.h' in a header: it costs every reader some twenty seconds");
  row("folder without a line", "core/data/a.h", "#pragma once\n",
      "core/data/a.h:1: folder 'core/data' has no line in tests/architecture/layers.txt");
  row("folder beside listed ones", "core/compile/other/a.h", "#pragma once\n",
      "core/compile/other/a.h:1: folder 'core/compile/other' has no line in tests/architecture/layers.txt");
  row("path not from the root", "core/io/a.cpp", "#include \"npz.h\"\n",
      "core/io/a.cpp:1: 'npz.h' is no header's path from the root");
  row("text id twice", "core/io/z.cpp", "\nx(LATHE_TEXT(\n  \"io.npz\", \"other\"));\n",
      "core/io/z.cpp:3: text id 'io.npz' is taken: core/io/npz.cpp:2");
  row("no pragma", "core/io/a.h", "\n", "core/io/a.h:1: a header starts with #pragma once");
  row("source without a test", "core/models/vae/vae.cpp", "\n", "core/models: no test in tests/core/models");
  row("test without a source folder", "tests/core/io/deep/a_test.cpp", "\n",
      "tests/core/io/deep: there is no folder 'core/io/deep' that it tests");
  row("test beyond its folder", "tests/core/base/a_test.cpp", "#include \"core/io/npz.h\"\n",
      "tests/core/base/a_test.cpp:1: 'core/base' may not include 'core/io/npz.h'");
  row("torch in a plain folder's test", "tests/core/io/a_test.cpp", "#include <ATen/ATen.h>\n",
      "tests/core/io/a_test.cpp:1: 'ATen/ATen.h' in folder 'core/io', which may not see torch");
}

void TestArchitectureChecker::findsTheViolation() {
  QFETCH(QString, path);
  QFETCH(QString, text);
  QFETCH(QString, expected);
  Tree tree;
  tree.folder.write(path.toStdString(), text.toStdString());
  if (path == "ui/a.cpp") tree.folder.write("tests/ui/a_test.cpp", "");
  QCOMPARE(joined(tree.check().violations), expected);
}

void TestArchitectureChecker::findsFaultsInTheRules_data() {
  QTest::addColumn<QString>("rules");
  QTest::addColumn<QString>("expected");
  QTest::newRow("no bar") << "base: plain\n"
                          << "layers.txt:1: expected 'folder: arrows | kind', found 'base: plain'";
  QTest::newRow("kind") << "base: | simple\n"
                        << "layers.txt:1: unknown kind 'simple' (plain, torch, qt, any)";
  QTest::newRow("twice") << "base: | plain\nbase: | plain\n"
                         << "layers.txt:2: 'base' is listed twice";
  QTest::newRow("unknown") << "base: bass | plain\n"
                           << "layers.txt: 'core/base' names 'core/bass', which has no line";
  QTest::newRow("plain to torch") << "a: | torch\nb: a | plain\n"
                                  << "layers.txt: 'core/b' may not reach 'core/a': its kind forbids it";
  QTest::newRow("circle") << "a: b | plain\nb: a | plain\n"
                          << "layers.txt: the arrows go in a circle through 'core/a'";
}

void TestArchitectureChecker::findsFaultsInTheRules() {
  QFETCH(QString, rules);
  QFETCH(QString, expected);
  QCOMPARE(joined(lathe::architecture::parse_layers(rules.toStdString()).problems).section('\n', 0, 0), expected);
}

void TestArchitectureChecker::letsATestSeeMoreWhereALineSaysSo() {
  Tree tree;
  tree.folder.write("tests/core/base/a_test.cpp", "#include \"core/io/npz.h\"\n#include <QTest>\n");
  tree.folder.write("tests/core/io/a_test.cpp", "#include \"core/compile/compile.h\"\n");
  const std::string rules = std::string(kRules) + "tests/core/base: io | qt\n";
  QCOMPARE(joined(tree.check(rules.c_str()).violations),
           QString("tests/core/io/a_test.cpp:1: 'core/io' may not include 'core/compile/compile.h'"));
}

void TestArchitectureChecker::warnsOfLongFiles() {
  Tree tree;
  tree.folder.write("core/base/long.cpp", std::string(351, '\n'));
  const auto report = tree.check();
  QCOMPARE(joined(report.violations), QString());
  QCOMPARE(joined(report.warnings), QString("core/base/long.cpp: 351 lines"));
}

LATHE_TEST(TestArchitectureChecker);
#include "checker_test.moc"

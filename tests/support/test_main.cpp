#include "tests/support/test_main.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <QCoreApplication>
#include <QTest>

namespace lathe::testing {

namespace {
std::map<std::string, MakeTest>& tests() {
  static std::map<std::string, MakeTest> registered;
  return registered;
}
}  // namespace

bool register_test(const char* name, MakeTest make) {
  return tests().emplace(name, make).second;
}

}  // namespace lathe::testing

int main(int argc, char** argv) {
  QCoreApplication app(argc, argv);
  std::vector<char*> arguments(argv, argv + argc);
  std::string only;
  if (argc > 1 && argv[1][0] != '-') {
    only = argv[1];
    arguments.erase(arguments.begin() + 1);
  }
  int failures = 0;
  int ran = 0;
  for (const auto& [name, make] : lathe::testing::tests()) {
    if (!only.empty() && name != only) continue;
    const std::unique_ptr<QObject> test(make());
    failures += QTest::qExec(test.get(), static_cast<int>(arguments.size()), arguments.data());
    ++ran;
  }
  if (ran == 0) {
    std::fprintf(stderr, "no test class '%s' here\n", only.c_str());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

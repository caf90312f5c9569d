#pragma once

#include <QObject>

namespace lathe::testing {

using MakeTest = QObject* (*)();
bool register_test(const char* name, MakeTest make);

}  // namespace lathe::testing

// One executable holds several test classes. `exe TestName [Qt Test arguments]` runs one, `exe` runs all.
#define LATHE_TEST(Class)                                 \
  [[maybe_unused]] static const bool registered_##Class = \
      ::lathe::testing::register_test(#Class, []() -> QObject* { return new Class; })

#pragma once

#include <string>
#include <vector>

#include <QTest>

// Lists of messages in failures of QCOMPARE, one a line.
namespace QTest {

template <>
inline char* toString(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += "\n    " + text;
  return qstrdup(all.c_str());
}

template <>
inline char* toString(const std::string& text) {
  return qstrdup(text.c_str());
}

}  // namespace QTest

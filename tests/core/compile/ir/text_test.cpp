#include "core/compile/ir/text.h"

#include "core/base/error.h"
#include "tests/support/test_main.h"

using namespace lathe::ir;

class TestGraphText : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void printsWhatItParsed();
  void verifiesAGoodGraph();
  void findsBrokenGraphs_data();
  void findsBrokenGraphs();
  void namesTheLineOfABadText_data();
  void namesTheLineOfABadText();
};

namespace {

const char* const kGood = R"(symbol s0: input_dim %0 dim 0 hint 4 min 2 multiple_of 2
symbol s1: data %5 dim 0 hint 3 min 0 max 9
input %0: f32[s0, 16] strides [16, 1]
input %1: bool[s0] strides [1] @cuda:1
parameter %2: bf16[16, 8] strides [8, 1]
constant %3: f32[] strides []
tangent %4: f32[s0, 8] strides [8, 1]
%5: i64[s1, 1] strides [1, s1] = aten::nonzero(%1)
%6: f32[s0, 8] strides [8, 1], _ = aten::odd(%0, _, {%2, %3}, none, true, s0*s1/2, 1.5, 1e-06, "a \"b\"", :bf16, @cuda:0, [1, -1], r[0.5, inf], b[true, false]) draw 0 read boolean 1.0
%7: f32[s0, 16] strides [16, 1] = backward aten::mm(%4, %2)
output %6
input_gradient %7
input_gradient _
parameter_gradient _
output_view 0 of input 1 sizes [s0] strides [1] offset s0 + 1
write_back %1 from %6
break 0 aten::nonzero
)";

}  // namespace

void TestGraphText::printsWhatItParsed() {
  QCOMPARE(QString::fromStdString(print(parse(kGood))), QString(kGood));
}

void TestGraphText::verifiesAGoodGraph() {
  const auto problem = why_invalid(parse(kGood));
  QVERIFY2(!problem, problem.value_or("").c_str());
}

void TestGraphText::findsBrokenGraphs_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("problem");
  const QString input = "input %0: f32[2] strides [1]\n";
  QTest::newRow("read before defined") << input + "%1: f32[2] strides [1] = neg(%2)\n%2: f32[2] strides [1] = neg(%0)\n"
                                       << "before it is defined";
  QTest::newRow("defined twice") << input + "%0: f32[2] strides [1] = neg(%0)\n"
                                 << "defined twice";
  QTest::newRow("unknown value") << input + "output %7\n"
                                 << "does not exist";
  QTest::newRow("unknown symbol") << "input %0: f32[s3] strides [1]\n"
                                  << "unknown symbol s3";
  QTest::newRow("output of the backward")
      << input + "tangent %1: f32[2] strides [1]\n%2: f32[2] strides [1] = backward neg(%1)\noutput %2\n"
      << "of the backward";
  QTest::newRow("forward reads backward")
      << input + "tangent %1: f32[2] strides [1]\n%2: f32[2] strides [1] = neg(%1)\n"
      << "of the backward";
}

void TestGraphText::findsBrokenGraphs() {
  QFETCH(QString, text);
  QFETCH(QString, problem);
  const auto found = why_invalid(parse(text.toStdString()));
  QVERIFY(found.has_value());
  QVERIFY2(QString::fromStdString(*found).contains(problem), found->c_str());
}

void TestGraphText::namesTheLineOfABadText_data() {
  QTest::addColumn<QString>("text");
  QTest::newRow("type") << "\ninput %0: f33[2] strides [1]";
  QTest::newRow("size") << "\ninput %0: f32[s] strides [1]";
  QTest::newRow("rest") << "\noutput %0 %1";
  QTest::newRow("operand") << "\n%1: f32[] strides [] = neg(?)";
}

void TestGraphText::namesTheLineOfABadText() {
  QFETCH(QString, text);
  try {
    parse(text.toStdString());
    QFAIL("no error");
  } catch (const lathe::Error& error) {
    QVERIFY2(QString(error.what()).contains("line 2"), error.what());
  }
}

LATHE_TEST(TestGraphText);
#include "text_test.moc"

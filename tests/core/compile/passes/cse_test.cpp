#include "core/compile/passes/cse.h"

#include "core/compile/ir/text.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestCse : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void givesEqualNodesOneResult();
  void keepsDrawsApart();
};

void TestCse::givesEqualNodesOneResult() {
  ir::Graph graph = ir::parse(R"(input %0: f32[2] strides [1]
%1: bf16[2] strides [1] = _to_copy(%0, :bf16)
%2: bf16[2] strides [1] = _to_copy(%0, :bf16)
%3: bf16[2] strides [1] = neg(%2)
%4: bf16[2] strides [1] = backward neg(%1)
output %3
input_gradient %4
)");
  QVERIFY(passes::merge_common_subexpressions(graph));
  QCOMPARE(QString::fromStdString(ir::print(graph)), QString(R"(input %0: f32[2] strides [1]
%1: bf16[2] strides [1] = _to_copy(%0, :bf16)
%3: bf16[2] strides [1] = neg(%1)
output %3
input_gradient %3
)"));
}

void TestCse::keepsDrawsApart() {
  ir::Graph graph = ir::parse(R"(%0: f32[2] strides [1] = randn([2]) draw 0
%1: f32[2] strides [1] = randn([2]) draw 1
output %0
output %1
)");
  QVERIFY(!passes::merge_common_subexpressions(graph));
}

LATHE_TEST(TestCse);
#include "cse_test.moc"

#include "core/compile/aten/schemas.h"

#include <ATen/ATen.h>

#include "core/compile/ir/text.h"
#include "tests/support/test_main.h"

using namespace lathe;

class TestSchemas : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void namesAndFindsOperators_data();
  void namesAndFindsOperators();
  void knowsNoOperatorThatDoesNotExist();
  void attributesComeBack_data();
  void attributesComeBack();
  void sizesAreEvaluatedOnTheWayBack();
  void whatAGraphCannotHoldIsSaid();
  void findsWhatACallWrites_data();
  void findsWhatACallWrites();
  void dtypesAndDevicesComeBack();
};

namespace {

const c10::Argument& argument(const char* op, const char* name) {
  const auto& schema = aten::find_operator(op)->schema();
  return schema.arguments()[static_cast<std::size_t>(schema.argumentIndexWithName(name).value())];
}

// As it is printed in a graph.
QString text(const ir::Attribute& attribute) {
  return QString::fromStdString(
      ir::print_call({.op = "f", .operands = {{.kind = ir::Operand::Kind::attribute, .attribute = attribute}}}));
}

}  // namespace

void TestSchemas::namesAndFindsOperators_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("full");
  QTest::newRow("no overload") << "mm"
                               << "aten::mm";
  QTest::newRow("overload") << "add.Tensor"
                            << "aten::add.Tensor";
  QTest::newRow("in place") << "bernoulli_.float"
                            << "aten::bernoulli_.float";
  QTest::newRow("another namespace") << "quantized::mul"
                                     << "quantized::mul";
}

void TestSchemas::namesAndFindsOperators() {
  QFETCH(QString, name);
  QFETCH(QString, full);
  const auto op = aten::find_operator(name.toStdString());
  if (!op && name.startsWith("quantized")) QSKIP("this LibTorch has no quantized operators");
  QVERIFY(op.has_value());
  QCOMPARE(QString::fromStdString(c10::toString(op->operator_name())), full);
  QCOMPARE(QString::fromStdString(aten::op_name(op->operator_name())), name);
}

void TestSchemas::knowsNoOperatorThatDoesNotExist() {
  QVERIFY(!aten::find_operator("frobnicate.Tensor"));
}

void TestSchemas::attributesComeBack_data() {
  QTest::addColumn<QString>("op");
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("which");
  QTest::addColumn<QString>("printed");
  const auto row = [](const char* what, const char* op, const char* name, int which, const char* printed) {
    QTest::newRow(what) << op << name << which << printed;
  };
  row("none", "native_layer_norm", "weight", 0, "f(none)");
  row("integer", "select.int", "index", 1, "f(-3)");
  row("real", "gelu", "approximate", 2, "f(\"tanh\")");
  row("a real number as Scalar", "add.Scalar", "other", 3, "f(2.0)");
  row("an integer as Scalar", "add.Scalar", "other", 1, "f(-3)");
  row("a boolean", "sum.dim_IntList", "keepdim", 4, "f(true)");
  row("sizes", "view", "size", 5, "f([2, -1])");
  row("no sizes", "view", "size", 6, "f([])");
  row("dtype", "_to_copy", "dtype", 7, "f(:bf16)");
  row("layout, a plain number", "_to_copy", "layout", 8, "f(0)");
  row("device", "_to_copy", "device", 9, "f(@cpu)");
  row("reals", "upsample_bilinear2d.vec", "scale_factors", 10, "f(r[0.5, 2.0])");
  row("booleans", "native_layer_norm_backward", "output_mask", 11, "f(b[true, false, true])");
  row("reals as Scalars", "_foreach_add.ScalarList", "scalars", 12, "f(r[1.0, 2.5])");
}

void TestSchemas::attributesComeBack() {
  QFETCH(QString, op);
  QFETCH(QString, name);
  QFETCH(int, which);
  QFETCH(QString, printed);
  c10::impl::GenericList scalars(c10::NumberType::get());
  scalars.push_back(c10::IValue(1.0));
  scalars.push_back(c10::IValue(2.5));
  const std::vector<c10::IValue> values = {
      c10::IValue(),
      c10::IValue(std::int64_t{-3}),
      c10::IValue("tanh"),
      c10::IValue(2.0),
      c10::IValue(true),
      c10::IValue(std::vector<std::int64_t>{2, -1}),
      c10::IValue(std::vector<std::int64_t>{}),
      c10::IValue(static_cast<std::int64_t>(at::kBFloat16)),
      c10::IValue(static_cast<std::int64_t>(at::kStrided)),
      c10::IValue(at::Device(at::kCPU)),
      c10::IValue(std::vector<double>{0.5, 2.0}),
      c10::IValue(c10::List<bool>({true, false, true})),
      c10::IValue(scalars),
  };
  const c10::IValue& value = values.at(static_cast<std::size_t>(which));
  const c10::Argument& own = argument(op.toUtf8(), name.toUtf8());

  const auto attribute = aten::attribute(value, own);
  QVERIFY(attribute.has_value());
  QCOMPARE(text(*attribute), printed);
  const c10::IValue back = aten::value(*attribute, own, {});
  QCOMPARE(QString::fromStdString(c10::str(back)), QString::fromStdString(c10::str(value)));
  QCOMPARE(QString::fromStdString(back.tagKind()), QString::fromStdString(value.tagKind()));
}

void TestSchemas::sizesAreEvaluatedOnTheWayBack() {
  const std::vector<ir::Size> sizes = {ir::Size::symbol(0), ir::Size::symbol(0) * ir::Size::symbol(1), 3};
  const std::vector<std::int64_t> symbols = {4, 5};
  QCOMPARE(aten::value(sizes, argument("view", "size"), symbols).toIntVector(), (std::vector<std::int64_t>{4, 20, 3}));
  QVERIFY(aten::depends_on(ir::Attribute(sizes), {false, true}));
  QVERIFY(!aten::depends_on(ir::Attribute(sizes), {false, false}));
}

void TestSchemas::whatAGraphCannotHoldIsSaid() {
  QVERIFY(!aten::attribute(c10::IValue(c10::complex<double>(1, 2)), argument("add.Scalar", "other")));
  QVERIFY(!aten::attribute(c10::IValue(static_cast<std::int64_t>(at::kComplexFloat)), argument("_to_copy", "dtype")));
  QVERIFY(!aten::attribute(c10::IValue(at::globalContext().defaultGenerator(at::kCPU)),
                           argument("rand.generator", "generator")));
  QVERIFY(!aten::to_ir(at::kComplexFloat));
  QVERIFY(!aten::to_ir(at::Device(at::kMeta)));
}

void TestSchemas::findsWhatACallWrites_data() {
  QTest::addColumn<QString>("op");
  QTest::addColumn<QList<int>>("written");
  QTest::newRow("nothing") << "add.Tensor" << QList<int>{};
  QTest::newRow("in place") << "add_.Tensor" << QList<int>{0};
  QTest::newRow("a list") << "_foreach_add_.Scalar" << QList<int>{0};
  QTest::newRow("out") << "mm.out" << QList<int>{2};
  QTest::newRow("running statistics, which the schema hides") << "native_batch_norm" << QList<int>{3, 4};
  QTest::newRow("fused optimizer") << "_fused_adamw_" << QList<int>{0, 1, 2, 3, 4};
}

void TestSchemas::findsWhatACallWrites() {
  QFETCH(QString, op);
  QFETCH(QList<int>, written);
  QList<int> found;
  for (const std::size_t i : aten::written_arguments(aten::find_operator(op.toStdString())->schema()))
    found.push_back(static_cast<int>(i));
  QCOMPARE(found, written);
}

void TestSchemas::dtypesAndDevicesComeBack() {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                                     at::kChar, at::kByte, at::kBool})
    QCOMPARE(aten::to_aten(aten::to_ir(dtype).value()), dtype);
  QVERIFY(aten::to_aten(aten::to_ir(at::Device(at::kCUDA, 1)).value()) == at::Device(at::kCUDA, 1));
  QVERIFY(aten::to_aten(aten::to_ir(at::Device(at::kCPU)).value()) == at::Device(at::kCPU));
}

LATHE_TEST(TestSchemas);
#include "schemas_test.moc"

#include <ATen/ATen.h>

#include "core/compile/runtime/block_node.h"
#include "tests/core/compile/runtime/outcome.h"
#include "tests/core/compile/runtime/replayed_blocks.h"
#include "tests/support/anima_blocks.h"
#include "tests/support/blocks.h"
#include "tests/support/flow_block.h"
#include "tests/support/test_main.h"

using namespace lathe;
using lathe::testing::BlockCase;
using lathe::testing::difference;
using lathe::testing::Outcome;
using lathe::testing::outcome;
using lathe::testing::ReplayedBlocks;
using models::Tensors;

// Replayed blocks give the bits that eager ones give: outputs, gradients of inputs and parameters, buffers.
class TestReplay : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void smallBlocks_data();
  void smallBlocks();
  void animaBlocks_data();
  void animaBlocks();
  void couplingSteps_data();
  void couplingSteps();
  void aSecondCallGivesTheSame();
  void recomputationDoesRecompute();
};

namespace {

const std::vector<std::pair<const char*, passes::Recompute>> kRungs = {{"nothing", passes::Recompute::nothing},
                                                                       {"cheap", passes::Recompute::cheap},
                                                                       {"products", passes::Recompute::products},
                                                                       {"all", passes::Recompute::all}};

Outcome eager(const BlockCase& example, bool autocast) {
  return outcome([&](std::span<const at::Tensor> in) { return example.block->forward(in); }, example.inputs,
                 example.block->parameters(), autocast);
}

Outcome replayed(const BlockCase& example, ReplayedBlocks& blocks, bool autocast) {
  return outcome([&](std::span<const at::Tensor> in) { return blocks.run(*example.block, in); }, example.inputs,
                 example.block->parameters(), autocast);
}

// Two blocks that are made alike, one run as it is.
void compare(const std::function<BlockCase()>& make, passes::Recompute rung, bool autocast) {
  ReplayedBlocks blocks({.rung = rung});
  const Outcome expected = eager(make(), autocast), seen = replayed(make(), blocks, autocast);
  QVERIFY2(blocks.refusals.empty(), blocks.refusals.empty() ? "" : blocks.refusals[0].c_str());
  QCOMPARE(blocks.compiles, 1);
  QVERIFY(blocks.mismatches.empty());
  const std::string text = difference(seen, expected);
  QVERIFY2(text.empty(), text.c_str());
}

}  // namespace

void TestReplay::smallBlocks_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<int>("rung");
  QTest::addColumn<bool>("autocast");
  for (const std::string& name : testing::block_names()) {
    for (const auto& [rung, value] : kRungs) {
      QTest::addRow("%s, recompute %s", name.c_str(), rung)
          << QString::fromStdString(name) << static_cast<int>(value) << false;
    }
    QTest::addRow("%s, bf16 autocast", name.c_str())
        << QString::fromStdString(name) << static_cast<int>(passes::Recompute::cheap) << true;
  }
}

void TestReplay::smallBlocks() {
  QFETCH(QString, name);
  QFETCH(int, rung);
  QFETCH(bool, autocast);
  compare([&] { return testing::make_block(name.toStdString()); }, static_cast<passes::Recompute>(rung), autocast);
}

void TestReplay::animaBlocks_data() {
  QTest::addColumn<int>("rung");
  QTest::addColumn<bool>("bf16");
  QTest::addColumn<bool>("adapter");
  QTest::addColumn<bool>("first");
  for (const auto& [name, rung] : kRungs) {
    const int value = static_cast<int>(rung);
    QTest::addRow("DiT block, fp32, recompute %s", name) << value << false << false << false;
    QTest::addRow("DiT block, bf16 autocast, recompute %s", name) << value << true << false << false;
    QTest::addRow("first DiT block, bf16 autocast, recompute %s", name) << value << true << false << true;
    QTest::addRow("LLM adapter block, fp32, recompute %s", name) << value << false << true << false;
    QTest::addRow("LLM adapter block, bf16 autocast, recompute %s", name) << value << true << true << false;
  }
}

void TestReplay::animaBlocks() {
  QFETCH(int, rung);
  QFETCH(bool, bf16);
  QFETCH(bool, adapter);
  QFETCH(bool, first);
  const at::ScalarType dtype = bf16 ? at::kBFloat16 : at::kFloat;
  const auto make = [&] {
    if (adapter) return testing::llm_adapter_case();
    return BlockCase{std::move(testing::dit_blocks(1, dtype)[0]), testing::dit_inputs({}, dtype, first)};
  };
  compare(make, static_cast<passes::Recompute>(rung), bf16);
}

void TestReplay::couplingSteps_data() {
  QTest::addColumn<int>("rung");
  QTest::addColumn<double>("dropout");
  QTest::addColumn<bool>("masked");
  QTest::addColumn<bool>("train");
  QTest::addColumn<bool>("autocast");
  for (const auto& [name, rung] : kRungs) {
    const int value = static_cast<int>(rung);
    QTest::addRow("training, recompute %s", name) << value << 0.0 << false << true << false;
    QTest::addRow("dropout, recompute %s", name) << value << 0.2 << false << true << false;
    QTest::addRow("masked, recompute %s", name) << value << 0.0 << true << true << false;
    QTest::addRow("evaluation, recompute %s", name) << value << 0.2 << false << false << false;
  }
  QTest::addRow("bf16 autocast") << static_cast<int>(passes::Recompute::cheap) << 0.2 << false << true << true;
}

void TestReplay::couplingSteps() {
  QFETCH(int, rung);
  QFETCH(double, dropout);
  QFETCH(bool, masked);
  QFETCH(bool, train);
  QFETCH(bool, autocast);
  const auto make = [&] {
    at::manual_seed(31);
    auto block = std::make_unique<testing::CouplingStep>(
        testing::CouplingOptions{.masked = masked, .train = train, .dropout = dropout});
    Tensors inputs = {at::randn({11, 6}).requires_grad_(true), at::randn({11, 5})};
    return BlockCase{std::move(block), std::move(inputs)};
  };
  compare(make, static_cast<passes::Recompute>(rung), autocast);
}

void TestReplay::aSecondCallGivesTheSame() {
  const BlockCase example = testing::make_block("dropout");
  ReplayedBlocks blocks;
  const Outcome expected = eager(example, false);
  for (int step = 0; step < 3; ++step) {
    const std::string text = difference(replayed(example, blocks, false), expected);
    QVERIFY2(text.empty(), text.c_str());
  }
  QCOMPARE(blocks.compiles, 1);
  QCOMPARE(blocks.hits, 2);
}

void TestReplay::recomputationDoesRecompute() {
  std::vector<std::size_t> saved, calls;
  for (const auto& [name, rung] : kRungs) {
    const BlockCase example{std::move(testing::dit_blocks(1, at::kFloat)[0]), testing::dit_inputs({}, at::kFloat)};
    ReplayedBlocks blocks({.rung = rung});
    blocks.run(*example.block, example.inputs);
    saved.push_back(static_cast<std::size_t>(blocks.last()->partition().saved_bytes_at_hint));
    calls.push_back(blocks.last()->partition().backward.size());
  }
  QVERIFY(std::is_sorted(saved.rbegin(), saved.rend()) && saved.front() > 4 * saved.back());
  QVERIFY(std::is_sorted(calls.begin(), calls.end()) && calls.back() > calls.front());
}

LATHE_TEST(TestReplay);
#include "replay_test.moc"

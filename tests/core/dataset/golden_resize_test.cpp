#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/dataset/resize.h"
#include "core/io/npz.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;

// Results of Pillow (lanczos) and OpenCV (area), named "<filter>_[rgba_]<h>x<w>_to_<h>x<w>" beside their sources.
namespace {

constexpr auto kFile = "resize.npz";
// Both filters are equal to the byte. Another release of OpenCV may round an area average to the other side.
constexpr int kAreaTolerance = 1;

io::Image image_of(const io::NpzArray& array) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(array.bytes.data());
  return {static_cast<std::int32_t>(array.shape.at(1)),
          static_cast<std::int32_t>(array.shape.at(0)),
          static_cast<std::int32_t>(array.shape.at(2)),
          {bytes, bytes + array.bytes.size()}};
}

struct Case {
  std::string name, source;
  Interpolation interpolation = Interpolation::automatic;
};

std::optional<Case> case_of(const std::string& name) {
  static const QRegularExpression pattern("^(lanczos|area)_(rgba_)?(\\d+x\\d+)_to_\\d+x\\d+$");
  const QRegularExpressionMatch match = pattern.match(QString::fromStdString(name));
  if (!match.hasMatch()) return std::nullopt;
  const auto part = [&](int index) { return match.captured(index).toStdString(); };
  return Case{name, "src_" + part(2) + part(3), *interpolation_named(part(1))};
}

// Largest difference of a byte, or −1 where the sizes differ.
int difference(const io::Image& a, const io::Image& b) {
  if (a.width != b.width || a.height != b.height || a.pixels.size() != b.pixels.size()) return -1;
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

}  // namespace

class TestGoldenResize : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void equalsPillowAndOpenCv();
  void canFail();
};

void TestGoldenResize::equalsPillowAndOpenCv() {
  LATHE_NEEDS_GOLDEN(kFile);
  const io::NpzFile golden(lathe::testing::golden_folder() / kFile);
  int lanczos = 0, area = 0;
  for (const io::NpzEntry& entry : golden.entries()) {
    const auto found = case_of(entry.name);
    if (!found) continue;
    const io::Image expected = image_of(golden.read(entry.name)), source = image_of(golden.read(found->source));
    const io::Image ours = resize(source, {expected.width, expected.height}, found->interpolation);
    const int largest = difference(ours, expected);
    const bool is_area = found->interpolation == Interpolation::area;
    QVERIFY2(largest >= 0 && largest <= (is_area ? kAreaTolerance : 0), entry.name.c_str());
    ++(is_area ? area : lanczos);
  }
  QVERIFY(lanczos > 0 && area > 0);
  qInfo("%d lanczos, %d area", lanczos, area);
}

// The other filter must not pass for the right one.
void TestGoldenResize::canFail() {
  LATHE_NEEDS_GOLDEN(kFile);
  const io::NpzFile golden(lathe::testing::golden_folder() / kFile);
  for (const io::NpzEntry& entry : golden.entries()) {
    const auto found = case_of(entry.name);
    if (!found || found->interpolation != Interpolation::lanczos) continue;
    const io::Image expected = image_of(golden.read(entry.name)), source = image_of(golden.read(found->source));
    QVERIFY(difference(resize(source, {expected.width, expected.height}, Interpolation::box), expected) > 0);
  }
}

LATHE_TEST(TestGoldenResize);
#include "golden_resize_test.moc"

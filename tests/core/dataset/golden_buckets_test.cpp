#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/dataset/buckets.h"
#include "core/dataset/crop.h"
#include "tests/support/golden.h"
#include "tests/support/test_main.h"

using namespace lathe;
using namespace lathe::dataset;
using nlohmann::json;

namespace {

constexpr auto kFile = "anima/buckets.json";
constexpr double kTolerance = 1e-12;  // stated for the ratios; integers are exact

config::DatasetConfig config_of(const json& setting) {
  config::DatasetConfig config;
  config.width = setting.at("resolution").at(0);
  config.height = setting.at("resolution").at(1);
  config.enable_bucket = setting.at("enable_bucket");
  config.bucket_no_upscale = setting.at("bucket_no_upscale");
  if (setting.at("bucket_reso_steps").is_null()) return config;
  config.min_bucket_reso = setting.at("min_bucket_reso");
  config.max_bucket_reso = setting.at("max_bucket_reso");
  config.bucket_reso_steps = setting.at("bucket_reso_steps");
  return config;
}

json as_json(Size size) {
  return {size.width, size.height};
}

// Empty, or what differs from the reference's row.
std::string difference(const BucketChooser& chooser, const json& row) {
  const Size size{row.at(0), row.at(1)};
  if (row.size() < 7) {  // the reference divides by zero here
    try {
      static_cast<void>(chooser.fit(size));
      return row.dump() + ": no error";
    } catch (const Error& error) {
      return error.kind() == ErrorKind::dataset ? "" : row.dump() + ": another kind of error";
    }
  }
  const Fit fit = chooser.fit(size);
  const Offset offset = centre_crop(fit);
  const json ours = {as_json(fit.bucket), as_json(fit.resized), {offset.x, offset.y}};
  if (ours != json{row.at(2), row.at(3), row.at(4)}) return row.dump() + ": " + ours.dump();
  if (std::abs(fit.aspect_error - row.at(6).get<double>()) > kTolerance) return row.dump() + ": aspect error";
  const auto ltrb = crop_ltrb(fit.bucket, size);
  for (std::size_t i = 0; i < ltrb.size(); ++i) {
    if (std::abs(ltrb[i] - row.at(5).at(i).get<double>()) > kTolerance) return row.dump() + ": crop_ltrb";
  }
  return "";
}

}  // namespace

class TestGoldenBuckets : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void listsEqualTheReference();
  void fitsEqualTheReference();
  void canFail();
};

void TestGoldenBuckets::listsEqualTheReference() {
  LATHE_NEEDS_GOLDEN(kFile);
  const json golden = json::parse(read_text(lathe::testing::golden_folder() / kFile));
  QVERIFY(!golden.at("settings").empty());
  for (const json& setting : golden.at("settings")) {
    const config::DatasetConfig config = config_of(setting);
    if (setting.contains("adjusted_min_max") && config.enable_bucket) {
      const BucketLimits limits =
          adjusted_limits(config.min_bucket_reso, config.max_bucket_reso, config.bucket_reso_steps);
      QCOMPARE(json({limits.smallest, limits.largest}).dump(), setting.at("adjusted_min_max").dump());
    }
    if (!setting.contains("bucket_list")) continue;
    const BucketChooser chooser(config);
    json ours = json::array();
    for (const Size size : chooser.buckets()) ours.push_back(as_json(size));
    QCOMPARE(ours.dump(), setting.at("bucket_list").dump());
  }
}

void TestGoldenBuckets::fitsEqualTheReference() {
  LATHE_NEEDS_GOLDEN(kFile);
  const json golden = json::parse(read_text(lathe::testing::golden_folder() / kFile));
  std::size_t rows = 0;
  for (const json& setting : golden.at("settings")) {
    const BucketChooser chooser(config_of(setting));
    for (const json& row : setting.at("rows")) {
      QCOMPARE(QString::fromStdString(difference(chooser, row)), QString());
      ++rows;
    }
  }
  QVERIFY(rows > 0);
  qInfo("%zu settings, %zu rows", golden.at("settings").size(), rows);
}

// One pixel more in a stored offset must be seen.
void TestGoldenBuckets::canFail() {
  LATHE_NEEDS_GOLDEN(kFile);
  const json golden = json::parse(read_text(lathe::testing::golden_folder() / kFile));
  const json& setting = golden.at("settings").at(0);
  json row = setting.at("rows").at(0);
  row.at(4).at(0) = row.at(4).at(0).get<int>() + 1;
  QVERIFY(!difference(BucketChooser(config_of(setting)), row).empty());
}

LATHE_TEST(TestGoldenBuckets);
#include "golden_buckets_test.moc"

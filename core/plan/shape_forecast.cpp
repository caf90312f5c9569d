#include "core/plan/shape_forecast.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace lathe::plan {

namespace {

constexpr int kPixelsPerLatent = 8;

std::int64_t batch_size(const dataset::Dataset& dataset) {
  return std::max<std::int64_t>(dataset.config.batch_size, 1);
}

}  // namespace

std::vector<BucketForecast> bucket_forecast(const std::vector<dataset::Dataset>& datasets) {
  std::vector<BucketForecast> buckets;
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    for (const dataset::Bucket& bucket : datasets[d].buckets) {
      const std::set<std::size_t> images(bucket.items.begin(), bucket.items.end());
      buckets.push_back({d, bucket.size, static_cast<std::int64_t>(images.size()),
                         static_cast<std::int64_t>(bucket.items.size()),
                         static_cast<std::int64_t>(dataset::batches_of(
                             bucket.items.size(), datasets[d].config.batch_size, datasets[d].remainder))});
    }
  }
  return buckets;
}

std::vector<ShapeForecast> shape_forecast(const std::vector<dataset::Dataset>& datasets) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> batches;  // height, width, batch
  for (const dataset::Dataset& dataset : datasets) {
    const std::int64_t full = batch_size(dataset);
    for (const dataset::Bucket& bucket : dataset.buckets) {
      const std::int64_t height = bucket.size.height / kPixelsPerLatent, width = bucket.size.width / kPixelsPerLatent;
      const auto items = static_cast<std::int64_t>(bucket.items.size());
      const auto count = static_cast<std::int64_t>(
          dataset::batches_of(bucket.items.size(), dataset.config.batch_size, dataset.remainder));
      const bool last_is_short = items % full != 0 && (dataset.remainder == dataset::BucketRemainder::smaller ||
                                                       dataset.remainder == dataset::BucketRemainder::merge);
      const std::int64_t whole = last_is_short ? count - 1 : count;
      if (whole > 0) batches[{height, width, full}] += whole;
      if (last_is_short) batches[{height, width, items % full}] += 1;
    }
  }
  std::vector<ShapeForecast> shapes;
  for (const auto& [shape, count] : batches) {
    shapes.push_back({std::get<2>(shape), std::get<0>(shape), std::get<1>(shape), count});
  }
  return shapes;
}

std::int64_t compile_forecast(const std::vector<ShapeForecast>& shapes, const config::Settings& settings) {
  if (!settings.flag("compile") || shapes.empty()) return 0;
  const std::string dynamic = settings.text("compile_dynamic");
  if (dynamic == "false") return static_cast<std::int64_t>(shapes.size());
  if (dynamic == "auto") return shapes.size() > 1 ? 2 : 1;
  const bool some_single = std::ranges::any_of(shapes, [](const ShapeForecast& shape) { return shape.batch == 1; });
  const bool some_several = std::ranges::any_of(shapes, [](const ShapeForecast& shape) { return shape.batch > 1; });
  return (some_single ? 1 : 0) + (some_several ? 1 : 0);
}

}  // namespace lathe::plan

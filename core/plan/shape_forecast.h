#pragma once

#include <vector>

#include "core/dataset/manifest.h"
#include "core/plan/forecast.h"

namespace lathe::plan {

std::vector<BucketForecast> bucket_forecast(const std::vector<dataset::Dataset>& datasets);

// The different (batch, height, width) of the latents in one epoch. Which images meet in a batch changes from epoch to
// epoch, the shapes do not.
std::vector<ShapeForecast> shape_forecast(const std::vector<dataset::Dataset>& datasets);

// Compiled forms that one block structure needs for these shapes, by compile_dynamic: one a shape (false); one, and one
// more once a second size came (auto); one from the start, where batches of one image are a case of their own (true).
std::int64_t compile_forecast(const std::vector<ShapeForecast>& shapes, const config::Settings& settings);

}  // namespace lathe::plan

#pragma once

#include "core/config/diagnostic.h"
#include "core/config/settings.h"
#include "core/dataset/manifest.h"

namespace lathe::dataset {

// What the finished manifest says about the run: no images at all, buckets below one batch (by name), fewer batches
// than gradient_accumulation_steps, regularisation images that are cut or repeated, an empty validation set.
void check_manifest(const Manifest& manifest, const config::DataConfig& config, const config::Settings& settings,
                    config::Findings& findings);

}  // namespace lathe::dataset

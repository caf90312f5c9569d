#pragma once

#include <optional>
#include <string_view>

#include "core/dataset/manifest.h"
#include "core/io/image_file.h"

namespace lathe::dataset {

// How pixels are computed when an image changes its size. `automatic`: area where neither side grows, else lanczos.
// lanczos and box are Pillow's, the others OpenCV's (area where a side grows is OpenCV's own variant of linear).
enum class Interpolation { automatic, lanczos, box, area, linear, cubic, nearest };

// By the names of resize_interpolation: lanczos, box, area, bilinear, linear, bicubic, cubic, nearest.
std::optional<Interpolation> interpolation_named(std::string_view name);

// The effective one of a subset: its own, else the dataset's, else automatic. Throws Error(settings) for another name.
Interpolation interpolation_of(const config::DatasetConfig& config, std::size_t subset);

// RGB or RGBA. Pillow's filters weight the colours of RGBA by alpha, OpenCV's take the four channels one by one.
io::Image resize(const io::Image& image, Size size, Interpolation interpolation);

// To fit.resized, unless the image has that size already, then the centre of fit.bucket.
io::Image resize_and_crop(const io::Image& image, const Fit& fit, Interpolation interpolation);

}  // namespace lathe::dataset

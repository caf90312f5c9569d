#pragma once

#include <array>

#include "core/base/python_random.h"
#include "core/dataset/manifest.h"

namespace lathe::dataset {

struct Offset {
  int x = 0, y = 0;  // pixels from the left upper corner of the resized image
  bool operator==(const Offset&) const = default;
};

// Where the bucket is cut out of the resized image: at its centre, or anywhere (`random`: one draw for the width, then
// one for the height, each only where there is something to cut). Throws Error(internal) if the bucket does not fit.
Offset centre_crop(const Fit& fit);
Offset random_crop(const Fit& fit, PythonRandom& random);

// left, top, right, bottom as the reference stores them in its caches: those of the whole image fitted inside the
// bucket, not of the crop that was made.
std::array<double, 4> crop_ltrb(Size bucket, Size original);

}  // namespace lathe::dataset

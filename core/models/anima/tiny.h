#pragma once

#include <cstdint>
#include <filesystem>

#include "core/models/anima/dit.h"

namespace lathe::models::anima {

// Sizes of a stand-in that learns on a CPU in minutes, for a text encoder of this width (a multiple of 4 heads of even
// size).
DitSizes tiny_sizes(std::int64_t text_width);

// Writes a transformer of any sizes with random weights as the reference would initialise one (spec 1.13), but for the
// second Linear of each modulation: random instead of zero, so that the sub-layers' gates differ from the start and
// short training has something to learn with. Keys, buffers and metadata are those of the reference's own writer.
// Needs width = heads · head_size and adapter_width = text_width.
void write_random_dit(const std::filesystem::path& path, const DitSizes& sizes, std::uint64_t seed,
                      at::ScalarType dtype = at::kFloat);

}  // namespace lathe::models::anima

#pragma once

#include <vector>

#include "core/dataset/image_finder.h"
#include "core/dataset/manifest.h"

namespace lathe::dataset {

// Makes a dataset of what each subset of `config` found (`found` is parallel to config.subsets): regularisation images
// are matched to the others, every image gets its bucket, captions are counted by tag. Images for which there is no
// bucket go into `skipped`. Throws Error(settings) where resolution and bucket limits do not fit each other, or
// resize_interpolation is no name of one.
Dataset assemble(const config::DatasetConfig& config, const std::vector<std::vector<FoundImage>>& found,
                 BucketRemainder remainder, std::vector<SkippedFile>& skipped);

// bucket_remainder = merge: buckets with fewer items than a batch join the used bucket whose ratio is nearest, smallest
// ones first, while there is more than one bucket.
void merge_small_buckets(Dataset& dataset);

// Sets the cache files of all images. They have the reference's names, except where two images would share one: of two
// files that differ only in their ending the later keeps it in the name, and a second caption of the same image puts
// the start of its SHA-256 into the name.
void assign_cache_files(const std::vector<Dataset*>& datasets);

}  // namespace lathe::dataset

#pragma once

#include "core/base/message.h"

// Why a cache entry has to be made again. The id is what a summary counts by.
namespace lathe::data {

inline constexpr TextId kNotCached = LATHE_TEXT("cache.missing", "not cached yet");
inline constexpr TextId kUnreadable = LATHE_TEXT("cache.unreadable", "the cache file cannot be read: {}");
inline constexpr TextId kArrayMissing = LATHE_TEXT("cache.array_missing", "the cache file has no {}");
inline constexpr TextId kArrayShape = LATHE_TEXT("cache.array_shape", "{} has shape {}");
inline constexpr TextId kOtherVae = LATHE_TEXT("cache.other_vae", "made with another VAE");
inline constexpr TextId kOtherResize = LATHE_TEXT("cache.other_resize", "resized as '{}', now '{}'");
inline constexpr TextId kImageChanged = LATHE_TEXT("cache.image_changed", "the image has changed");
inline constexpr TextId kCaptionChanged = LATHE_TEXT("cache.caption_changed", "the caption has changed");
inline constexpr TextId kOtherEncoder = LATHE_TEXT("cache.other_encoder", "made with another text encoder");
inline constexpr TextId kOtherDropout = LATHE_TEXT("cache.other_dropout", "caption_dropout_rate was {}, now {}");

}  // namespace lathe::data

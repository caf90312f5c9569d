#include "core/dataset/probe_report.h"

#include "core/dataset/folder_listing.h"

namespace lathe::dataset {

namespace {

constexpr TextId kClippedGrey =
    LATHE_TEXT("dataset.sixteen_bit_grey",
               "{} grey images of {} have 16 bits: as in the reference, what is above 255 becomes white, so that most "
               "of such a picture is lost; convert them to 8 bits: {}");
constexpr TextId kSixteenBit =
    LATHE_TEXT("dataset.sixteen_bit", "{} images of {} have 16 bits a channel; the upper 8 are used: {}");
constexpr TextId kCmyk =
    LATHE_TEXT("dataset.cmyk", "{} images of {} are CMYK; they are converted to RGB without a colour profile: {}");
constexpr TextId kAlpha =
    LATHE_TEXT("dataset.alpha",
               "{} images of {} are transparent in places; the transparency is dropped and the colours underneath are "
               "trained: {}");
constexpr TextId kOtherSize = LATHE_TEXT(
    "dataset.other_size", "{} images of {} have another size than image_size says; the file's own counts: {}");
constexpr TextId kUnreadable = LATHE_TEXT("dataset.unreadable", "{} images of {} cannot be read and are skipped: {}");
constexpr TextId kNoCaption =
    LATHE_TEXT("dataset.no_caption",
               "{} of {} images of {} have no caption file ({}); they are trained with an empty caption: {}");
constexpr TextId kClassTokens =
    LATHE_TEXT("dataset.class_tokens",
               "{} of {} images of {} have no caption file ({}); their caption is the class tokens '{}': {}");
constexpr TextId kOtherExtension =
    LATHE_TEXT("dataset.other_extension",
               "{} of these images of {} have a file that ends in {} beside them, which is not read as their caption");
constexpr TextId kUseExtension = LATHE_TEXT("dataset.use_extension", "set caption_extension to {}");
constexpr TextId kBadCaptions = LATHE_TEXT("dataset.bad_captions", "{} caption files of {} cannot be used: {}");
constexpr TextId kByteOrderMark =
    LATHE_TEXT("dataset.byte_order_mark",
               "{} caption files of {} begin with a byte order mark, which becomes part of the first tag; save them as "
               "UTF-8 without one: {}");

}  // namespace

void ProbeReport::image(const std::string& name, const io::ImageProbe& probe) {
  if (probe.sixteen_bit()) (probe.mode == io::ColourMode::grey ? clipped_grey_ : sixteen_bit_).push_back(name);
  if (probe.mode == io::ColourMode::cmyk) cmyk_.push_back(name);
  if (probe.has_alpha && !subset_.alpha_mask) with_alpha_.push_back(name);
}

void ProbeReport::no_caption(const std::string& name, const std::string& other_extension) {
  no_caption_.push_back(name);
  if (other_extension.empty()) return;
  other_extension_ = other_extension;
  ++with_other_extension_;
}

void ProbeReport::add_to(config::Findings& findings, const std::string& place, std::size_t images) const {
  using config::Severity;
  const auto say = [&](Severity severity, TextId text, const std::vector<std::string>& names) {
    if (names.empty()) return;
    findings.add({.severity = severity, .message = message(text, names.size(), place, some_names(names))});
  };
  say(Severity::warning, kUnreadable, unreadable_);
  say(Severity::warning, kClippedGrey, clipped_grey_);
  say(Severity::note, kSixteenBit, sixteen_bit_);
  say(Severity::note, kCmyk, cmyk_);
  say(Severity::note, kAlpha, with_alpha_);
  say(Severity::warning, kOtherSize, other_size_);
  say(Severity::error, kBadCaptions, bad_captions_);
  say(Severity::warning, kByteOrderMark, byte_order_marks_);
  add_captions_to(findings, place, images);
}

void ProbeReport::add_captions_to(config::Findings& findings, const std::string& place, std::size_t images) const {
  if (no_caption_.empty()) return;
  const std::string names = some_names(no_caption_);
  if (subset_.class_tokens && !subset_.class_tokens->empty()) {
    findings.note({"caption_extension"}, message(kClassTokens, no_caption_.size(), images, place,
                                                 subset_.caption_extension, *subset_.class_tokens, names));
  } else {
    findings.warning({"caption_extension"},
                     message(kNoCaption, no_caption_.size(), images, place, subset_.caption_extension, names));
  }
  if (with_other_extension_ == 0) return;
  config::Finding& finding =
      findings.warning({"caption_extension"}, message(kOtherExtension, with_other_extension_, place, other_extension_));
  finding.fixes.push_back({message(kUseExtension, other_extension_), {{"caption_extension", other_extension_}}});
}

}  // namespace lathe::dataset

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/python_random.h"

namespace lathe::text {

// What a subset's settings do to a caption each time its image is used; names as in the dataset file. An empty text is
// "not set".
struct CaptionOptions {
  std::string caption_prefix;
  std::string caption_suffix;
  std::string caption_separator = ",";
  std::string secondary_separator;
  std::string keep_tokens_separator;
  std::int64_t keep_tokens = 0;
  bool shuffle_caption = false;
  bool enable_wildcard = false;
  double caption_dropout_rate = 0;
  std::int64_t caption_dropout_every_n_epochs = 0;
  double caption_tag_dropout_rate = 0;
  std::int64_t token_warmup_min = 1;
  double token_warmup_step = 0;  // below 1: a fraction of max_train_steps
};

// Where training stands when the caption is made.
struct CaptionMoment {
  std::int64_t epoch = 1;  // counts from 1
  std::int64_t step = 0;   // optimizer steps so far
  std::int64_t max_train_steps = 0;
};

// The draws that a caption costs, so that a test can give them.
class CaptionDraws {
 public:
  virtual ~CaptionDraws() = default;
  virtual double random() = 0;                        // [0, 1)
  virtual std::size_t choice(std::size_t count) = 0;  // [0, count)
  // A shuffle of `count` items as the old index of each new place.
  virtual std::vector<std::size_t> shuffle(std::size_t count) = 0;
};

// Draws as Python's random.random, choice and shuffle make them.
class PythonCaptionDraws : public CaptionDraws {
 public:
  explicit PythonCaptionDraws(PythonRandom& random) : random_(random) {}
  double random() override { return random_.random(); }
  std::size_t choice(std::size_t count) override { return static_cast<std::size_t>(random_.below(count)); }
  std::vector<std::size_t> shuffle(std::size_t count) override;

 private:
  PythonRandom& random_;
};

// The caption for one use of an image: prefix and suffix, dropout, wildcards, shuffling and dropping of tags, token
// warm-up, in the order (and with the draws in the order) of sd-scripts' process_caption. Applies only where the text
// is encoded during training: cached texts are encoded as they are in the file. `caption` is valid UTF-8. Throws
// Error(settings) where caption_separator is empty and a caption has to be cut at it.
std::string process_caption(std::string_view caption, const CaptionOptions& options, const CaptionMoment& moment,
                            CaptionDraws& draws);

}  // namespace lathe::text

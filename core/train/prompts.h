#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/diagnostic.h"

namespace lathe::train {

// One sample image asked for (spec 4.15).
struct Prompt {
  std::string text;
  std::string negative_prompt;
  std::int64_t width = 512, height = 512;  // pixels, multiples of 16, at least 64
  std::optional<std::int64_t> seed;        // unset: the random stream goes on
  std::int64_t steps = 30;                 // 1 … 1000
  double scale = 7.5;                      // of guidance
  double flow_shift = 3.0;
  int index = 0;  // place among the prompts, from 0; part of the file's name
  int line = 0;   // in the prompt file, from 1
};

// A file of prompts: .txt (a line each, options behind " --"; blank lines and lines that start with # are skipped),
// .toml ([prompt] with defaults, [[prompt.subset]]) or .json (a list of tables or lines). What cannot be used is an
// error in `findings`, with file and line; options that exist in the reference without effect, and ones that are not
// known, are warnings.
std::vector<Prompt> read_prompts(const std::filesystem::path& file, config::Findings& findings);

// One line of a .txt file: "a cat --w 768 --h 512 --d 7 --s 20 --l 4.5 --fs 3 --n blurry". The text before the first
// " --" is the prompt and nothing else (the reference also reads options from it).
Prompt parse_prompt_line(std::string_view text, const std::filesystem::path& file, int line,
                         config::Findings& findings);

}  // namespace lathe::train

#include "core/config/option_table.h"

namespace lathe::config::table {

std::vector<Option> sample_options() {
  return {
      file(LATHE_TEXT("option.sample_prompts", "A file of prompts (.txt, .toml or .json) to draw sample images from.")),
      flag(LATHE_TEXT("option.sample_at_first", "Draws samples before the first step too.")),
      integer(LATHE_TEXT("option.sample_every_n_steps", "Steps between two sets of samples.")),
      integer(LATHE_TEXT("option.sample_every_n_epochs",
                         "Epochs between two sets of samples; wins over "
                         "sample_every_n_steps.")),
      choice(LATHE_TEXT("option.sample_sampler", "Sampler of other model families."),
             {"ddim", "pndm", "lms", "euler", "euler_a", "heun", "dpm_2", "dpm_2_a", "dpmsolver", "dpmsolver++",
              "dpmsingle", "k_lms", "k_euler", "k_euler_a", "k_dpm_2", "k_dpm_2_a"},
             "ddim")
          .no_effect(LATHE_TEXT("reason.always_euler", "{}: Anima is always sampled with Euler steps")),
  };
}

}  // namespace lathe::config::table

#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kNeedsResume = LATHE_TEXT("reason.resume", "{}: continuing a run is not in this version yet");

std::vector<Option> length_options() {
  return {
      integer(LATHE_TEXT("option.max_train_steps", "Optimizer steps; max_train_epochs wins where both are given."),
              1600)
          .at_least(1),
      integer(LATHE_TEXT("option.max_train_epochs",
                         "Times that the whole dataset is gone through; wins over "
                         "max_train_steps."))
          .at_least(1),
      integer(LATHE_TEXT("option.gradient_accumulation_steps", "Batches whose gradients make one optimizer step."), 1)
          .at_least(1),
      integer(LATHE_TEXT("option.seed", "Seed of all random numbers; unset draws one.")).between(0, 4294967295.0),
      choice(LATHE_TEXT("option.mixed_precision", "Number type of the model and of its computations; no is 32 bit."),
             {"no", "fp16", "bf16"}, "no"),
      flag(LATHE_TEXT("option.full_fp16", "Keeps the adapter itself in fp16 too; needs mixed_precision fp16.")),
      flag(LATHE_TEXT("option.full_bf16", "Keeps the adapter itself in bf16 too; needs mixed_precision bf16.")),
      integer(LATHE_TEXT("option.max_nonfinite_steps",
                         "Steps with an infinite or undefined loss that are left out "
                         "before the run is stopped."),
              10)
          .at_least(0)
          .ours(),
      folder(LATHE_TEXT("option.resume", "A state folder to continue from.")).not_yet(kNeedsResume),
      choice(LATHE_TEXT("option.resume_mode",
                        "How a run continues: bit for bit as if it had never stopped, or as the "
                        "reference does."),
             {"exact", "reference"}, "exact")
          .not_yet({"reference"}, kNeedsResume)
          .ours(),
      flag(LATHE_TEXT("option.skip_until_initial_step", "Goes through the data of the steps that are already done."))
          .not_yet(kNeedsResume),
      integer(LATHE_TEXT("option.initial_epoch", "Epoch to begin with, from 1.")).at_least(1).not_yet(kNeedsResume),
      integer(LATHE_TEXT("option.initial_step", "Optimizer step to begin with; wins over initial_epoch."))
          .at_least(0)
          .not_yet(kNeedsResume),
  };
}

std::vector<Option> noise_options() {
  return {
      choice(LATHE_TEXT("option.timestep_sampling", "How the noise level of each image is drawn."),
             {"sigma", "uniform", "sigmoid", "shift", "flux_shift"}, "sigmoid"),
      real(LATHE_TEXT("option.sigmoid_scale", "Spread of the noise levels drawn through a sigmoid."), 1.0),
      real(LATHE_TEXT("option.discrete_flow_shift",
                      "Moves noise levels towards noise; for timestep_sampling shift and "
                      "sigma."),
           1.0)
          .above(0),
      choice(LATHE_TEXT("option.weighting_scheme",
                        "Weight of the loss by noise level; with timestep_sampling sigma "
                        "also how often each level is drawn."),
             {"sigma_sqrt", "logit_normal", "mode", "cosmap", "none", "uniform"}, "uniform"),
      real(LATHE_TEXT("option.logit_mean", "Mean of the logit_normal density."), 0.0),
      real(LATHE_TEXT("option.logit_std", "Spread of the logit_normal density."), 1.0).at_least(0),
      real(LATHE_TEXT("option.mode_scale", "Strength of the mode density."), 1.29),
      real(LATHE_TEXT("option.ip_noise_gamma", "Strength of extra noise on the input only.")).at_least(0),
      flag(LATHE_TEXT("option.ip_noise_gamma_random_strength",
                      "Draws the strength of the extra noise between 0 and "
                      "ip_noise_gamma.")),
      integer(LATHE_TEXT("option.min_timestep", "Lowest noise level.")).no_effect(kMetadataOnly),
      integer(LATHE_TEXT("option.max_timestep", "Highest noise level.")).no_effect(kMetadataOnly),
      real(LATHE_TEXT("option.noise_offset", "Strength of an offset added to the noise.")).no_effect(kMetadataOnly),
      flag(LATHE_TEXT("option.noise_offset_random_strength", "Draws the strength of noise_offset."))
          .no_effect(kMetadataOnly),
      real(LATHE_TEXT("option.adaptive_noise_scale", "Adds the latents' mean to noise_offset."))
          .no_effect(kMetadataOnly),
      integer(LATHE_TEXT("option.multires_noise_iterations", "Levels of multi-resolution noise."))
          .no_effect(kMetadataOnly),
      real(LATHE_TEXT("option.multires_noise_discount", "Decline from level to level of multi-resolution noise."), 0.3)
          .no_effect(kMetadataOnly),
      flag(LATHE_TEXT("option.zero_terminal_snr", "Rescales the schedule of a diffusion model to end in pure noise."))
          .no_effect(kMetadataOnly),
      choice(LATHE_TEXT("option.show_timesteps", "Plots how often each noise level is drawn, and leaves."),
             {"console", "image"})
          .not_yet(kLater)
          .later(),
      text(LATHE_TEXT("option.show_timesteps_resolution", "Resolution that show_timesteps assumes."))
          .not_yet(kLater)
          .later(),
      text(LATHE_TEXT("option.show_timesteps_offset", "Offset of what show_timesteps shows.")).not_yet(kLater).later(),
  };
}

std::vector<Option> loss_options() {
  return {
      choice(LATHE_TEXT("option.loss_type", "How the difference of prediction and target counts."),
             {"l1", "l2", "huber", "smooth_l1"}, "l2"),
      choice(LATHE_TEXT("option.huber_schedule",
                        "How the threshold of huber and smooth_l1 follows the noise level; "
                        "snr does not exist for Anima."),
             {"constant", "exponential", "snr"}, "snr"),
      real(LATHE_TEXT("option.huber_c", "Threshold of huber and smooth_l1."), 0.1).above(0),
      real(LATHE_TEXT("option.huber_scale", "Factor of that threshold."), 1.0).above(0),
      real(LATHE_TEXT("option.prior_loss_weight", "Weight of the loss of regularisation images."), 1.0).at_least(0),
      flag(LATHE_TEXT("option.masked_loss", "Weights the loss by mask images (conditioning_data_dir).")),
      flag(LATHE_TEXT("option.train_inpainting", "Trains to fill in masked regions.")).not_yet(kLater).later(),
      real(LATHE_TEXT("option.min_snr_gamma", "Limit of the loss weight by signal-to-noise ratio."))
          .no_effect(kUnusedForAnima),
      flag(LATHE_TEXT("option.scale_v_pred_loss_like_noise_pred",
                      "Scales the loss of velocity models as of noise "
                      "models."))
          .no_effect(kUnusedForAnima),
      real(LATHE_TEXT("option.v_pred_like_loss", "Adds a velocity-like loss.")).no_effect(kUnusedForAnima),
      flag(LATHE_TEXT("option.debiased_estimation_loss",
                      "Weights the loss by the inverse root of the signal-to-noise "
                      "ratio."))
          .no_effect(kUnusedForAnima),
  };
}

}  // namespace

std::vector<Option> training_options() {
  std::vector<Option> all = length_options();
  for (std::vector<Option> more : {noise_options(), loss_options()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace lathe::config::table

#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kOneFrame =
    LATHE_TEXT("reason.one_frame", "{}: a picture has one frame, so both forms compute the same numbers");
constexpr TextId kNoAdapterFile =
    LATHE_TEXT("reason.no_adapter_file", "{}: the LLM adapter is always read from the model file itself");
constexpr TextId kAlwaysMapped =
    LATHE_TEXT("reason.always_mapped", "{}: it only chooses how a file is read, never what is read");

}  // namespace

std::vector<Option> model_options() {
  return {
      file(LATHE_TEXT("option.pretrained_model_name_or_path",
                      "The Anima model (DiT with LLM adapter), a safetensors "
                      "file.")),
      file_or_folder(LATHE_TEXT("option.qwen3",
                                "The Qwen3-0.6B text encoder: a weight file, or a folder that holds "
                                "one.")),
      file(LATHE_TEXT("option.vae", "The Qwen-Image VAE, a weight file.")),
      folder(LATHE_TEXT("option.t5_tokenizer_path",
                        "A folder with another T5 tokenizer; unset takes the one that "
                        "comes with Lathe.")),
      integer(LATHE_TEXT("option.qwen3_max_token_length",
                         "Tokens of a caption that the text encoder sees; shorter "
                         "ones are padded, longer ones cut."),
              512)
          .at_least(1),
      integer(LATHE_TEXT("option.t5_max_token_length",
                         "Tokens of a caption that the LLM adapter receives as T5 ids; "
                         "shorter ones are padded, longer ones cut."),
              512)
          .at_least(1),
      integer(LATHE_TEXT("option.vae_chunk_size",
                         "Rows or columns that the VAE handles at once, to save memory; an "
                         "odd number is raised by one."))
          .at_least(1),
      flag(LATHE_TEXT("option.vae_disable_cache", "Lets the VAE work without its cache of earlier frames."))
          .no_effect(LATHE_TEXT("reason.one_frame_only", "{}: a picture has one frame, so there is no such cache")),
      flag(LATHE_TEXT("option.no_half_vae", "Runs the VAE in 32-bit floats whatever mixed_precision says.")),
      flag(LATHE_TEXT("option.qwen_image_vae_2d", "Folds the 3-D convolutions of the VAE into 2-D ones."))
          .no_effect(kOneFrame)
          .later(),
      choice(LATHE_TEXT("option.base_weight_dtype",
                        "Number type in which the frozen model is held; auto follows "
                        "mixed_precision."),
             {"auto", "fp32", "bf16", "fp16", "fp8_e4m3"}, "auto")
          .not_yet({"fp32", "bf16", "fp16", "fp8_e4m3"}, kLater)
          .ours(),
      file(LATHE_TEXT("option.llm_adapter_path", "A separate file of the LLM adapter.")).no_effect(kNoAdapterFile),
      flag(LATHE_TEXT("option.disable_mmap_load_safetensors",
                      "Reads safetensors files without mapping them into "
                      "memory."))
          .no_effect(kAlwaysMapped),
      folder(LATHE_TEXT("option.tokenizer_cache_dir", "Where the tokenizers of other model families are kept."))
          .no_effect(kUnusedForAnima),
      flag(LATHE_TEXT("option.v2", "Marks the model as Stable Diffusion 2.")).no_effect(kMetadataOnly),
      flag(LATHE_TEXT("option.v_parameterization", "Marks the model as one that predicts velocity."))
          .no_effect(kMetadataOnly),
      integer(LATHE_TEXT("option.clip_skip", "Layer of a CLIP text encoder whose output is taken, from the end."))
          .no_effect(kMetadataOnly),
      integer(LATHE_TEXT("option.max_token_length", "Tokens that a CLIP text encoder sees."))
          .one_of({"150", "225"})
          .no_effect(kMetadataOnly),
  };
}

}  // namespace lathe::config::table

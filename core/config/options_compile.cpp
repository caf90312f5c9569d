#include "core/config/option_table.h"

namespace lathe::config::table {

namespace {

constexpr TextId kCompileLater = LATHE_TEXT("reason.compile", "{}: the compiler is not in this version yet");
constexpr TextId kAttentionLater = LATHE_TEXT(
    "reason.attention", "{}: this version has PyTorch's attention only, which picks the quickest kernel itself");
constexpr TextId kAttentionDefault =
    LATHE_TEXT("reason.attention_default", "{}: PyTorch's attention is used for Anima anyway");

}  // namespace

std::vector<Option> compile_options() {
  return {
      text(LATHE_TEXT("option.device",
                      "Where to train: auto (a graphics card, or an error if there is none), cpu, "
                      "cuda, or cuda:1 for the second card."),
           "auto")
          .usually({"auto", "cpu", "cuda"})
          .ours(),
      choice(LATHE_TEXT("option.attn_mode", "Implementation of attention; sdpa is another name of torch."),
             {"torch", "xformers", "flash", "sageattn", "sdpa"})
          .not_yet({"xformers", "flash", "sageattn"}, kAttentionLater),
      flag(LATHE_TEXT("option.split_attn", "Runs attention for one image of the batch at a time.")),
      flag(LATHE_TEXT("option.compile",
                      "Turns each block of the network into fused kernels, shared by all blocks of "
                      "the same structure."))
          .not_yet(kCompileLater)
          .later(),
      choice(LATHE_TEXT("option.compile_backend",
                        "What runs a compiled block: native kernels, a replay of the "
                        "captured graph, or the original code; inductor means native."),
             {"native", "replay", "eager", "inductor"}, "native")
          .later(),
      choice(LATHE_TEXT("option.compile_mode",
                        "default fuses kernels, reduce-overhead adds CUDA graphs, max-autotune "
                        "also measures which kernels are quickest, max-autotune-no-cudagraphs "
                        "only that."),
             {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}, "default")
          .later(),
      choice(LATHE_TEXT("option.compile_dynamic",
                        "Whether one compile serves several image sizes: from the start, "
                        "never, or (auto) from the second size on."),
             {"auto", "true", "false"}, "auto")
          .later(),
      flag(LATHE_TEXT("option.compile_fullgraph", "Makes it an error if a block cannot be compiled as one graph."))
          .later(),
      integer(LATHE_TEXT("option.compile_cache_size_limit",
                         "Compiled forms kept of each block structure; past it a "
                         "new form runs uncompiled, with a warning."),
              8)
          .at_least(1)
          .later(),
      folder(LATHE_TEXT("option.compile_cache_dir",
                        "Where compiled kernels are kept between runs; unset takes the "
                        "user's cache folder."))
          .ours(),
      choice(LATHE_TEXT("option.compile_check",
                        "Whether the first call of each compiled block is compared with the "
                        "uncompiled one."),
             {"first", "off"}, "first")
          .ours(),
      flag(LATHE_TEXT("option.torch_compile", "Compiles the network as a whole instead of block by block."))
          .not_yet(kCompileLater),
      choice(LATHE_TEXT("option.dynamo_backend", "Compiler that torch_compile uses; any of them means native here."),
             {"eager", "aot_eager", "inductor", "aot_ts_nvfuser", "nvprims_nvfuser", "cudagraphs", "ofi", "fx2trt",
              "onnxrt", "tensort", "ipex", "tvm"},
             "inductor"),
      flag(LATHE_TEXT("option.cuda_allow_tf32", "Lets 32-bit products round their factors to TF32 on the card."))
          .later(),
      flag(LATHE_TEXT("option.cuda_cudnn_benchmark", "Lets cuDNN measure which of its algorithms is quickest."))
          .later(),
      choice(LATHE_TEXT("option.float32_matmul_precision", "How exact 32-bit matrix products must be."),
             {"highest", "high", "medium"}, "highest")
          .ours(),
      flag(LATHE_TEXT("option.deterministic", "Allows only algorithms that give the same bits each time."))
          .not_yet(kLater)
          .ours(),
      flag(LATHE_TEXT("option.xformers", "Old way to say attn_mode xformers.")).not_yet(kAttentionLater),
      flag(LATHE_TEXT("option.sdpa", "Asks for PyTorch's attention.")).no_effect(kAttentionDefault),
      flag(LATHE_TEXT("option.mem_eff_attn", "Asks for an older attention of Stable Diffusion."))
          .no_effect(kUnusedForAnima),
  };
}

}  // namespace lathe::config::table

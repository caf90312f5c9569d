list(APPEND LATHE_MODELS_SOURCES
  anima/attention.cpp anima/attention.h anima/dit.cpp anima/dit.h anima/dit_block.cpp anima/dit_block.h
  anima/dit_model.cpp anima/dit_model.h anima/dit_sizes.cpp anima/dit_sizes.h anima/final_layer.cpp anima/final_layer.h
  anima/llm_adapter.cpp anima/llm_adapter.h anima/modulation.cpp anima/modulation.h anima/norm.cpp anima/norm.h
  anima/patch.cpp anima/patch.h anima/rope.cpp anima/rope.h anima/timestep_embedding.cpp anima/timestep_embedding.h
  anima/tiny.cpp anima/tiny.h)

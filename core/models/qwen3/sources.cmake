list(APPEND LATHE_MODELS_SOURCES
  qwen3/layer.cpp qwen3/layer.h qwen3/qwen3.cpp qwen3/qwen3.h qwen3/sizes.cpp qwen3/sizes.h qwen3/tiny.cpp qwen3/tiny.h)

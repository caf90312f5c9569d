list(APPEND LATHE_MODELS_SOURCES
  adapters/lora.cpp adapters/lora.h adapters/lora_adapter.cpp adapters/lora_adapter.h adapters/lora_file.cpp
  adapters/lora_groups.cpp adapters/lora_names.cpp adapters/lora_names.h adapters/lora_norms.cpp
  adapters/lora_options.cpp adapters/lora_options.h
  adapters/name_patterns.cpp adapters/name_patterns.h)

list(APPEND LATHE_MODELS_TESTS
  adapters/golden_lora_modules_test.cpp adapters/lora_file_test.cpp adapters/lora_fixture.h
  adapters/lora_options_test.cpp adapters/lora_test.cpp)
list(APPEND LATHE_MODELS_TEST_CLASSES TestGoldenLoraModules TestLoraFile TestLoraOptions TestLora)

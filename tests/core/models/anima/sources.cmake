list(APPEND LATHE_MODELS_TESTS
  anima/dit_precision_test.cpp anima/dit_test.cpp anima/golden_cases.h anima/golden_dit_names_test.cpp
  anima/golden_dit_test.cpp anima/golden_llm_adapter_test.cpp anima/patch_test.cpp anima/random_dit.h anima/rope_test.cpp)
list(APPEND LATHE_MODELS_TEST_CLASSES
  TestDitPrecision TestDit TestGoldenDit TestGoldenFullSizeNamesDit TestGoldenLlmAdapter TestPatch TestRope)

list(APPEND LATHE_MODELS_TESTS qwen3/golden_qwen3_test.cpp qwen3/qwen3_test.cpp)
list(APPEND LATHE_MODELS_TEST_CLASSES TestGoldenQwen3 TestQwen3)

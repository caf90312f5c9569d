list(APPEND LATHE_MODELS_TESTS
  vae/golden_vae_test.cpp vae/vae_test.cpp vae/golden_full_size_names_test.cpp)
list(APPEND LATHE_MODELS_TEST_CLASSES TestGoldenVae TestVae TestGoldenFullSizeNamesEncoders)

list(APPEND LATHE_MODELS_TESTS common/state_dict_test.cpp common/weight_table_test.cpp)
list(APPEND LATHE_MODELS_TEST_CLASSES TestStateDict TestWeightTable)

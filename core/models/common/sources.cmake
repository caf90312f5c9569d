list(APPEND LATHE_MODELS_SOURCES
  common/formula_weights.cpp common/formula_weights.h
  common/linear.cpp common/linear.h common/state_dict.cpp common/state_dict.h
  common/tensor_file.cpp common/tensor_file.h common/weight_table.cpp common/weight_table.h)

include(LatheFormat)

# lathe_library(NAME [TORCH] SOURCES … [PUBLIC libs] [PRIVATE libs]): one static library a folder.
function(lathe_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE lathe_flags ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES AUTOMOC OFF)
  if(ARG_TORCH)
    target_link_libraries(${name} PUBLIC lathe_torch)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
  endif()
endfunction()

# lathe_test(NAME [TORCH] SOURCES … LIBS … LABELS …): one Qt Test executable. Each source holds one test class and
# registers it with LATHE_TEST (tests/support/test_main.h); each class becomes a ctest named <NAME>.<Class>.
# CLASSES names them; a class TestGolden… also carries the label golden.
function(lathe_test name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBS;LABELS;CLASSES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE lathe_flags lathe_test_support ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES AUTOMOC ON RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(ARG_TORCH)  # other flags, so another precompiled header
    target_link_libraries(${name} PRIVATE lathe_torch)
    target_compile_definitions(${name} PRIVATE QT_NO_KEYWORDS)  # the macro `slots` breaks LibTorch's headers
    target_precompile_headers(${name} PRIVATE <QtTest> <string> <vector>)
  else()
    target_precompile_headers(${name} REUSE_FROM lathe_test_support)
  endif()
  set(environment "QT_QPA_PLATFORM=offscreen;LATHE_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
  if(ARG_TORCH)  # tensors are tiny: threads that wait for each other cost ten times what the work does
    list(APPEND environment "OMP_NUM_THREADS=1")
  endif()
  foreach(class IN LISTS ARG_CLASSES)
    string(REGEX REPLACE "^Test" "" short "${class}")
    if(class MATCHES "^TestGolden")
      string(REGEX REPLACE "^Golden" "" short "${short}")
      set(test_name "golden.${short}")
      set(labels ${ARG_LABELS} golden)
    else()
      set(test_name "${name}.${short}")
      set(labels ${ARG_LABELS})
    endif()
    add_test(NAME ${test_name} COMMAND ${name} ${class})
    set_tests_properties(${test_name} PROPERTIES LABELS "${labels}"
      ENVIRONMENT "${environment}" TIMEOUT 600)
  endforeach()
endfunction()

# LibTorch as imported targets of our own, from the folder `torch` of an unpacked wheel (or of a libtorch archive): its own
# CMake package looks for a whole CUDA toolkit wherever the build has CUDA, also where only its CPU part is wanted.
#   LATHE_TORCH_DIR  that folder; empty: found through CMAKE_PREFIX_PATH
#   LATHE_CUDA       AUTO (where the build has CUDA), ON, OFF (a CUDA build serves as a CPU one)
# Makes lathe_torch, and sets LATHE_HAS_CUDA: whether files under **/cuda/ are to be compiled.

if(LATHE_TORCH_DIR)
  set(lathe_torch_folder "${LATHE_TORCH_DIR}")
else()
  find_path(LATHE_TORCH_FOUND include/ATen/core/Tensor.h PATH_SUFFIXES torch libtorch)
  set(lathe_torch_folder "${LATHE_TORCH_FOUND}")
endif()
set(lathe_torch_version_header "${lathe_torch_folder}/include/torch/headeronly/version.h")
if(NOT EXISTS "${lathe_torch_version_header}")
  message(FATAL_ERROR "No LibTorch in '${lathe_torch_folder}'. Set LATHE_TORCH_DIR to the folder 'torch' of an unpacked torch wheel "
    "(python3 -m pip download --no-deps torch; unzip it), or run packaging/quickstart.sh build, which fetches it.")
endif()

file(STRINGS "${lathe_torch_version_header}" lathe_torch_version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
string(REGEX REPLACE "[^0-9;]" "" LATHE_TORCH_VERSION "${lathe_torch_version_lines}")
string(REPLACE ";" "." LATHE_TORCH_VERSION "${LATHE_TORCH_VERSION}")
if(LATHE_TORCH_VERSION VERSION_LESS 2.11)
  message(FATAL_ERROR "LibTorch ${LATHE_TORCH_VERSION} in '${lathe_torch_folder}' is too old: 2.11 to 2.13 are supported.")
elseif(LATHE_TORCH_VERSION VERSION_GREATER_EQUAL 2.14)
  message(WARNING "LibTorch ${LATHE_TORCH_VERSION} is newer than what was tried (2.11 to 2.13).")
endif()

# A library of the wheel as an imported target; its result variable is empty where there is none.
function(lathe_torch_library target name)
  find_library(${target}_path ${name} PATHS "${lathe_torch_folder}/lib" NO_DEFAULT_PATH NO_CACHE)
  if(${target}_path)
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${target}_path}")
  endif()
endfunction()
lathe_torch_library(lathe_c10 c10)
lathe_torch_library(lathe_torch_cpu torch_cpu)
lathe_torch_library(lathe_c10_cuda c10_cuda)
lathe_torch_library(lathe_torch_cuda torch_cuda)
if(NOT TARGET lathe_c10 OR NOT TARGET lathe_torch_cpu)
  message(FATAL_ERROR "No libtorch_cpu and libc10 in '${lathe_torch_folder}/lib'.")
endif()

# What the wheel was built with: its c10d headers look at these.
function(lathe_torch_definitions target variable)
  file(STRINGS "${lathe_torch_folder}/share/cmake/Caffe2/Caffe2Targets.cmake" lines REGEX "set_target_properties|INTERFACE_COMPILE_DEFINITIONS")
  string(REGEX MATCH "set_target_properties\\(${target} PROPERTIES;  INTERFACE_COMPILE_DEFINITIONS \"([^\"$]*)\"" found "${lines}")
  set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()
lathe_torch_definitions(torch_cpu lathe_torch_defines)

# at::parallel_for is serial without -fopenmp. GCC's objects take the OpenMP runtime that the wheel brings: it is the one
# in the process anyhow, and naming the system's too makes CMake doubt the order of the run-time paths.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_library(LATHE_TORCH_GOMP libgomp.so.1 PATHS "${lathe_torch_folder}/lib" NO_DEFAULT_PATH NO_CACHE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND LATHE_TORCH_GOMP)
  add_library(lathe_openmp INTERFACE)
  target_compile_options(lathe_openmp INTERFACE ${OpenMP_CXX_FLAGS})
  target_link_libraries(lathe_openmp INTERFACE "${LATHE_TORCH_GOMP}")
else()
  add_library(lathe_openmp ALIAS OpenMP::OpenMP_CXX)
endif()
add_library(lathe_torch INTERFACE)
target_include_directories(lathe_torch SYSTEM INTERFACE "${lathe_torch_folder}/include" "${lathe_torch_folder}/include/torch/csrc/api/include")
target_compile_definitions(lathe_torch INTERFACE ${lathe_torch_defines})
target_link_libraries(lathe_torch INTERFACE lathe_torch_cpu lathe_c10 lathe_openmp)
# The wheel's libraries name others (CUDA, their own libgomp) that lie where the program will run, not always here.
if(NOT MSVC AND NOT APPLE)
  target_link_options(lathe_torch INTERFACE LINKER:--allow-shlib-undefined)
endif()

set(LATHE_HAS_CUDA OFF)
if(LATHE_CUDA AND TARGET lathe_torch_cuda)  # AUTO and ON
  find_path(LATHE_CUDA_RUNTIME_INCLUDE cuda_runtime_api.h
    HINTS "${lathe_torch_folder}/../nvidia/cu13/include" "${lathe_torch_folder}/../nvidia/cuda_runtime/include"
    PATHS /usr/local/cuda/include NO_CACHE)
  find_library(LATHE_CUDART NAMES libcudart.so.13 libcudart.so.12 cudart NAMES_PER_DIR
    HINTS "${lathe_torch_folder}/../nvidia/cu13/lib" "${lathe_torch_folder}/../nvidia/cuda_runtime/lib"
    PATHS /usr/local/cuda/lib64 NO_CACHE)
  if(LATHE_CUDA_RUNTIME_INCLUDE AND LATHE_CUDART)
    set(LATHE_HAS_CUDA ON)
    lathe_torch_definitions(torch_cuda lathe_torch_defines)
    target_include_directories(lathe_torch SYSTEM INTERFACE "${LATHE_CUDA_RUNTIME_INCLUDE}")
    target_compile_definitions(lathe_torch INTERFACE LATHE_HAS_CUDA ${lathe_torch_defines})
    # Nothing of ours need name a symbol of torch_cuda: loading it is what registers the device.
    target_link_libraries(lathe_torch INTERFACE -Wl,--push-state,--no-as-needed lathe_torch_cuda lathe_c10_cuda
      "${LATHE_CUDART}" -Wl,--pop-state)
  endif()
endif()
if(LATHE_CUDA STREQUAL "ON" AND NOT LATHE_HAS_CUDA)
  message(FATAL_ERROR "LATHE_CUDA=ON needs a CUDA build of LibTorch and the CUDA runtime's header and library "
    "(wheel nvidia-cuda-runtime beside torch, or /usr/local/cuda); LibTorch is '${lathe_torch_folder}'.")
endif()
message(STATUS "LibTorch ${LATHE_TORCH_VERSION} in ${lathe_torch_folder}, CUDA: ${LATHE_HAS_CUDA}")

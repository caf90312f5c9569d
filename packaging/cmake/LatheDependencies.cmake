find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(tomlplusplus CONFIG QUIET)
if(NOT TARGET tomlplusplus::tomlplusplus)
  pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
  add_library(tomlplusplus::tomlplusplus ALIAS PkgConfig::TOMLPLUSPLUS)
endif()
pkg_check_modules(ZIP REQUIRED IMPORTED_TARGET libzip)  # Debian's CMake config of libzip aborts: zipcmp is in another package
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

# Only OpenCV's imgproc and core are used; the CMake package of Debian wants every module installed.
find_path(LATHE_OPENCV_INCLUDE opencv2/imgproc.hpp PATH_SUFFIXES opencv4 REQUIRED)
find_library(LATHE_OPENCV_CORE opencv_core REQUIRED)
find_library(LATHE_OPENCV_IMGPROC opencv_imgproc REQUIRED)
add_library(lathe_opencv INTERFACE)
target_include_directories(lathe_opencv SYSTEM INTERFACE "${LATHE_OPENCV_INCLUDE}")
target_link_libraries(lathe_opencv INTERFACE "${LATHE_OPENCV_IMGPROC}" "${LATHE_OPENCV_CORE}")

if(LATHE_BUILD_TESTS)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Core Test)
  # Its folder macros differ by target, which would keep the tests from sharing one precompiled header.
  set_property(TARGET Qt6::Test PROPERTY INTERFACE_COMPILE_DEFINITIONS QT_TESTLIB_LIB)
endif()

if(LATHE_BUILD_ENGINE)
  if(LATHE_TORCH_DIR)
    list(PREPEND CMAKE_PREFIX_PATH "${LATHE_TORCH_DIR}")
  endif()
  set(kineto_LIBRARY c10 CACHE STRING "" FORCE)  # it is static inside libtorch_cpu; this silences a warning
  find_package(Torch REQUIRED)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  add_library(lathe_torch INTERFACE)
  target_link_libraries(lathe_torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)  # at::parallel_for is serial without -fopenmp
  target_include_directories(lathe_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
endif()

#!/usr/bin/env bash
# From nothing to a running Lathe on Debian 12 or Ubuntu 22.04 and newer. See usage() below.
set -euo pipefail

usage() {
  cat <<'TEXT'
bash packaging/quickstart.sh COMMAND [arguments]

  demo [arguments]   builds, then runs the demo: pictures of its own, a short training, samples (lathe-batch demo)
  build              builds build/release/bin/lathe-batch
  test               builds everything and runs all tests
  gui                the window: not in this version

Each step does only what is missing. Logs: build/quickstart-logs/.

Environment
  LATHE_TORCH_DIR      use this LibTorch: the folder 'torch' of an installed or unpacked torch wheel, 2.11 to 2.13
  LATHE_TORCH_VARIANT  cpu or cuda; otherwise cuda where an NVIDIA driver is found
  LATHE_JOBS           parallel compiler processes; otherwise by cores and free memory
  CXX                  the compiler: GCC 12 or newer, Clang 15 or newer
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly ROOT=$PWD
readonly BUILD=$ROOT/build/release
readonly LOGS=$ROOT/build/quickstart-logs
readonly CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/lathe
source packaging/linux/steps.sh     # step, say, die
source packaging/linux/packages.sh  # find_tools, ensure_packages
source packaging/linux/torch.sh     # find_torch, fetch_torch, torch_cmake_arguments

configure() {  # with tests: ON or OFF
  local tests=$1 stamp=$BUILD/quickstart.stamp werror=OFF arguments
  if [[ -n ${CI:-} ]]; then werror=ON; fi  # elsewhere a newer compiler's new warnings do not stop the build
  # Once the tests are configured they stay: leaving them out again would only change the build's files to and fro.
  if [[ -f $stamp ]] && grep -q 'LATHE_BUILD_TESTS=ON' "$stamp"; then tests=ON; fi
  arguments=(--preset release "-DLATHE_BUILD_TESTS=$tests" "-DLATHE_WERROR=$werror" "-DCMAKE_CXX_COMPILER=$CXX" "-DCMAKE_C_COMPILER=$CC"
    "-DCMAKE_MAKE_PROGRAM=$(command -v ninja)")
  mapfile -t -O ${#arguments[@]} arguments < <(torch_cmake_arguments)
  local wanted
  wanted=$(printf '%s\n' "$CMAKE" "${arguments[@]}")
  if [[ -f $BUILD/build.ninja && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
    say "Configuring: nothing changed"
    return
  fi
  check_loads "$TORCH_DIR" || die "Of LibTorch in $TORCH_DIR a library is missing: the nvidia wheels that its wheel names must lie beside it."
  # Another compiler or LibTorch than before: CMake's old findings are of no use.
  if [[ -f $BUILD/CMakeCache.txt ]]; then arguments+=(--fresh); fi
  rm -f "$stamp"
  ADVICE="The last lines name what was not found. 'rm -r build/release' starts over."
  step "Configuring" configure "$CMAKE" "${arguments[@]}"
  printf '%s' "$wanted" >"$stamp"
}

build() {  # target
  local jobs
  jobs=$(job_count)
  ADVICE="Fix what the compiler says; where it was killed, memory was short: LATHE_JOBS=1 needs about 2 GB."
  step "Building ($jobs at a time)" build "$CMAKE" --build "$BUILD" -j "$jobs" --target "$1"
}

prepare() {  # with tests: ON or OFF
  mkdir -p "$LOGS"
  exec 9>"$LOGS/lock"
  if command -v flock >/dev/null && ! flock -n 9; then die "Another quickstart runs in this folder: wait for it."; fi
  find_torch
  ensure_packages "$1"
  find_tools
  if [[ -z $TORCH_DIR ]]; then fetch_torch; fi
  say "LibTorch $(torch_version "$TORCH_DIR") ($TORCH_VARIANT) in $TORCH_DIR"
  configure "$1"
}

run_demo() {
  prepare OFF
  build lathe_batch
  local started=$SECONDS code=0
  say "Running the demo (lathe-batch demo $*)"
  "$BUILD/bin/lathe-batch" demo "$@" 9>&- || code=$?
  say "The demo ended with exit code $code after $(duration $((SECONDS - started)))"
  return $code
}

run_tests() {
  if release_is ubuntu 22.04; then die "The tests need Qt 6.4, Ubuntu 22.04 has 6.2. 'demo' and 'build' need no Qt."; fi
  prepare ON
  build all
  local started=$SECONDS code=0 jobs ctest
  jobs=$(job_count)
  ctest=$(dirname "$CMAKE")/ctest
  say "Running the tests ($jobs at a time), log $(shown "$LOGS/ctest.log")"
  "$ctest" --test-dir "$BUILD" -j "$jobs" --output-on-failure --no-tests=error 2>&1 9>&- | tee "$LOGS/ctest.log" || code=$?
  if ((code != 0)); then
    say "Failed after $(duration $((SECONDS - started))); one test again: ctest --test-dir build/release -R NAME --output-on-failure"
  else
    say "All passed after $(duration $((SECONDS - started)))"
  fi
  return $code
}

command=${1:-help}
shift || true
case $command in
  demo) run_demo "$@" ;;
  test) run_tests ;;
  build)
    prepare OFF
    build lathe_batch
    say "Built $(shown "$BUILD/bin/lathe-batch"); 'lathe-batch help' lists its commands"
    ;;
  gui)
    echo "The window is not in this version; 'demo' runs everything without it." >&2
    exit 2
    ;;
  help | --help | -h) usage ;;
  *)
    echo "Unknown command '$command'." >&2
    usage >&2
    exit 2
    ;;
esac

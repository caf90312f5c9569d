# shellcheck shell=bash
# System packages and tools, for quickstart.sh. Sourced.

readonly CMAKE_WANTED=3.25
readonly LIBRARY_PACKAGES=(libspdlog-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libpng-dev zlib1g-dev libzip-dev
  libwebp-dev libturbojpeg0-dev libopencv-core-dev libopencv-imgproc-dev libutf8proc-dev libpcre2-dev libssl-dev)
readonly TEST_PACKAGES=(qt6-base-dev)

at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }  # version, wanted

release_is() { (. /etc/os-release && [[ $ID == "$1" && $VERSION_ID == "$2" ]]) 2>/dev/null; }

good_compiler() {  # program
  local version
  version=$("$1" -dumpfullversion -dumpversion 2>/dev/null) || return 1
  if "$1" --version | grep -qi clang; then at_least "$version" 15; else at_least "$version" 12; fi
}

find_compiler() {  # sets CXX and CC; fails where there is none
  local candidate
  for candidate in ${CXX:-g++ g++-12 g++-13 g++-14 clang++}; do
    if good_compiler "$candidate"; then
      CXX=$(command -v "$candidate")
      CC=${CC:-$(command -v "$(basename "$CXX" | sed 's/clang++/clang/; s/g++/gcc/')")}
      return
    fi
  done
  return 1
}

good_cmake() { at_least "$("$1" --version 2>/dev/null | awk 'NR == 1 { print $3 }')" $CMAKE_WANTED; }

missing_packages() {  # with tests: ON or OFF
  local wanted=("${LIBRARY_PACKAGES[@]}") installed package
  if [[ $1 == ON ]]; then wanted+=("${TEST_PACKAGES[@]}"); fi
  installed=$(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' 2>/dev/null |
    awk '$2 == "installed" { sub(/:.*/, "", $1); print $1 }')
  for package in "${wanted[@]}"; do
    grep -qxF "$package" <<<"$installed" || echo "$package"
  done
  command -v cmake >/dev/null || echo cmake
  command -v ninja >/dev/null || echo ninja-build
  command -v pkg-config >/dev/null || echo pkg-config
  if ! (find_compiler); then
    if release_is ubuntu 22.04; then echo g++-12; else echo g++; fi
  fi
  # Python only fetches LibTorch (and CMake where the system's is old).
  if [[ -z $TORCH_DIR ]] || { command -v cmake >/dev/null && ! good_cmake cmake && [[ ! -x $(private_cmake) ]]; } ||
    release_is ubuntu 22.04; then
    command -v python3 >/dev/null || echo python3
    python3 -c 'import pip' 2>/dev/null || echo python3-pip
  fi
}

ensure_packages() {  # with tests: ON or OFF
  if ! command -v dpkg-query >/dev/null; then
    say "Not a Debian system: g++ 12, CMake $CMAKE_WANTED, Ninja and these libraries are expected: ${LIBRARY_PACKAGES[*]}"
    return
  fi
  local missing
  missing=$(missing_packages "$1" | tr '\n' ' ')
  if [[ -z $missing ]]; then
    say "System packages: all there"
    return
  fi
  local install="apt-get update && apt-get install -y --no-install-recommends $missing"
  if ((EUID != 0)); then
    say "Packages of the system are missing. Run this once, then quickstart again:"
    echo "    sudo sh -c '$install'"
    exit 1
  fi
  ADVICE="Without a network: install these packages another way, then run quickstart again: $missing"
  step "Installing system packages: $missing" packages \
    env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update; apt-get install -y --no-install-recommends $missing"
}

private_cmake() { echo "$CACHE/cmake/cmake/data/bin/cmake"; }

find_tools() {  # sets CXX, CC, CMAKE
  find_compiler || die "No GCC 12 or Clang 15 or newer found (CXX=${CXX:-}). Name one: CXX=/path/to/g++"
  CMAKE=$(command -v cmake || true)
  if [[ -n $CMAKE ]] && good_cmake "$CMAKE"; then return; fi
  CMAKE=$(private_cmake)
  if [[ -x $CMAKE ]]; then return; fi
  # shellcheck disable=SC2034  # step prints ADVICE
  ADVICE="CMake $CMAKE_WANTED or newer must be in PATH."
  step "Fetching a newer CMake than the system's" cmake fetch_cmake
}

fetch_cmake() {
  local work=$CACHE/cmake.partial
  rm -rf "$work" && mkdir -p "$work/wheels"
  python3 -m pip download --no-input --no-deps --only-binary=:all: -d "$work/wheels" "cmake>=$CMAKE_WANTED,<4"
  python3 -m zipfile -e "$work"/wheels/cmake-*.whl "$work"
  chmod +x "$work"/cmake/data/bin/*
  rm -r "$work/wheels"
  rm -rf "$CACHE/cmake" && mv "$work" "$CACHE/cmake"
}

# shellcheck shell=bash
# LibTorch: found or fetched, for quickstart.sh. Sourced.

readonly TORCH_WANTED=2.13.0  # what is fetched
TORCH_DIR=""                  # folder `torch` of a wheel: include/, lib/, share/
TORCH_VARIANT=""              # cpu or cuda: what is built for, which a CUDA build of LibTorch serves too

torch_version() {  # folder → "2.13.0+cpu", empty where it is no LibTorch
  local header=$1/include/torch/headeronly/version.h
  if [[ -f $1/version.py ]]; then
    sed -n "s/^__version__ = '\(.*\)'.*/\1/p" "$1/version.py"
  elif [[ -f $header ]]; then
    awk '/define TORCH_VERSION_(MAJOR|MINOR|PATCH)/ { printf "%s%s", dot, $3; dot = "." }' "$header"
  fi
}

has_cuda() { [[ -f $1/lib/libtorch_cuda.so ]]; }

usable_torch() {  # folder: headers and libraries there, 2.11 or newer
  [[ -f $1/include/ATen/core/Tensor.h && -f $1/lib/libtorch_cpu.so ]] && at_least "$(torch_version "$1")" 2.11
}

warn_if_new() {  # folder
  if at_least "$(torch_version "$1")" 2.14; then
    say "Warning: LibTorch $(torch_version "$1") is newer than what was tried (2.11 to 2.13)"
  fi
}

driver_found() {
  nvidia-smi -L 2>/dev/null | grep -q '^GPU' && return
  { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -q 'libcuda\.so\.1' && return
  [[ -e /usr/lib/wsl/lib/libcuda.so.1 ]]
}

warn_of_old_driver() {
  local known
  known=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p')
  if [[ -n $known ]] && ! at_least "$known" 13.0; then
    say "Warning: the NVIDIA driver knows CUDA $known, LibTorch $TORCH_WANTED wants 13: update the driver, name another LibTorch in" \
      "LATHE_TORCH_DIR, or build for the CPU with LATHE_TORCH_VARIANT=cpu"
  fi
}

private_torch() { echo "$CACHE/torch-$TORCH_WANTED-$TORCH_VARIANT/torch"; }

importable_torch() {  # the folder of Python's torch, which is not loaded for it
  python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null
}

# Sets TORCH_VARIANT, and TORCH_DIR unless LibTorch must be fetched.
find_torch() {
  TORCH_VARIANT=${LATHE_TORCH_VARIANT:-}
  if [[ -n ${LATHE_TORCH_DIR:-} ]]; then
    usable_torch "$LATHE_TORCH_DIR" ||
      die "LATHE_TORCH_DIR=$LATHE_TORCH_DIR holds no LibTorch 2.11 or newer: name the folder 'torch' of a wheel, with include/ and lib/."
    TORCH_DIR=$(cd "$LATHE_TORCH_DIR" && pwd)
    if [[ -z $TORCH_VARIANT ]]; then
      TORCH_VARIANT=cpu
      if has_cuda "$TORCH_DIR" && driver_found; then TORCH_VARIANT=cuda; fi
    fi
    warn_if_new "$TORCH_DIR"
    return
  fi
  if [[ -z $TORCH_VARIANT ]]; then
    if driver_found; then TORCH_VARIANT=cuda; else TORCH_VARIANT=cpu; fi
  fi
  [[ $TORCH_VARIANT == cpu || $TORCH_VARIANT == cuda ]] || die "LATHE_TORCH_VARIANT=$TORCH_VARIANT: cpu or cuda."
  TORCH_DIR=$(private_torch)
  if usable_torch "$TORCH_DIR"; then return; fi
  TORCH_DIR=$(importable_torch || true)
  if [[ -n $TORCH_DIR ]] && usable_torch "$TORCH_DIR" && { [[ $TORCH_VARIANT == cpu ]] || has_cuda "$TORCH_DIR"; }; then
    warn_if_new "$TORCH_DIR"
    return
  fi
  TORCH_DIR=""
}

torch_cmake_arguments() {
  echo "-DLATHE_TORCH_DIR=$TORCH_DIR"
  if [[ $TORCH_VARIANT == cuda ]]; then echo "-DLATHE_CUDA=ON"; else echo "-DLATHE_CUDA=OFF"; fi
}

fetch_torch() {
  if [[ $TORCH_VARIANT == cuda ]]; then warn_of_old_driver; fi
  if [[ $TORCH_VARIANT == cuda ]]; then need_disk "$CACHE" 8 "LibTorch for CUDA"; else need_disk "$CACHE" 3 "LibTorch"; fi
  # shellcheck disable=SC2034  # step prints ADVICE
  ADVICE="Without a network: unpack a torch wheel and name its folder 'torch' in LATHE_TORCH_DIR."
  step "Fetching LibTorch $TORCH_WANTED ($TORCH_VARIANT)" torch fetch_torch_wheels "$(dirname "$(private_torch)")"
  TORCH_DIR=$(private_torch)
}

pip_wheel() {  # folder, pip arguments...
  local folder=$1 newest=()
  shift
  # LibTorch is the same for every Python: a Python that has no wheel yet takes another's.
  if python3 -c 'import sys; sys.exit(sys.version_info < (3, 15))'; then newest=(--python-version 3.12); fi
  python3 -m pip download --no-input --disable-pip-version-check --only-binary=:all: "${newest[@]}" -d "$folder" "$@"
}

# The configured registry's plain wheel is a CPU build on some, a CUDA build on others; either builds the CPU variant.
fetch_torch_wheels() {  # target folder
  local work=$1.partial index=https://download.pytorch.org/whl
  rm -rf "$work" && mkdir -p "$work/wheels"
  if [[ $TORCH_VARIANT == cpu ]]; then
    pip_wheel "$work/wheels" --no-deps "torch==$TORCH_WANTED+cpu" ||
      pip_wheel "$work/wheels" --no-deps --retries 1 --timeout 20 --index-url $index/cpu "torch==$TORCH_WANTED" ||
      pip_wheel "$work/wheels" --no-deps "torch==$TORCH_WANTED" || return 1
  else
    pip_wheel "$work/wheels" --no-deps "torch==$TORCH_WANTED,!=$TORCH_WANTED+cpu" ||
      pip_wheel "$work/wheels" --no-deps --retries 1 --timeout 20 --index-url $index/cu130 "torch==$TORCH_WANTED" || return 1
  fi
  unpack_wheels "$work" || return 1
  if has_cuda "$work/torch"; then
    cuda_requirements "$work"/torch-*.dist-info/METADATA >"$work/requirements.txt" || return 1
    pip_wheel "$work/wheels" -r "$work/requirements.txt" && unpack_wheels "$work" || return 1
  elif [[ $TORCH_VARIANT == cuda ]]; then
    echo "The wheel of the registry is a CPU build; LATHE_TORCH_VARIANT=cpu builds for the CPU."
    return 1
  fi
  check_loads "$work/torch" || return 1
  rm -rf "$work/wheels" "$1" && mv "$work" "$1"
}

# Unpacks the wheels of work/wheels into work and removes them: headers, libraries, CMake files, licences.
unpack_wheels() {  # work folder
  python3 - "$1" <<'PYTHON'
import glob, os, sys, zipfile
work = sys.argv[1]
wanted = ("torch/include/", "torch/lib/", "torch/share/", "torch/version.py", "nvidia/")
unused = ("torch/lib/libtorch_python", "torch/lib/libjitbackend", "torch/lib/libtorchbind", "torch/lib/libbackend_with")
for wheel in glob.glob(os.path.join(work, "wheels", "*.whl")):
    print("unpacking", os.path.basename(wheel), flush=True)
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist()
                 if (n.startswith(wanted) or ".dist-info/" in n) and not n.startswith(unused)]
        archive.extractall(work, names)
    os.remove(wheel)
PYTHON
}

# What of the wheel's requirements is a CUDA library. libtorch_cpu of a CUDA build loads two of them.
cuda_requirements() {  # METADATA
  local required
  required=$(sed -n 's/^Requires-Dist: \(\(nvidia-\|cuda-toolkit\)[^;]*\).*/\1/p' "$1")
  if [[ $TORCH_VARIANT == cuda ]]; then
    echo "$required"
  elif grep -q '^cuda-toolkit' <<<"$required"; then
    sed -n 's/^cuda-toolkit\[.*\]/cuda-toolkit[cudart,cupti]/p' <<<"$required"
  else
    grep -E 'cuda-runtime|cuda-cupti' <<<"$required"
  fi
}

check_loads() {  # folder: says which libraries are not found
  local library=libtorch_cpu.so absent
  if [[ $TORCH_VARIANT == cuda ]]; then library=libtorch_cuda.so; fi
  absent=$(ldd "$1/lib/$library" | grep 'not found' | grep -v 'libcuda\.so' || true)
  if [[ -z $absent ]]; then return; fi
  echo "$library cannot be loaded:"
  echo "$absent"
  return 1
}

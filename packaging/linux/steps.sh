# shellcheck shell=bash
# Steps with their time and log, for quickstart.sh. Sourced.

ADVICE=""

shown() { echo "${1#"$ROOT"/}"; }  # a path as the user sees it from the root

duration() {  # seconds
  if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

say() { echo "[quickstart] $*"; }

die() {
  say "$*" >&2
  exit 1
}

# Runs a command with its output in a log. A terminal sees the last progress mark of the log ("[12/240]", "45%")
# as it changes, another reader once a minute. On failure: the end of the log and $ADVICE.
step() {  # title, log name, command...
  local title=$1 log=$LOGS/$2.log started=$SECONDS code=0 last=0 pid mark
  shift 2
  say "$title, log $(shown "$log")"
  printf '%q ' "$@" >"$log"
  echo >>"$log"
  set -m  # a process group of its own, so that an interrupt ends all of it
  "$@" >>"$log" 2>&1 </dev/null 9>&- &
  pid=$!
  set +m
  trap 'kill -TERM -- "-$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [[ -t 1 ]]; then
      mark=$(progress_mark "$log")
      printf '\r[quickstart]   %s %s   ' "$(duration $((SECONDS - started)))" "$mark"
    elif ((SECONDS - started - last >= 60)); then
      last=$((SECONDS - started))
      say "  $(duration $last) $(progress_mark "$log")"
    fi
  done
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
  wait "$pid" || code=$?
  trap - INT TERM
  if ((code != 0)); then
    say "$title failed after $(duration $((SECONDS - started))) (exit code $code). The end of $(shown "$log"):" >&2
    tail -n 30 "$log" | sed 's/^/    /' >&2
    die "$ADVICE"
  fi
  say "$title: done in $(duration $((SECONDS - started)))"
}

progress_mark() { tail -c 4000 "$1" | tr '\r' '\n' | grep -aoE '^\[[0-9]+/[0-9]+\]|[0-9]+(\.[0-9]+)?/[0-9.]+ [MG]B|[0-9]+%' | tail -n 1 || true; }

# A compiler process of the engine takes up to 2 GB.
job_count() {
  if [[ -n ${LATHE_JOBS:-} ]]; then
    echo "$LATHE_JOBS"
    return
  fi
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 2000000) }' /proc/meminfo)
  if ((memory < 1)); then memory=1; fi
  echo $((cores < memory ? cores : memory))
}

need_disk() {  # folder, gigabytes, for what
  local free
  mkdir -p "$1"
  free=$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1000000) }')
  if ((free < $2)); then die "$3 needs about $2 GB in $1, where $free GB are free."; fi
}

# What every subcommand needs: folders, progress lines, stamps. Sourced by ./dev.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
DEV=$ROOT/.dev
TOOLS=$DEV/tools
STAMPS=$DEV/stamps
PYTHON=$DEV/venv/bin/python
export PYTHONPATH=$ROOT/devtools${PYTHONPATH:+:$PYTHONPATH}
export PYTHONDONTWRITEBYTECODE=1
source "$ROOT/devtools/versions.sh"
mkdir -p "$TOOLS" "$STAMPS" "$DEV/logs"

fail() { echo "dev: $*" >&2; exit 1; }

# step "what" command...: one progress line, with the time it took. The
# command's output goes to a log, whose end is shown when it fails.
step() {
  local what=$1 log began=$SECONDS
  log=$DEV/logs/$(basename "$2").log
  shift
  printf '== %s ... ' "$what"
  if "$@" >"$log" 2>&1 </dev/null; then
    echo "done in $((SECONDS - began)) s"
  else
    echo "FAILED after $((SECONDS - began)) s; the end of $log:" >&2
    tail -n 25 "$log" >&2
    exit 1
  fi
}

# once NAME "what" [file...] -- command...: a step that is done again only when
# one of the files (or its absence of a stamp) says so.
once() {
  local name=$1 what=$2 inputs=()
  shift 2
  while [[ $1 != -- ]]; do inputs+=("$1"); shift; done
  shift
  local print
  print=$( { echo "$@"; cat "${inputs[@]}" "$ROOT/devtools/versions.sh"; } | sha256sum)
  [[ -f $STAMPS/$name && $(<"$STAMPS/$name") == "$print" ]] && return
  step "$what" "$@"
  echo "$print" >"$STAMPS/$name"
}

have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if ((EUID == 0)); then "$@"
  elif have sudo; then sudo "$@"
  else echo "needs root, and there is no sudo: $*" >&2; return 1
  fi
}

heading() { printf '\n-- %s\n' "$*"; }

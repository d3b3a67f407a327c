# Every test: unit and integration binaries, interop with real clients, the
# compatibility kit. One summary line at the end.

TEST_STACK=test

test_command() {
  local sanitizer='' filter=''
  while (($#)); do
    case $1 in
      --sanitizer) sanitizer=${2:?asan or tsan}; shift 2 ;;
      *) filter=$1; shift ;;
    esac
  done
  RESULTS=$DEV/results
  rm -rf "$RESULTS" && mkdir -p "$RESULTS"
  if [[ -n $sanitizer ]]; then
    [[ $sanitizer == asan || $sanitizer == tsan ]] || fail "no sanitizer named $sanitizer: asan or tsan"
    phase unit unit_tests "$sanitizer" "${filter#unit}"
  else
    test_phases "$filter"
  fi
  echo
  "$PYTHON" -m report "$RESULTS"
}

test_phases() {
  case $1 in
    unit | interop) phase "$1" "${1}_tests" dev '' ;;
    kit | kit:*) phase kit kit_tests "${1#kit}" ;;
    *)
      phase unit unit_tests dev "$1"
      phase interop interop_tests dev "$1"
      if [[ -z $1 ]]; then phase kit kit_tests ''; fi
      ;;
  esac
}

# phase NAME function args...: runs it, tells its time, keeps its exit code for the report.
phase() {
  local name=$1 began=$SECONDS code=0
  shift
  heading "$name tests"
  ( "$@" ) || code=$?
  echo "$code" >"$RESULTS/$name.code"
  echo "== $name tests took $((SECONDS - began)) s"
}

# unit_tests PRESET FILTER
unit_tests() {
  setup_servers
  build_preset "$1"
  mkdir -p "$RESULTS/gtest"
  local options=(--test-dir "$ROOT/build/$1" --output-on-failure --no-tests=ignore --timeout 600
    --output-junit "$RESULTS/ctest.xml" -j "$(nproc)")
  [[ -z $2 ]] || options+=(-R "$2")
  GTEST_OUTPUT="xml:$RESULTS/gtest/" TEST_MINIO=$TOOLS/minio \
    ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=1 \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    TSAN_OPTIONS=second_deadlock_stack=1:halt_on_error=1 \
    ASAN_SYMBOLIZER_PATH=$(command -v "llvm-symbolizer-$COMPILER") \
    TSAN_SYMBOLIZER_PATH=$(command -v "llvm-symbolizer-$COMPILER") \
    ctest "${options[@]}"
}

# interop_tests PRESET FILTER
interop_tests() {
  local options=(-q --tb=short -p no:cacheprovider --durations=10 --junitxml="$RESULTS/interop.xml")
  [[ -z $2 ]] || options+=(-k "$2")
  setup_servers
  if ! interop_matches "${options[@]}"; then echo "no interop test is named like $2"; return; fi
  setup_jars
  with_stack "$PYTHON" -m pytest "${options[@]}" "$ROOT/tests/devtools" "$ROOT/tests/interop"
}

interop_matches() { "$PYTHON" -m pytest "$@" --collect-only "$ROOT/tests/devtools" "$ROOT/tests/interop" >/dev/null 2>&1; }

# kit_tests :NAME
kit_tests() {
  setup_servers
  local tests=()
  [[ -z ${1#:} ]] || tests=("${1#:}")
  with_stack "$PYTHON" "$ROOT/tests/interop/compat_kit/run.py" "${tests[@]}" | tee "$RESULTS/kit.txt"
}

# with_stack command...: runs it on a new private stack, which is removed afterwards.
with_stack() {
  build_preset dev lakeproxy
  "$PYTHON" -m stack down --name "$TEST_STACK" --wipe >/dev/null
  trap '"$PYTHON" -m stack down --name "$TEST_STACK" --wipe >/dev/null' EXIT
  "$PYTHON" -m stack up --name "$TEST_STACK" || return
  # shellcheck disable=SC1090
  (source "$DEV/stacks/$TEST_STACK/env" && LAKE_STACK=$TEST_STACK "$@")
}

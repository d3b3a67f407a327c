# Every test: unit and integration binaries, interop with real clients, the
# compatibility kit; in lanes side by side. One summary line at the end.

TEST_STACK=test
PYTEST_OPTIONS=(-q --tb=short -p no:cacheprovider)
# What runs side by side, longest first, until lanes.py knows better. Each has servers of its own.
LANES=(lake engines tools faults upkeep tables oracle unit agents tables_1_1 governance keys kit)
FOLDERS_tools=("$ROOT/tests/devtools" "$ROOT/tests/model" "$ROOT/tests/spec")
# What agents and other servers bring to the tool service.
FOLDERS_agents=("$ROOT/tests/museum")
for file in "$ROOT"/tests/interop/tools/test_*.py; do
  case ${file##*/test_} in
    bridge* | doors* | federation* | guard* | mcp* | sql_bombs* | tool_tour*) FOLDERS_agents+=("$file") ;;
    *) FOLDERS_tools+=("$file") ;;
  esac
done
FOLDERS_lake=("$ROOT/tests/interop/from_duckdb" "$ROOT/tests/interop/from_clients")
FOLDERS_tables=("$ROOT/tests/interop/api" "$ROOT/tests/interop/tables")
FOLDERS_keys=("$ROOT/tests/interop/keys")
FOLDERS_governance=("$ROOT/tests/interop/governance" "$ROOT/tests/interop/masking")
# What is quick of the lane tables, on a lake of DuckLake 1.1.
FOLDERS_tables_1_1=("$ROOT/tests/interop/api/test_views.py" "$ROOT/tests/interop/api/test_transactions.py"
  "$ROOT/tests/interop/tables/test_definition_changes.py")
FOLDERS_upkeep=("$ROOT/tests/interop/hostile" "$ROOT/tests/interop/server" "$ROOT/tests/interop/upkeep")
FOLDERS_engines=("$ROOT/tests/interop/engines")
FOLDERS_faults=("$ROOT/tests/faults")
FOLDERS_oracle=("$ROOT/tests/oracle" "$ROOT/tests/policy_oracle")
PYTEST_FOLDERS=("${FOLDERS_tools[@]}" "${FOLDERS_agents[@]}" "${FOLDERS_lake[@]}" "${FOLDERS_tables[@]}" "${FOLDERS_upkeep[@]}"
  "${FOLDERS_keys[@]}" "${FOLDERS_governance[@]}" "${FOLDERS_engines[@]}" "${FOLDERS_faults[@]}" "${FOLDERS_oracle[@]}")

test_command() {
  local sanitizer='' filter=''
  while (($#)); do
    case $1 in
      --sanitizer) sanitizer=${2:?asan or tsan}; shift 2 ;;
      *) filter=$1; shift ;;
    esac
  done
  RESULTS=$DEV/results
  mkdir -p "$RESULTS"
  find "$RESULTS" -mindepth 1 ! -name times.json -delete
  local preset=${sanitizer:-dev}
  [[ $preset =~ ^(dev|asan|tsan)$ ]] || fail "no sanitizer named $sanitizer: asan or tsan"
  sanitizer_options
  LANES_CODE=0
  test_phases "$preset" "$filter"
  echo
  local findings=$LANES_CODE
  sanitizer_findings || findings=1
  "$PYTHON" -m report "$RESULTS" && return "$findings"
}

# A server that is stopped at the end of a test may have died of a finding that no client saw.
sanitizer_findings() {
  local file found=0
  for file in "$RESULTS"/sanitizer.*; do
    [[ -f $file ]] || continue
    found=1
    head -60 "$file"
  done
  if ((found)); then echo "the sanitizer found something: see above"; return 1; fi
}

# test_phases PRESET FILTER: what the filter names, one after the other; without one every lane, side by side.
test_phases() {
  case $2 in
    '') test_lanes "$1" ;;
    lane:*) test_lanes "$1" "${2#lane:}" ;;
    unit | interop) phase "$2" "${2}_tests" "$1" '' ;;
    kit | kit:*) phase kit kit_tests "$1" "${2#kit}" ;;
    *)
      phase unit unit_tests "$1" "$2"
      phase interop interop_tests "$1" "$2"
      ;;
  esac
}

# test_lanes PRESET [LANE...]: installs and builds what all need, then runs these lanes or all, half as many again at once as
# there are processors: most wait for servers.
test_lanes() {
  local preset=$1 lanes=("${@:2}")
  ((${#lanes[@]})) || lanes=("${LANES[@]}")
  setup_servers
  setup_plain_store
  setup_tool_peers
  setup_jars
  setup_trino
  build_preset "$preset"
  heading "tests"
  # The report names what failed, so the run goes on to it.
  "$PYTHON" -m lanes "$RESULTS" "$(((3 * $(nproc) + 1) / 2))" "$preset" "${lanes[@]}" || LANES_CODE=$?
}

# lane_command NAME PRESET: one of them, on servers of its own; lanes.py calls this. With LANE_AGAIN only the tests that
# failed.
lane_command() {
  local name=$1 preset=$2
  [[ " ${LANES[*]} " == *" $name "* ]] || fail "no lane named $name: ${LANES[*]}"
  export RESULTS=$DEV/results${LANE_AGAIN:+/again}
  export LANE_TESTS=$RESULTS/$name.tests
  TEST_STACK=test-$name
  build_preset() { :; }  # all is built; two ninjas in one folder would be in each other's way
  case $name in
    unit) unit_tests "$preset" '' ;;
    kit) kit_tests "$preset" '' ;;
    *)
      [[ $name != *_1_1 ]] || export LAKE_FORMAT=1.1
      local folders="FOLDERS_$name[@]"
      local tests=("${!folders}")
      [[ -z ${LANE_AGAIN:-} ]] || mapfile -t tests <"$RESULTS/$name.failed-before"
      setup_servers
      with_stack "$preset" "$PYTHON" -m pytest "${PYTEST_OPTIONS[@]}" -p lane_tests --junitxml="$RESULTS/$name.xml" \
        "${tests[@]}"
      ;;
  esac
}

# What the sanitizers' run-time reads: the first finding ends the program, and so the test.
sanitizer_options() {
  local symbolizer
  # A plain run needs none, and may be on a machine without it.
  symbolizer=$(command -v "llvm-symbolizer-$COMPILER") || true
  local log=log_path=$RESULTS/sanitizer
  export ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=1:$log
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$log
  export TSAN_OPTIONS=second_deadlock_stack=1:halt_on_error=1:die_after_fork=0:suppressions=$ROOT/devtools/tsan.supp:$log
  export ASAN_SYMBOLIZER_PATH=$symbolizer TSAN_SYMBOLIZER_PATH=$symbolizer
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
  [[ -z ${LANE_AGAIN:-} ]] || options+=(--rerun-failed)
  GTEST_OUTPUT="xml:$RESULTS/gtest/" TEST_MINIO=$TOOLS/minio \
    ctest "${options[@]}"
}

# interop_tests PRESET FILTER
interop_tests() {
  local options=("${PYTEST_OPTIONS[@]}" --durations=10 --junitxml="$RESULTS/interop.xml")
  [[ -z $2 ]] || options+=(-k "$2")
  setup_servers
  if [[ -n $2 ]] && ! interop_matches "${options[@]}"; then echo "no interop test is named like $2"; return; fi
  setup_tool_peers
  setup_jars
  setup_trino
  [[ $2 != engines ]] || export ENGINES=all
  with_stack "$1" "$PYTHON" -m pytest "${options[@]}" "${PYTEST_FOLDERS[@]}"
}

# A folder that cannot be collected matches: the run itself then tells why.
interop_matches() {
  local code=0
  "$PYTHON" -m pytest "$@" --collect-only "${PYTEST_FOLDERS[@]}" >/dev/null 2>&1 || code=$?
  ((code != 5))
}

# kit_tests PRESET :NAME
kit_tests() {
  setup_servers
  local tests=()
  [[ -z ${2#:} ]] || tests=("${2#:}")
  with_stack "$1" "$PYTHON" "$ROOT/tests/interop/compat_kit/run.py" "${tests[@]}" | tee "$RESULTS/kit.txt"
}

# with_stack PRESET command...: runs it on a new private stack, which is removed afterwards.
with_stack() {
  local preset=$1
  shift
  build_preset "$preset" lakeproxy faulty_lakeproxy securetool call_tool lasting_client tool_driver websocket_echo
  "$PYTHON" -m stack down --name "$TEST_STACK" --wipe >/dev/null
  trap '"$PYTHON" -m stack down --name "$TEST_STACK" --wipe >/dev/null' EXIT
  "$PYTHON" -m stack up --name "$TEST_STACK" --binary "$ROOT/build/$preset/lakeproxy" \
    ${LAKE_FORMAT:+--format "$LAKE_FORMAT"} || return
  # shellcheck disable=SC1090
  (source "$DEV/stacks/$TEST_STACK/env" && LAKE_STACK=$TEST_STACK TOOLS_BINARY=$ROOT/build/$preset/securetool \
    WEBSOCKET_ECHO=$ROOT/build/$preset/websocket_echo "$@")
}

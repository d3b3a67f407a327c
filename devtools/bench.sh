# Benchmarks: the lake beside the Java reference catalog, the tool service
# beside MCP servers. bench [lake|tools] [options]; without a name both.

bench_command() {
  case ${1-} in
    lake | tools) "bench_${1}" "${@:2}" ;;
    *) bench_lake "$@" && bench_tools ;;
  esac
}

bench_lake() {
  setup_servers
  setup_reference_server
  build_preset release
  "$PYTHON" "$ROOT/bench/run.py" "$@"
}

bench_tools() {
  setup_python
  once peers "Python peer of the tool service" "$ROOT/bench/tools/peers/requirements.txt" -- install_peers
  build_go_peer
  build_preset release securetool tool_load
  "$PYTHON" "$ROOT/bench/tools/run.py" "$@"
}

install_peers() {
  [[ -x $DEV/venv-peers/bin/python ]] || python3 -m venv "$DEV/venv-peers"
  "$DEV/venv-peers/bin/pip" install --disable-pip-version-check -r "$ROOT/bench/tools/peers/requirements.txt"
}

build_go_peer() {
  local go=go
  usable_go go || go=$TOOLS/go/bin/go
  usable_go "$go" || step "Go toolchain" install_go
  once go_echo "Go peer of the tool service" "$ROOT"/bench/tools/peers/go_echo/* -- compile_go_peer "$go"
}

compile_go_peer() { (cd "$ROOT/bench/tools/peers/go_echo" && "$1" build -o "$TOOLS/go_echo" .); }

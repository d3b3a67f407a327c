# Benchmarks: the lake beside the Java reference catalog, how far one lake goes,
# the tool service beside MCP servers. bench [lake|scale|tools] [options];
# without a name all of them.

bench_command() {
  case ${1-} in
    lake | scale | tools) "bench_${1}" "${@:2}" ;;
    *) bench_lake "$@" && bench_scale && bench_tools ;;
  esac
}

bench_lake() {
  setup_servers
  setup_reference_server
  build_preset release lakeproxy request_load lakeproxy_derive_bench
  "$PYTHON" "$ROOT/bench/run.py" "$@"
}

bench_scale() {
  setup_servers
  have haproxy || step "balancer" install_balancer
  build_preset release lakeproxy
  "$PYTHON" "$ROOT/bench/scale/run.py" "$@"
}

install_balancer() { as_root apt-get install -q -y --no-install-recommends haproxy; }

bench_tools() {
  setup_python
  once peers "Python peer of the tool service" "$ROOT/bench/tools/peers/requirements.txt" -- install_peers
  build_go_peer
  build_preset release securetool tool_load toolserver_guard_bench toolserver_isolate_bench toolserver_federation_proof_bench
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

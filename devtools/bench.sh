# Benchmarks, beside the Java reference catalog on the same servers.

bench_command() {
  setup_servers
  setup_reference_server
  build_preset release
  exec "$PYTHON" "$ROOT/bench/run.py" "$@"
}

# Configures and builds a preset, all of it or single programs.

# build_preset PRESET [target...]
build_preset() {
  local preset=$1
  shift
  setup_engine
  # A changed preset says so to nobody: it is read when the folder is configured.
  [[ $ROOT/build/$preset/build.ninja -nt $ROOT/CMakePresets.json ]] || step "configure $preset" cmake -S "$ROOT" --preset "$preset"
  echo "== build $preset"
  local began=$SECONDS
  ninja -C "$ROOT/build/$preset" --quiet "$@" || fail "the build of $preset failed"
  echo "== build $preset done in $((SECONDS - began)) s"
}

build_command() {
  local word presets=() targets=()
  for word in "$@"; do
    if [[ $word =~ ^(dev|release|asan|tsan)$ ]]; then presets+=("$word"); else targets+=("$word"); fi
  done
  ((${#presets[@]})) || presets=(dev)
  for word in "${presets[@]}"; do build_preset "$word" "${targets[@]}"; done
}

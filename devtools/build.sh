# Configures and builds a preset.

# build_preset PRESET [target...]
build_preset() {
  local preset=$1
  shift
  setup_engine
  [[ -f $ROOT/build/$preset/build.ninja ]] || step "configure $preset" cmake -S "$ROOT" --preset "$preset"
  echo "== build $preset"
  local began=$SECONDS
  ninja -C "$ROOT/build/$preset" --quiet "$@" || fail "the build of $preset failed"
  echo "== build $preset done in $((SECONDS - began)) s"
}

build_command() {
  (($#)) || set -- dev
  local preset
  for preset in "$@"; do
    [[ $preset =~ ^(dev|release|asan|tsan)$ ]] || fail "no preset named $preset: dev, release, asan or tsan"
    build_preset "$preset"
  done
}

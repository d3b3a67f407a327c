# Fuzzing: every fuzz/<name>_fuzz.cc under libFuzzer, in the build of preset asan.
# Seeds are in fuzz/corpus/<name>/; what a run adds and finds goes to .dev/fuzz/<name>/.

FUZZ_MEMORY_MB=2048
FUZZ_INPUT_SECONDS=10

fuzz_command() {
  local seconds=30 target='' name found=0 finds=0
  while (($#)); do
    case $1 in
      --seconds) seconds=${2:?a number of seconds}; shift 2 ;;
      *) target=${1%_fuzz}; shift ;;
    esac
  done
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "--seconds takes a whole number above 0"
  [[ -z $target || -f $ROOT/fuzz/${target}_fuzz.cc ]] || fail "no fuzz target named $target: $(fuzz_names)"
  local goal=fuzz_targets
  [[ -z $target ]] || goal=${target}_fuzz
  build_preset asan "$goal"
  for name in ${target:-$(fuzz_names)}; do
    found=$((found + 1))
    fuzz_one "$name" "$seconds" || finds=$((finds + 1))
  done
  ((finds == 0)) || fail "$finds of $found targets have finds under .dev/fuzz"
  echo "== $found targets, no finds"
}

fuzz_names() {
  local file
  for file in "$ROOT"/fuzz/*_fuzz.cc; do basename "$file" _fuzz.cc; done | xargs
}

# fuzz_one NAME SECONDS: one progress line; fails when something was found.
fuzz_one() {
  local name=$1 seconds=$2 folder=$DEV/fuzz/$1 log=$DEV/logs/fuzz-$1.log began=$SECONDS code=0
  mkdir -p "$folder/corpus" "$folder/finds"
  local corpora=("$folder/corpus")
  [[ ! -d $ROOT/fuzz/corpus/$name ]] || corpora+=("$ROOT/fuzz/corpus/$name")
  printf '== fuzz %s ... ' "$name"
  ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    ASAN_SYMBOLIZER_PATH=$(command -v "llvm-symbolizer-$COMPILER") \
    "$ROOT/build/asan/${name}_fuzz" "${corpora[@]}" -artifact_prefix="$folder/finds/" \
    -max_total_time="$seconds" -timeout="$FUZZ_INPUT_SECONDS" -rss_limit_mb="$FUZZ_MEMORY_MB" \
    -print_final_stats=1 >"$log" 2>&1 </dev/null || code=$?
  if ((code == 0)); then
    echo "$(fuzz_figure executed_units) inputs in $((SECONDS - began)) s, $(fuzz_figure_of_corpus) in the corpus"
    return
  fi
  echo "FOUND after $((SECONDS - began)) s; the end of $log:" >&2
  tail -n 25 "$log" >&2
  return 1
}

fuzz_figure() { sed -n "s/^stat::[a-z_]*$1: *//p" "$log"; }
fuzz_figure_of_corpus() { find "${corpora[@]}" -type f | wc -l; }

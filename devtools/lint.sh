# Formatting, clang-tidy, names of Python that are unused or nobody's, words that must not appear.

source_files() { git -C "$ROOT" ls-files --cached --others --exclude-standard '*.cc' '*.h'; }

# The files that differ from the commit LINT_SINCE, or all of them with --all.
linted_files() {
  if [[ ${1-} == --all ]]; then source_files; return; fi
  {
    git -C "$ROOT" diff --name-only --diff-filter=d "${LINT_SINCE:-HEAD~1}" -- '*.cc' '*.h'
    git -C "$ROOT" ls-files --others --exclude-standard '*.cc' '*.h'
  } | sort -u
}

fmt_command() {
  setup_packages
  source_files | (cd "$ROOT" && xargs -r "clang-format-$COMPILER" -i)
  echo "== formatted"
}

lint_command() {
  setup_engine
  local files faults=0
  mapfile -t files < <(linted_files "$@")
  cd "$ROOT" || fail "no folder $ROOT"
  echo "== lint ${#files[@]} files"
  if ((${#files[@]})); then
    "clang-format-$COMPILER" --dry-run --Werror "${files[@]}" || faults=1
    lint_tidy "${files[@]}" || faults=1
  fi
  lint_python || faults=1
  lint_words || faults=1
  ((faults == 0)) || fail "lint found faults"
  echo "== lint is clean"
}

lint_tidy() {
  [[ -f build/dev/compile_commands.json ]] || step "configure dev" cmake -S "$ROOT" --preset dev
  local units
  mapfile -t units < <(printf '%s\n' "$@" | grep '\.cc$')
  ((${#units[@]})) || return 0
  printf '%s\n' "${units[@]}" |
    xargs -P "$(nproc)" -n 1 "clang-tidy-$COMPILER" -p build/dev --quiet --warnings-as-errors='*'
}

# All of it, whatever changed: it takes a moment.
lint_python() {
  git ls-files -z --cached --others --exclude-standard '*.py' | xargs -0 "$PYTHON" -m ruff check --quiet --no-cache --isolated --select F,E9
}

# Left-overs and things that are true on one machine only.
lint_words() {
  local words='TODO|FIXME|XXX|HACK|/(root|home)/[a-z]|/tmp/[a-z]|DISABLED_|GTEST_SKIP'
  ! git grep -nIwE "$words" -- ':!devtools/lint.sh' ':!LICENSE'
}

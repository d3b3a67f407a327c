# The oracles: random histories of a lake, read through both access paths; and of its governance. docs/oracle.md.

ORACLE_STACK=oracle

# oracle_command [--governance] [--minutes N] [--seed S] [--spark SHARE] ...: on a private stack, which is removed afterwards.
oracle_command() {
  local which=oracle
  if [[ ${1-} == --governance ]]; then which=policy_oracle; shift; fi
  setup_servers
  [[ " $* " != *" --spark"* ]] || setup_jars
  build_preset dev lakeproxy
  "$PYTHON" -m stack down --name "$ORACLE_STACK" --wipe >/dev/null
  trap '"$PYTHON" -m stack down --name "$ORACLE_STACK" --wipe >/dev/null' EXIT
  "$PYTHON" -m stack up --name "$ORACLE_STACK" || return
  # shellcheck disable=SC1090
  (source "$DEV/stacks/$ORACLE_STACK/env" && PYTHONPATH=$PYTHONPATH:$ROOT/tests:$ROOT/tests/interop LAKE_STACK=$ORACLE_STACK "$PYTHON" -W ignore -m "$which" "$@")
}

# Prompts wired to a running stack.

shell_command() {
  local which=${1-psql} name=${2-default} env=$DEV/env
  setup_servers
  [[ $name == default ]] || env=$DEV/stacks/$name/env
  [[ -f $env ]] || fail "stack $name is not up: ./dev up --name $name"
  # shellcheck disable=SC1090
  source "$env"
  case $which in
    psql) exec psql "$LAKE_PG_DSN" ;;
    duckdb) exec "$PYTHON" -m lake_clients.prompt ;;
    python) exec "$PYTHON" -i -m lake_clients.python_prompt ;;
    *) fail "shell knows psql, duckdb and python, not $which" ;;
  esac
}

# What works on a running stack: prompts, and the lakes of examples/.

shell_command() {
  local which=${1-psql}
  stack_variables "${2-default}"
  case $which in
    psql) exec psql "$LAKE_PG_DSN" ;;
    duckdb) exec "$PYTHON" -m lake_clients.prompt ;;
    python) exec "$PYTHON" -i -m lake_clients.python_prompt ;;
    *) fail "shell knows psql, duckdb and python, not $which" ;;
  esac
}

# example_command LAKE [--name STACK] [options of the example]
example_command() {
  local name=default options=()
  while (($#)); do
    case $1 in
      --name) name=${2:?of a stack}; shift 2 ;;
      *) options+=("$1"); shift ;;
    esac
  done
  stack_variables "$name"
  PYTHONPATH=$PYTHONPATH:$ROOT/examples "$PYTHON" -m lakes "${options[@]}"
}

# stack_variables NAME: where its lake is.
stack_variables() {
  local env=$DEV/env
  setup_servers
  [[ $1 == default ]] || env=$DEV/stacks/$1/env
  [[ -f $env ]] || fail "stack $1 is not up: ./dev up --name $1"
  # shellcheck disable=SC1090
  source "$env"
}

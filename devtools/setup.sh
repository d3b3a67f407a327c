# What ./dev needs and this machine lacks, one function each. Each may be
# called any number of times, and does nothing when its work is done.

setup_packages() {
  once packages "system packages" "$ROOT/devtools/packages.txt" -- install_packages
}

install_packages() {
  local missing
  missing=$(missing_packages)
  [[ -z $missing ]] && return
  as_root apt-get update -q
  # shellcheck disable=SC2086  # a list of words
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

missing_packages() {
  local line
  grep -v '^#' "$ROOT/devtools/packages.txt" | while read -r line; do
    case $line in
      *:*) have "${line%%:*}" || echo "${line##*: }" ;;
      *) installed "$line" || echo "$line" ;;
    esac
  done
  can_make_venv || echo python3-venv
}

installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

can_make_venv() { have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null; }

setup_python() {
  setup_packages
  once python "Python tools" "$ROOT/devtools/requirements.txt" "$ROOT/devtools/requirements_alone.txt" -- install_python
}

install_python() {
  [[ -x $PYTHON ]] || python3 -m venv "$DEV/venv"
  "$PYTHON" -m pip install --disable-pip-version-check -r "$ROOT/devtools/requirements.txt"
  "$PYTHON" -m pip install --disable-pip-version-check --no-deps -r "$ROOT/devtools/requirements_alone.txt"
}

# The embedded engine: its library from npm, its header from the Python source
# package, its extensions from the Python wheels that setup_python installed.
setup_engine() {
  setup_python
  local folder=$TOOLS/duckdb-$ENGINE_VERSION
  once engine "DuckDB $ENGINE_VERSION as a library" -- install_engine
  [[ -f $folder/duckdb.h && -f $folder/libduckdb.so ]] || { rm "$STAMPS/engine"; setup_engine; }
  # One that was added to the Python tools since.
  cp --no-clobber "$DEV"/venv/lib/*/site-packages/duckdb_extension_*/extensions/*/*.duckdb_extension "$folder/extensions/"
}

install_engine() {
  local folder=$TOOLS/duckdb-$ENGINE_VERSION work
  work=$(mktemp -d "$TOOLS/engine.XXXXXX")
  mkdir -p "$folder/extensions"
  (cd "$work" && npm pack --silent "$ENGINE_LIBRARY_PACKAGE" && tar xzf ./*.tgz) || return
  "$PYTHON" -m pip download -q --no-deps --no-binary duckdb -d "$work" "duckdb==$ENGINE_VERSION" || return
  tar xzf "$work/duckdb-$ENGINE_VERSION.tar.gz" -C "$folder" --strip-components=5 \
    "duckdb-$ENGINE_VERSION/external/duckdb/src/include/duckdb.h" || return
  # A process that runs has the old files in its memory: they are replaced, never written into.
  find "$DEV/venv" -name '*.duckdb_extension' -exec cp --remove-destination {} "$folder/extensions/" \; || return
  mv "$work/package/libduckdb.so" "$folder/libduckdb.so" || return
  rm -r "$work"
}

setup_object_store() {
  [[ -x $TOOLS/minio ]] && return
  setup_python
  setup_go
  step "S3 store, built from source (3 to 5 minutes, once)" build_object_store
}

setup_go() { usable_go go || usable_go "$TOOLS/go/bin/go" || step "Go toolchain" install_go; }

# Go 1.21 and newer fetch by themselves the version that the store asks for.
usable_go() {
  local minor
  minor=$("$1" env GOVERSION 2>/dev/null | sed -nE 's/^go1\.([0-9]+).*/\1/p')
  [[ -n $minor ]] && ((minor >= 21))
}

install_go() {
  local work
  work=$(mktemp -d "$TOOLS/go.XXXXXX")
  "$PYTHON" -m pip download -q --no-deps -d "$work" "$GO_PACKAGE" || return
  unzip -q "$work"/*.whl 'go/*' -d "$TOOLS" || return
  chmod +x "$TOOLS"/go/bin/* "$TOOLS"/go/pkg/tool/*/* || return
  rm -r "$work"
}

# The machine's Go, or the one of setup_go.
run_go() {
  local go=go
  usable_go go || go=$TOOLS/go/bin/go
  CGO_ENABLED=0 "$go" "$@"
}

build_object_store() {
  GOBIN=$TOOLS run_go install -trimpath -ldflags='-s -w' "$MINIO_MODULE"
}

# The S3 store that has no STS: clients get signatures, or keys of their own.
setup_plain_store() {
  [[ -x $TOOLS/versitygw ]] && return
  setup_python
  setup_go
  step "S3 store without STS, built from source (2 to 4 minutes, once)" build_plain_store
}

build_plain_store() {
  GOBIN=$TOOLS run_go install -trimpath -ldflags='-s -w' "$VERSITYGW_MODULE"
}

# The official tests of JSON Schema, which its Python implementation's source package carries.
setup_schema_suite() {
  setup_python
  [[ -f $TOOLS/json-schema-suite/draft2020-12/ref.json ]] || rm -f "$STAMPS/schema_suite"
  once schema_suite "JSON Schema test suite" -- install_schema_suite
}

install_schema_suite() {
  local folder=$TOOLS/json-schema-suite version work
  version=$(sed -n 's/^jsonschema==//p' "$ROOT/devtools/requirements.txt")
  work=$(mktemp -d "$TOOLS/schema.XXXXXX")
  mkdir -p "$folder"
  "$PYTHON" -m pip download -q --no-deps --no-binary jsonschema -d "$work" "jsonschema==$version" || return
  tar xzf "$work/jsonschema-$version.tar.gz" -C "$folder" --strip-components=3 "jsonschema-$version/json/tests/draft2020-12" || return
  rm -r "$work"
}

# The policy engine that securetool asks, and that tests the sample policies.
setup_policy_engine() {
  [[ -x $TOOLS/opa && -f $STAMPS/opa && $(<"$STAMPS/opa") == "$OPA_MODULE" ]] && return
  setup_python
  setup_go
  step "policy engine, built from source (2 to 4 minutes, once)" build_policy_engine
  echo "$OPA_MODULE" >"$STAMPS/opa"
}

build_policy_engine() {
  GOBIN=$TOOLS run_go install -trimpath -ldflags='-s -w' "$OPA_MODULE"
}

# The one that setup installs only when it is asked to by name: what takes so long must not hold up who works elsewhere.
setup_consul() {
  setup_python
  setup_go
  [[ -x $TOOLS/consul ]] || rm -f "$STAMPS/consul"
  local module=$ROOT/devtools/consul
  once consul "Consul, built from source (10 to 20 minutes, once)" "$module/go.mod" "$module/go.sum" -- build_consul "$module"
}

# build_consul MODULE
build_consul() {
  (cd "$1" && run_go build -trimpath -ldflags='-s -w' -o "$TOOLS/consul" github.com/hashicorp/consul)
}

# Independent WebSocket implementations that the tests talk to.
setup_websocket_peers() {
  setup_python
  setup_go
  local peers=$ROOT/tests/spec/rfc6455/peers
  [[ -x $TOOLS/websocket_peer && -d $peers/node/node_modules/ws ]] || rm -f "$STAMPS/websocket_peers"
  once websocket_peers "WebSocket peers" "$peers/node/package-lock.json" "$peers/go"/* \
    -- install_websocket_peers "$peers"
}

# install_websocket_peers FOLDER
install_websocket_peers() {
  (cd "$1/node" && npm ci --no-audit --no-fund --silent) || return
  (cd "$1/go" && run_go build -trimpath -o "$TOOLS/websocket_peer" .)
}

# Foreign MCP servers of several makers, which the bridge's tests start.
setup_mcp_servers() {
  setup_python
  setup_go
  local servers=$ROOT/devtools/mcp_servers installed=$TOOLS/mcp_servers
  [[ -x $TOOLS/mcp_everything_server && -d $installed/node_modules && -x $installed/python/bin/mcp-server-git ]] ||
    rm -f "$STAMPS/mcp_servers"
  once mcp_servers "MCP servers" "$servers/requirements.txt" "$servers/package-lock.json" \
    -- install_mcp_servers "$servers" "$installed"
}

# install_mcp_servers FOLDER TARGET
install_mcp_servers() {
  mkdir -p "$2" || return
  [[ -x $2/python/bin/python ]] || python3 -m venv "$2/python" || return
  "$2/python/bin/python" -m pip install --disable-pip-version-check -q -r "$1/requirements.txt" || return
  cp "$1"/package*.json "$2/" || return
  (cd "$2" && npm ci --no-audit --no-fund --silent) || return
  GOBIN=$2 run_go install -trimpath "$MCP_SERVER_MODULE" || return
  mv "$2/everything-server" "$TOOLS/mcp_everything_server"
}

# The client in TypeScript with the Node that its tests run on, compiled anew when its source changed.
setup_typescript_client() {
  setup_packages
  local client=$ROOT/clients/typescript
  [[ -d $client/node_modules/ws ]] || rm -f "$STAMPS/typescript_packages"
  once typescript_packages "TypeScript compiler" "$client/package-lock.json" \
    -- npm ci --prefix "$client" --no-audit --no-fund --silent
  [[ -f $client/dist/index.js ]] || rm -f "$STAMPS/typescript_client"
  once typescript_client "TypeScript client" "$client/package-lock.json" "$client/tsconfig.json" "$client"/src/* \
    -- npm run build --prefix "$client" --silent
}

# MCP's conformance suite and the clients of several makers.
setup_mcp_peers() {
  setup_python
  local peers=$ROOT/tests/interop/tools/mcp_peers
  [[ -x $TOOLS/mcp_peers/bin/python && -d $peers/node_modules/@modelcontextprotocol ]] || rm -f "$STAMPS/mcp_peers"
  once mcp_peers "MCP peers" "$peers/package-lock.json" "$peers/requirements.txt" -- install_mcp_peers "$peers"
}

# install_mcp_peers FOLDER
install_mcp_peers() {
  (cd "$1" && npm ci --no-audit --no-fund --silent --ignore-scripts) || return
  [[ -x $TOOLS/mcp_peers/bin/python ]] || python3 -m venv "$TOOLS/mcp_peers" || return
  "$TOOLS/mcp_peers/bin/python" -m pip install --disable-pip-version-check -q -r "$1/requirements.txt"
}

setup_jars() {
  setup_packages
  once jars "Iceberg for Spark" "$ROOT/devtools/jars/pom.xml" -- install_jars
}

install_jars() {
  rm -rf "$TOOLS/jars"
  mvn -B -q -f "$ROOT/devtools/jars/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$TOOLS/jars"
}

# Trino with the one plugin that the tests use. Its Java comes with the Python tools.
setup_trino() {
  setup_python
  once trino "Trino $TRINO_VERSION (540 MB)" -- install_trino
  [[ -d $TOOLS/trino-$TRINO_VERSION/plugin/iceberg ]] || { rm "$STAMPS/trino"; setup_trino; }
}

install_trino() {
  local folder=$TOOLS/trino-$TRINO_VERSION work
  work=$(mktemp -d "$TOOLS/trino.XXXXXX")
  fetch_artifact "io.trino:trino-server-core:$TRINO_VERSION:tar.gz" "$work" || return
  fetch_artifact "io.trino:trino-iceberg:$TRINO_VERSION:zip" "$work" || return
  rm -rf "$folder" && mkdir -p "$folder/plugin" || return
  tar xzf "$work/trino-server-core-$TRINO_VERSION.tar.gz" -C "$folder" --strip-components=1 \
    "trino-server-core-$TRINO_VERSION/lib" || return
  unzip -q "$work/trino-iceberg-$TRINO_VERSION.zip" -d "$folder/plugin" || return
  mv "$folder/plugin/trino-iceberg-$TRINO_VERSION" "$folder/plugin/iceberg" || return
  rm -r "$work"
}

# fetch_artifact GROUP:NAME:VERSION:TYPE FOLDER
fetch_artifact() {
  mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact="$1" -DoutputDirectory="$2"
}

setup_reference_server() {
  setup_packages
  once reference "Java reference catalog" "$ROOT/bench/reference_server/pom.xml" \
    -- "$ROOT/bench/reference_server/run.sh" --prepare
}

setup_servers() { setup_python; setup_engine; setup_object_store; }

# What the tests of securetool talk to, beside the servers.
setup_tool_peers() {
  setup_websocket_peers
  setup_typescript_client
  setup_mcp_peers
  setup_mcp_servers
  setup_schema_suite
  setup_policy_engine
}

setup_everything() { setup_servers; setup_plain_store; setup_tool_peers; setup_jars; setup_trino; setup_reference_server; }

# setup_command [consul]
setup_command() {
  case ${1-} in
    '') setup_everything ;;
    consul) setup_consul ;;
    *) fail "setup installs everything, or consul: no $1" ;;
  esac
}

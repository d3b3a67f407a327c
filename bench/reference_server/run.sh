#!/usr/bin/env bash
# Runs the Java reference catalog in the foreground, on 127.0.0.1.
# usage: run.sh PORT key=value...   (catalog properties, see ReferenceServer.java)
# Resolves and compiles what it needs the first time.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p target/classes
if [[ ! -s target/classpath || pom.xml -nt target/classpath ]]; then
  mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
    -Dmdep.outputFile=target/classpath >&2
fi
source=src/org/apache/iceberg/rest/ReferenceServer.java
class=target/classes/org/apache/iceberg/rest/ReferenceServer.class
if [[ ! -f $class || $source -nt $class ]]; then
  javac -cp "$(<target/classpath)" -d target/classes "$source" >&2
fi
[[ ${1-} == --prepare ]] && exit 0
exec java "-Xmx${REFERENCE_HEAP:-1g}" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
  -cp "target/classes:$(<target/classpath)" org.apache.iceberg.rest.ReferenceServer "$@"

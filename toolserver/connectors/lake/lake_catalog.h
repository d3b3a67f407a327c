#pragma once

// The lake's Iceberg REST catalog, asked as one of the service's callers.
// Source: Iceberg REST description (listNamespaces, listTables, loadTable, planTableScan,
// fetchScanTasks, signRequest).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/secret.h"
#include "base/http/loop_clients.h"
#include "base/json/json.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/connectors/lake/lake_answer.h"
#include "toolserver/connectors/lake/lake_options.h"
#include "toolserver/connectors/lake/lake_tokens.h"
#include "toolserver/connectors/sql/brought_tables.h"

namespace tool::lake {

/// A namespace is a text here: its levels parted by dots, a dot in a level as "%2E", a percent sign
/// as "%25". Nothing where it is none.
[[nodiscard]] std::optional<std::vector<std::string>> levels_of(std::string_view name_space);
[[nodiscard]] std::string name_of(const std::vector<std::string>& levels);

struct ShownColumn {
  std::string name;
  std::string type;  ///< Iceberg's, as JSON or a word.
  bool required = false;
  std::string doc;
};

/// A table as the caller is shown it.
struct ShownTable {
  std::vector<ShownColumn> shown;
  std::vector<connectors::BroughtColumn> columns;  ///< For the engine: those that it can read.
  std::map<std::string, std::string> unreadable;   ///< Of the others, by name: why not.
  std::optional<std::int64_t> snapshot;            ///< None of a table that never had rows.
  std::map<std::string, std::string> properties;
};

/// Of a table's metadata. Pure. Errors: kInvalid  names the member.
[[nodiscard]] base::Result<ShownTable> read_table(const base::json::Value& loaded);

struct ScanFile {
  std::string path;  ///< "s3://bucket/key".
  std::uint64_t bytes = 0;
  bool is_parquet = true;
  /// Of a deletion vector: where in the file it stands, and of which data file it is.
  struct Vector {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string data_path;
  };
  std::optional<Vector> vector = {};
};
struct ScanTask {
  ScanFile data;
  std::vector<std::size_t> deletes;  ///< Of ScanPage::deletes.
};
/// One page of a plan.
struct ScanPage {
  std::vector<ScanFile> deletes;
  std::vector<ScanTask> tasks;
  std::vector<std::string> more;  ///< plan-tasks that are to be fetched.
};
/// Pure. Errors: kInvalid  names the member, of a plan that is not complete, too.
[[nodiscard]] base::Result<ScanPage> read_page(const base::json::Value& answer);

/// An answer to be sent as it is.
struct SignedGet {
  std::string target;  ///< At the store.
  base::http::Headers headers;
};

/// One call's questions. The tokens outlive it; used from one event loop.
class LakeCatalog {
 public:
  LakeCatalog(const LakeOptions& options, base::http::LoopClients& clients, LakeTokens& tokens,
              base::RequestContext context, std::string subject)
      : options_(options),
        clients_(clients),
        tokens_(tokens),
        context_(context),
        subject_(std::move(subject)) {}

  /// Names below `parent`, or at the top. Errors of all: as error_of().
  [[nodiscard]] base::Task<LakeAnswer<std::vector<std::string>>> namespaces(std::string parent);
  [[nodiscard]] base::Task<LakeAnswer<std::vector<std::string>>> tables(std::string name_space);
  [[nodiscard]] base::Task<LakeAnswer<ShownTable>> table(connectors::QualifiedName name);
  /// The whole plan of a snapshot: deletes and tasks of all pages, without `more`. `filter` is an
  /// expression of the REST description: files without a row of it may be left out.
  /// Errors: also a mistake  more files than options.files.
  [[nodiscard]] base::Task<LakeAnswer<ScanPage>> plan(connectors::QualifiedName name,
                                                      std::int64_t snapshot,
                                                      std::optional<base::json::Object> filter);
  /// A request for an object of the table, which the lake signs.
  [[nodiscard]] base::Task<LakeAnswer<SignedGet>> sign(connectors::QualifiedName name,
                                                       std::string path);

 private:
  [[nodiscard]] base::Task<LakeAnswer<base::json::Value>> ask(
      base::http::Method method, std::string target,
      std::optional<base::json::Object> body = std::nullopt);
  [[nodiscard]] base::Task<LakeAnswer<std::vector<std::string>>> all_pages(std::string target,
                                                                           std::string_view member);
  [[nodiscard]] LakeAnswer<std::string> path_of(const connectors::QualifiedName& name,
                                                std::string_view rest) const;

  const LakeOptions& options_;
  base::http::LoopClients& clients_;
  LakeTokens& tokens_;
  const base::RequestContext context_;
  const std::string subject_;
};

}  // namespace tool::lake

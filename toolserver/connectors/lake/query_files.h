#pragma once

// The files of one query, in a folder that is made for it and goes with it. The process that runs
// the statement has no network: the service brings what the statement reads, and nothing else is
// there.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/files/descriptor.h"
#include "base/http/loop_clients.h"
#include "base/runtime/workers.h"
#include "toolserver/connectors/lake/lake_catalog.h"

namespace tool::lake {

/// The folder of all queries, held by one service at a time.
class ScratchFolder {
 public:
  /// Removes what a service before has left there.
  /// Errors: kInvalid  no folder that this user may write, open to others, or held by another
  ///         service.
  [[nodiscard]] static base::Result<std::unique_ptr<ScratchFolder>> open(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, base::files::Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  base::files::Descriptor lock_;
};

struct Brought {};

/// A folder of one query; it goes with this object.
class QueryFolder {
 public:
  /// Errors: kUnavailable  it cannot be made.
  [[nodiscard]] static base::Result<QueryFolder> make(const ScratchFolder& scratch,
                                                      base::Random& random);
  QueryFolder(QueryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  QueryFolder& operator=(QueryFolder&&) = delete;
  ~QueryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit QueryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Bytes of a file from `begin` up to `end`, which is not of them.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
/// What the engine asks for of a file by its name in the folder.
struct WantedParts {
  std::string name;
  std::vector<ByteRange> parts;
};

/// The files of one query. Small ones come whole, of a large Parquet file its end first, which says
/// where the columns stand; what is not brought stays a hole. Used from one event loop.
class QueryFiles {
 public:
  /// All outlive it. At most `most_bytes` are brought.
  QueryFiles(base::RequestContext context, LakeCatalog& catalog, base::http::LoopClients& store,
             base::BlockingPool& pool, std::string folder, std::uint64_t most_bytes);

  /// Notes a data file; the name that it gets.
  [[nodiscard]] std::string want_columns(const connectors::QualifiedName& table,
                                         const ScanFile& file);
  /// The same of a file that is read whole: one of deletes; of a deletion vector its blob alone.
  [[nodiscard]] std::string want_whole(const connectors::QualifiedName& table,
                                       const ScanFile& file);

  /// Brings what is noted, as the lake signs for it, four requests at a time.
  /// Errors: as error_of(); E_UPSTREAM  a file that is not as long as the plan says; E_LIMIT  the
  ///         disk is full; a mistake  more than most_bytes.
  [[nodiscard]] base::Task<LakeAnswer<Brought>> bring_ends();
  /// Brings parts besides. Errors: the same; E_INTERNAL  outside of a file, or of none.
  [[nodiscard]] base::Task<LakeAnswer<Brought>> bring_parts(std::vector<WantedParts> wanted);

  /// Whether all of it is there.
  [[nodiscard]] bool is_whole(const std::string& name) const;
  /// So far.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct File {
    connectors::QualifiedName table;
    std::string path;
    std::string name;
    std::uint64_t begin = 0;  ///< In the object; where the file in the folder begins.
    std::uint64_t bytes = 0;  ///< Of the file in the folder.
    std::uint64_t held = 0;   ///< From there to the end all is there.
    std::optional<SignedGet> get = {};
    std::string last = {};  ///< Its last eight bytes, of a file whose end alone was brought.
  };
  struct Piece {
    std::size_t file;
    ByteRange range;
  };

  [[nodiscard]] std::string add(File file);
  [[nodiscard]] base::Task<LakeAnswer<Brought>> bring(std::vector<Piece> pieces);
  [[nodiscard]] base::Task<base::Status> open(std::size_t file);
  [[nodiscard]] base::Task<base::Status> bring_piece(Piece piece);
  [[nodiscard]] base::Error fail(LakeError error);

  const base::RequestContext context_;
  LakeCatalog& catalog_;
  base::http::LoopClients& store_;
  base::BlockingPool& pool_;
  const std::string folder_;
  const std::uint64_t most_bytes_;
  std::vector<File> files_;
  std::map<std::string, std::size_t> by_name_;
  std::uint64_t bytes_ = 0;
  // gather_few() knows errors of base alone; what the lake said goes beside it.
  std::optional<LakeError> failed_;
};

/// How long the footer is that a Parquet file's last eight bytes announce, these not counted.
/// Nothing: they are of no such file. Source: Parquet format, "File format".
[[nodiscard]] std::optional<std::uint64_t> footer_bytes(std::string_view last);

}  // namespace tool::lake

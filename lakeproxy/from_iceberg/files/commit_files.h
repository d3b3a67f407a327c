#pragma once

// The snapshots of one commit build on each other, and the lake shows none of
// them yet. These are the table's data files between two of them: which are
// there, and which delete file of the commit deletes what of them.
// Source: Iceberg table specification, "Scan Planning".

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/engine/deletes/client_deletes.h"
#include "lakeproxy/from_iceberg/files/list_diff.h"
#include "lakeproxy/from_iceberg/rows/row_deletes.h"

namespace lake::operation {

/// A data file that is in the table once; its path may be there twice.
struct FileRow {
  std::optional<ducklake::LiveFile> live;  ///< Nothing for one that the commit adds.
  ducklake::NewFile added;                 ///< Which one that is.
  std::int64_t record_count = 0;
  /// Positions by the delete file of the commit; see key_of().
  std::map<std::string, exporter::Positions> deletes;
  bool lake_counts = true;  ///< What the lake deleted before the commit is deleted still.
  bool moved = false;       ///< It got another row of the lake (Restores::kRows).
};

class CommitFiles {
 public:
  /// The next snapshot of the commit takes files away and adds others.
  void begin(const ListDiff& diff);
  [[nodiscard]] std::size_t snapshot() const { return snapshots_ - 1; }

  /// Those of `locations` whose rows in the lake were not asked for yet.
  [[nodiscard]] std::vector<std::string> unknown(const std::set<std::string>& locations) const;
  /// The lake's rows of `asked` as they were before the commit, oldest first.
  void know(const std::vector<std::string>& asked, std::vector<ducklake::LiveFile> rows);

  /// The rows of a known location that are there after begin(). The oldest go
  /// first. They stay where they are until the next begin() or know().
  [[nodiscard]] std::span<FileRow> rows(const std::string& location);
  /// How many of them went with this snapshot, and with all of the commit.
  [[nodiscard]] std::size_t removed_now(const std::string& location) const;
  [[nodiscard]] std::size_t removed(const std::string& location) const;

  /// Remembers what `delete_file` of the commit deletes of `row`.
  /// Errors: kTooLarge  more positions than one commit may delete.
  [[nodiscard]] base::Status remember(FileRow& row, const std::string& delete_file,
                                      exporter::Positions positions);
  /// Locations of which a delete file of the commit deletes rows.
  [[nodiscard]] std::set<std::string> deleted_by(const std::string& delete_file) const;

  /// The same of rows that PostgreSQL holds, by the file that they are shown as:
  /// what a delete file of the commit deletes, and what counts no more.
  [[nodiscard]] base::Status remember_group(const std::string& location,
                                            const std::string& delete_file,
                                            exporter::Positions positions);
  void forget_group(const std::string& location, const std::string& delete_file);
  /// By the delete file; null where the commit has deleted none of its rows.
  [[nodiscard]] const std::map<std::string, exporter::Positions>* group(
      const std::string& location) const;
  /// Rows of a group that the commit has brought back: they have other rows of the
  /// lake now, which nobody can name in this commit.
  void note_returned(const std::string& location, const exporter::Positions& positions);
  [[nodiscard]] bool was_returned(const std::string& location,
                                  const exporter::Positions& positions) const;

  /// The snapshot's own delete files are known from now on.
  void note_deletes(const ListDiff& diff);
  /// Whether an earlier snapshot of the commit has added the delete file.
  [[nodiscard]] bool has_deletes(const model::DataFile& file) const {
    return delete_files_.contains(key_of(file));
  }

 private:
  struct Place {
    bool known = false;
    std::size_t removed = 0;
    std::size_t removed_now = 0;
    std::vector<FileRow> rows;  ///< Also those that are gone.
  };
  std::map<std::string, Place> places_;
  std::map<std::string, std::map<std::string, exporter::Positions>> groups_;
  std::map<std::string, std::set<std::int64_t>> returned_;
  std::set<std::string> delete_files_;  ///< By key_of().
  std::size_t snapshots_ = 0;
  std::size_t positions_ = 0;
};

}  // namespace lake::operation

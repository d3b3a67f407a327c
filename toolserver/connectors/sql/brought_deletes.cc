#include "toolserver/connectors/sql/brought_deletes.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "base/duckdb/sql_text.h"
#include "base/puffin/deletion_vector.h"

namespace tool::connectors {
namespace {

using base::ErrorKind;
using base::duckdb::Connection;
using base::duckdb::Param;
using base::duckdb::quote_literal;

// Far above what the most positions take, unless each is far from the next.
constexpr std::size_t kMostBytes = 64 << 20;
// So many are copied at a time: the appender knows temporary tables alone, which end with their
// connection.
constexpr std::size_t kAtOnce = 1 << 20;

base::Error unreadable(const BroughtTable& table, std::string_view why) {
  return base::fail(ErrorKind::kUnsupported,
                    fmt::format("the table {}.{} cannot be read here: {}", table.name.name_space,
                                table.name.table, why));
}

base::Result<std::string> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  if (!in || size < 0 || static_cast<std::size_t>(size) > kMostBytes) {
    return base::fail(ErrorKind::kCorrupt, "is not there, or larger than may be");
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  in.seekg(0);
  if (!in.read(bytes.data(), size)) return base::fail(ErrorKind::kCorrupt, "ends early");
  return bytes;
}

base::Status copy_part(Connection& connection, const std::string& name, std::int64_t file,
                       std::span<const std::int64_t> positions) {
  RETURN_IF_ERROR(connection.execute("CREATE OR REPLACE TEMP TABLE part(pos BIGINT)"));
  {
    ASSIGN_OR_RETURN(auto rows, connection.append_to("part"));
    for (std::int64_t position : positions) {
      const Param row[] = {position};
      RETURN_IF_ERROR(rows.append(row));
    }
    RETURN_IF_ERROR(rows.finish());
  }
  RETURN_IF_ERROR(connection.execute(
      fmt::format("INSERT INTO {} SELECT {}, pos FROM temp.main.part", name, file)));
  RETURN_IF_ERROR(connection.execute("DROP TABLE temp.main.part"));
  return {};
}

base::Status add_vector(Connection& connection, const std::string& path, const std::string& name,
                        std::int64_t file, std::size_t& left) {
  ASSIGN_OR_RETURN(const std::string blob, bytes_of(path));
  ASSIGN_OR_RETURN(const auto positions, base::puffin::read_deletion_vector(blob, left));
  left -= positions.size();
  for (std::span<const std::int64_t> rest = positions; !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), kAtOnce));
    RETURN_IF_ERROR(copy_part(connection, name, file, part));
    rest = rest.subspan(part.size());
  }
  return {};
}

// By file of positions: each is read once, for all data files that it is about.
using ByDeletes = std::map<std::string, std::string>;

base::Status add_positions(Connection& connection, const std::string& path, const std::string& name,
                           const std::string& data_files) {
  RETURN_IF_ERROR(connection.execute(
      fmt::format("INSERT INTO {} SELECT about.file, gone.pos FROM read_parquet({}) AS gone JOIN "
                  "(VALUES {}) AS about(file, path) ON gone.file_path = about.path",
                  name, quote_literal(path), data_files)));
  return {};
}

}  // namespace

std::string deleted_name(std::size_t number) {
  return fmt::format("memory.main.\"deleted rows {}\"", number);
}

base::Status make_deleted(Connection& connection, const BroughtTable& table,
                          const std::vector<FilesAlike>& alike, const std::string& folder,
                          const std::string& name, std::size_t& left) {
  ByDeletes positions;
  std::int64_t number = -1;
  bool is_made = false;
  for (const FilesAlike& group : alike) {
    for (std::size_t at : group.files) {
      ++number;
      for (const BroughtDeletes& deletes : table.files[at].deletes) {
        if (!is_made) {
          RETURN_IF_ERROR(connection.execute(
              fmt::format("CREATE OR REPLACE TABLE {}(file BIGINT, pos BIGINT)", name)));
          is_made = true;
        }
        if (deletes.data_path) {
          std::string& list = positions[deletes.file];
          list += fmt::format("{}({}, {})", list.empty() ? "" : ", ", number,
                              quote_literal(*deletes.data_path));
          continue;
        }
        auto added = add_vector(connection, folder + "/" + deletes.file, name, number, left);
        if (added) continue;
        if (added.error().kind() == ErrorKind::kCorrupt) {
          return unreadable(table, "a deletion vector of it is broken");
        }
        if (added.error().kind() == ErrorKind::kTooLarge && added.error().detail().empty()) {
          return unreadable(table, fmt::format("over {} rows of it are deleted", kMostDeleted));
        }
        return added;
      }
    }
  }
  for (const auto& [file, about] : positions) {
    RETURN_IF_ERROR(add_positions(connection, folder + "/" + file, name, about));
  }
  return {};
}

}  // namespace tool::connectors

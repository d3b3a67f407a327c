#pragma once

// Every statement names the lake's own PostgreSQL schema: one pool serves many
// lakes, and search_path is a setting that somebody else can change. In the
// texts '@' stands for the quoted schema and its dot; values are parameters.

#include <string>
#include <string_view>

#include "base/postgres/session.h"

namespace lake::ducklake {

class SchemaSql {
 public:
  explicit SchemaSql(std::string_view schema) : prefix_("\"") {
    for (char c : schema) prefix_.append(c == '"' ? 2 : 1, c);
    prefix_ += "\".";
  }

  [[nodiscard]] base::pg::Statement operator()(std::string_view text) const {
    std::string sql;
    sql.reserve(text.size() + 64);
    for (char c : text) {
      if (c == '@') {
        sql += prefix_;
      } else {
        sql += c;
      }
    }
    return {std::move(sql)};
  }

 private:
  std::string prefix_;
};

}  // namespace lake::ducklake

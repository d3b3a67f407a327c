#pragma once

// Tests of equality deletes: files made by the engine, with field ids.

#include <string>
#include <utility>

#include "lakeproxy/derive/exporter_fixture_test.h"

namespace lake::exporter {

class EqualityFixture : public ExporterFixture {
 protected:
  using Kind = model::TypeKind;

  EqualityFixture() {
    add(1, "id", model::Type(Kind::kLong));
    add(2, "name", model::Type(Kind::kString));
    add(3, "point",
        model::Type::structure({{.id = 4, .name = "x", .type = model::Type(Kind::kLong)},
                                {.id = 5, .name = "y", .type = model::Type(Kind::kInt)}}));
    add(6, "ratio", model::Type(Kind::kDouble));
    add(7, "list", model::Type::list(8, model::Type(Kind::kInt), false));
    add(9, "amount", model::Type::decimal(9, 2));
    add(10, "at", model::Type(Kind::kTimestamp));
    add(11, "uid", model::Type(Kind::kUuid));
    add(12, "raw", model::Type(Kind::kBinary));
  }

  void add(model::FieldId id, std::string name, model::Type type) {
    schema.fields.push_back({.id = id, .name = std::move(name), .type = std::move(type)});
  }
  model::DataFile file(const std::string& name, std::string bytes) {
    model::DataFile out{.file_path = at("lake/" + name)};
    out.file_size_in_bytes = static_cast<std::int64_t>(bytes.size());
    put("lake/" + name, std::move(bytes));
    return out;
  }
  model::DataFile deletes(const std::string& name, std::vector<model::FieldId> ids,
                          const std::string& query, const std::string& field_ids) {
    auto out = file(name, engine.parquet(query, ", FIELD_IDS {" + field_ids + "}"));
    out.content = model::FileContent::kEqualityDeletes;
    out.equality_ids = std::move(ids);
    return out;
  }
  // A candidate that the delete file numbered 0 applies to.
  Candidate data(const std::string& name, const std::string& query, const std::string& field_ids) {
    return {.file = file(name, engine.parquet(query, ", FIELD_IDS {" + field_ids + "}")),
            .deletes = {0}};
  }
  base::Result<PositionsByFile> find(std::vector<model::DataFile> deleted,
                                     std::vector<Candidate> candidates) {
    EqualitySearch search{.prefix = *storage::Location::parse(at("lake")),
                          .schema = schema,
                          .deletes = std::move(deleted),
                          .candidates = std::move(candidates)};
    auto found = run(exporter->find_equal(context(), std::move(search)));
    EXPECT_TRUE(engine.scratch_is_empty());
    return found;
  }
  // Of one candidate.
  Positions rows_of(const base::Result<PositionsByFile>& found, const std::string& name) {
    EXPECT_TRUE(found) << found.error().message() << found.error().detail();
    if (!found) return {-1};
    auto at_file = found->find(at("lake/" + name));
    return at_file == found->end() ? Positions{} : at_file->second;
  }

  model::Schema schema;
};

}  // namespace lake::exporter

#include "lakeproxy/engine/parquet/geography_footer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "lakeproxy/engine/files/engine_fixture_test.h"
#include "lakeproxy/engine/parquet/column_ranges.h"

namespace lake::exporter {
namespace {

using model::Type;
using model::TypeKind;

const char* const kRows =
    "SELECT n AS a, ('POINT(' || n || ' 1.5)')::GEOMETRY AS g, {'h': ['POINT(7 8)'::GEOMETRY]} AS "
    "s, "
    "'POINT(1 2)'::GEOMETRY AS m FROM range(3) r(n)";
const char* const kIds =
    ", GEOPARQUET_VERSION NONE, FIELD_IDS {a: 1, g: 2, s: {__duckdb_field_id: "
    "3, h: {__duckdb_field_id: 4, element: 5}}, m: 6}";

Type geography(const char* parameters) { return Type::geo(TypeKind::kGeography, parameters); }

class GeographyFooter : public ::testing::Test {
 protected:
  void write(const Geographies& columns, const std::string& query = kRows,
             const std::string& options = kIds) {
    bytes_ = engine_.parquet(query, options);
    ASSERT_TRUE(write_file_at(file_, 0, bytes_));
    auto written = write_geography_footer(file_, columns);
    ASSERT_TRUE(written) << written.error().message();
  }
  std::string ask(const std::string& select, const std::string& from) {
    return engine_.ask("SELECT " + select + " FROM " + from + "('" + file_ + "')");
  }
  std::string logical_types() {
    return ask("concat_ws(' ', field_id, logical_type)", "parquet_schema");
  }
  std::string footer() {
    const auto begin = *footer_begin(bytes_, bytes_.size());
    return bytes_.substr(begin, bytes_.size() - begin - 8);
  }

  SampleEngine engine_;
  ScratchFolder folder_ = *ScratchFolder::make(engine_.folder());
  std::string file_ = folder_.file("f");
  std::string bytes_;  // Before.
};

TEST_F(GeographyFooter, says_geography_of_the_columns_alone_at_every_depth) {
  write({{2, geography("")}, {5, geography("srid:4269, karney")}, {99, geography("")}});
  EXPECT_EQ(logical_types(),
            "1|2 GeographyType(crs=<null>, algorithm=<null>)|3|4||5 GeographyType(crs=srid:4269, "
            "algorithm=KARNEY)|6 GeometryType(crs=<null>)");
  EXPECT_EQ(ask("concat_ws(' ', a, g, s, m)", "read_parquet"),
            "0 POINT (0 1.5) {'h': ['POINT (7 8)']} POINT (1 2)|1 POINT (1 1.5) {'h': ['POINT (7 "
            "8)']} POINT (1 2)|2 POINT (2 1.5) {'h': ['POINT (7 8)']} POINT (1 2)");
  // The boxes of the others stay.
  EXPECT_EQ(ask("concat_ws(' ', path_in_schema, stats_max, geo_bbox.xmax)", "parquet_metadata"),
            "a 2|g|s, h, list, element|m 1.0");
  const std::string after = *read_file(file_);
  const auto begin = *footer_begin(bytes_, bytes_.size());
  EXPECT_EQ(after.substr(0, begin), bytes_.substr(0, begin));
  EXPECT_NE(after, bytes_);
}

TEST_F(GeographyFooter, takes_each_algorithm_and_reference_system) {
  struct Case {
    const char* parameters;
    const char* said;
  };
  for (const Case& c : {Case{"srid:4326", "crs=srid:4326, algorithm=<null>"},
                        Case{"srid:1, spherical", "crs=srid:1, algorithm=SPHERICAL"},
                        Case{"srid:1, vincenty", "crs=srid:1, algorithm=VINCENTY"},
                        Case{"OGC:CRS84, thomas", "crs=OGC:CRS84, algorithm=THOMAS"},
                        Case{"srid:1, andoyer", "crs=srid:1, algorithm=ANDOYER"}}) {
    file_ = folder_.file(c.parameters);
    write({{1, geography(c.parameters)}}, "SELECT 'POINT(1 2)'::GEOMETRY AS g",
          ", GEOPARQUET_VERSION NONE, FIELD_IDS {g: 1}");
    EXPECT_EQ(logical_types(), fmt::format("1 GeographyType({})", c.said));
  }
}

// A file of a writer that says nothing of its bytes.
TEST_F(GeographyFooter, is_said_of_bytes_without_a_word_too) {
  write({{2, geography("srid:4326")}}, "SELECT n AS a, 'x'::BLOB AS g FROM range(3) r(n)",
        ", FIELD_IDS {a: 1, g: 2}");
  EXPECT_EQ(logical_types(), "1|2 GeographyType(crs=srid:4326, algorithm=<null>)");
}

TEST_F(GeographyFooter, of_other_columns_and_other_bytes_is_refused) {
  bytes_ = engine_.parquet("SELECT 1 AS a, 'x' AS t, {'b': 1} AS s",
                           ", FIELD_IDS {a: 1, t: 2, s: {__duckdb_field_id: 3, b: 4}}");
  EXPECT_TRUE(geography_footer(footer(), {}));
  for (model::FieldId id : {1, 2, 3, 4}) {
    EXPECT_EQ(kind_of(geography_footer(footer(), {{id, geography("")}})), base::ErrorKind::kCorrupt)
        << id;
  }
  const std::string whole = footer();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(geography_footer(whole.substr(0, size), {})) << size;
  }
  EXPECT_FALSE(geography_footer(whole + "x", {}));
}

}  // namespace
}  // namespace lake::exporter

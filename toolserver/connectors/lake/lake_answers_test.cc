// What the lake answers, as values: tables, plans, names, refusals.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/core/clock.h"
#include "base/testing/child_process.h"
#include "toolserver/connectors/lake/iceberg_type.h"
#include "toolserver/connectors/lake/lake_capabilities.h"
#include "toolserver/connectors/lake/lake_catalog.h"
#include "toolserver/connectors/lake/lake_connector.h"
#include "toolserver/connectors/lake/query_files.h"
#include "toolserver/connectors/lake/scan_filter.h"

namespace tool::lake {
namespace {

using connectors::Condition;

base::json::Value json(std::string_view text) { return base::json::parse(text).value(); }

std::string type_of(std::string_view text) {
  connectors::BroughtColumn column;
  auto made = engine_type(json(text), column, "c");
  return made ? *made : std::string(base::to_string(made.error().kind()));
}

TEST(IcebergTypes, are_the_engines) {
  for (
      const auto& [iceberg, engine] : std::vector<std::pair<const char*, const char*>>{
          {R"("int")", "INTEGER"},
          {R"("timestamptz")", "TIMESTAMPTZ"},
          {R"j("decimal(10, 2)")j", "DECIMAL(10,2)"},
          {R"j("decimal(38,38)")j", "DECIMAL(38,38)"},
          {R"j("decimal(39,0)")j", "unsupported"},
          {R"j("decimal(5,6)")j", "unsupported"},
          {R"j("decimal(5,2); DROP")j", "unsupported"},
          {R"("fixed[16]")", "BLOB"},
          {R"("geometry")", "unsupported"},
          {R"("VARCHAR")", "unsupported"},
          {R"({"type":"list","element-id":3,"element":"long","element-required":true})",
           "BIGINT[]"},
          {R"({"type":"map","key-id":3,"key":"string","value-id":4,"value":"date","value-required":false})",
           "MAP(VARCHAR, DATE)"},
          {R"({"type":"struct","fields":[{"id":3,"name":"a \"b","type":"int","required":true}]})",
           R"(STRUCT("a ""b" INTEGER))"},
          {R"({"type":"struct","fields":[]})", "unsupported"},
          {R"({"type":"tuple"})", "unsupported"},
          {R"(7)", "invalid"}}) {
    EXPECT_EQ(type_of(iceberg), engine) << iceberg;
  }
}

constexpr const char* kTable =
    R"({"metadata-location":"s3://b/m.json","metadata":{"format-version":2,
  "current-schema-id":1,"current-snapshot-id":7,"schemas":[{"schema-id":0,"fields":[]},{"schema-id":1,"fields":[
    {"id":1,"name":"id","type":"long","required":true},
    {"id":2,"name":"region","type":"string","required":false,"doc":"masked by policy m"},
    {"id":3,"name":"since","type":"date","required":false,"initial-default":"2020-01-01"}]}],
  "partition-specs":[{"spec-id":0,"fields":[{"source-id":2,"field-id":1000,"name":"r","transform":"identity"}]}],
  "properties":{"lakeproxy.mask.region":"'x'"}},"config":{}})";

TEST(LakeTables, are_read_with_what_the_engine_needs) {
  auto table = read_table(json(kTable));
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->snapshot, 7);
  ASSERT_EQ(table->columns.size(), 3U);
  EXPECT_FALSE(table->columns[0].is_elsewhere);
  EXPECT_TRUE(table->columns[1].is_elsewhere) << "the partition may hold it";
  EXPECT_TRUE(table->columns[2].is_elsewhere) << "a default";
  EXPECT_EQ(table->shown[1].doc, "masked by policy m");
  EXPECT_TRUE(table->unreadable.empty());
  for (const char* member : {"current-schema-id", "schemas"}) {
    base::json::Value without = json(kTable);
    without.at("metadata").as_object().erase(member);
    EXPECT_FALSE(read_table(without)) << member;
  }
  base::json::Value other = json(kTable);
  other.at("metadata").as_object()["current-schema-id"] = 2;
  EXPECT_FALSE(read_table(other));
}

TEST(LakePlans, are_read_page_by_page) {
  constexpr const char* kFile =
      R"("file-format":"parquet","file-size-in-bytes":10,"record-count":1,"content":)";
  const std::string page =
      std::string(R"({"status":"completed","plan-id":"p","plan-tasks":["p.1"],)") +
      R"("delete-files":[{"file-path":"s3://b/d",)" + kFile +
      R"("position-deletes"}],"file-scan-tasks":[{"data-file":{"file-path":"s3://b/f",)" + kFile +
      R"("data"},"delete-file-references":[0]}]})";
  auto read = read_page(json(page));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->more, std::vector<std::string>{"p.1"});
  ASSERT_EQ(read->tasks.size(), 1U);
  EXPECT_EQ(read->tasks[0].data.path, "s3://b/f");
  EXPECT_EQ(read->tasks[0].deletes, std::vector<std::size_t>{0});
  EXPECT_TRUE(read->deletes[0].is_parquet);
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = page;
    text.replace(text.find(from), from.size(), to);
    return read_page(json(text));
  };
  EXPECT_FALSE(with("completed", "submitted"));
  EXPECT_FALSE(with("[0]", "[1]"));
  EXPECT_FALSE(with("[0]", "[-1]"));
  EXPECT_FALSE(with(R"("file-size-in-bytes":10)", R"("file-size-in-bytes":-1)"));
  EXPECT_FALSE(with("position-deletes", "equality-deletes")->deletes[0].is_parquet);
}

TEST(LakePlans, say_where_a_deletion_vector_stands) {
  const std::string file =
      R"({"delete-files":[{"file-path":"s3://b/v","file-format":"puffin","file-size-in-bytes":99,)"
      R"("content":"position-deletes","referenced-data-file":"s3://b/f","content-offset":4,)"
      R"("content-size-in-bytes":44}]})";
  auto read = read_page(json(file));
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_TRUE(read->deletes[0].vector);
  EXPECT_EQ(read->deletes[0].vector->offset, 4U);
  EXPECT_EQ(read->deletes[0].vector->bytes, 44U);
  EXPECT_EQ(read->deletes[0].vector->data_path, "s3://b/f");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = file;
    text.replace(text.find(from), from.size(), to);
    return read_page(json(text));
  };
  EXPECT_FALSE(with(R"("content-offset":4)", R"("content-offset":-4)"));
  EXPECT_FALSE(with(R"("content-size-in-bytes":44)", R"("content-size-in-bytes":-1)"));
  EXPECT_FALSE(with(R"("referenced-data-file":"s3://b/f",)", ""));
  EXPECT_FALSE(with("position-deletes", "equality-deletes")->deletes[0].vector);
}

TEST(LakeFiles, of_parquet_say_how_long_their_footer_is) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(footer_bytes("\x01\x02\0\0PAR1"sv), 0x201U);
  EXPECT_EQ(footer_bytes("\xff\xff\xff\xffPAR1"sv), 0xffff'ffffU);
  EXPECT_EQ(footer_bytes("\x01\x02\0\0PARE"sv), std::nullopt);
  EXPECT_EQ(footer_bytes("PAR1"sv), std::nullopt);
}

// Condition, column's type, and what becomes of it.
std::string filter_for(const char* type, Condition condition) {
  ShownTable table;
  table.shown = {{.name = "Col", .type = type}, {.name = "a.b", .type = "int"}};
  condition.table = {"S", "T"};
  if (condition.column.empty()) condition.column = "COL";
  auto filter = filter_of({"s", "t"}, table, {condition});
  return filter ? base::json::write(base::json::Value(*filter)) : "";
}

TEST(LakeFilters, hold_what_both_sides_compare_alike) {
  const auto value = [](const char* type, connectors::ConditionValue one) {
    const std::string filter = filter_for(type, {.op = Condition::Op::kLtEq, .values = {one}});
    if (filter.empty()) return filter;
    EXPECT_TRUE(filter.starts_with(R"({"type":"lt-eq","term":"Col","value":)")) << filter;
    return base::json::write(base::json::parse(filter)->at("value"));
  };
  using connectors::Moment;
  EXPECT_EQ(value("int", 5), "5");
  EXPECT_EQ(value("long", INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(value("decimal(10, 2)", 5), "5");
  EXPECT_EQ(value("string", "x"), R"("x")");
  EXPECT_EQ(value("date", "2026-02-28"), R"("2026-02-28")");
  EXPECT_EQ(value("date", Moment{"2026-02-28"}), R"("2026-02-28")");
  EXPECT_EQ(value("timestamp", Moment{"2026-02-28"}), R"("2026-02-28T00:00:00")");
  EXPECT_EQ(value("timestamp", "2026-02-28 23:59:59.5"), R"("2026-02-28T23:59:59.5")");
  EXPECT_EQ(value("timestamptz", "2026-02-28T01:02:03"), R"("2026-02-28T01:02:03+00:00")");
  // NaN is above all numbers to the engine; and texts, dates and numbers are compared as one of
  // them.
  EXPECT_EQ(value("double", 5), "");
  EXPECT_EQ(value("float", 5), "");
  EXPECT_EQ(value("string", 5), "");
  EXPECT_EQ(value("string", Moment{"2026-02-28"}), "");
  EXPECT_EQ(value("int", "5"), "");
  EXPECT_EQ(value("uuid", "5"), "");
  EXPECT_EQ(value("timestamp_ns", Moment{"2026-02-28"}), "");
  for (const char* text : {"2026-02-29", "2026-2-28", "0000-01-01", "26-02-28", "2026-02-28 ", "",
                           "2026-02-28 01:02:03", "infinity", "2026-02-28 BC"}) {
    EXPECT_EQ(value("date", text), "") << text;
  }
  for (const char* text :
       {"2026-02-28 24:00:00", "2026-02-28 1:02:03", "2026-02-28 01:02", "2026-02-28 01:02:03+01",
        "2026-02-28 01:02:03.1234567", "2026-02-28 01:02:03."}) {
    EXPECT_EQ(value("timestamp", text), "") << text;
  }
}

TEST(LakeFilters, are_of_columns_that_the_table_has) {
  EXPECT_EQ(filter_for("int", {.op = Condition::Op::kIn, .values = {1, 2}}),
            R"({"type":"in","term":"Col","values":[1,2]})");
  EXPECT_EQ(filter_for("int", {.op = Condition::Op::kIn, .values = {1, "x"}}), "");
  EXPECT_EQ(filter_for("double", {.op = Condition::Op::kIsNull}),
            R"({"type":"is-null","term":"Col"})");
  EXPECT_EQ(filter_for("int", {.column = "other", .values = {1}}), "");
  EXPECT_EQ(filter_for("int", {.column = "a.b", .values = {1}}), "") << "a part of a to the lake";
  ShownTable table;
  table.shown = {
      {.name = "x", .type = "int"}, {.name = "X", .type = "int"}, {.name = "y", .type = "int"}};
  const auto on = [](const char* name_space, const char* column) {
    return Condition{.table = {name_space, "t"}, .column = column, .values = {1}};
  };
  EXPECT_FALSE(filter_of({"s", "t"}, table, {on("s", "x")})) << "which of the two";
  EXPECT_FALSE(filter_of({"s", "t"}, table, {on("other", "y")}));
  EXPECT_FALSE(filter_of({"s", "t"}, table, {}));
  EXPECT_EQ(filter_of({"s", "t"}, table, {on("s", "y"), on("s", "y")})->at("type"), "and");
}

TEST(LakeNames, are_the_same_there_and_back) {
  for (const std::vector<std::string>& levels :
       std::vector<std::vector<std::string>>{{"sales"}, {"a", "b"}, {"v1.2", "50%"}, {"ä"}}) {
    EXPECT_EQ(levels_of(name_of(levels)), levels);
  }
  EXPECT_EQ(name_of({"v1.2", "x"}), "v1%2E2.x");
  for (const char* none : {"", ".", "a.", ".a", "a..b", "%", "%zz", "%FF"}) {
    EXPECT_FALSE(levels_of(none)) << none;
  }
}

LakeError error_for(unsigned status, std::string retry = {}) {
  base::http::Response response{.status = status};
  if (!retry.empty()) response.headers.add("Retry-After", std::move(retry));
  response.body = base::http::Body(std::string(R"({"error":{"message":"masked 0 of 2 files"}})"));
  return error_of(response);
}

TEST(LakeRefusals, say_what_to_do) {
  EXPECT_EQ(error_for(403).fault.code, Code::kPolicy);
  EXPECT_TRUE(error_for(404).is_mistake);
  EXPECT_TRUE(error_for(501).is_mistake);
  const LakeError busy = error_for(503, "5");
  EXPECT_EQ(busy.fault.code, Code::kBusy);
  EXPECT_EQ(busy.fault.retry_after, std::chrono::seconds(5));
  EXPECT_EQ(busy.fault.message, "lake: masked 0 of 2 files; try again in 5 s");
  EXPECT_EQ(error_for(503, "999999").fault.retry_after, std::chrono::seconds(1));
  EXPECT_EQ(error_for(500).fault.code, Code::kUpstream);
  EXPECT_FALSE(error_for(500).fault.message.contains("masked")) << "of the log";
}

TEST(LakeRequests, have_an_id_that_follows_from_the_calls) {
  // printf 01J9ZC4Q0G0000000000000000 | sha256sum | cut -c1-16
  EXPECT_EQ((base::RequestContext{request_id_of("01J9ZC4Q0G0000000000000000")}.id_text()),
            "463e109a5886ab47");
}

class LakeCallers : public ::testing::Test {
 protected:
  std::unique_ptr<LakeConnector> opened() {
    ::chmod(folder_.path().c_str(), 0700);
    auto made = LakeConnector::open(
        {.catalog = {"127.0.0.1", 1},
         .prefix = "lake",
         .name = "lake.example",
         .client_id = "agents",
         .client_secret = base::Secret("s"),
         .signer = base::jose::Signer::hs256("0123456789abcdef0123456789abcdef").value(),
         .store = {"127.0.0.1", 1},
         .issuer = "node-b",
         .scratch_dir = folder_.path()},
        pool_, clock_, random_);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  static Invocation call_of(std::string issuer) {
    auto principal = std::make_shared<Principal>();
    principal->subject = "dana";
    principal->issuer = std::move(issuer);
    Invocation call{.tool = *ToolId::parse(kQuery)};
    call.principal = std::move(principal);
    return call;
  }

  base::testing::TemporaryFolder folder_;
  base::BlockingPool pool_{1};
  base::SystemClock clock_;
  base::SystemRandom random_;
};

TEST_F(LakeCallers, are_those_whom_this_service_vouches_for) {
  const auto lake = opened();
  EXPECT_TRUE(lake->allows(call_of("node-b")));
  EXPECT_EQ(lake->allows(call_of("node:node-c:node-c")).error().code, Code::kPolicy);
  EXPECT_EQ(lake->allows(call_of("https://id.example")).error().code, Code::kPolicy);
  Invocation forwarded = call_of("node-b");
  forwarded.forwarded = std::make_shared<const Forwarded>();
  EXPECT_EQ(lake->allows(forwarded).error().code, Code::kPolicy);
}

TEST(ScratchFolders, are_closed_to_others_and_of_one_service) {
  base::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/scratch";
  EXPECT_FALSE(ScratchFolder::open(path)) << "is not there";
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  EXPECT_FALSE(ScratchFolder::open(path)) << "open to others";
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  std::filesystem::create_directories(path + "/query-left");
  std::ofstream(path + "/query-left/f0") << "rows";
  auto scratch = ScratchFolder::open(path);
  ASSERT_TRUE(scratch) << scratch.error().message();
  EXPECT_FALSE(std::filesystem::exists(path + "/query-left")) << "of a service that was killed";
  EXPECT_FALSE(ScratchFolder::open(path)) << "held";
  base::SystemRandom random;
  std::string made;
  {
    auto query = QueryFolder::make(**scratch, random);
    ASSERT_TRUE(query);
    made = query->path();
    std::ofstream(made + "/f0") << "rows";
    EXPECT_TRUE(std::filesystem::exists(made));
  }
  EXPECT_FALSE(std::filesystem::exists(made));
  scratch->reset();
  EXPECT_TRUE(ScratchFolder::open(path)) << "given back";
}

}  // namespace
}  // namespace tool::lake

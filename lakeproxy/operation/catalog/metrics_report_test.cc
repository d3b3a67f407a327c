#include "lakeproxy/operation/catalog/metrics_report.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

base::Result<MetricsReport> read(std::string_view text) {
  auto json = base::json::parse(text);
  EXPECT_TRUE(json) << text;
  return metrics_report_from_json(*json);
}

std::string scan(const std::string& metrics) {
  return R"({"report-type":"scan-report","table-name":"lake.a.t","snapshot-id":7,"filter":true,)"
         R"("schema-id":0,"projected-field-ids":[1],"projected-field-names":["a"],"metrics":)" +
         metrics + "}";
}

TEST(MetricsReport, reads_a_scan) {
  auto report =
      read(scan(R"({"total-planning-duration":{"count":1,"time-unit":"microseconds",)"
                R"("total-duration":2500},"result-data-files":{"unit":"count","value":3},)"
                R"("my-own":{"unit":"count","value":4}})"));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->type, ReportType::kScan);
  EXPECT_EQ(report->table_name, "lake.a.t");
  EXPECT_EQ(report->snapshot_id, SnapshotId(7));
  EXPECT_EQ(report->timers.at("total-planning-duration").total, std::chrono::microseconds(2500));
  EXPECT_EQ(report->counters.at("result-data-files"), 3);
  EXPECT_EQ(report->counters.size(), 1U) << "a name that nobody knows is passed over";
}

TEST(MetricsReport, reads_a_commit) {
  auto report =
      read(R"({"report-type":"commit-report","table-name":"t","snapshot-id":7,"sequence-number":2,)"
           R"("operation":"append","metrics":{"attempts":{"unit":"count","value":1}},)"
           R"("metadata":{"engine-name":"spark"}})");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->type, ReportType::kCommit);
  EXPECT_EQ(report->operation, "append");
  EXPECT_EQ(report->counters.at("attempts"), 1);
}

TEST(MetricsReport, refuses_what_is_not_a_report) {
  const std::string cases[] = {
      "[]",
      "{}",
      R"({"report-type":"scan"})",
      R"({"report-type":7})",
      R"({"report-type":"scan-report","table-name":"t","snapshot-id":7,"metrics":{}})",
      R"({"report-type":"commit-report","table-name":"t","snapshot-id":7,"metrics":{}})",
      scan("[]"),
      scan(R"({"x":1})"),
      scan(R"({"x":{}})"),
      scan(R"({"x":{"unit":"count"}})"),
      scan(R"({"x":{"unit":"count","value":-1}})"),
      scan(R"({"x":{"unit":"count","value":1.5}})"),
      scan(R"({"x":{"time-unit":"fortnights","count":1,"total-duration":1}})"),
      scan(R"({"x":{"time-unit":"days","count":1,"total-duration":9223372036854775807}})"),
      scan(R"({"x":{"time-unit":"seconds","count":-1,"total-duration":1}})"),
  };
  for (const std::string& text : cases) {
    SCOPED_TRACE(text);
    auto report = read(text);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind(), base::ErrorKind::kInvalid);
  }
}

TEST(MetricsReport, refuses_more_measures_than_any_client_has) {
  std::string metrics;
  for (int i = 0; i < 101; ++i) {
    metrics += (i == 0 ? "{" : ",") + ("\"m" + std::to_string(i)) + R"(":{"unit":"u","value":1})";
  }
  EXPECT_FALSE(read(scan(metrics + "}")));
}

}  // namespace
}  // namespace lake::model

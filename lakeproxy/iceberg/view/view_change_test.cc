#include "lakeproxy/iceberg/view/view_change.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/view/view_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;

const base::Uuid kUuid{1, 2, 3};

Schema schema_of(const char* column) {
  Schema schema;
  schema.schema_id = 5;
  schema.fields = {{.id = 3, .name = column, .type = Type(TypeKind::kLong)}};
  return schema;
}

ViewVersion version_of(const std::string& sql, const std::string& dialect = "spark",
                       TimestampMs at = 100) {
  ViewVersion version;
  version.version_id = 9;
  version.timestamp_ms = at;
  version.representations = {{sql, dialect}};
  version.default_namespace = {"ns"};
  return version;
}

ViewMetadata made(std::map<std::string, std::string> properties = {}) {
  auto view = new_view({.name = "v",
                        .schema = schema_of("a"),
                        .version = version_of("SELECT a"),
                        .properties = std::move(properties)},
                       {.uuid = kUuid, .location = "s3://lake/data/main/v"});
  EXPECT_TRUE(view) << view.error().message();
  return std::move(*view);
}

ErrorKind refusal(const ViewMetadata& view, const std::vector<ViewUpdate>& updates) {
  auto changed = change_view(view, updates, 500);
  EXPECT_FALSE(changed);
  return changed ? ErrorKind::kInternal : changed.error().kind();
}

ViewMetadata changed(const ViewMetadata& view, const std::vector<ViewUpdate>& updates) {
  auto after = change_view(view, updates, 500);
  EXPECT_TRUE(after) << after.error().message();
  return after ? std::move(*after) : view;
}

std::vector<ViewUpdate> replacement(ViewVersion version) {
  return {AddViewVersion{std::move(version)}, SetCurrentViewVersion{kLastAdded}};
}

TEST(NewView, has_version_1_schema_0_and_the_columns_ids) {
  ViewMetadata view = made({{"k", "v"}});
  EXPECT_EQ(view.current_version_id, 1);
  EXPECT_EQ(view.version_log, (std::vector<ViewLogEntry>{{100, 1}}));
  EXPECT_EQ(view.current_version().schema_id, 0);
  EXPECT_EQ(view.current_schema().fields[0].id, 3);
  EXPECT_EQ(view.properties.at("k"), "v");
}

TEST(NewView, refuses_a_dialect_twice_and_a_reserved_property) {
  CreateView request{
      .name = "v", .schema = schema_of("a"), .version = version_of("x"), .properties = {}};
  request.version.representations.push_back({"y", "SPARK"});
  auto twice = new_view(request, {.uuid = kUuid, .location = ""});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(twice.error().reason(), kDialectTwice);
  request.version.representations.pop_back();
  request.properties["lakeproxy.x"] = "1";
  EXPECT_EQ(new_view(request, {.uuid = kUuid, .location = ""}).error().kind(),
            ErrorKind::kForbidden);
}

TEST(ChangeView, a_new_query_is_the_next_version) {
  ViewMetadata view = changed(made(), replacement(version_of("SELECT b", "spark", 200)));
  EXPECT_EQ(view.current_version_id, 2);
  EXPECT_EQ(view.versions.size(), 2u);
  EXPECT_EQ(view.version_log, (std::vector<ViewLogEntry>{{100, 1}, {200, 2}}));
}

TEST(ChangeView, the_same_query_is_the_same_version) {
  ViewMetadata view = made();
  EXPECT_EQ(changed(view, replacement(version_of("SELECT a", "spark", 300))), view);
}

TEST(ChangeView, an_older_version_comes_back_at_the_time_of_the_change) {
  ViewMetadata view = changed(made(), replacement(version_of("SELECT b", "spark", 200)));
  view = changed(view, {SetCurrentViewVersion{1}});
  EXPECT_EQ(view.current_version_id, 1);
  EXPECT_EQ(view.version_log.back(), (ViewLogEntry{500, 1}));
}

TEST(ChangeView, a_schema_that_is_there_is_used_again) {
  ViewVersion version = version_of("SELECT b");
  version.schema_id = kLastAdded;
  ViewMetadata view = changed(
      made(), {AddSchema{schema_of("a")}, AddViewVersion{version}, SetCurrentViewVersion{-1}});
  EXPECT_EQ(view.schemas.size(), 1u);
  version.representations[0].sql = "SELECT c";
  view = changed(view,
                 {AddSchema{schema_of("c")}, AddViewVersion{version}, SetCurrentViewVersion{-1}});
  EXPECT_EQ(view.current_schema().schema_id, 1);
  EXPECT_EQ(view.current_schema().fields[0].name, "c");
}

TEST(ChangeView, ids_must_point_to_something) {
  ViewVersion version = version_of("SELECT b");
  version.schema_id = 7;
  EXPECT_EQ(refusal(made(), {AddViewVersion{version}}), ErrorKind::kInvalid);
  version.schema_id = kLastAdded;
  EXPECT_EQ(refusal(made(), {AddViewVersion{version}}), ErrorKind::kInvalid);
  EXPECT_EQ(refusal(made(), {SetCurrentViewVersion{2}}), ErrorKind::kInvalid);
  EXPECT_EQ(refusal(made(), {SetCurrentViewVersion{kLastAdded}}), ErrorKind::kInvalid);
}

TEST(ChangeView, a_dialect_may_be_dropped_only_where_the_view_allows_it) {
  auto to_trino = replacement(version_of("SELECT a", "trino"));
  EXPECT_EQ(refusal(made(), to_trino), ErrorKind::kInvalid);
  EXPECT_EQ(changed(made({{"replace.drop-dialect.allowed", "TRUE"}}), to_trino).current_version_id,
            2);
  ViewVersion both = version_of("SELECT b", "Spark");
  both.representations.push_back({"SELECT b", "trino"});
  EXPECT_EQ(changed(made(), replacement(both)).current_version().representations.size(), 2u);
}

TEST(ChangeView, old_versions_are_forgotten_but_never_the_current_one) {
  ViewMetadata view = made({{"version.history.num-entries", "2"}});
  for (int i = 2; i <= 4; ++i) {
    view = changed(view, replacement(version_of(fmt::format("SELECT {}", i), "spark", i)));
  }
  ASSERT_EQ(view.versions.size(), 2u);
  EXPECT_EQ(view.versions[0].version_id, 3);
  EXPECT_EQ(view.version_log, (std::vector<ViewLogEntry>{{3, 3}, {4, 4}}));
  view = changed(view, {SetCurrentViewVersion{3}});
  view = changed(view, {SetProperties{{{"version.history.num-entries", "1"}}}});
  EXPECT_EQ(view.versions.size(), 1u);
  EXPECT_EQ(view.current_version_id, 3);
}

TEST(ChangeView, keeps_ten_versions_unless_told) {
  ViewMetadata view = made();
  for (int i = 2; i <= 12; ++i) {
    view = changed(view, replacement(version_of(fmt::format("SELECT {}", i))));
  }
  EXPECT_EQ(view.versions.size(), 10u);
  EXPECT_EQ(view.versions.front().version_id, 3);
}

TEST(ChangeView, refuses_a_history_that_is_no_size) {
  for (const char* size : {"0", "-1", "1001", "ten"}) {
    EXPECT_EQ(refusal(made(), {SetProperties{{{"version.history.num-entries", size}}}}),
              ErrorKind::kInvalid)
        << size;
  }
}

TEST(ChangeView, uuid_format_version_and_location_stay) {
  ViewMetadata view = made();
  EXPECT_EQ(changed(view, {AssignUuid{kUuid}, UpgradeFormatVersion{1},
                           SetLocation{"s3://lake/data/main/v/"}}),
            view);
  EXPECT_EQ(refusal(view, {AssignUuid{base::Uuid{9}}}), ErrorKind::kInvalid);
  EXPECT_EQ(refusal(view, {UpgradeFormatVersion{2}}), ErrorKind::kInvalid);
  const SetLocation elsewhere{"s3://lake/data/main/w"};
  EXPECT_EQ(refusal(view, {elsewhere}), ErrorKind::kUnsupported);
  EXPECT_EQ(changed(view, {elsewhere, AddViewVersion{view.current_version()}}), view) << "replaced";
}

TEST(ChangeView, properties_come_and_go_and_reserved_ones_do_not) {
  ViewMetadata view = changed(made({{"a", "1"}, {"b", "2"}}),
                              {SetProperties{{{"c", "3"}}}, RemoveProperties{{"a", "none"}}});
  EXPECT_EQ(view.properties, (std::map<std::string, std::string>{{"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(refusal(view, {SetProperties{{{"lakeproxy.a", "1"}}}}), ErrorKind::kForbidden);
  EXPECT_EQ(refusal(view, {RemoveProperties{{"lakeproxy.a"}}}), ErrorKind::kForbidden);
  EXPECT_EQ(refusal(view, {SetProperties{{{"a", std::string("\0", 1)}}}}), ErrorKind::kInvalid);
}

TEST(ChangeView, switching_to_and_fro_keeps_the_log_within_its_bound) {
  ViewMetadata view = changed(made(), replacement(version_of("SELECT b")));
  for (std::size_t i = 0; i < kMaxViewVersions + 5; ++i) {
    view = changed(view, {SetCurrentViewVersion{i % 2 == 0 ? 1 : 2}});
  }
  EXPECT_EQ(view.version_log.size(), kMaxViewVersions);
  auto again = view_metadata_from_json(to_json(view));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, view);
}

TEST(ViewRequirement, the_uuid_must_be_the_views) {
  EXPECT_TRUE(check_requirement(made(), AssertViewUuid{kUuid}));
  EXPECT_EQ(check_requirement(made(), AssertViewUuid{base::Uuid{9}}).error().kind(),
            ErrorKind::kConflict);
}

}  // namespace
}  // namespace lake::model

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/lake/reasons.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/iceberg/update/metadata_change.h"
#include "lakeproxy/iceberg/view/view_change.h"
#include "lakeproxy/views/view_store.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::Namespace;
using model::TableIdentifier;

const Namespace kMain{{"main"}};

class Views : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  std::string head() {
    return ask(
        "SELECT row(snapshot_id, schema_version, next_catalog_id) FROM @ducklake_snapshot "
        "ORDER BY snapshot_id DESC LIMIT 1");
  }
  std::string row() {
    return ask(
        "SELECT row(view_id, begin_snapshot, schema_id, view_name, dialect, sql, "
        "column_aliases) FROM @ducklake_view WHERE end_snapshot IS NULL");
  }

  model::ViewMetadata metadata(std::map<std::string, std::string> properties = {}) {
    model::CreateView request{.name = "v", .schema = {}, .version = {}, .properties = {}};
    request.schema.fields = {{.id = 3, .name = "n", .type = model::Type(model::TypeKind::kLong)}};
    request.version.representations = {{"SELECT count(*)", "spark"}};
    request.version.timestamp_ms = 7;
    request.properties = std::move(properties);
    auto made = model::new_view(
        request, {.uuid = base::make_uuid_v4(random_), .location = "s3://lake/data/main/v"});
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  base::Result<void> create(const char* name, model::ViewMetadata view) {
    return run(store().create_view(soon(), {{kMain, name}, std::move(view), "s3://lake/m.json"}));
  }
  base::Result<LakeView> load(const char* name) {
    return run(store().load_view(soon(), {kMain, name}));
  }
  base::Result<void> replace(const char* name, const LakeView& before,
                             const std::vector<model::ViewUpdate>& updates) {
    auto after = model::change_view(before.metadata, updates, 9);
    EXPECT_TRUE(after) << after.error().message();
    return run(store().replace_view(
        soon(), {{kMain, name}, std::make_shared<const LakeView>(before), *after, "s3://lake/n"}));
  }
  base::Result<Page<std::string>> list(std::size_t size = 1000, std::string after = "") {
    return run(store().list_views(soon(), kMain, {size, std::move(after)}));
  }
  void create_namespace(const char* name) {
    LakeWriter writer(*pool_, options_, clock_, random_);
    ASSERT_TRUE(run(writer.create_namespace(soon(), Namespace{{name}}, {})));
  }
  ViewStore& store() {
    if (!store_) store_.emplace(*pool_, options_);
    return *store_;
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  std::optional<ViewStore> store_;
};

TEST_F(Views, a_view_is_what_was_made_and_a_row_that_duckdb_sees) {
  auto made = metadata({{"k", "v"}, {"comment", "daily"}});
  ASSERT_TRUE(create("v", made));
  auto view = load("v");
  ASSERT_TRUE(view) << view.error().message() << view.error().detail();
  EXPECT_EQ(view->metadata, made);
  EXPECT_EQ(view->metadata_location, "s3://lake/m.json");
  EXPECT_TRUE(view->columns_known);
  EXPECT_EQ(row(), R"x((1,1,0,v,spark,"SELECT count(*)","""n"""))x");
  EXPECT_EQ(line(), R"(created_view:"main"."v")");
  EXPECT_EQ(head(), "(1,1,2)");
  EXPECT_EQ(ask("SELECT value FROM @ducklake_tag WHERE object_id = 1 AND key = 'comment'"),
            "daily");
}

TEST_F(Views, one_name_stands_for_one_thing) {
  ASSERT_TRUE(create("v", metadata()));
  EXPECT_EQ(create("v", metadata()).error().kind(), ErrorKind::kAlreadyExists);
  auto table = model::new_table(
      {.name = "v", .schema = metadata().schemas[0]},
      {.uuid = base::make_uuid_v4(random_), .location = "s3://lake/data/main/t", .now_ms = 1});
  ASSERT_TRUE(table);
  LakeWriter writer(*pool_, options_, clock_, random_);
  auto clash = run(writer.create_table(soon(), {{kMain, "v"}, *table, {}}));
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().reason(), kNameOfView);
  ASSERT_TRUE(run(writer.create_table(soon(), {{kMain, "t"}, *table, {}})));
  EXPECT_EQ(create("t", metadata()).error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(load("t").error().reason(), kNoSuchView);
  EXPECT_EQ(run(writer.drop_table(soon(), {kMain, "v"})).error().reason(), kNoSuchTable);
  EXPECT_EQ(run(store().drop_view(soon(), {kMain, "t"})).error().reason(), kNoSuchView);
  EXPECT_EQ(run(store().rename_view(soon(), {kMain, "v"}, {kMain, "t"})).error().kind(),
            ErrorKind::kAlreadyExists);
  EXPECT_EQ(run(writer.rename_table(soon(), {kMain, "t"}, {kMain, "v"})).error().kind(),
            ErrorKind::kAlreadyExists);
}

TEST_F(Views, a_view_needs_its_namespace) {
  auto made =
      run(store().create_view(soon(), {{Namespace{{"none"}}, "v"}, metadata(), "s3://lake/m"}));
  EXPECT_EQ(made.error().reason(), kNoSuchNamespace);
  EXPECT_EQ(run(store().list_views(soon(), Namespace{{"none"}}, {})).error().reason(),
            kNoSuchNamespace);
}

TEST_F(Views, a_new_version_takes_the_place_of_duckdbs_row) {
  ASSERT_TRUE(create("v", metadata()));
  model::ViewVersion version = load("v")->metadata.versions[0];
  version.representations = {{"SELECT 2", "duckdb"}, {"SELECT 1", "spark"}};
  ASSERT_TRUE(
      replace("v", *load("v"), {model::AddViewVersion{version}, model::SetCurrentViewVersion{-1}}));
  EXPECT_EQ(row(), R"x((1,2,0,v,duckdb,"SELECT 2","""n"""))x");
  EXPECT_EQ(line(), "altered_view:1");
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_view WHERE end_snapshot = 2"), "1");
  EXPECT_EQ(load("v")->metadata.versions.size(), 2u);
  EXPECT_EQ(load("v")->metadata.current_version_id, 2);
}

// DuckDB 2.0 puts comments on the columns of a view's query.
TEST_F(Views, tags_of_columns_end_with_the_query_that_has_them) {
  if (version() == "1.0") migrate_to_1_1();
  ASSERT_TRUE(create("v", metadata()));
  const auto tag = [&](const char* begin) {
    exec(std::string("INSERT INTO ducklake_view_column_tag VALUES (1, 'n', ") + begin +
         ", NULL, 'comment', 'of n'), (9, 'n', 1, NULL, 'comment', 'of another view')");
  };
  const auto open_tags = [&] {
    return ask(
        "SELECT count(*) FROM @ducklake_view_column_tag WHERE view_id = 1 AND end_snapshot IS "
        "NULL");
  };
  tag("1");
  ASSERT_TRUE(replace("v", *load("v"), {model::SetProperties{{{"comment", "x"}}}}));
  EXPECT_EQ(open_tags(), "1") << "the query is the same";
  ASSERT_TRUE(run(store().drop_view(soon(), {kMain, "v"})));
  EXPECT_EQ(open_tags(), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM @ducklake_view_column_tag WHERE end_snapshot IS NULL"), "1");
}

TEST_F(Views, properties_alone_make_no_snapshot) {
  ASSERT_TRUE(create("v", metadata()));
  ASSERT_TRUE(replace("v", *load("v"), {model::SetProperties{{{"a", "1"}}}}));
  EXPECT_EQ(head(), "(1,1,2)");
  EXPECT_EQ(load("v")->metadata.properties.at("a"), "1");
}

TEST_F(Views, the_comment_is_the_lakes) {
  ASSERT_TRUE(create("v", metadata({{"comment", "old"}})));
  ASSERT_TRUE(replace("v", *load("v"), {model::SetProperties{{{"comment", "new"}}}}));
  EXPECT_EQ(line(), "altered_view:1");
  const std::string live =
      "SELECT string_agg(value, ',') FROM @ducklake_tag WHERE object_id = 1 "
      "AND key = 'comment' AND end_snapshot IS NULL";
  EXPECT_EQ(ask(live), "new");
  exec("UPDATE ducklake_tag SET value = 'by duckdb' WHERE end_snapshot IS NULL");
  EXPECT_EQ(load("v")->metadata.properties.at("comment"), "by duckdb");
  ASSERT_TRUE(replace("v", *load("v"), {model::RemoveProperties{{"comment"}}}));
  EXPECT_EQ(ask(live), "");
  EXPECT_FALSE(load("v")->metadata.properties.contains("comment"));
}

TEST_F(Views, a_change_stands_on_the_view_as_it_was_read) {
  ASSERT_TRUE(create("v", metadata()));
  LakeView before = *load("v");
  ASSERT_TRUE(replace("v", before, {model::SetProperties{{{"a", "1"}}}}));
  auto late = replace("v", before, {model::SetProperties{{{"a", "2"}}}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason(), kStale);
  EXPECT_EQ(load("v")->metadata.properties.at("a"), "1");
  before = *load("v");
  exec("INSERT INTO ducklake_tag VALUES (1, 1, NULL, 'comment', 'by duckdb')");
  EXPECT_EQ(replace("v", before, {model::SetProperties{{{"a", "2"}}}}).error().reason(), kStale);
  ASSERT_TRUE(run(store().drop_view(soon(), {kMain, "v"})));
  EXPECT_EQ(replace("v", before, {model::SetProperties{{{"a", "2"}}}}).error().reason(),
            kNoSuchView);
}

TEST_F(Views, a_renamed_view_is_the_same_view) {
  create_namespace("other");
  ASSERT_TRUE(create("v", metadata({{"k", "v"}})));
  const auto before = load("v")->metadata;
  const TableIdentifier to{Namespace{{"other"}}, "w"};
  ASSERT_TRUE(run(store().rename_view(soon(), {kMain, "v"}, to)));
  auto after = run(store().load_view(soon(), to));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->metadata, before);
  EXPECT_EQ(load("v").error().reason(), kNoSuchView);
  EXPECT_EQ(line(), R"(created_view:"other"."w",altered_view:2)");
  EXPECT_EQ(run(store().rename_view(soon(), to, {Namespace{{"none"}}, "w"})).error().reason(),
            kNoSuchNamespace);
  EXPECT_EQ(run(store().rename_view(soon(), {kMain, "v"}, to)).error().reason(), kNoSuchView);
}

TEST_F(Views, a_namespace_with_a_view_is_not_empty) {
  create_namespace("other");
  LakeWriter writer(*pool_, options_, clock_, random_);
  const TableIdentifier view{Namespace{{"other"}}, "v"};
  ASSERT_TRUE(run(store().create_view(soon(), {view, metadata(), "s3://lake/m"})));
  EXPECT_EQ(run(writer.drop_namespace(soon(), view.name_space)).error().reason(),
            kNamespaceNotEmpty);
  ASSERT_TRUE(run(store().drop_view(soon(), view)));
  EXPECT_EQ(line(), "dropped_view:2");
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_view"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_view_version"), "0");
  EXPECT_TRUE(run(writer.drop_namespace(soon(), view.name_space)));
}

TEST_F(Views, names_are_listed_in_pages_without_those_of_masks) {
  for (const char* name : {"b", "a", "c"}) ASSERT_TRUE(create(name, metadata()));
  exec("UPDATE ducklake_view SET view_name = '__MASK_c' WHERE view_name = 'c'");
  EXPECT_EQ(list()->items, (std::vector<std::string>{"a", "b"}));
  auto first = list(1);
  EXPECT_EQ(first->items, (std::vector<std::string>{"a"}));
  EXPECT_EQ(first->next, "a");
  EXPECT_EQ(list(1, "a")->items, (std::vector<std::string>{"b"}));
  EXPECT_EQ(list(1, "a")->next, std::nullopt);
  EXPECT_TRUE(load("__MASK_c"));
}

TEST_F(Views, duckdbs_own_view_is_shown_with_one_version) {
  snapshot(1, "created_view:\"main\".\"d\"",
           "INSERT INTO ducklake_view VALUES (50, '45d424f6-e1be-446e-a669-e00c040b6a61', 1, NULL, "
           "0, 'd', 'duckdb', 'SELECT a FROM {DUCKLAKE_CATALOG}.main.t', '\"x\"')");
  auto view = load("d");
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_FALSE(view->columns_known);
  EXPECT_EQ(view->metadata.versions.size(), 1u);
  EXPECT_EQ(view->metadata.current_version().representations,
            (std::vector<model::SqlRepresentation>{{"SELECT a FROM lake.main.t", "duckdb"}}));
  EXPECT_EQ(view->metadata.location, "s3://lake/data/main/view-45d424f6");
  EXPECT_EQ(view->metadata.current_schema().fields[0].name, "x");
  // A property is ours alone: the row that DuckDB wrote stays as it is.
  ASSERT_TRUE(replace("d", *view, {model::SetProperties{{{"a", "1"}}}}));
  EXPECT_EQ(head(), "(1,0,100)");
  EXPECT_EQ(ask("SELECT sql FROM @ducklake_view"), "SELECT a FROM {DUCKLAKE_CATALOG}.main.t");
  EXPECT_EQ(load("d")->metadata.properties.at("a"), "1");
}

TEST_F(Views, a_sidecar_that_breaks_its_form_is_reported) {
  ASSERT_TRUE(create("v", metadata()));
  exec("UPDATE lakeproxy_view SET document = '[]'");
  EXPECT_EQ(load("v").error().kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace lake::ducklake

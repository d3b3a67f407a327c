#include "lakeproxy/iceberg/update/metadata_change.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

using base::ErrorKind;

Type type(const std::string& text) { return parse_primitive_type(text).value(); }

Field field(FieldId id, std::string name, Type of, bool required) {
  return Field{.id = id, .name = std::move(name), .type = std::move(of), .required = required};
}

Schema columns() {
  return Schema{
      .schema_id = 0,
      .fields = {field(1, "id", type("int"), true), field(2, "at", type("timestamp"), false),
                 field(3, "price", type("decimal(9, 2)"), false),
                 field(4, "s", Type::structure({field(5, "f", type("float"), false)}), false),
                 field(6, "l", Type::list(7, type("int"), false), false)},
      .identifier_field_ids = {}};
}

TableMetadata table(std::int32_t version = 2) {
  return new_table(
             CreateTable{.name = "t",
                         .location = std::nullopt,
                         .schema = columns(),
                         .spec = std::nullopt,
                         .order = std::nullopt,
                         .stage_create = false,
                         .properties = {}},
             NewTable{.uuid = {1}, .location = "s3://x", .now_ms = 5, .format_version = version})
      .value();
}

// Fresh ids differ from columns(): id 1, at 2, price 3, s 4, l 5, s.f 6, l.element 7.
constexpr FieldId kStruct = 4;
constexpr FieldId kList = 5;
constexpr FieldId kInner = 6;

TEST(NewTableTest, columns_layout_and_properties_are_the_servers_numbers) {
  CreateTable request{
      .name = "t",
      .location = std::nullopt,
      .schema = columns(),
      .spec = PartitionSpec{.spec_id = 5,
                            .fields = {{2, 1009, "at_day", parse_transform("day")},
                                       {5, 1009, "f", parse_transform("identity")}}},
      .order = SortOrder{.order_id = 9, .fields = {{.source_id = 5}}},
      .stage_create = false,
      .properties = {{"a", "b"}, {"format-version", "3"}}};
  request.schema.fields[3].type = Type::structure({field(5, "g", type("float"), false)});
  EXPECT_EQ(requested_format_version(request).value(), 3);
  const auto made = new_table(request, NewTable{.uuid = {}, .location = "s3://x", .now_ms = 5});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->last_column_id, 7);
  EXPECT_EQ(made->current_schema().find("s.g")->id, kInner);
  EXPECT_EQ(made->default_spec_id, 0);
  EXPECT_EQ(made->partition_specs[0].fields[0].field_id, 1000);
  EXPECT_EQ(made->partition_specs[0].fields[1].field_id, 1001);
  EXPECT_EQ(made->partition_specs[0].fields[1].source_id, kInner);
  EXPECT_EQ(made->last_partition_id, 1001);
  EXPECT_EQ(made->default_sort_order_id, 1);
  EXPECT_EQ(made->sort_orders[0].fields[0].source_id, kInner);
  EXPECT_EQ(made->format_version, 3);
  EXPECT_EQ(made->properties,
            (std::map<std::string, std::string>{{"a", "b"}, {"lakeproxy.format-version", "3"}}));
  EXPECT_TRUE(check_default_columns(*made));

  request.properties = {{"lakeproxy.mask.a", "x"}};
  EXPECT_EQ(new_table(request, NewTable{}).error().kind(), ErrorKind::kForbidden);
  request.properties = {{"format-version", "1"}};
  EXPECT_EQ(requested_format_version(request).error().kind(), ErrorKind::kInvalid);
  request.spec->fields[0].source_id = 99;
  EXPECT_EQ(with_fresh_ids(request).error().kind(), ErrorKind::kInvalid);
}

TEST(AddSchemaTest, same_columns_are_found_again_and_new_ones_get_the_next_id) {
  TableMetadata t = table();
  Schema schema = t.current_schema();
  schema.schema_id = 42;
  EXPECT_EQ(add_schema(t, schema, SchemaCheck::kEvolution).value(), 0);
  schema.fields.push_back(field(8, "n", type("string"), false));
  EXPECT_EQ(add_schema(t, schema, SchemaCheck::kEvolution).value(), 1);
  EXPECT_EQ(t.last_column_id, 8);
  EXPECT_EQ(t.current_schema_id, 0);
  EXPECT_TRUE(set_current_schema(t, 1));
  EXPECT_EQ(set_current_schema(t, 2).error().kind(), ErrorKind::kInvalid);
}

struct Evolve {
  const char* name;
  std::function<void(Schema&)> change;
  bool allowed;
  std::int32_t version = 2;
};

TEST(AddSchemaTest, allows_what_old_files_can_be_read_with_and_nothing_else) {
  const auto inner = [](Schema& s, Field f) { s.fields[3].type = Type::structure({std::move(f)}); };
  const std::vector<Evolve> cases = {
      {"drop", [](Schema& s) { s.fields.pop_back(); }, true},
      {"rename", [](Schema& s) { s.fields[0].name = "key"; }, true},
      {"reorder", [](Schema& s) { std::swap(s.fields[0], s.fields[1]); }, true},
      {"doc", [](Schema& s) { s.fields[0].doc = "d"; }, true},
      {"make_optional", [](Schema& s) { s.fields[0].required = false; }, true},
      {"int_to_long", [](Schema& s) { s.fields[0].type = type("long"); }, true},
      {"more_digits", [](Schema& s) { s.fields[2].type = type("decimal(38, 2)"); }, true},
      {"float_to_double", [&](Schema& s) { inner(s, field(kInner, "f", type("double"), false)); },
       true},
      {"element_to_long", [](Schema& s) { s.fields[4].type = Type::list(7, type("long"), false); },
       true},
      {"add", [](Schema& s) { s.fields.push_back(field(8, "n", type("int"), false)); }, true},
      {"add_nested",
       [](Schema& s) {
         s.fields.push_back(
             field(8, "n", Type::structure({field(9, "r", type("int"), true)}), false));
       },
       true},
      {"add_required_with_default",
       [](Schema& s) {
         s.fields.push_back(field(8, "n", type("int"), true));
         s.fields.back().initial_default = Literal(7);
       },
       true, 3},
      {"default_in_v2",
       [](Schema& s) {
         s.fields.push_back(field(8, "n", type("int"), true));
         s.fields.back().initial_default = Literal(7);
       },
       false, 2},
      {"variant_in_v3",
       [](Schema& s) { s.fields.push_back(field(8, "n", type("variant"), false)); }, true, 3},
      {"variant_in_v2",
       [](Schema& s) { s.fields.push_back(field(8, "n", type("variant"), false)); }, false},
      {"nanos_in_v2",
       [](Schema& s) { s.fields.push_back(field(8, "n", type("timestamp_ns"), false)); }, false},
      {"required_unknown",
       [](Schema& s) { s.fields.push_back(field(8, "n", type("unknown"), true)); }, false, 3},
      {"int_to_string", [](Schema& s) { s.fields[0].type = type("string"); }, false},
      {"int_to_double", [](Schema& s) { s.fields[0].type = type("double"); }, false},
      {"fewer_digits", [](Schema& s) { s.fields[2].type = type("decimal(8, 2)"); }, false},
      {"other_scale", [](Schema& s) { s.fields[2].type = type("decimal(12, 3)"); }, false},
      {"timestamp_to_tz", [](Schema& s) { s.fields[1].type = type("timestamptz"); }, false},
      {"struct_to_int", [](Schema& s) { s.fields[3].type = type("int"); }, false},
      {"make_required", [](Schema& s) { s.fields[1].required = true; }, false},
      {"add_required", [](Schema& s) { s.fields.push_back(field(8, "n", type("int"), true)); },
       false},
      {"add_required_inside", [&](Schema& s) { inner(s, field(8, "n", type("int"), true)); },
       false},
      {"new_element_id", [](Schema& s) { s.fields[4].type = Type::list(8, type("int"), false); },
       false},
      {"move_out_of_struct",
       [](Schema& s) {
         s.fields[3].type = Type::structure({});
         s.fields.push_back(field(kInner, "f", type("float"), false));
       },
       false},
      {"new_default_on_old_column",
       [](Schema& s) { s.fields[1].initial_default = Literal(std::int64_t{0}); }, false, 3},
      {"id_twice", [](Schema& s) { s.fields.push_back(field(1, "n", type("int"), false)); }, false},
  };
  for (const Evolve& each : cases) {
    TableMetadata t = table(each.version);
    const TableMetadata before = t;
    Schema schema = t.current_schema();
    each.change(schema);
    const auto added = add_schema(t, schema, SchemaCheck::kEvolution);
    EXPECT_EQ(added.has_value(), each.allowed)
        << each.name << ": " << (added ? "" : added.error().message());
    if (added) continue;
    EXPECT_EQ(added.error().kind(), ErrorKind::kInvalid) << each.name;
    EXPECT_EQ(t.schemas, before.schemas) << each.name;
    EXPECT_EQ(t.last_column_id, before.last_column_id) << each.name;
  }
}

TEST(AddSchemaTest, a_dropped_column_may_return_but_its_id_not_for_another) {
  TableMetadata t = table();
  Schema without = t.current_schema();
  const Field dropped = without.fields[1];
  without.fields.erase(without.fields.begin() + 1);
  const auto id = add_schema(t, without, SchemaCheck::kEvolution);
  ASSERT_TRUE(set_current_schema(t, id.value()));
  Schema again = without;
  again.fields.push_back(dropped);
  EXPECT_TRUE(add_schema(t, again, SchemaCheck::kEvolution));
  Schema other = without;
  other.fields.push_back(field(dropped.id, "n", type("string"), false));
  EXPECT_EQ(add_schema(t, other, SchemaCheck::kEvolution).error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(add_schema(t, other, SchemaCheck::kReplacement));
  t.last_column_id = 20;
  Schema unknown = without;
  unknown.fields.push_back(field(15, "n", type("string"), false));
  EXPECT_FALSE(add_schema(t, unknown, SchemaCheck::kEvolution));
  unknown.fields.back().id = 21;
  EXPECT_TRUE(add_schema(t, unknown, SchemaCheck::kEvolution));
}

TEST(AddSchemaTest, a_default_stays_the_same_when_its_type_is_promoted) {
  TableMetadata t = table(3);
  Schema schema = t.current_schema();
  schema.fields.push_back(field(8, "n", type("int"), true));
  schema.fields.back().initial_default = Literal(7);
  ASSERT_TRUE(set_current_schema(t, add_schema(t, schema, SchemaCheck::kEvolution).value()));
  schema.fields.back().type = type("long");
  schema.fields.back().initial_default = Literal(std::int64_t{8});
  EXPECT_FALSE(add_schema(t, schema, SchemaCheck::kEvolution));
  schema.fields.back().initial_default = Literal(std::int64_t{7});
  EXPECT_TRUE(add_schema(t, schema, SchemaCheck::kEvolution));
}

TEST(NewTableTest, the_servers_format_version_is_for_those_who_ask_for_none) {
  EXPECT_EQ(table(3).format_version, 3);
  EXPECT_EQ(table(3).properties.count("lakeproxy.format-version"), 0);
}

TEST(FormatVersionTest, is_2_or_3_and_never_lowered) {
  TableMetadata t = table();
  for (const int version : {0, 1, 4, -1}) {
    EXPECT_EQ(set_format_version(t, version).error().kind(), ErrorKind::kInvalid) << version;
  }
  EXPECT_TRUE(set_format_version(t, 2));
  EXPECT_EQ(t.properties.at("lakeproxy.format-version"), "2");
  EXPECT_TRUE(set_format_version(t, 3));
  EXPECT_EQ(t.properties.at("lakeproxy.format-version"), "3");
  EXPECT_EQ(set_format_version(t, 2).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(t.format_version, 3);
}

PartitionSpec spec_of(std::vector<PartitionField> fields) {
  return PartitionSpec{.spec_id = 99, .fields = std::move(fields)};
}

TEST(AddSpecTest, ids_of_fields_and_specs_are_kept_reused_or_next) {
  TableMetadata t = table();
  const auto day = parse_transform("day");
  const auto bucket = parse_transform("bucket[4]");
  EXPECT_EQ(add_spec(t, spec_of({})).value(), 0);
  EXPECT_EQ(add_spec(t, spec_of({{2, 0, "d", day}})).value(), 1);
  EXPECT_EQ(t.find_spec(1)->fields[0].field_id, 1000);
  EXPECT_EQ(add_spec(t, spec_of({{2, 1234, "d", day}})).value(), 1);
  EXPECT_EQ(t.last_partition_id, 1000);
  // The old field keeps its id under a new name; a low given id is not trusted.
  EXPECT_EQ(add_spec(t, spec_of({{1, 1000, "b", bucket}, {2, 7, "e", day}})).value(), 2);
  EXPECT_EQ(t.find_spec(2)->fields[0].field_id, 1001);
  EXPECT_EQ(t.find_spec(2)->fields[1].field_id, 1000);
  EXPECT_EQ(add_spec(t, spec_of({{1, 1500, "y", parse_transform("truncate[2]")}})).value(), 3);
  EXPECT_EQ(t.find_spec(3)->fields[0].field_id, 1500);
  EXPECT_EQ(t.last_partition_id, 1500);
  EXPECT_EQ(add_spec(t, spec_of({{3, INT32_MAX, "p", bucket}})).value(), 4);
  EXPECT_EQ(t.find_spec(4)->fields[0].field_id, 1501);
  EXPECT_TRUE(set_default_spec(t, 4));
  EXPECT_FALSE(set_default_spec(t, 5));
}

TEST(AddSpecTest, fields_of_a_new_table_are_found_before_its_schema_is_the_current_one) {
  TableMetadata t = table();
  const auto spec = spec_of({{1, 1000, "b", parse_transform("bucket[4]")}});
  t.current_schema_id = -1;
  EXPECT_TRUE(add_spec(t, spec));
  EXPECT_FALSE(add_spec(t, spec_of({{99, 0, "x", parse_transform("identity")}})));
  t.schemas.clear();
  auto without = add_spec(t, spec_of({{2, 0, "d", parse_transform("day")}}));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().kind(), ErrorKind::kInvalid);
}

TEST(AddSpecTest, bad_specs_are_refused_and_change_nothing) {
  const auto identity = parse_transform("identity");
  struct Bad {
    const char* name;
    PartitionSpec spec;
    ErrorKind kind;
  };
  const std::vector<Bad> cases = {
      {"no_column", spec_of({{99, 0, "x", identity}}), ErrorKind::kInvalid},
      {"struct", spec_of({{kStruct, 0, "x", identity}}), ErrorKind::kInvalid},
      {"list", spec_of({{kList, 0, "x", identity}}), ErrorKind::kInvalid},
      {"in_list", spec_of({{7, 0, "x", identity}}), ErrorKind::kInvalid},
      {"wrong_type", spec_of({{1, 0, "x", parse_transform("day")}}), ErrorKind::kInvalid},
      {"void", spec_of({{1, 0, "x", parse_transform("void")}}), ErrorKind::kUnsupported},
      {"unknown", spec_of({{1, 0, "x", parse_transform("zorder")}}), ErrorKind::kUnsupported},
      {"no_name", spec_of({{1, 0, "", identity}}), ErrorKind::kInvalid},
      {"name_of_column", spec_of({{1, 0, "at", identity}}), ErrorKind::kInvalid},
      {"name_of_column_not_identity", spec_of({{1, 0, "id", parse_transform("bucket[2]")}}),
       ErrorKind::kInvalid},
      {"name_twice", spec_of({{1, 0, "x", identity}, {2, 0, "x", parse_transform("day")}}),
       ErrorKind::kInvalid},
      {"repeated", spec_of({{1, 0, "x", identity}, {1, 0, "y", identity}}), ErrorKind::kInvalid},
  };
  for (const Bad& bad : cases) {
    TableMetadata t = table();
    const auto added = add_spec(t, bad.spec);
    ASSERT_FALSE(added) << bad.name;
    EXPECT_EQ(added.error().kind(), bad.kind) << bad.name << ": " << added.error().message();
    EXPECT_EQ(t.partition_specs, table().partition_specs);
    EXPECT_EQ(t.last_partition_id, kNoPartitionFieldId);
  }
  TableMetadata t = table();
  EXPECT_TRUE(add_spec(t, spec_of({{1, 0, "id", identity}, {kInner, 0, "f", identity}})));
}

TEST(AddSortOrderTest, orders_are_found_again_and_the_empty_one_is_0) {
  TableMetadata t = table();
  EXPECT_EQ(t.default_sort_order_id, 0);
  EXPECT_EQ(add_sort_order(t, SortOrder{.order_id = 4, .fields = {}}).value(), 0);
  EXPECT_EQ(add_sort_order(t, SortOrder{.order_id = 4, .fields = {{.source_id = 1}}}).value(), 1);
  EXPECT_EQ(add_sort_order(t, SortOrder{.order_id = 5, .fields = {{.source_id = 1}}}).value(), 1);
  EXPECT_EQ(add_sort_order(t, SortOrder{.order_id = 1, .fields = {{.source_id = 2}}}).value(), 2);
  EXPECT_FALSE(add_sort_order(t, SortOrder{.order_id = 1, .fields = {{.source_id = 99}}}));
  EXPECT_FALSE(add_sort_order(
      t,
      SortOrder{.order_id = 1, .fields = {{.source_id = 1, .transform = parse_transform("day")}}}));
  EXPECT_TRUE(set_default_sort_order(t, 2));
  EXPECT_FALSE(set_default_sort_order(t, 3));
}

TEST(DefaultColumnsTest, a_dropped_source_is_named) {
  TableMetadata t = table();
  const auto spec = add_spec(t, spec_of({{2, 0, "d", parse_transform("day")}}));
  ASSERT_TRUE(set_default_spec(t, spec.value()));
  EXPECT_TRUE(check_default_columns(t));
  Schema schema = t.current_schema();
  schema.fields.erase(schema.fields.begin() + 1);
  ASSERT_TRUE(set_current_schema(t, add_schema(t, schema, SchemaCheck::kEvolution).value()));
  EXPECT_EQ(check_default_columns(t).error().kind(), ErrorKind::kInvalid);
  ASSERT_TRUE(set_default_spec(t, 0));
  EXPECT_TRUE(check_default_columns(t));
}

TEST(LastAddedTest, minus_one_needs_an_addition) {
  EXPECT_EQ(resolve_last_added(7, std::nullopt, "schema").value(), 7);
  EXPECT_EQ(resolve_last_added(kLastAdded, 3, "schema").value(), 3);
  EXPECT_EQ(resolve_last_added(kLastAdded, std::nullopt, "schema").error().kind(),
            ErrorKind::kInvalid);
}

TEST(PropertiesTest, reserved_keys_are_forbidden_and_nothing_is_half_done) {
  TableMetadata t = table();
  EXPECT_TRUE(set_properties(t, {{"a", "1"}, {"lakeproxyx", "2"}}));
  const auto set = set_properties(t, {{"b", "1"}, {"lakeproxy.format-version", "2"}});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind(), ErrorKind::kForbidden);
  EXPECT_NE(set.error().message().find("lakeproxy.format-version"), std::string::npos);
  EXPECT_FALSE(t.properties.contains("b"));
  EXPECT_EQ(remove_properties(t, {"a", "lakeproxy.x"}).error().kind(), ErrorKind::kForbidden);
  EXPECT_TRUE(t.properties.contains("a"));
  EXPECT_TRUE(remove_properties(t, {"a", "never set"}));
  EXPECT_FALSE(t.properties.contains("a"));
  EXPECT_EQ(check_property_key("").error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(check_property_key("\xff").error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(check_property_key(std::string(1024, 'k')));
  EXPECT_FALSE(check_property_key(std::string(1025, 'k')));
}

TEST(RequirementTest, each_holds_or_conflicts) {
  TableMetadata t = table();
  t.refs["main"] = SnapshotRef{.snapshot_id = SnapshotId(5)};
  t.refs["v1"] = SnapshotRef{.snapshot_id = SnapshotId(4), .type = RefType::kTag};
  struct Case {
    TableRequirement requirement;
    bool holds;
  };
  const std::vector<Case> cases = {
      {AssertCreate{}, false},
      {AssertTableUuid{{1}}, true},
      {AssertTableUuid{{2}}, false},
      {AssertRefSnapshotId{"main", SnapshotId(5)}, true},
      {AssertRefSnapshotId{"main", SnapshotId(6)}, false},
      {AssertRefSnapshotId{"main", std::nullopt}, false},
      {AssertRefSnapshotId{"v1", SnapshotId(4)}, true},
      {AssertRefSnapshotId{"v2", SnapshotId(4)}, false},
      {AssertRefSnapshotId{"v2", std::nullopt}, true},
      {AssertLastAssignedFieldId{7}, true},
      {AssertLastAssignedFieldId{6}, false},
      {AssertCurrentSchemaId{0}, true},
      {AssertCurrentSchemaId{1}, false},
      {AssertLastAssignedPartitionId{999}, true},
      {AssertLastAssignedPartitionId{1000}, false},
      {AssertDefaultSpecId{0}, true},
      {AssertDefaultSpecId{1}, false},
      {AssertDefaultSortOrderId{0}, true},
      {AssertDefaultSortOrderId{1}, false},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto status = check_requirement(&t, cases[i].requirement);
    EXPECT_EQ(status.has_value(), cases[i].holds) << i;
    if (!status) EXPECT_EQ(status.error().kind(), ErrorKind::kConflict) << i;
  }
  EXPECT_EQ(check_requirement(&t, AssertRefSnapshotId{"main", SnapshotId(6)}).error().message(),
            "Requirement failed: branch main has changed: expected id 6 != 5");
}

TEST(RequirementTest, without_a_table_only_its_absence_holds) {
  EXPECT_TRUE(check_requirement(nullptr, AssertCreate{}));
  EXPECT_TRUE(check_requirement(nullptr, AssertRefSnapshotId{"main", std::nullopt}));
  for (const TableRequirement& requirement : std::vector<TableRequirement>{
           AssertTableUuid{{1}}, AssertRefSnapshotId{"main", SnapshotId(1)},
           AssertLastAssignedFieldId{0}, AssertCurrentSchemaId{0},
           AssertLastAssignedPartitionId{999}, AssertDefaultSpecId{0},
           AssertDefaultSortOrderId{0}}) {
    EXPECT_EQ(check_requirement(nullptr, requirement).error().kind(), ErrorKind::kConflict);
  }
}

}  // namespace
}  // namespace lake::model

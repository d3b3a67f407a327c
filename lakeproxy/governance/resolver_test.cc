#include "lakeproxy/governance/resolver.h"

#include <gtest/gtest.h>

namespace lake::governance {
namespace {

using policy::PolicyVersion;
using policy::ReadKind;
using policy::ReadPlan;

const CompiledBody& stars() {
  static const CompiledBody body = compile_mask("(v VARCHAR)", "'***'").value();
  return body;
}
const CompiledBody& first_letter() {
  static const CompiledBody body = compile_mask("(v VARCHAR)", "left(v, 1)").value();
  return body;
}
const CompiledBody& of_region() {
  static const CompiledBody body = compile_filter("(region VARCHAR)", "region = 'eu'").value();
  return body;
}

Reach mask(std::string name, const CompiledBody& body, Reach::Level level,
           model::FieldId field = 0) {
  Reach reach{.kind = PolicyKind::kMasking,
              .policy = std::move(name),
              .body = body,
              .level = level,
              .field = field};
  if (level != Reach::Level::kDirect) reach.tag = "pii.ssn";
  return reach;
}

Reach filter(std::string name, const CompiledBody& body, std::vector<model::FieldId> columns) {
  return {.kind = PolicyKind::kRowAccess,
          .policy = std::move(name),
          .body = body,
          .level = Reach::Level::kDirect,
          .columns = std::move(columns)};
}

TableState state() {
  return {.table = model::TableId(7),
          .columns = {{1, "id", "BIGINT"}, {2, "ssn", "VARCHAR"}, {3, "region", "VARCHAR"}}};
}

ReadPlan plan(const std::vector<Reach>& reaches, const std::vector<std::string>& roles = {},
              const TableState& of = state()) {
  return resolve(reaches, roles, of, PolicyVersion(5));
}

TEST(Resolver, leaves_a_table_raw_that_nothing_reaches) {
  const ReadPlan raw = plan({});
  EXPECT_EQ(raw.kind(), ReadKind::kRaw);
  EXPECT_EQ(raw.mask(), nullptr);
  EXPECT_EQ(raw.version(), PolicyVersion(5));
  // A mask of a column that this state has not.
  EXPECT_EQ(plan({mask("m", stars(), Reach::Level::kDirect, 9)}).kind(), ReadKind::kRaw);
}

TEST(Resolver, masks_a_column_by_its_id_and_says_why) {
  struct Case {
    Reach::Level level;
    const char* why;
  };
  const Case cases[] = {{Reach::Level::kDirect, "attached to the column"},
                        {Reach::Level::kColumn, "tag pii.ssn of the column"}};
  for (const Case& one : cases) {
    const ReadPlan masked = plan({mask("m", first_letter(), one.level, 2)});
    ASSERT_EQ(masked.kind(), ReadKind::kCooperative);
    const policy::ColumnMask wanted{.field = 2,
                                    .column = "ssn",
                                    .expression = R"("left"("ssn", 1))",
                                    .policy = "m",
                                    .why = one.why};
    EXPECT_EQ(masked.mask()->masks, std::vector{wanted});
  }
  TableState renamed = state();
  renamed.columns[1].name = "social \"security\"";
  renamed.columns[2].name = "ssn";
  const ReadPlan masked = plan({mask("m", first_letter(), Reach::Level::kDirect, 2)}, {}, renamed);
  ASSERT_EQ(masked.mask()->masks.size(), 1);
  EXPECT_EQ(masked.mask()->masks[0].expression, R"("left"("social ""security""", 1))");
}

TEST(Resolver, lets_tags_of_a_table_and_of_a_schema_reach_all_columns) {
  for (const auto level : {Reach::Level::kTable, Reach::Level::kSchema}) {
    const ReadPlan masked = plan({mask("m", stars(), level)});
    ASSERT_EQ(masked.kind(), ReadKind::kCooperative);
    ASSERT_EQ(masked.mask()->masks.size(), 3);
    EXPECT_EQ(masked.mask()->masks[0].expression, "TRY_CAST('***' AS BIGINT)");
  }
  // One policy on several ways is one mask.
  const ReadPlan once = plan(
      {mask("m", stars(), Reach::Level::kTable), mask("m", stars(), Reach::Level::kDirect, 2)});
  EXPECT_EQ(once.kind(), ReadKind::kCooperative);
}

TEST(Resolver, refuses_two_masks_on_a_column) {
  const std::vector<Reach> both{mask("a", stars(), Reach::Level::kTable),
                                mask("b", first_letter(), Reach::Level::kDirect, 2)};
  const ReadPlan refused = plan(both);
  EXPECT_EQ(refused.kind(), ReadKind::kRefused);
  EXPECT_EQ(refused.reason(), "two masking policies reach the column ssn: a, b");
  EXPECT_EQ(refused.mask(), nullptr);
  // On a column that the table has lost both withhold.
  TableState older = state();
  older.columns[1].is_dropped = true;
  const ReadPlan withheld = plan(both, {}, older);
  ASSERT_EQ(withheld.kind(), ReadKind::kCooperative);
  EXPECT_EQ(withheld.mask()->masks[1].expression, "CAST(NULL AS VARCHAR)");
  EXPECT_EQ(withheld.mask()->masks[1].policy, "a, b");
}

TEST(Resolver, lets_roles_off_of_each_policy_by_itself) {
  std::vector<Reach> reaches{mask("m", stars(), Reach::Level::kDirect, 2),
                             filter("f", of_region(), {3})};
  reaches[0].unmasked_roles = {"auditor"};
  reaches[1].unmasked_roles = {"manager"};
  EXPECT_EQ(plan(reaches, {"reader"}).mask()->masks.size(), 1);
  EXPECT_EQ(plan(reaches, {"reader"}).mask()->filters.size(), 1);
  EXPECT_TRUE(plan(reaches, {"auditor"}).mask()->masks.empty());
  EXPECT_EQ(plan(reaches, {"auditor"}).mask()->filters.size(), 1);
  EXPECT_TRUE(plan(reaches, {"manager"}).mask()->filters.empty());
  EXPECT_EQ(plan(reaches, {"auditor", "manager"}).kind(), ReadKind::kRaw);
  EXPECT_EQ(plan(reaches, {"Auditor", "audito", ""}).mask()->masks.size(), 1);
}

TEST(Resolver, joins_filters_in_the_order_of_their_names) {
  const auto amount = compile_filter("(n BIGINT)", "n < 10").value();
  const ReadPlan masked = plan({filter("b", of_region(), {3}), filter("a", amount, {1})});
  ASSERT_EQ(masked.mask()->filters.size(), 2);
  EXPECT_EQ(masked.mask()->filters[0].policy, "a");
  EXPECT_EQ(masked.mask()->filters[0].predicate, R"(("id" < 10))");
  EXPECT_EQ(masked.mask()->filters[1].columns,
            (std::vector<policy::RowFilter::Column>{{3, "region"}}));
  // What is filtered by may be masked: the filter has the raw value.
  const ReadPlan both =
      plan({filter("b", of_region(), {3}), mask("m", stars(), Reach::Level::kDirect, 3)});
  EXPECT_EQ(both.mask()->filters[0].predicate, R"(("region" = 'eu'))");
  EXPECT_EQ(both.mask()->masks[0].field, 3);
}

TEST(Resolver, refuses_a_filter_whose_column_is_gone) {
  for (const auto& columns : std::vector<std::vector<model::FieldId>>{{9}, {}}) {
    const ReadPlan refused = plan({filter("f", of_region(), columns)});
    EXPECT_EQ(refused.kind(), ReadKind::kRefused);
    EXPECT_TRUE(refused.reason().contains("f reads a column that the table has not"))
        << refused.reason();
  }
  Reach by_tag = filter("f", of_region(), {});
  by_tag.level = Reach::Level::kSchema;
  EXPECT_EQ(plan({by_tag}).mask()->filters[0].columns[0].field, 3);
  TableState without = state();
  without.columns.pop_back();
  EXPECT_EQ(plan({by_tag}, {}, without).kind(), ReadKind::kRefused);
  without.columns.push_back({4, "REGION", "VARCHAR"});
  EXPECT_EQ(plan({by_tag}, {}, without).mask()->filters[0].columns[0].field, 4);
  without.columns.push_back({5, "Region", "VARCHAR"});
  EXPECT_EQ(plan({by_tag}, {}, without).kind(), ReadKind::kRefused);
}

TEST(Resolver, refuses_a_policy_that_does_not_exist) {
  Reach gone = mask("m", stars(), Reach::Level::kDirect, 2);
  gone.body.reset();
  EXPECT_EQ(plan({gone}).kind(), ReadKind::kRefused);
  EXPECT_EQ(plan({gone}).reason(), "the policy m is attached and does not exist");
}

TEST(Resolver, masks_files_where_a_policy_or_the_table_asks_for_it) {
  std::vector<Reach> reaches{mask("m", stars(), Reach::Level::kDirect, 2),
                             mask("n", stars(), Reach::Level::kDirect, 3)};
  EXPECT_EQ(plan(reaches).kind(), ReadKind::kCooperative);
  reaches[1].file_layer_masking = true;
  EXPECT_EQ(plan(reaches).kind(), ReadKind::kFileMask);
  reaches[1].unmasked_roles = {"auditor"};
  EXPECT_EQ(plan(reaches, {"auditor"}).kind(), ReadKind::kCooperative);
  TableState table = state();
  table.masks_files = true;
  EXPECT_EQ(plan(reaches, {"auditor"}, table).kind(), ReadKind::kFileMask);
  EXPECT_EQ(plan({}, {}, table).kind(), ReadKind::kRaw);
}

TEST(Resolver, names_the_policies_that_a_role_lets_off) {
  Reach lifted = mask("m", stars(), Reach::Level::kDirect, 2);
  lifted.unmasked_roles = {"auditor"};
  EXPECT_EQ(plan({lifted, lifted}, {"auditor"}).lifted(), std::vector<std::string>{"m"});
  EXPECT_TRUE(plan({}, {"auditor"}).lifted().empty());
  EXPECT_TRUE(plan({lifted}).lifted().empty()) << "it applies";
}

TEST(Resolver, signs_what_a_reader_gets) {
  const auto of = [](const std::vector<Reach>& reaches, const TableState& table = state()) {
    return plan(reaches, {}, table).mask()->signature;
  };
  const std::string one = of({mask("m", stars(), Reach::Level::kDirect, 2)});
  EXPECT_EQ(one.size(), 32);
  EXPECT_EQ(one, of({mask("another name", stars(), Reach::Level::kColumn, 2)}))
      << "the bytes are the same";
  EXPECT_NE(one, of({mask("m", stars(), Reach::Level::kDirect, 3)}));
  EXPECT_NE(one, of({mask("m", first_letter(), Reach::Level::kDirect, 2)}));
  EXPECT_NE(one, of({mask("m", stars(), Reach::Level::kDirect, 2), filter("f", of_region(), {3})}));
  TableState renamed = state();
  renamed.columns[1].name = "s";
  EXPECT_NE(one, of({mask("m", stars(), Reach::Level::kDirect, 2)}, renamed));
}

TEST(Resolver, unites_the_roles_of_the_token_with_those_granted) {
  auth::Principal principal{.subject = "dana"};
  EXPECT_EQ(Resolver::roles_of(principal, {.version = {}, .reaches = {}, .granted = {"b", "a"}}),
            (std::vector<std::string>{"a", "b"}));
  principal.grants = std::make_shared<const auth::Grants>(auth::Grants{{}, {"c", "a"}});
  EXPECT_EQ(Resolver::roles_of(principal, {.version = {}, .reaches = {}, .granted = {"b", "a"}}),
            (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace lake::governance

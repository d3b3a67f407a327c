#include "lakeproxy/to_iceberg/definition/order_ids.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using model::LakeSortKey;
using model::NullOrder;
using model::SnapshotId;
using model::SortDirection;
using model::SortField;
using model::SortOrder;

const LakeColumns kColumns{
    .columns = {{.id = 1, .begin = SnapshotId(1), .name = "i", .type = "int32"},
                {.id = 2, .begin = SnapshotId(1), .name = "we\"ird", .type = "varchar"},
                {.id = 3, .begin = SnapshotId(1), .name = "l", .type = "list"}}};

LakeSortKey key(std::string expression, SortDirection direction = SortDirection::kAscending) {
  return {.expression = std::move(expression), .direction = direction};
}

struct SortOrders {
  std::vector<SortOrder> orders;
  std::int32_t default_order_id = 0;
};

SortOrders sort_orders(const LakeColumns& columns, const model::LakeSort& lake,
                       const SortOrders& known) {
  AssignedIds ids;
  for (const SortOrder& order : known.orders) ids.orders[order.order_id] = order;
  SortOrders result{{}, assign_order(columns, lake, known.default_order_id, ids)};
  for (const auto& [id, order] : ids.orders) result.orders.push_back(order);
  return result;
}

TEST(SortOrders, an_unsorted_table_has_order_0) {
  const SortOrders orders = sort_orders(kColumns, {}, {});
  EXPECT_EQ(orders.orders, std::vector<SortOrder>{SortOrder{}});
  EXPECT_EQ(orders.default_order_id, 0);
}

TEST(SortOrders, takes_the_columns_up_to_the_first_that_iceberg_cannot_sort_by) {
  struct Case {
    std::vector<LakeSortKey> keys;
    std::vector<model::FieldId> sources;
  };
  const std::vector<Case> cases = {
      {{key("I")}, {1}},
      {{key("\"we\"\"ird\""), key("i")}, {2, 1}},
      {{key("i"), key("(i + 1)"), key("\"we\"\"ird\"")}, {1}},
      {{key("(i + 1)"), key("i")}, {}},
      {{key("gone")}, {}},
      {{key("l"), key("i")}, {}},
      {{key("i"), key("l")}, {1}},
      {{key("\"i")}, {}},
  };
  for (const Case& c : cases) {
    const SortOrders orders = sort_orders(kColumns, {.ever_set = true, .keys = c.keys}, {});
    ASSERT_EQ(orders.orders.size(), c.sources.empty() ? 1 : 2);
    std::vector<model::FieldId> sources;
    for (const SortField& field : orders.orders.back().fields) sources.push_back(field.source_id);
    EXPECT_EQ(sources, c.sources);
    EXPECT_EQ(orders.default_order_id, c.sources.empty() ? 0 : 1);
  }
}

TEST(SortOrders, an_equal_order_of_a_client_gives_the_id) {
  const SortOrder given{.order_id = 4,
                        .fields = {{.source_id = 1, .direction = SortDirection::kDescending}}};
  const SortOrders orders =
      sort_orders(kColumns, {.ever_set = true, .keys = {key("i", SortDirection::kDescending)}},
                  {.orders = {SortOrder{}, given}, .default_order_id = 0});
  EXPECT_EQ(orders.orders.size(), 2);
  EXPECT_EQ(orders.default_order_id, 4);
}

TEST(SortOrders, a_client_s_order_of_a_column_that_is_gone_is_not_the_default) {
  LakeColumns columns{.columns = {{.id = 1, .begin = SnapshotId(1), .name = "i", .type = "int32"}}};
  const SortOrders clients{.orders = {SortOrder{}, {.order_id = 1, .fields = {{.source_id = 1}}}},
                           .default_order_id = 1};
  EXPECT_EQ(sort_orders(columns, {}, clients).default_order_id, 1);
  columns.columns[0].end = SnapshotId(3);
  EXPECT_EQ(sort_orders(columns, {}, clients).default_order_id, 0);
  EXPECT_EQ(sort_orders(columns, {}, clients).orders.size(), 2);
}

TEST(SortOrders, the_clients_default_stands_unless_duckdb_took_it_away) {
  const SortOrder plain{.order_id = 1, .fields = {{.source_id = 1}}};
  const SortOrder bucket{
      .order_id = 2,
      .fields = {
          {.source_id = 1, .transform = {.kind = model::TransformKind::kBucket, .parameter = 4}}}};
  struct Case {
    bool ever_set;
    std::int32_t given;
    std::int32_t shown;
  };
  for (const Case& c : {Case{false, 1, 1}, Case{true, 1, 0}, Case{true, 2, 2}, Case{false, 9, 0}}) {
    const SortOrders orders =
        sort_orders(kColumns, {.ever_set = c.ever_set, .keys = {}},
                    {.orders = {SortOrder{}, plain, bucket}, .default_order_id = c.given});
    EXPECT_EQ(orders.default_order_id, c.shown) << c.given;
  }
}

TEST(SortOrders, an_order_that_duckdb_gave_up_keeps_its_id) {
  AssignedIds ids;
  const auto by = [&](std::vector<LakeSortKey> keys) {
    return assign_order(kColumns, {.ever_set = true, .keys = std::move(keys)}, 0, ids);
  };
  EXPECT_EQ(by({key("i")}), 1);
  EXPECT_EQ(by({}), 0);
  EXPECT_EQ(by({key("i", SortDirection::kDescending)}), 2);
  EXPECT_EQ(by({key("i")}), 1);
  EXPECT_EQ(ids.orders.size(), 3);
}

}  // namespace
}  // namespace lake::ducklake

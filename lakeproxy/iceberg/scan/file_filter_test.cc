#include "lakeproxy/iceberg/scan/file_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lakeproxy/iceberg/value/bounds.h"
#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/iceberg/value/transform.h"

namespace lake::scan {
namespace {

using model::Field;
using model::Literal;
using model::Transform;
using model::TransformKind;
using model::Type;
using model::TypeKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

model::Schema sample_schema() {
  model::Schema schema;
  schema.fields = {
      Field{.id = 1, .name = "i", .type = Type(TypeKind::kInt)},
      Field{.id = 2, .name = "big", .type = Type(TypeKind::kLong)},
      Field{.id = 3, .name = "s", .type = Type(TypeKind::kString)},
      Field{.id = 4, .name = "d", .type = Type(TypeKind::kDouble)},
      Field{.id = 5, .name = "day", .type = Type(TypeKind::kDate)},
      Field{.id = 6, .name = "ts", .type = Type(TypeKind::kTimestamp)},
      Field{.id = 7, .name = "dec", .type = Type::decimal(9, 2)},
      Field{.id = 8, .name = "flag", .type = Type(TypeKind::kBoolean)},
  };
  return schema;
}

Filter filter_of(std::string_view text) {
  auto json = base::json::parse(text, {.depth = 1000});
  EXPECT_TRUE(json) << text;
  auto read = expression_from_json(*json, "filter");
  EXPECT_TRUE(read) << text;
  const auto schema = sample_schema();
  auto filter = bind(*read, Columns(schema, NameCase::kSensitive), "filter");
  EXPECT_TRUE(filter) << text << filter.error().message();
  return std::move(*filter);
}

model::ColumnMetrics metrics(std::optional<Literal> lower, std::optional<Literal> upper,
                             std::int64_t nulls = 0, std::int64_t nans = 0,
                             std::int64_t values = 10) {
  model::ColumnMetrics made;
  made.value_count = values;
  made.null_count = nulls;
  made.nan_count = nans;
  if (lower) made.lower_bound = materialize::encode_single_value(*lower);
  if (upper) made.upper_bound = materialize::encode_single_value(*upper);
  return made;
}

bool may_match(std::string_view text, model::FieldId id, model::ColumnMetrics of) {
  model::DataFile file{.record_count = 10};
  file.metrics.emplace(id, std::move(of));
  const Filter filter = filter_of(text);
  return FileFilter(filter, {}).may_match(file);
}

struct BoundCase {
  const char* filter;
  bool may_match;
};

TEST(FileFilter, compares_with_both_ends_of_the_bounds) {
  // Values from 10 to 20, no NULL.
  const BoundCase cases[] = {
      {R"({"type":"lt","term":"i","value":10})", false},
      {R"({"type":"lt","term":"i","value":11})", true},
      {R"({"type":"lt-eq","term":"i","value":9})", false},
      {R"({"type":"lt-eq","term":"i","value":10})", true},
      {R"({"type":"gt","term":"i","value":20})", false},
      {R"({"type":"gt","term":"i","value":19})", true},
      {R"({"type":"gt-eq","term":"i","value":21})", false},
      {R"({"type":"gt-eq","term":"i","value":20})", true},
      {R"({"type":"eq","term":"i","value":9})", false},
      {R"({"type":"eq","term":"i","value":10})", true},
      {R"({"type":"eq","term":"i","value":20})", true},
      {R"({"type":"eq","term":"i","value":21})", false},
      {R"({"type":"not-eq","term":"i","value":15})", true},
      {R"({"type":"in","term":"i","values":[9,21]})", false},
      {R"({"type":"in","term":"i","values":[9,20,21]})", true},
      {R"({"type":"in","term":"i","values":[]})", false},
      {R"({"type":"not-in","term":"i","values":[10,20]})", true},
      {R"({"type":"is-null","term":"i"})", false},
      {R"({"type":"not-null","term":"i"})", true},
      {R"({"type":"is-nan","term":"i"})", false},
      {R"({"type":"not-nan","term":"i"})", true},
      {R"({"type":"lt","term":"i","value":9999999999})", true},
      {R"({"type":"gt","term":"i","value":9999999999})", false},
      {R"({"type":"eq","term":"i","value":9999999999})", false},
      {R"({"type":"gt","term":"i","value":-9999999999})", true},
      {R"({"type":"in","term":"i","values":[9999999999]})", false},
      {R"({"type":"not","child":{"type":"lt","term":"i","value":21}})", false},
      {R"({"type":"not","child":{"type":"gt-eq","term":"i","value":11}})", true},
      {R"({"type":"and","left":{"type":"gt","term":"i","value":5},
           "right":{"type":"lt","term":"i","value":5}})",
       false},
      {R"({"type":"or","left":{"type":"gt","term":"i","value":50},
           "right":{"type":"eq","term":"i","value":15}})",
       true},
      {"false", false},
      {"true", true},
  };
  for (const BoundCase& c : cases) {
    SCOPED_TRACE(c.filter);
    EXPECT_EQ(may_match(c.filter, 1, metrics(std::int32_t{10}, std::int32_t{20})), c.may_match);
  }
}

TEST(FileFilter, keeps_a_file_of_which_it_knows_nothing) {
  for (const char* text :
       {R"({"type":"eq","term":"i","value":1})", R"({"type":"is-null","term":"i"})",
        R"({"type":"not-null","term":"i"})"}) {
    EXPECT_TRUE(may_match(text, 2, metrics(std::int64_t{5}, std::int64_t{6}))) << text;
    model::ColumnMetrics broken;
    broken.lower_bound = broken.upper_bound = "xyz";
    EXPECT_TRUE(may_match(text, 1, broken)) << text;
  }
}

TEST(FileFilter, counts_null_with_what_any_engine_makes_of_it) {
  const auto only_null = metrics(std::nullopt, std::nullopt, 10);
  const auto some_null = metrics(std::int32_t{5}, std::int32_t{5}, 3);
  EXPECT_TRUE(may_match(R"({"type":"is-null","term":"i"})", 1, only_null));
  EXPECT_FALSE(may_match(R"({"type":"not-null","term":"i"})", 1, only_null));
  EXPECT_FALSE(may_match(R"({"type":"lt","term":"i","value":5})", 1, only_null));
  EXPECT_TRUE(may_match(R"({"type":"not-eq","term":"i","value":5})", 1, only_null));
  EXPECT_TRUE(may_match(R"({"type":"not-eq","term":"i","value":5})", 1, some_null));
  EXPECT_TRUE(may_match(R"({"type":"not-in","term":"i","values":[5]})", 1, some_null));
  EXPECT_TRUE(
      may_match(R"({"type":"not","child":{"type":"eq","term":"i","value":5}})", 1, some_null));
  EXPECT_FALSE(may_match(R"({"type":"not-eq","term":"i","value":5})", 1,
                         metrics(std::int32_t{5}, std::int32_t{5})));
}

TEST(FileFilter, counts_nan_above_everything_and_beside_everything) {
  const auto with_nan = metrics(1.0, 2.0, 0, 4);
  const auto only_nan = metrics(std::nullopt, std::nullopt, 0, 10);
  auto unknown = metrics(1.0, 2.0);
  unknown.nan_count.reset();
  const auto without = metrics(1.0, 2.0);
  const char* above = R"({"type":"gt","term":"d","value":5.0})";
  EXPECT_TRUE(may_match(above, 4, with_nan));
  EXPECT_TRUE(may_match(above, 4, unknown));
  EXPECT_FALSE(may_match(above, 4, without));
  EXPECT_FALSE(may_match(R"({"type":"lt","term":"d","value":0.5})", 4, with_nan));
  EXPECT_TRUE(
      may_match(R"({"type":"not","child":{"type":"lt-eq","term":"d","value":5.0}})", 4, with_nan));
  EXPECT_FALSE(may_match(R"({"type":"is-nan","term":"d"})", 4, without));
  EXPECT_TRUE(may_match(R"({"type":"is-nan","term":"d"})", 4, unknown));
  EXPECT_FALSE(may_match(R"({"type":"not-nan","term":"d"})", 4, only_nan));
  EXPECT_FALSE(may_match(R"({"type":"eq","term":"d","value":1.5})", 4, only_nan));
  // Bounds that a writer filled with NaN say nothing.
  EXPECT_TRUE(may_match(R"({"type":"eq","term":"d","value":9.0})", 4, metrics(kNan, kNan)));
}

TEST(FileFilter, takes_a_prefix_against_shortened_bounds) {
  auto text = [](const char* lower, const char* upper) {
    return metrics(std::string(lower), std::string(upper));
  };
  const char* starts = R"({"type":"starts-with","term":"s","value":"abc"})";
  EXPECT_TRUE(may_match(starts, 3, text("ab", "abd")));
  EXPECT_TRUE(may_match(starts, 3, text("abcd", "abcz")));
  EXPECT_TRUE(may_match(starts, 3, text("a", "b")));
  EXPECT_FALSE(may_match(starts, 3, text("abd", "b")));
  EXPECT_FALSE(may_match(starts, 3, text("a", "abb")));
  const char* not_starts = R"({"type":"not-starts-with","term":"s","value":"abc"})";
  EXPECT_FALSE(may_match(not_starts, 3, text("abcd", "abcz")));
  EXPECT_TRUE(may_match(not_starts, 3, text("abcd", "abd")));
}

TEST(FileFilter, leaves_out_a_file_without_rows) {
  const Filter filter = filter_of("true");
  EXPECT_FALSE(FileFilter(filter, {}).may_match(model::DataFile{.record_count = 0}));
  EXPECT_TRUE(FileFilter(filter, {}).may_match(model::DataFile{.record_count = 1}));
}

model::PartitionSpec spec_of(model::FieldId source, std::string_view transform) {
  return {1, {{source, 1000, "part", model::parse_transform(transform)}}};
}

struct PartitionCase {
  model::FieldId source;
  const char* transform;
  std::optional<Literal> value;
  const char* filter;
  bool may_match;
  const char* residual;  ///< Null: the filter itself.
};

TEST(FileFilter, projects_through_each_transform) {
  const auto day = std::int32_t{18262};  // 2020-01-01
  const PartitionCase cases[] = {
      {1, "identity", std::int32_t{5}, R"({"type":"eq","term":"i","value":5})", true, "true"},
      {1, "identity", std::int32_t{5}, R"({"type":"eq","term":"i","value":6})", false, "false"},
      {1, "identity", std::nullopt, R"({"type":"is-null","term":"i"})", true, "true"},
      {1, "identity", std::nullopt, R"({"type":"eq","term":"i","value":6})", false, nullptr},
      {4, "identity", kNan, R"({"type":"is-nan","term":"d"})", true, "true"},
      {4, "identity", kNan, R"({"type":"lt","term":"d","value":1.0})", false, "false"},
      // A partition that was written before its column became a long.
      {2, "identity", std::int32_t{5}, R"({"type":"gt","term":"big","value":5})", false, "false"},
      {1, "bucket[4]", std::int32_t{3}, R"({"type":"eq","term":"i","value":34})", true, nullptr},
      {1, "bucket[4]", std::int32_t{0}, R"({"type":"eq","term":"i","value":34})", false, "false"},
      {1, "bucket[4]", std::int32_t{0}, R"({"type":"in","term":"i","values":[34]})", false,
       "false"},
      {1, "bucket[4]", std::int32_t{0}, R"({"type":"lt","term":"i","value":34})", true, nullptr},
      {1, "bucket[4]", std::int32_t{0}, R"({"type":"not-eq","term":"i","value":34})", true, "true"},
      {1, "bucket[4]", std::int32_t{0}, R"({"type":"not-null","term":"i"})", true, "true"},
      {1, "truncate[10]", std::int32_t{10}, R"({"type":"lt","term":"i","value":10})", false,
       "false"},
      {1, "truncate[10]", std::int32_t{10}, R"({"type":"lt","term":"i","value":20})", true, "true"},
      {1, "truncate[10]", std::int32_t{10}, R"({"type":"lt","term":"i","value":15})", true,
       nullptr},
      {1, "truncate[10]", std::int32_t{10}, R"({"type":"gt","term":"i","value":19})", false,
       "false"},
      {1, "truncate[10]", std::int32_t{10}, R"({"type":"gt-eq","term":"i","value":10})", true,
       "true"},
      {3, "truncate[3]", std::string("abc"), R"({"type":"starts-with","term":"s","value":"ab"})",
       true, "true"},
      {3, "truncate[3]", std::string("abc"), R"({"type":"starts-with","term":"s","value":"abcd"})",
       true, nullptr},
      {3, "truncate[3]", std::string("abc"), R"({"type":"starts-with","term":"s","value":"abd"})",
       false, "false"},
      {3, "truncate[3]", std::string("abc"), R"({"type":"eq","term":"s","value":"abcd"})", true,
       nullptr},
      {3, "truncate[3]", std::string("abc"), R"({"type":"eq","term":"s","value":"ab"})", false,
       "false"},
      {5, "year", std::int32_t{50}, R"({"type":"lt","term":"day","value":"2020-01-01"})", false,
       "false"},
      {5, "year", std::int32_t{50}, R"({"type":"gt-eq","term":"day","value":"2020-01-01"})", true,
       "true"},
      {5, "month", std::int32_t{600}, R"({"type":"gt","term":"day","value":"2020-01-31"})", false,
       "false"},
      {5, "day", day, R"({"type":"eq","term":"day","value":"2020-01-01"})", true, nullptr},
      {6, "day", day, R"({"type":"lt","term":"ts","value":"2020-01-01T00:00:00"})", false, "false"},
      {6, "day", day, R"({"type":"lt","term":"ts","value":"2020-01-02T00:00:00"})", true, "true"},
      {6, "day", day, R"({"type":"gt-eq","term":"ts","value":"2020-01-01T12:00:00"})", true,
       nullptr},
      {6, "hour", day * 24, R"({"type":"gt-eq","term":"ts","value":"2020-01-01T01:00:00"})", false,
       "false"},
      {6, "day", day,
       R"({"type":"eq","term":{"type":"transform","transform":"day","term":"ts"},"value":"2020-01-01"})",
       true, "true"},
      {1, "void", std::nullopt, R"({"type":"eq","term":"i","value":5})", true, nullptr},
      {2, "identity", std::int64_t{1}, R"({"type":"eq","term":"i","value":5})", true, nullptr},
  };
  for (const PartitionCase& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.transform, c.filter));
    const Filter filter = filter_of(c.filter);
    const FileFilter file_filter(filter, spec_of(c.source, c.transform));
    EXPECT_EQ(file_filter.may_match(model::DataFile{.partition = {c.value}, .record_count = 1}),
              c.may_match);
    const std::string residual = c.residual != nullptr ? c.residual : filter.predicates[0].json;
    EXPECT_EQ(file_filter.residual({c.value}), residual);
  }
}

TEST(FileFilter, leaves_of_a_residual_what_the_partition_does_not_decide) {
  const Filter filter = filter_of(
      R"({"type":"and","left":{"type":"eq","term":"i","value":5},
          "right":{"type":"or","left":{"type":"gt","term":"big","value":1},
                   "right":{"type":"not","child":{"type":"eq","term":"i","value":5}}}})");
  const FileFilter of(filter, spec_of(1, "identity"));
  EXPECT_EQ(of.residual({std::int32_t{5}}), R"({"type":"gt","term":"big","value":1})");
  EXPECT_EQ(of.residual({std::int32_t{6}}), "false");
  const FileFilter bare(filter, {});
  EXPECT_EQ(bare.residual({}),
            R"({"type":"and","left":{"type":"eq","term":"i","value":5},)"
            R"("right":{"type":"or","left":{"type":"gt","term":"big","value":1},)"
            R"("right":{"type":"not","child":{"type":"eq","term":"i","value":5}}}})");
}

TEST(FileFilter, leaves_out_manifests_by_their_summaries) {
  const Filter filter = filter_of(R"({"type":"lt","term":"i","value":10})");
  const FileFilter of(filter, spec_of(1, "identity"));
  auto manifest = [](std::int32_t lower, std::int32_t upper) {
    model::ManifestFile made;
    made.partitions = {{false, std::nullopt, materialize::encode_single_value(lower),
                        materialize::encode_single_value(upper)}};
    return made;
  };
  EXPECT_TRUE(of.may_match(manifest(9, 20)));
  EXPECT_FALSE(of.may_match(manifest(10, 20)));
  EXPECT_TRUE(of.may_match(model::ManifestFile{}));
}

// From here on: random rows, files, partitions and filters, against an evaluation of each row.

using Row = std::vector<std::optional<Literal>>;  // in the order of the schema

enum Tri : std::uint8_t { kNo, kYes, kUnknown };

// The ways in which engines differ.
struct Engine {
  bool null_is_unknown;
  bool nan_is_above;
};
constexpr Engine kEngines[] = {{true, true}, {true, false}, {false, true}, {false, false}};

bool is_nan(const Literal& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number);
}

Tri truth(bool value) { return value ? kYes : kNo; }

bool is_negative(Op op) {
  return op == Op::kNotEq || op == Op::kNotIn || op == Op::kNotStartsWith || op == Op::kNotNan;
}

Tri compare(const Predicate& predicate, const Literal& value) {
  const auto& values = predicate.values;
  const bool is_above = predicate.place == Place::kAbove;
  const bool is_outside = predicate.place != Place::kInside;
  auto begins = [&] {
    return std::get<std::string>(value).starts_with(std::get<std::string>(values[0]));
  };
  const bool is_in = std::ranges::find(values, value) != values.end();
  switch (predicate.op) {
    case Op::kLt: return truth(is_outside ? is_above : value < values[0]);
    case Op::kLtEq: return truth(is_outside ? is_above : value <= values[0]);
    case Op::kGt: return truth(is_outside ? !is_above : value > values[0]);
    case Op::kGtEq: return truth(is_outside ? !is_above : value >= values[0]);
    case Op::kEq:
    case Op::kIn: return truth(is_in);
    case Op::kNotEq:
    case Op::kNotIn: return truth(!is_in);
    case Op::kStartsWith: return truth(begins());
    default: return truth(!begins());
  }
}

Tri test_row(const Predicate& predicate, const Row& row, Engine engine) {
  auto value = row[static_cast<std::size_t>(predicate.field_id - 1)];
  const Op op = predicate.op;
  if (predicate.transform.kind != TransformKind::kIdentity) {
    value = *materialize::apply_transform(predicate.transform, predicate.source, value);
  }
  if (op == Op::kIsNull) return truth(!value);
  if (op == Op::kNotNull) return truth(value.has_value());
  if (!value) return engine.null_is_unknown ? kUnknown : truth(is_negative(op));
  if (op == Op::kIsNan) return truth(is_nan(*value));
  if (op == Op::kNotNan) return truth(!is_nan(*value));
  if (!is_nan(*value)) return compare(predicate, *value);
  if (op == Op::kGt || op == Op::kGtEq) return truth(engine.nan_is_above);
  return truth(is_negative(op));
}

Tri test_row(const Filter& filter, const Node& node, const Row& row, Engine engine) {
  auto child = [&](std::size_t i) { return test_row(filter, node.children[i], row, engine); };
  switch (node.op) {
    case Op::kTrue: return kYes;
    case Op::kFalse: return kNo;
    case Op::kNot: {
      const Tri of = child(0);
      return of == kUnknown ? kUnknown : truth(of == kNo);
    }
    case Op::kAnd: {
      const Tri a = child(0);
      const Tri b = child(1);
      if (a == kNo || b == kNo) return kNo;
      return a == kYes && b == kYes ? kYes : kUnknown;
    }
    case Op::kOr: {
      const Tri a = child(0);
      const Tri b = child(1);
      if (a == kYes || b == kYes) return kYes;
      return a == kNo && b == kNo ? kNo : kUnknown;
    }
    default: return test_row(filter.predicates[node.predicate], row, engine);
  }
}

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int end) { return std::uniform_int_distribution(0, end - 1)(engine_); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

// Few values, so that files and predicates meet.
std::optional<Literal> random_value(Dice& dice, model::FieldId id) {
  if (dice.one_in(6)) return std::nullopt;
  const int n = dice.below(30) - 15;
  switch (id) {
    case 1: return std::int32_t{n};
    case 2: return std::int64_t{n};
    case 3:
      return std::string(static_cast<std::size_t>(dice.below(4)),
                         static_cast<char>('a' + dice.below(3))) +
             std::string(dice.below(3) == 0 ? "\xC3\xBC" : "") + std::to_string(dice.below(3));
    case 4: return dice.one_in(4) ? kNan : n / 2.0;
    case 5: return std::int32_t{n * 20};
    case 6: return std::int64_t{n} * 7'200'000'000LL + dice.below(2);
    case 7: return model::Decimal{n * 10};
    default: return n > 0;
  }
}

std::string text_of(const Literal& value, const Type& type);

std::string random_predicate(Dice& dice) {
  static const auto schema = sample_schema();
  static constexpr const char* kUnary[] = {"is-null", "not-null", "is-nan", "not-nan"};
  static constexpr const char* kBinary[] = {"lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq"};
  const auto id = static_cast<model::FieldId>(1 + dice.below(8));
  const Field& field = *schema.find(id);
  auto value = [&] {
    for (;;) {
      auto made = random_value(dice, id);
      if (made && !is_nan(*made)) return text_of(*made, field.type);
    }
  };
  switch (dice.below(6)) {
    case 0: return fmt::format(R"({{"type":"{}","term":"{}"}})", kUnary[dice.below(4)], field.name);
    case 1: {
      std::string values = value();
      while (!dice.one_in(3)) values += "," + value();
      return fmt::format(R"({{"type":"{}","term":"{}","values":[{}]}})",
                         dice.one_in(2) ? "in" : "not-in", field.name, values);
    }
    case 2:
      if (id == 3) {
        return fmt::format(R"({{"type":"{}","term":"s","value":{}}})",
                           dice.one_in(2) ? "starts-with" : "not-starts-with", value());
      }
      if (id == 5) {
        return fmt::format(
            R"({{"type":"{}","term":{{"type":"transform","transform":"month","term":"day"}},"value":{}}})",
            kBinary[dice.below(6)], dice.below(20) - 10);
      }
      [[fallthrough]];
    default:
      return fmt::format(R"({{"type":"{}","term":"{}","value":{}}})", kBinary[dice.below(6)],
                         field.name, value());
  }
}

std::string random_filter(Dice& dice, int depth) {
  if (depth == 0 || dice.one_in(3)) return random_predicate(dice);
  if (dice.one_in(4)) {
    return fmt::format(R"({{"type":"not","child":{}}})", random_filter(dice, depth - 1));
  }
  return fmt::format(R"({{"type":"{}","left":{},"right":{}}})", dice.one_in(2) ? "and" : "or",
                     random_filter(dice, depth - 1), random_filter(dice, depth - 1));
}

model::PartitionSpec random_spec(Dice& dice) {
  static constexpr std::pair<model::FieldId, const char*> kFields[] = {
      {1, "identity"},     {1, "bucket[3]"}, {1, "truncate[7]"}, {2, "bucket[5]"},
      {2, "truncate[4]"},  {3, "identity"},  {3, "truncate[1]"}, {3, "bucket[2]"},
      {4, "identity"},     {5, "year"},      {5, "month"},       {5, "identity"},
      {6, "day"},          {6, "hour"},      {6, "month"},       {7, "identity"},
      {7, "truncate[50]"}, {8, "identity"},  {5, "void"},        {7, "bucket[3]"}};
  model::PartitionSpec spec;
  for (int i = dice.below(3); i > 0; --i) {
    const auto& [source, transform] = kFields[dice.below(20)];
    spec.fields.push_back({source, 1000 + i, "p", model::parse_transform(transform)});
  }
  return spec;
}

model::PartitionTuple partition_of(const model::PartitionSpec& spec, const Row& row) {
  static const auto schema = sample_schema();
  model::PartitionTuple tuple;
  for (const auto& field : spec.fields) {
    tuple.push_back(
        *materialize::apply_transform(field.transform, schema.find(field.source_id)->type,
                                      row[static_cast<std::size_t>(field.source_id - 1)]));
  }
  return tuple;
}

bool is_same(const model::PartitionTuple& a, const model::PartitionTuple& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x == y || (x && y && is_nan(*x) && is_nan(*y));
  });
}

model::ColumnMetrics metrics_of(Dice& dice, const std::vector<Row>& rows, const Field& field) {
  model::ColumnMetrics made{.value_count = 0, .null_count = 0, .nan_count = 0};
  std::optional<Literal> lower;
  std::optional<Literal> upper;
  for (const Row& row : rows) {
    const auto& value = row[static_cast<std::size_t>(field.id - 1)];
    ++*made.value_count;
    if (!value) {
      ++*made.null_count;
    } else if (is_nan(*value)) {
      ++*made.nan_count;
    } else {
      if (!lower || *value < *lower) lower = value;
      if (!upper || *value > *upper) upper = value;
    }
  }
  if (lower) {
    made.lower_bound =
        materialize::shorten_lower_bound(materialize::encode_single_value(*lower), field.type, 2);
    made.upper_bound =
        materialize::shorten_upper_bound(materialize::encode_single_value(*upper), field.type, 2);
  }
  // What writers leave out.
  if (dice.one_in(8)) made.lower_bound.reset();
  if (dice.one_in(8)) made.upper_bound.reset();
  if (dice.one_in(8)) made.nan_count.reset();
  if (dice.one_in(8)) made.null_count.reset();
  return made;
}

std::string text_of(const Literal& value, const Type& type) {
  if (const auto* text = std::get_if<std::string>(&value)) return '"' + *text + '"';
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int32_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.1f}", *number);
  const auto cents = static_cast<std::int64_t>(std::get<model::Decimal>(value).unscaled);
  return fmt::format(R"("{:.{}f}")", static_cast<double>(cents) / 100, type.scale());
}

TEST(FileFilter, leaves_out_no_row_that_any_engine_keeps) {
  static const auto schema = sample_schema();
  int left_out = 0;
  int simpler = 0;
  for (unsigned seed = 0; seed < 6'000; ++seed) {
    Dice dice(seed);
    const auto spec = random_spec(dice);
    std::vector<Row> rows;
    model::PartitionTuple partition;
    const int wanted = 1 + dice.below(3);
    for (int tries = 0; tries < 60 && static_cast<int>(rows.size()) < wanted; ++tries) {
      Row row;
      for (const Field& field : schema.fields) row.push_back(random_value(dice, field.id));
      if (rows.empty()) partition = partition_of(spec, row);
      if (is_same(partition_of(spec, row), partition)) rows.push_back(std::move(row));
    }
    model::DataFile file{.partition = partition,
                         .record_count = static_cast<std::int64_t>(rows.size())};
    for (const Field& field : schema.fields) {
      if (!dice.one_in(5)) file.metrics.emplace(field.id, metrics_of(dice, rows, field));
    }
    const std::string text = random_filter(dice, 3);
    const Filter filter = filter_of(text);
    const FileFilter file_filter(filter, spec);
    const bool may = file_filter.may_match(file);
    left_out += !may;
    const std::string residual_text = file_filter.residual(partition);
    simpler += residual_text.size() < text.size();
    const Filter residual = filter_of(residual_text);
    for (const Row& row : rows) {
      for (const Engine engine : kEngines) {
        const Tri kept = test_row(filter, filter.root, row, engine);
        ASSERT_TRUE(may || kept != kYes) << seed << " " << text;
        ASSERT_EQ(test_row(residual, residual.root, row, engine) == kYes, kept == kYes)
            << seed << " " << text << " left " << residual_text;
      }
    }
  }
  // It would pass if it left nothing out.
  EXPECT_GT(left_out, 1200);
  EXPECT_GT(simpler, 600);
}

}  // namespace
}  // namespace lake::scan

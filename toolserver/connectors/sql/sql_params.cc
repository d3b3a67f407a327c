#include "toolserver/connectors/sql/sql_params.h"

namespace tool::connectors {
namespace {

base::duckdb::Param bound(const base::json::Value& value) {
  using namespace base::duckdb;
  switch (value.kind()) {
    case boost::json::kind::bool_: return Boolean{value.get_bool()};
    case boost::json::kind::int64: return value.get_int64();
    case boost::json::kind::uint64: return Unsigned{value.get_uint64()};
    case boost::json::kind::double_: return value.get_double();
    case boost::json::kind::string: return Text{std::string_view(value.get_string())};
    default: return Null{};
  }
}

}  // namespace

bool is_param(const base::json::Value& value) { return !value.is_array() && !value.is_object(); }

std::vector<base::duckdb::Param> bound_params(const base::json::Array& values) {
  std::vector<base::duckdb::Param> params;
  params.reserve(values.size());
  for (const base::json::Value& value : values) params.push_back(bound(value));
  return params;
}

}  // namespace tool::connectors

// Says what the service's JSON Schema says: for each line of stdin, which is
// {"schema": ..., "values": [...]}, a line {"refused": why} or {"valid": [...]}.

#include <cstdio>
#include <iostream>
#include <string>

#include "base/json/json.h"
#include "toolserver/pipeline/schema.h"

namespace {

using base::json::Array;
using base::json::Object;

// The suite has schemas that are a boolean; a tool has none, so it stands below.
Object schema_of(const base::json::Value& schema) {
  if (schema.is_object()) return schema.get_object();
  return {{"allOf", Array{schema}}};
}

Object answer(const Object& question) {
  auto schema = tool::pipeline::Schema::compile(schema_of(question.at("schema")));
  if (!schema) return {{"refused", schema.error().message()}};
  Array valid;
  for (const auto& value : question.at("values").as_array()) {
    auto status = schema->check(value, "value");
    if (!status && status.error().kind() != base::ErrorKind::kInvalid) {
      return {{"refused", status.error().message()}};
    }
    valid.push_back(status.has_value());
  }
  return {{"valid", std::move(valid)}};
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    auto question = base::json::parse(line);
    if (!question) {
      std::fprintf(stderr, "%s\n", question.error().message().c_str());
      return 1;
    }
    std::cout << base::json::write(answer(question->as_object())) << "\n";
  }
  return 0;
}

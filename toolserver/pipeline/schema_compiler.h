#pragma once

// Makes the nodes of a schema: one for each schema in its document, known by its JSON
// Pointer. schema_compile.cc walks the document and follows its references,
// schema_keywords.cc has what each keyword takes.

#include <re2/re2.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/result.h"
#include "base/json/json.h"
#include "toolserver/pipeline/schema_node.h"
#include "toolserver/pipeline/schema_resources.h"

namespace tool::pipeline {

inline std::string_view text_of(boost::json::string_view text) {
  return {text.data(), text.size()};
}

/// For one document. Not for several threads.
class SchemaCompiler {
 public:
  /// Compiles the whole document, and then what the references point to.
  /// Errors: those of Schema::compile.
  base::Result<std::shared_ptr<const SchemaGraph>> compile(const base::json::Object& schema);

 private:
  using Value = base::json::Value;
  using Handler = base::Status (SchemaCompiler::*)(SchemaNode&, const Value&);
  struct Keyword {
    std::string_view name;
    Handler handle;  // Null for a note.
  };
  static const Keyword* find(std::string_view name);
  static const std::array<Keyword, 58> kKeywords;

  base::Status type(SchemaNode& node, const Value& value);
  base::Status enumeration(SchemaNode& node, const Value& value);
  base::Status constant(SchemaNode& node, const Value& value);
  base::Status required(SchemaNode& node, const Value& value);
  base::Status pattern_properties(SchemaNode& node, const Value& value);
  base::Status dependent_required(SchemaNode& node, const Value& value);
  base::Status dependent_schemas(SchemaNode& node, const Value& value);
  base::Status unique(SchemaNode& node, const Value& value);
  base::Status pattern(SchemaNode& node, const Value& value);
  base::Status multiple(SchemaNode& node, const Value& value);
  base::Status properties(SchemaNode& node, const Value& value);
  base::Status definitions(SchemaNode& node, const Value& value);
  template <AnchorKind kind>
  base::Status reference(SchemaNode& node, const Value& value);
  template <AnchorKind kind>
  base::Status anchor(SchemaNode& node, const Value& value);
  template <NodePtr SchemaNode::* member>
  base::Status one(SchemaNode& node, const Value& value);
  template <std::vector<NodePtr> SchemaNode::* member>
  base::Status branches(SchemaNode& node, const Value& value);
  template <auto outer, auto inner>
  base::Status count(SchemaNode& node, const Value& value);
  template <auto inner>
  base::Status bound(SchemaNode& node, const Value& value);
  base::Result<std::vector<std::string>> names(const Value& value, std::string_view keyword) const;
  base::Result<std::unique_ptr<const RE2>> expression(std::string_view text) const;

  // A $ref, or a $dynamicRef.
  struct Reference {
    SchemaNode* from;
    AnchorKind kind;
    std::string to;
    std::string at;      // Pointer of the schema that it stands in.
    Resource* resource;  // And the resource of that.
  };
  // A schema that was compiled.
  struct Place {
    NodePtr node;
    Resource* resource;
  };

  base::Result<NodePtr> compile(const Value& schema, const std::string& pointer, std::size_t depth);
  base::Status enter_resource(const base::json::Object& schema, const std::string& pointer,
                              const Value& root);
  base::Status keywords(SchemaNode& node, const base::json::Object& schema);
  // `tokens` lead from the schema that is read to one inside of it.
  base::Result<NodePtr> child(const Value& schema, std::initializer_list<std::string_view> tokens);
  base::Status resolve();
  base::Status follow(const Reference& reference);
  // The resource of that URI; null where this document and the meta-schema are not it.
  base::Result<const Resource*> resource_of(const std::string& uri);
  base::Result<NodePtr> target_of(const Resource& resource, const std::string& fragment);
  Resource* resource_around(std::string pointer) const;
  void settle_dynamic_references();
  base::Status refuse_circles();

  // Of the schema that is read, for messages.
  std::string where() const {
    return "schema: " + (pointer_.empty() ? "/" : pointer_.substr(0, 256));
  }
  base::Error bad(std::string rule) const {
    return base::fail(base::ErrorKind::kInvalid, where() + ": " + rule);
  }
  static base::Error too_large(std::string rule) {
    return base::fail(base::ErrorKind::kTooLarge, "schema: " + rule);
  }

  std::shared_ptr<SchemaGraph> graph_ = std::make_shared<SchemaGraph>();
  SchemaResources resources_{*graph_};
  Value metaschema_;  // Null until a reference leads to it.
  std::unordered_map<std::string, Place> by_pointer_;
  std::vector<Reference> references_;
  Resource* resource_ = nullptr;  // Of the schema that is read.
  std::string pointer_;           // Its place.
  std::string_view keyword_;      // And the keyword of it.
  std::size_t depth_ = 0;
};

}  // namespace tool::pipeline

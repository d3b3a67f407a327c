#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/core/embedded_text.h"
#include "base/core/text.h"
#include "base/json/pointer.h"
#include "toolserver/pipeline/schema.h"
#include "toolserver/pipeline/schema_compiler.h"

namespace base::embedded {
std::span<const Text> metaschema();
}  // namespace base::embedded

namespace tool::pipeline {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::Status;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::string_view kMetaschema = "https://json-schema.org/draft/2020-12/schema";
constexpr std::size_t kMaxNodes = 2'000;
constexpr std::size_t kMaxDepth = 16;

}  // namespace

Result<std::shared_ptr<const SchemaGraph>> SchemaCompiler::compile(const Object& schema) {
  const Value document(schema);
  ASSIGN_OR_RETURN(graph_->root, compile(document, "", 0));
  RETURN_IF_ERROR(resolve());
  settle_dynamic_references();
  RETURN_IF_ERROR(refuse_circles());
  return std::shared_ptr<const SchemaGraph>(graph_);
}

Result<NodePtr> SchemaCompiler::compile(const Value& schema, const std::string& pointer,
                                        std::size_t depth) {
  if (graph_->nodes.size() >= kMaxNodes) return too_large("more than 2000 schemas");
  if (depth > kMaxDepth) return too_large("nested deeper than 16 levels");
  SchemaNode* node = graph_->nodes.emplace_back(std::make_unique<SchemaNode>()).get();
  std::string outer_pointer = std::exchange(pointer_, pointer);
  std::size_t outer_depth = std::exchange(depth_, depth);
  Resource* outer_resource = resource_;
  if (schema.is_object()) RETURN_IF_ERROR(enter_resource(schema.get_object(), pointer, schema));
  node->resource = resource_->node;
  by_pointer_.emplace(pointer, Place{.node = node, .resource = resource_});
  if (schema.is_bool()) {
    node->anything = schema.get_bool() ? Anything::kAlways : Anything::kNever;
  } else if (schema.is_object()) {
    RETURN_IF_ERROR(keywords(*node, schema.get_object()));
  } else {
    return bad("must be an object or a boolean");
  }
  pointer_ = std::move(outer_pointer);
  depth_ = outer_depth;
  resource_ = outer_resource;
  return NodePtr(node);
}

// The document's root is a resource, and a schema that has an "$id".
Status SchemaCompiler::enter_resource(const Object& schema, const std::string& pointer,
                                      const Value& root) {
  const Value* id = schema.if_contains("$id");
  if (id == nullptr && resource_ != nullptr) return {};
  if (id != nullptr && !id->is_string()) return bad("$id: must be a string");
  std::string_view text = id == nullptr ? std::string_view() : text_of(id->get_string());
  auto opened = resources_.open(resource_, text, pointer, root);
  if (!opened) return std::move(opened).error().with_context(where());
  resource_ = *opened;
  return {};
}

Status SchemaCompiler::keywords(SchemaNode& node, const Object& schema) {
  for (const auto& member : schema) {
    std::string_view name = text_of(member.key());
    const Keyword* keyword = find(name);
    if (!keyword && name.starts_with("x-")) continue;
    if (!keyword) {
      return fail(ErrorKind::kUnsupported,
                  where() + ": unknown keyword " + std::string(name.substr(0, 64)));
    }
    if (!keyword->handle) continue;
    keyword_ = name;
    RETURN_IF_ERROR((this->*keyword->handle)(node, member.value()));
  }
  return {};
}

Result<NodePtr> SchemaCompiler::child(const Value& schema,
                                      std::initializer_list<std::string_view> tokens) {
  std::string pointer = pointer_;
  for (auto token : tokens) base::json::append_token(pointer, token);
  return compile(schema, pointer, depth_ + 1);
}

// A reference may point to what is no schema's place, such as a member of a
// note; it becomes one by that, and may have references of its own.
Status SchemaCompiler::resolve() {
  for (std::size_t i = 0; i < references_.size(); ++i) {
    const Reference reference = references_[i];
    pointer_ = reference.at;
    depth_ = 0;
    RETURN_IF_ERROR(follow(reference));
  }
  return {};
}

Status SchemaCompiler::follow(const Reference& reference) {
  const bool is_dynamic = reference.kind == AnchorKind::kDynamic;
  const std::string keyword = is_dynamic ? "$dynamicRef" : "$ref";
  auto uri = SchemaResources::uri_of(*reference.resource, reference.to);
  if (!uri) return std::move(uri).error().with_context(where() + ": " + keyword);
  ASSIGN_OR_RETURN(const Resource* resource, resource_of(*uri));
  if (resource == nullptr) {
    return fail(ErrorKind::kUnsupported,
                where() + ": " + keyword + " to another document, which is not fetched");
  }
  auto hash = reference.to.find('#');
  auto fragment = base::percent_decode(
      hash == std::string::npos ? "" : std::string_view(reference.to).substr(hash + 1));
  if (!fragment) return bad(keyword + ": is no reference");
  ASSIGN_OR_RETURN(NodePtr target, target_of(*resource, *fragment));
  if (target == nullptr) return bad(keyword + ": leads to no schema");
  if (!is_dynamic) {
    reference.from->target = target;
    return {};
  }
  reference.from->dynamic_target = target;
  if (resource->node->dynamic_anchors.contains(*fragment)) reference.from->dynamic_name = *fragment;
  return {};
}

// A tool that takes a schema says so by the meta-schema's URI. It is part of the program, and
// compiled beside the tool's own document, of which it knows nothing.
Result<const Resource*> SchemaCompiler::resource_of(const std::string& uri) {
  if (const Resource* known = resources_.find(uri)) return known;
  if (uri != kMetaschema) return nullptr;
  ASSIGN_OR_RETURN(metaschema_, base::json::parse(base::embedded::metaschema().front().text));
  resource_ = nullptr;
  ASSIGN_OR_RETURN([[maybe_unused]] NodePtr node, compile(metaschema_, uri, 0));
  return resources_.find(uri);
}

// Null where there is no schema.
Result<NodePtr> SchemaCompiler::target_of(const Resource& resource, const std::string& fragment) {
  if (!fragment.empty() && fragment.front() != '/') {
    auto anchored = resource.anchors.find(fragment);
    return anchored == resource.anchors.end() ? nullptr : anchored->second;
  }
  std::string pointer = resource.pointer + fragment;
  if (auto known = by_pointer_.find(pointer); known != by_pointer_.end()) return known->second.node;
  const Value* schema = base::json::find_at(*resource.root, fragment);
  if (schema == nullptr) return NodePtr(nullptr);
  resource_ = resource_around(pointer);
  return compile(*schema, pointer, 1);
}

// Of the innermost schema that holds the place and is known: the document's root at least.
Resource* SchemaCompiler::resource_around(std::string pointer) const {
  while (true) {
    if (auto known = by_pointer_.find(pointer); known != by_pointer_.end()) {
      return known->second.resource;
    }
    pointer.resize(pointer.rfind('/'));
  }
}

// Where one resource alone has the anchor, a check need not look for it.
void SchemaCompiler::settle_dynamic_references() {
  for (const Reference& reference : references_) {
    if (!resources_.is_overridden(reference.from->dynamic_name)) {
      reference.from->dynamic_name.clear();
    }
  }
}

namespace {

// The schemas that are checked against the same value as `node`.
template <class Visit>
void each_in_place(const SchemaNode& node, Visit visit) {
  // Another $dynamicRef has its target by the resources that a check has entered, which knows
  // whether it leads back.
  NodePtr certain = node.dynamic_name.empty() ? node.dynamic_target : nullptr;
  for (NodePtr one :
       {node.target, certain, node.negated, node.condition, node.then, node.otherwise}) {
    if (one) visit(*one);
  }
  for (const auto* list : {&node.all_of, &node.any_of, &node.one_of}) {
    for (NodePtr one : *list) visit(*one);
  }
  for (const auto& [name, one] : node.dependent_schemas) visit(*one);
}

}  // namespace

// Without a step into the value there would be no end. At most as deep as there
// are schemas, so a list of our own stands in for the stack.
Status SchemaCompiler::refuse_circles() {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::unordered_map<NodePtr, State> states;
  for (const auto& start : graph_->nodes) {
    std::vector<NodePtr> stack{start.get()};
    while (!stack.empty()) {
      NodePtr node = stack.back();
      auto& state = states[node];
      if (state != State::kNew) {
        state = State::kDone;
        stack.pop_back();
        continue;
      }
      state = State::kOpen;
      bool circle = false;
      each_in_place(*node, [&](const SchemaNode& next) {
        State seen = states[&next];
        circle = circle || seen == State::kOpen;
        if (seen == State::kNew) stack.push_back(&next);
      });
      if (circle) {
        auto place =
            std::ranges::find(by_pointer_, node, [](const auto& at) { return at.second.node; });
        if (place != by_pointer_.end()) pointer_ = place->first;
        return bad("a $ref leads back to itself");
      }
    }
  }
  return {};
}

Result<Schema> Schema::compile(const Object& schema) {
  ASSIGN_OR_RETURN(auto graph, SchemaCompiler().compile(schema));
  return Schema(std::shared_ptr<const SchemaNode>(graph, graph->root));
}

}  // namespace tool::pipeline

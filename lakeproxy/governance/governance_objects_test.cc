#include "lakeproxy/governance/governance_objects.h"

#include <gtest/gtest.h>

namespace lake::governance {
namespace {

std::string refusal_of(Collection collection, std::string_view body) {
  auto object = object_from_json(collection, base::json::parse(body).value());
  return object ? "" : object.error().message();
}

TEST(GovernanceObjects, reads_the_members_of_the_specification) {
  struct Case {
    Collection collection;
    const char* body;
  };
  const Case cases[] = {
      {Collection::kTags, R"j({"namespace":"pii","name":"ssn"})j"},
      {Collection::kTags, R"j({"namespace":"pii","name":"ssn","allowed-values":["a","b"]})j"},
      {Collection::kObjectTags,
       R"j({"object-kind":"schema","schema":"s","tag-namespace":"pii","tag-name":"ssn"})j"},
      {Collection::kObjectTags,
       R"j({"object-kind":"table","schema":"a.b","object":"t","tag-namespace":"pii","tag-name":"ssn","value":"x"})j"},
      {Collection::kObjectTags,
       R"j({"object-kind":"column","schema":"s","object":"t","column":"c\"d","tag-namespace":"pii","tag-name":"ssn"})j"},
      {Collection::kMaskingPolicies,
       R"j({"name":"m","signature":"(v VARCHAR)","body":"'*'","unmasked-roles":["r"],"file-layer-masking":true})j"},
      {Collection::kRowAccessPolicies, R"j({"name":"m","signature":"(v VARCHAR)","body":"true"})j"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"masking","policy-name":"m","target-kind":"tag","tag-namespace":"pii","tag-name":"ssn"})j"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"masking","policy-name":"m","target-kind":"column","schema":"s","object":"t","column":"c"})j"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"row_access","policy-name":"m","target-kind":"table","schema":"s","object":"t","columns":["c"]})j"},
      {Collection::kRoles, R"j({"name":"r"})j"},
      {Collection::kRoleGrants, R"j({"role":"r","principal":"p"})j"},
      {Collection::kObjectGrants,
       R"j({"object-kind":"view","schema":"s","object":"v","privilege":"select","role":"r"})j"},
  };
  for (const Case& one : cases) EXPECT_EQ(refusal_of(one.collection, one.body), "") << one.body;
}

TEST(GovernanceObjects, names_the_member_and_the_rule) {
  struct Case {
    Collection collection;
    const char *body, *refusal;
  };
  const Case cases[] = {
      {Collection::kTags, R"j([])j", "the document: must be an object"},
      {Collection::kTags, R"j({"namespace":"pii"})j", "name: "},
      {Collection::kTags, R"j({"namespace":"pii","name":1})j", "name: "},
      {Collection::kTags, R"j({"namespace":"pii","name":""})j", "name: must be 1 to 255"},
      {Collection::kTags, R"j({"namespace":"p\ni","name":"n"})j", "namespace: must be 1 to 255"},
      {Collection::kTags, R"j({"namespace":"pii","name":"n","comment":"c"})j",
       "comment: no such member"},
      {Collection::kTags, R"j({"namespace":"pii","name":"n","allowed-values":"c"})j",
       "allowed-values: "},
      {Collection::kTags, R"j({"namespace":"pii","name":"n","allowed-values":[1]})j",
       "allowed-values"},
      {Collection::kObjectTags,
       R"j({"object-kind":"file","schema":"s","tag-namespace":"p","tag-name":"n"})j",
       "object-kind: must be one of schema, table, view, column"},
      {Collection::kObjectTags,
       R"j({"object-kind":"schema","schema":"s","object":"t","tag-namespace":"p","tag-name":"n"})j",
       "object: schema has none"},
      {Collection::kObjectTags,
       R"j({"object-kind":"table","schema":"s","object":"t","column":"c","tag-namespace":"p","tag-name":"n"})j",
       "column: table has none"},
      {Collection::kObjectTags,
       R"j({"object-kind":"column","schema":"s","object":"t","tag-namespace":"p","tag-name":"n"})j",
       "column: "},
      {Collection::kObjectTags,
       R"j({"object-kind":"table","schema":"a..b","object":"t","tag-namespace":"p","tag-name":"n"})j",
       "schema: "},
      {Collection::kObjectTags,
       R"j({"object-kind":"table","schema":"a%2","object":"t","tag-namespace":"p","tag-name":"n"})j",
       "schema: wrong percent-encoding"},
      {Collection::kMaskingPolicies, R"j({"name":"m","signature":"(v VARCHAR)"})j", "body: "},
      {Collection::kMaskingPolicies,
       R"j({"name":"m","signature":"(v VARCHAR)","body":"v","unmasked-roles":"r"})j",
       "unmasked-roles: "},
      {Collection::kMaskingPolicies,
       R"j({"name":"m","signature":"(v VARCHAR)","body":"v","file-layer-masking":"yes"})j",
       "file-layer-masking: "},
      {Collection::kRowAccessPolicies,
       R"j({"name":"m","signature":"(v VARCHAR)","body":"v","file-layer-masking":true})j",
       "file-layer-masking: no such member"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"masking","policy-name":"m","target-kind":"table","schema":"s","object":"t"})j",
       "target-kind: a masking policy goes to a tag or a column"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"row_access","policy-name":"m","target-kind":"column","schema":"s","object":"t","column":"c"})j",
       "target-kind: a row-access policy goes to a tag or a table"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"other","policy-name":"m","target-kind":"tag"})j",
       "policy-kind: must be one of masking, row_access"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"masking","policy-name":"m","target-kind":"tag","tag-namespace":"p","tag-name":"n","column":"c"})j",
       "column: an attachment to a tag has none"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"masking","policy-name":"m","target-kind":"column","schema":"s","object":"t","column":"c","tag-name":"n"})j",
       "tag-name: an attachment to an object has none"},
      {Collection::kPolicyAttachments,
       R"j({"policy-kind":"masking","policy-name":"m","target-kind":"column","schema":"s","object":"t","column":"c","columns":["d"]})j",
       "columns: "},
      {Collection::kRoles, R"j({"name":"r","members":[]})j", "members: no such member"},
      {Collection::kObjectGrants,
       R"j({"object-kind":"column","schema":"s","object":"v","privilege":"select","role":"r"})j",
       "object-kind: must be one of schema, table, view"},
      {Collection::kObjectGrants,
       R"j({"object-kind":"view","schema":"s","object":"v","privilege":"own","role":"r"})j",
       "privilege: must be one of"},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(refusal_of(one.collection, one.body).starts_with(one.refusal))
        << one.body << " -> " << refusal_of(one.collection, one.body);
  }
  const std::string longest(255, 'n');
  EXPECT_EQ(refusal_of(Collection::kRoles, "{\"name\":\"" + longest + "\"}"), "");
  EXPECT_NE(refusal_of(Collection::kRoles, "{\"name\":\"" + longest + "n\"}"), "");
}

TEST(GovernanceObjects, writes_a_namespace_as_it_is_read) {
  for (const std::vector<std::string>& levels :
       std::vector<std::vector<std::string>>{{"a"}, {"a", "b"}, {"a.b", "c%2E"}, {"\xd1\x85"}}) {
    const model::Namespace name{levels};
    EXPECT_EQ(schema_of(schema_text(name)).value(), name);
  }
  EXPECT_EQ(table_of("a.b.t").value(), (model::TableIdentifier{{{"a", "b"}}, "t"}));
  EXPECT_EQ(table_of("a.t%2Eu").value(), (model::TableIdentifier{{{"a"}}, "t.u"}));
  for (const char* text : {"", "t", ".t", "a.", "a%zz.t"}) EXPECT_FALSE(table_of(text)) << text;
}

}  // namespace
}  // namespace lake::governance

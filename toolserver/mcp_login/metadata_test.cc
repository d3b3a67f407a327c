#include "toolserver/mcp_login/metadata.h"

#include <gtest/gtest.h>

namespace tool::login {
namespace {

Address at(std::string_view url) { return *Address::parse(url); }

TEST(ResourceMetadata, names_the_server_that_was_asked) {
  Address server = at("https://mcp.example/team/mcp");
  for (const char* resource : {"https://mcp.example/team/mcp", "https://MCP.example:443/team",
                               "https://mcp.example", "https://mcp.example/"}) {
    auto read = read_resource_metadata(
        std::string(R"({"resource":")") + resource +
            R"(","authorization_servers":["https://as.example"],"scopes_supported":["a","b"]})",
        server);
    ASSERT_TRUE(read) << resource << ": " << read.error().message();
    EXPECT_EQ(read->resource, resource);
    EXPECT_EQ(read->scopes, (Scopes{"a", "b"}));
  }
  for (const char* resource :
       {"https://evil.example/team/mcp", "http://mcp.example/team/mcp", "https://mcp.example/te",
        "https://mcp.example/team/mcp/more", "https://mcp.example/?x", "mcp.example",
        "https://mcp.example.evil.example/", "https://mcp.example:444/"}) {
    EXPECT_FALSE(read_resource_metadata(std::string(R"({"resource":")") + resource +
                                            R"(","authorization_servers":["https://as.example"]})",
                                        server))
        << resource;
  }
}

TEST(ResourceMetadata, other_documents_are_refused) {
  Address server = at("https://mcp.example/mcp");
  for (std::string text :
       {std::string("{}"), std::string("[]"), std::string("<html>"),
        std::string(R"({"resource":"https://mcp.example"})"),
        std::string(R"({"resource":"https://mcp.example","authorization_servers":[]})"),
        std::string(R"({"resource":"https://mcp.example","authorization_servers":[7]})"),
        std::string(R"({"resource":"https://mcp.example","authorization_servers":["https://a"],)"
                    R"("scopes_supported":["a b"]})"),
        R"({"resource":"https://mcp.example","authorization_servers":["https://a"],"x":")" +
            std::string(kDocumentBytes, 'x') + "\"}"}) {
    EXPECT_FALSE(read_resource_metadata(text, server)) << text.substr(0, 90);
  }
}

TEST(ServerMetadata, is_believed_of_its_own_issuer_alone) {
  const char* text = R"({"issuer":"https://as.example","token_endpoint":"https://as.example/t",
      "authorization_endpoint":"https://as.example/a","registration_endpoint":"https://as.example/r",
      "code_challenge_methods_supported":["plain","S256"],
      "token_endpoint_auth_methods_supported":["tls_client_auth","none","client_secret_post"],
      "token_endpoint_auth_signing_alg_values_supported":["ES256","none"],
      "authorization_response_iss_parameter_supported":true,
      "client_id_metadata_document_supported":true,"scopes_supported":["offline_access"]})";
  auto read = read_server_metadata(text, "https://as.example");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->has_s256 && read->sends_issuer && read->takes_client_urls);
  EXPECT_EQ(read->client_auths, (std::vector{ClientAuth::kNone, ClientAuth::kPost}));
  EXPECT_EQ(read->assertion_algorithms, (std::vector<std::string>{"ES256", "none"}));
  for (const char* issuer :
       {"https://as.example/", "https://AS.example", "https://as.example:443", "https://other"}) {
    EXPECT_FALSE(read_server_metadata(text, issuer)) << issuer;
  }
}

TEST(ServerMetadata, what_is_absent_is_not_supported) {
  auto read = read_server_metadata(R"({"issuer":"i","token_endpoint":"t"})", "i");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->has_s256 || read->sends_issuer || read->takes_client_urls);
  EXPECT_EQ(read->client_auths, std::vector{ClientAuth::kBasic});
  EXPECT_FALSE(read_server_metadata(R"({"issuer":"i"})", "i"));
  auto plain = read_server_metadata(
      R"({"issuer":"i","token_endpoint":"t","code_challenge_methods_supported":["plain"]})", "i");
  EXPECT_FALSE(plain->has_s256);
}

TEST(Tokens, are_bearer_tokens_of_a_bounded_life) {
  auto read = read_tokens(R"({"access_token":"a","token_type":"bearer","expires_in":999999999,
                              "refresh_token":"r","scope":"x y"})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->access.reveal(), "a");
  EXPECT_EQ(read->refresh.reveal(), "r");
  EXPECT_EQ(read->lifetime, std::chrono::hours(24));
  EXPECT_EQ(read->scope, (Scopes{"x", "y"}));
  for (std::string text :
       {std::string(R"({"access_token":"a"})"), std::string(R"({"token_type":"Bearer"})"),
        std::string(R"({"access_token":"","token_type":"Bearer"})"),
        std::string(R"({"access_token":"a b","token_type":"Bearer"})"),
        std::string(R"({"access_token":"a\r\nX: y","token_type":"Bearer"})"),
        std::string(R"({"access_token":"a","token_type":"DPoP"})"),
        std::string(R"({"access_token":"a","token_type":"Bearer","expires_in":0})"),
        R"({"token_type":"Bearer","access_token":")" + std::string(16'385, 'a') + "\"}"}) {
    EXPECT_FALSE(read_tokens(text)) << text.substr(0, 60);
  }
}

TEST(Registration, gives_an_id_and_perhaps_a_secret) {
  auto read = read_registration(
      R"({"client_id":"c","client_secret":"s","token_endpoint_auth_method":"client_secret_post"})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->client_id, "c");
  EXPECT_EQ(read->auth, ClientAuth::kPost);
  for (const char* text : {R"({})", R"({"client_id":""})", R"({"client_id":"a\nb"})",
                           R"({"client_id":"c","token_endpoint_auth_method":"magic"})"}) {
    EXPECT_FALSE(read_registration(text)) << text;
  }
}

TEST(ErrorCode, is_a_word_or_nothing) {
  EXPECT_EQ(read_error_code(R"({"error":"invalid_grant","error_description":"x"})"),
            "invalid_grant");
  for (const char* text : {"", "[]", R"({"error":7})", R"({"error":"<b>"})"}) {
    EXPECT_EQ(read_error_code(text), "") << text;
  }
}

TEST(WellKnown, addresses_come_in_the_order_of_the_standard) {
  EXPECT_EQ(
      resource_metadata_urls(at("https://m.example/public/mcp")),
      (std::vector<std::string>{"https://m.example/.well-known/oauth-protected-resource/public/mcp",
                                "https://m.example/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(resource_metadata_urls(at("https://m.example")),
            std::vector<std::string>{"https://m.example/.well-known/oauth-protected-resource"});
  EXPECT_EQ(
      *server_metadata_urls("https://a.example/tenant1"),
      (std::vector<std::string>{"https://a.example/.well-known/oauth-authorization-server/tenant1",
                                "https://a.example/.well-known/openid-configuration/tenant1",
                                "https://a.example/tenant1/.well-known/openid-configuration"}));
  EXPECT_EQ(*server_metadata_urls("https://a.example/"),
            (std::vector<std::string>{"https://a.example/.well-known/oauth-authorization-server",
                                      "https://a.example/.well-known/openid-configuration"}));
  EXPECT_FALSE(server_metadata_urls("https://a.example/?x=y"));
  EXPECT_FALSE(server_metadata_urls("a.example"));
}

}  // namespace
}  // namespace tool::login

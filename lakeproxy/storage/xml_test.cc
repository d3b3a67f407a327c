#include "lakeproxy/storage/xml.h"

#include <gtest/gtest.h>

namespace lake::storage {
namespace {

using base::ErrorKind;

TEST(XmlTest, reads_elements_and_text) {
  auto root = parse_xml(
      "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <a> -->\n"
      "<s3:List xmlns:s3=\"http://x/\" a='>'>\n <Key>a&amp;b</Key><Key >c</Key>"
      "<Empty/><None></None><Raw><![CDATA[<&>]]></Raw></s3:List>\n");
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(root->name, "List");
  EXPECT_EQ(root->children.size(), 5);
  EXPECT_EQ(root->text_of("Key"), "a&b");
  EXPECT_EQ(root->children[1].text, "c");
  EXPECT_EQ(root->text_of("Raw"), "<&>");
  ASSERT_NE(root->child("Empty"), nullptr);
  EXPECT_EQ(root->child("Absent"), nullptr);
  EXPECT_EQ(root->text_of("Absent"), "");
}

TEST(XmlTest, decodes_references) {
  auto root = parse_xml("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x41;&#xe4;&#x20AC;&#x1F30A;</a>");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->text, "<>&\"'AA\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a");
}

TEST(XmlTest, escapes_to_what_it_reads) {
  std::string text = "a<b>&\"'c]]>&amp;";
  auto root = parse_xml("<a>" + escape_xml(text) + "</a>");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->text, text);
  EXPECT_TRUE(root->children.empty());
}

TEST(XmlTest, refuses_broken_documents) {
  for (std::string text : {"",
                           " ",
                           "text",
                           "<",
                           "<a",
                           "<a>",
                           "</a>",
                           "<a></b>",
                           "<a><b></a></b>",
                           "<a/><b/>",
                           "<a/>x",
                           "x<a/>",
                           "<a>&</a>",
                           "<a>&nbsp;</a>",
                           "<a>&#0;</a>",
                           "<a>&#xD800;</a>",
                           "<a>&#x110000;</a>",
                           "<a>&#99999999999;</a>",
                           "<a>&#x;</a>",
                           "<a>&#-1;</a>",
                           "<a b></a>",
                           "<a b=c></a>",
                           "<a b=\"c></a>",
                           "< a/>",
                           "<a:/>",
                           "<:></b:>",
                           "<a><!-- </a>",
                           "<a><![CDATA[</a>",
                           "<![CDATA[x]]><a/>",
                           "<?xml <a/>",
                           "<a>\xff</a>",
                           "{\"a\":1}"}) {
    auto root = parse_xml(text);
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(XmlTest, has_no_document_types_and_no_entities_of_their_own) {
  for (std::string text :
       {"<!DOCTYPE a [<!ENTITY x \"xx\">]><a>&x;</a>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "<a><!ELEMENT b></a>"}) {
    auto root = parse_xml(text);
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().kind(), ErrorKind::kCorrupt) << text;
  }
}

TEST(XmlTest, keeps_its_bounds) {
  XmlLimits limits{.bytes = 100, .depth = 3, .elements = 4};
  EXPECT_TRUE(parse_xml("<a><b><c/></b></a>", limits));
  EXPECT_TRUE(parse_xml("<a><b/><b/><b/></a>", limits));
  EXPECT_TRUE(parse_xml("<a>" + std::string(93, 'x') + "</a>", limits));
  for (std::string text :
       {std::string("<a><b><c><d/></c></b></a>"), std::string("<a><b/><b/><b/><b/></a>"),
        "<a>" + std::string(94, 'x') + "</a>"}) {
    auto root = parse_xml(text, limits);
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().kind(), ErrorKind::kTooLarge) << text;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_FALSE(parse_xml(deep));
}

}  // namespace
}  // namespace lake::storage

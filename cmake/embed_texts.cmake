# Writes OUTPUT, a source that defines FUNCTION over the texts of FILES.
string(REPLACE "," ";" files "${FILES}")
list(LENGTH files count)
set(rows "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND rows "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"base/core/embedded_text.h\"

#include <array>

namespace base::embedded {
namespace {

constexpr std::array<Text, ${count}> kTexts{{
${rows}}};

}  // namespace

std::span<const Text> ${FUNCTION}();
std::span<const Text> ${FUNCTION}() { return kTexts; }

}  // namespace base::embedded
")

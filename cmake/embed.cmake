# Files whose text a binary carries, so that it needs none beside it.

# embed_texts(<target> <function> <pattern>...)
# Adds to <target> a source that defines base::embedded::<function>(), a list of
# base/core/embedded_text.h's Text: the files that match, sorted by name.
function(embed_texts target function)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(SORT files COMPARE NATURAL)
  set(output ${CMAKE_BINARY_DIR}/embedded/${function}.cc)
  list(JOIN files "," joined)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFUNCTION=${function} -DFILES=${joined} -DOUTPUT=${output}
      -P ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake
    COMMENT "Embedding ${function}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

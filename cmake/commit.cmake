# Writes OUTPUT, the source that says the commit of ROOT; the file stays as it is where it says that already.
# Without git, or below another project's git, the commit is not known and empty.
set(commit "")
execute_process(COMMAND git -C ${ROOT} rev-parse --show-toplevel
                OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed AND top)
  get_filename_component(top ${top} REALPATH)
  get_filename_component(root ${ROOT} REALPATH)
  if(top STREQUAL root)
    execute_process(COMMAND git -C ${ROOT} describe --always --dirty --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(text "#include \"stepcast/base/build.hpp\"\n\nnamespace stepcast {\nconst char* build_commit() { return \"${commit}\"; }\n}  // namespace stepcast\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()

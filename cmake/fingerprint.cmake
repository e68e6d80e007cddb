# Writes OUTPUT, a source with a function FUNCTION that returns the fingerprint of PROGRAM, an executable or a module: that
# of base/build.cpp. stepcast-mpi calls itself so the build of the stepcast beside it, both are linked from the same layers
# and a store that one of them fills is resumed by the other; and a program knows so the modules it was built with.
execute_process(COMMAND readelf --notes ${PROGRAM} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f]+)")
  message(FATAL_ERROR "${PROGRAM} has no build id")
endif()
string(SHA256 hash "${CMAKE_MATCH_1}")
string(SUBSTRING ${hash} 0 16 fingerprint)
file(WRITE ${OUTPUT} "#include <string>\n\nnamespace stepcast {\nconst std::string& ${FUNCTION}();\nconst std::string& ${FUNCTION}() {\n  static const std::string text = \"${fingerprint}\";\n  return text;\n}\n}  // namespace stepcast\n")

# Writes OUTPUT, the source by which a program calls itself the build of PROGRAM: both are linked from the same layers, and
# a store that one of them fills is resumed by the other. The fingerprint is that of base/build.cpp.
execute_process(COMMAND readelf --notes ${PROGRAM} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f]+)")
  message(FATAL_ERROR "${PROGRAM} has no build id")
endif()
string(SHA256 hash "${CMAKE_MATCH_1}")
string(SUBSTRING ${hash} 0 16 fingerprint)
file(WRITE ${OUTPUT} "#include \"stepcast/base/build.hpp\"\n\nnamespace stepcast {\nconst std::string& build_fingerprint() {\n  static const std::string text = \"${fingerprint}\";\n  return text;\n}\n}  // namespace stepcast\n")

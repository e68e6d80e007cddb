# What the flags of each framework mean, sim/import/flags/*.flags, in one source file, in the order of launch::Framework.
set(STEPCAST_FLAGS "")
foreach(name megatron mindspeed mindformers torchtitan nemo megatron-deepspeed deepspeed flagscale primus mindspeed-fsdp2 trainer
    llama-factory axolotl ms-swift)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/flags/${name}.flags)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND STEPCAST_FLAGS "${text}")
endforeach()
# Names of ignored flags stand on lines of their own, with blanks before them: a row is one line.
string(REPLACE "\n  " " " STEPCAST_FLAGS "${STEPCAST_FLAGS}")
configure_file(flag_text.cpp.in flag_text.cpp @ONLY)

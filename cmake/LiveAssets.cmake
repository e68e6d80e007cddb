# The page of `stepcast serve`, in one source file; its theme and its downloads are those of the report page.
set(live ${PROJECT_SOURCE_DIR}/sim/serve)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${live}/live.html ${live}/live.css ${live}/state.js ${live}/controls.js ${live}/answer.js ${live}/source.js ${live}/studies.js ${live}/live.js
  ${live}/keep.js ${PROJECT_SOURCE_DIR}/sim/page/page.css ${PROJECT_SOURCE_DIR}/sim/page/shared.js)
file(READ ${live}/live.html STEPCAST_LIVE_HTML)
file(READ ${PROJECT_SOURCE_DIR}/sim/page/page.css page_style)
file(READ ${live}/live.css live_style)
set(STEPCAST_LIVE_STYLE "${page_style}${live_style}")
file(READ ${PROJECT_SOURCE_DIR}/sim/page/shared.js shared)
file(READ ${live}/state.js state)
file(READ ${live}/controls.js controls)
file(READ ${live}/answer.js answer)
file(READ ${live}/source.js source)
file(READ ${live}/studies.js studies)
file(READ ${live}/keep.js keep)
file(READ ${live}/live.js script)
set(STEPCAST_LIVE_SCRIPT "${shared}${state}${controls}${answer}${source}${studies}${keep}${script}")
configure_file(${live}/live_assets.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/live_assets.cpp @ONLY)

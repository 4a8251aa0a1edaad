# Stands in for Zephyr's build system in tests: what modules and applications use of it, for this computer.
# Kconfig is not evaluated: an option is set as prj.conf sets it.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/prj.conf settings REGEX "^CONFIG_")
foreach(setting IN LISTS settings)
  string(REPLACE "=" ";" setting ${setting})
  list(GET setting 0 option)
  list(GET setting 1 value)
  set(${option} ${value})
endforeach()

enable_language(C)
add_executable(app)
add_library(zephyr_interface INTERFACE)
target_link_libraries(app PRIVATE zephyr_interface)

function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()

macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC)
  target_link_libraries(${name} PRIVATE zephyr_interface m)
  target_link_libraries(app PRIVATE ${name})
endmacro()

function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()

function(zephyr_library_compile_options)
  target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()

foreach(module IN LISTS EXTRA_ZEPHYR_MODULES)
  file(STRINGS ${module}/zephyr/module.yml folder REGEX "^  cmake: ")
  string(REPLACE "  cmake: " "" folder ${folder})
  add_subdirectory(${module}/${folder} ${CMAKE_BINARY_DIR}/modules/${folder})
endforeach()

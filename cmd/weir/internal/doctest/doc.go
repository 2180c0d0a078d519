// Package doctest runs the pages of the documentation, so that what they say
// stays true. Only tests use it.
//
// A page is read from top to bottom, as its reader does:
//
//   - a fenced block whose first line is `# file: NAME` is written as that file;
//   - a ```console block holds commands, each behind `$ `, and what they print.
//     One that ends in a backslash goes on in the next line. One that ends in &
//     runs in the background, and the next one waits until it answers.
//
// All commands of a page run in one bash, in a folder of the page's own; files are
// written where bash is by then. What commands print is compared line by line: a
// line `…` stands for any lines, and … within a line for any text. A command that
// fails fails the page, unless the next one is `echo $?`. What a page says of
// ports is rewritten to ports that are free, in files, commands and what is
// expected: see [Ports].
//
// A page leaves its reader's shell as it was: what runs in the background is
// ended, the folder is the first one again, and no variable is exported that was
// not.
//
// Nothing waits for a time. A command in the background is awaited until it has
// printed what the page says or answers on a port; one that only looks (grep,
// tail, cat, or curl at the operators' port) is run again until it shows what
// the page says.
package doctest

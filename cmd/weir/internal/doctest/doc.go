// Package doctest runs the pages of the documentation, so that what they say
// stays true. Only tests use it.
//
// A page is read from top to bottom, as its reader does:
//
//   - a fenced block whose first line is `# file: NAME` is written as that file;
//   - a ```console block holds commands, each behind `$ `, and what they print.
//     One that ends in a backslash goes on in the next line, one that ends in &
//     runs until the page's end.
//
// All commands of a page run in one bash, in a folder of the page's own. What
// they print is compared line by line: a line `…` stands for any lines, and …
// within a line for any text. A command that fails fails the page, unless the
// next one is `echo $?`. What a page says of ports is rewritten to ports that
// are free, in files, commands and what is expected: see [Ports].
//
// Nothing waits for a time. A command in the background is awaited until it has
// printed what the page says or answers on a port; one that only looks (grep,
// tail, cat, or curl at the operators' port) is run again until it shows what
// the page says.
package doctest

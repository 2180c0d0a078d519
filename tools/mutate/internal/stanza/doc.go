// Package stanza reads small tables that people write: paragraphs of lines
// "key: value", with blank lines between them. A line that begins with a blank
// goes on with the value above, a line that begins with # is a remark.
package stanza

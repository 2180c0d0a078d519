// Package reload keeps a running daemon by its files: the rules, the keys,
// certificates and tokens that they name, and the switch. A good change is put in
// place; a bad one changes nothing, is told whole, and is looked at again when a
// file has changed once more.
//
// Files are known by their content, which is read and hashed at every look: that
// finds an editor's rename, a write in place, and the swapped symbolic links of a
// mounted ConfigMap alike, and a file that was merely touched is no change. A
// content that differs must stand still from one look to the next before it is
// loaded: the first half of a file can be a valid file.
//
// Nothing here has a clock or a goroutine: whoever owns a [Watcher] and a
// [Switch] calls Check once a second.
package reload

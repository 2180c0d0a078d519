// Command weir limits requests: a reverse proxy, a decision service, and a tool
// that checks and explains limits.
package main

func main() {}

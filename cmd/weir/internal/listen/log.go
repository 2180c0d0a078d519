package listen

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"regexp"
	"strings"
)

// errorLog makes the log of an http.Server.
func errorLog(logger *slog.Logger) *log.Logger {
	return log.New(&serverLog{logger}, "", 0)
}

// serverLog hands the lines of net/http on. What any stranger can cause, a
// failed handshake or a torn connection, is for debugging: a scanner must not
// fill the log.
type serverLog struct{ logger *slog.Logger }

// peerAddress matches an address with its port, as net/http writes that of a
// peer.
var peerAddress = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}:\d+|\[[0-9a-fA-F:.]*(%[^\]]*)?\]:\d+`)

// Write logs one line, or a panic with its stack.
func (l *serverLog) Write(p []byte) (int, error) {
	text := string(peerAddress.ReplaceAll(bytes.TrimSpace(p), []byte("(peer)")))
	level := slog.LevelDebug
	switch {
	case strings.HasPrefix(text, "http: panic serving"), strings.HasPrefix(text, "http2: panic serving"):
		level = slog.LevelError
	case strings.HasPrefix(text, "http: Accept error"):
		level = slog.LevelWarn
	}
	l.logger.Log(context.Background(), level, "http server", "text", text)
	return len(p), nil
}

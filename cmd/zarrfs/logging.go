package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"log/syslog"
	"strings"
	"sync"

	"github.com/zarrfs/zarrfs/fs/terminal"
)

// stderrLog is the log of the verbs that do not stay.
func stderrLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// mountLog is the log of a mount.
type mountLog struct {
	*slog.Logger
	where string   // for people: "syslog", "stderr", "none" or the path of a file
	file  *logFile // nil: it is not a file
}

// openLog opens the log that --log names: "syslog", "stderr", "none" or a file. "" is stderr in the
// foreground; otherwise syslog, or a file in the state folder where there is none.
func openLog(to, level string, foreground bool) (*mountLog, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level %q: expected debug, info, warn or error",
			level)}
	}
	o := &slog.HandlerOptions{Level: l}
	if to == "" && foreground {
		to = "stderr"
	}
	switch to {
	case "":
		if h, err := newSyslog(o); err == nil {
			return &mountLog{slog.New(h), "syslog", nil}, nil
		}
		if f, err := stateLog(); err == nil {
			return &mountLog{slog.New(slog.NewTextHandler(terminal.NewWriter(f), o)), f.path, f},
				nil
		}
		return &mountLog{slog.New(slog.DiscardHandler), "none", nil}, nil
	case "none":
		return &mountLog{slog.New(slog.DiscardHandler), "none", nil}, nil
	case "stderr":
		if !foreground {
			return nil,
				usageError{errors.New("--log stderr: a mount in the background has no standard " +
					"error; use --foreground or --log FILE")}
		}
		return &mountLog{slog.New(slog.NewTextHandler(stderr, o)), "stderr", nil}, nil
	case "syslog":
		h, err := newSyslog(o)
		if err != nil {
			return nil, fmt.Errorf("--log syslog: there is no syslog here (%w); use --log FILE",
				err)
		}
		return &mountLog{slog.New(h), "syslog", nil}, nil
	}
	f, err := openLogFile(to)
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	return &mountLog{slog.New(slog.NewTextHandler(terminal.NewWriter(f), o)), f.path, f}, nil
}

// syslogHandler writes records to syslog, which adds time and program itself.
type syslogHandler struct {
	w    *syslog.Writer
	text slog.Handler // writes to line
	line *bytes.Buffer
	mu   *sync.Mutex // guards line
}

func newSyslog(o *slog.HandlerOptions) (slog.Handler, error) {
	w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, "zarrfs")
	if err != nil {
		return nil, err
	}
	line := &bytes.Buffer{}
	opt := *o
	opt.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}
	return &syslogHandler{w, slog.NewTextHandler(line, &opt), line, &sync.Mutex{}}, nil
}

func (h *syslogHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.text.Enabled(ctx, l)
}

func (h *syslogHandler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	if err := h.text.Handle(ctx, r); err != nil {
		return err
	}
	text := terminal.Line(strings.TrimSpace(h.line.String()))
	switch {
	case r.Level >= slog.LevelError:
		return h.w.Err(text)
	case r.Level >= slog.LevelWarn:
		return h.w.Warning(text)
	case r.Level >= slog.LevelInfo:
		return h.w.Info(text)
	}
	return h.w.Debug(text)
}

func (h *syslogHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &syslogHandler{h.w, h.text.WithAttrs(a), h.line, h.mu}
}

func (h *syslogHandler) WithGroup(name string) slog.Handler {
	return &syslogHandler{h.w, h.text.WithGroup(name), h.line, h.mu}
}

package main

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// findNode returns the node that the arguments STORE [NODE] name. Links on the way are followed.
func findNode(ctx context.Context, h *zarrcore.Hierarchy, args []string) (*zarrcore.Node, error) {
	path := ""
	if len(args) > 1 {
		path = cleanNode(args[1])
	}
	n, err := follow(ctx, h, path)
	if err == nil {
		return n, nil
	}
	if link, err := h.Node(ctx, path); err == nil && link.Kind == zarrcore.LinkNode {
		return nil, storeErr(fmt.Errorf("%s: %w", args[0], link.Err))
	}
	if errors.Is(err, iofs.ErrNotExist) {
		if array, view, ok := cutView(path); ok {
			if n, err := follow(ctx, h, array); err == nil && n.Kind == zarrcore.ArrayNode {
				return nil,
					storeErr(fmt.Errorf("%s: no array or group %q, but an array %q, of which %s "+
						"is a view in a mount", args[0], path, array, view))
			}
		}
		return nil,
			storeErr(fmt.Errorf("%s: no array or group %q; `zarrfs tree %s` shows what there is",
				args[0], path, args[0]))
	}
	return nil, storeErr(fmt.Errorf("%s: %w", args[0], err))
}

// follow returns the node at path, with all links followed.
func follow(ctx context.Context, h *zarrcore.Hierarchy, path string) (*zarrcore.Node, error) {
	path, err := h.Resolve(ctx, path)
	if err != nil {
		return nil, err
	}
	return h.Node(ctx, path)
}

// cutView cuts the suffix of a view from a file's name.
func cutView(path string) (array, suffix string, ok bool) {
	for _, name := range view.Names() {
		if array, ok := strings.CutSuffix(path, "."+name); ok {
			return array, "." + name, true
		}
	}
	return "", "", false
}

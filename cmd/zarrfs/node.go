package main

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// findNode returns the node that the arguments STORE [NODE] name.
func findNode(ctx context.Context, h *zarrcore.Hierarchy, args []string) (*zarrcore.Node, error) {
	path := ""
	if len(args) > 1 {
		path = cleanNode(args[1])
	}
	n, err := h.Node(ctx, path)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, storeErr(fmt.Errorf("%s: no array or group %q; `zarrfs tree %s` shows what there is", args[0], path, args[0]))
	}
	return nil, storeErr(fmt.Errorf("%s: %w", args[0], err))
}

// defaultView is the view that shows most of a node.
func defaultView(n *zarrcore.Node) string {
	if n.Kind == zarrcore.ArrayNode {
		return "npy"
	}
	return "json"
}

// SPDX-License-Identifier: Apache-2.0

package octool

import "strconv"

// Notice is one place that the tolerant reader read otherwise than it was
// written. It quotes words of a vocabulary, and nothing else of the document.
type Notice struct {
	// Path is a JSON pointer into the document.
	Path string `json:"path"`
	// Was is what stood there.
	Was string `json:"was"`
	// ReadAs is what it was read as.
	ReadAs string `json:"readAs"`
}

// MaxNotices bounds the notices of one document; where there are more, the last
// one has no path and says how many.
const MaxNotices = 64

type noticeList struct {
	list []Notice
	more int
}

func (n *noticeList) add(path, was, readAs string) {
	if len(n.list) == MaxNotices-1 {
		n.more++
		return
	}
	n.list = append(n.list, Notice{path, was, readAs})
}

// all are the notices, with what was left out counted.
func (n *noticeList) all() []Notice {
	if n.more == 0 {
		return n.list
	}
	return append(n.list, Notice{Was: strconv.Itoa(n.more) + " more places", ReadAs: "left out here"})
}

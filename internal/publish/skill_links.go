// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"regexp"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// skillLink is one link in a text.
type skillLink struct {
	name string
	line int // from 1
}

var skillLinkPattern = regexp.MustCompile(`\[\[skill:([^\[\]\n]*)\]\]`)

// skillLinks finds the links of a Markdown text, in their order. What stands in
// code shows a link and is none.
func skillLinks(source string) []skillLink {
	bytesOf := []byte(source)
	if !skillLinkPattern.Match(bytesOf) { // parsing costs far more
		return nil
	}
	prose := blankCode(bytesOf)
	var links []skillLink
	line, counted := 1, 0
	for _, at := range skillLinkPattern.FindAllSubmatchIndex(prose, -1) {
		line += bytes.Count(prose[counted:at[0]], []byte("\n"))
		counted = at[0]
		links = append(links, skillLink{name: string(prose[at[2]:at[3]]), line: line})
	}
	return links
}

// markdown knows what code depends on. Links and emphasis do not change where
// code is, and take quadratic time on hostile text.
var markdown = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewRawHTMLParser(), 400),
	),
)

// maxNesting bounds lists and quotes within each other: every line is looked at
// once for each.
const maxNesting = 32

// shallow is a parser that opens no block deeper than maxNesting.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for node := parent; node != nil; node = node.Parent() {
		if depth++; depth > maxNesting {
			return nil, parser.NoChildren
		}
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// blankCode gives a copy of a Markdown text with spaces in place of what is in
// code spans and code blocks.
func blankCode(source []byte) []byte {
	prose := bytes.Clone(source)
	blank := func(segment text.Segment) {
		for i := segment.Start; i < segment.Stop; i++ {
			if prose[i] != '\n' {
				prose[i] = ' '
			}
		}
	}
	document := markdown.Parse(text.NewReader(source))
	// The walker fails only if the visitor does.
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch code := node.(type) {
		case *ast.CodeSpan:
			for child := code.FirstChild(); child != nil; child = child.NextSibling() {
				if part, ok := child.(*ast.Text); ok {
					blank(part.Segment)
				}
			}
		case *ast.FencedCodeBlock:
			if code.Info != nil {
				blank(code.Info.Segment)
			}
			blankLines(code.Lines(), blank)
		case *ast.CodeBlock:
			blankLines(code.Lines(), blank)
		}
		return ast.WalkContinue, nil
	})
	return prose
}

func blankLines(lines *text.Segments, blank func(text.Segment)) {
	for _, segment := range lines.Sliced(0, lines.Len()) {
		blank(segment)
	}
}

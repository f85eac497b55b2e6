package mcp

import "time"

// Bounds on what a server may make this package hold. A server beyond one of them loses what is
// beyond it and the catalogue says so in its findings, or the request fails with kind TooLarge.
const (
	// MaxListBytes bounds all pages of one list together.
	MaxListBytes = 16 << 20
	// MaxPages bounds the pages of one list.
	MaxPages = 64
	// MaxTools bounds the tools of one catalogue.
	MaxTools = 2000
	// MaxPrompts bounds the prompts of one catalogue, and MaxPromptArguments the arguments of one prompt.
	MaxPrompts         = 256
	MaxPromptArguments = 64
	// MaxToolName is the longest name of a tool or a prompt, in bytes (MCP 2025-11-25, server/tools).
	MaxToolName = 128
	// MaxTitle is the longest title or server name kept, in bytes.
	MaxTitle = 256
	// MaxDescription is the longest description or server instructions kept, in bytes.
	MaxDescription = 16 << 10
	// MaxSchemaBytes is the largest input or output schema of a tool.
	MaxSchemaBytes = 256 << 10
	// MaxMetaBytes is the largest _meta of a tool that is kept.
	MaxMetaBytes = 64 << 10
	// MaxDepth is how deep a tool's definition may nest.
	MaxDepth = 100
	// MaxFindings bounds the findings of one catalogue; the last one counts those left out.
	MaxFindings = 100
	// MaxContent bounds the content blocks of one result.
	MaxContent = 1000
	// MaxDetail is the longest text of a server that an error or a finding quotes, in bytes.
	MaxDetail = 1 << 10

	maxInitializeBytes = 256 << 10 // the SDK keeps the answer as long as the session lives
	maxRefusalBytes    = 64 << 10  // the body of an HTTP error
	maxStreamOverhead  = 1 << 20   // notifications that come before the answer on its stream
	maxStreamMessages  = 10_000    // events on one stream
	maxStalledResumes  = 3         // resumptions of a stream that brought nothing new
)

// Defaults of Options.
const (
	DefaultMaxSessions    = 1024
	DefaultMaxCallBytes   = 4 << 20
	DefaultIdleTimeout    = 5 * time.Minute
	DefaultConnectTimeout = 30 * time.Second
	DefaultCallTimeout    = 5 * time.Minute
)

const (
	discoverProbeTimeout = 10 * time.Second // a server that hangs on server/discover is asked to initialize
	controlTimeout       = 10 * time.Second // notifications, and the DELETE of a session
	drainTimeout         = time.Second      // how long a stream may stay open after its answer
	closeTimeout         = 5 * time.Second  // closing one session, the in-flight DELETE included
	maxClosing           = 32               // sessions closed politely at one time; others are cut off
	maxHandshakes        = 16               // handshakes with one server at one time; others wait
	minReopen            = time.Second      // between two streams of one listening session; doubled
	maxReopen            = time.Minute      // up to this while they do not last
	lastingStream        = time.Minute      // a stream that lasted was not refused in disguise
	maxNotificationBytes = 256 << 10        // one message on a listening stream
)

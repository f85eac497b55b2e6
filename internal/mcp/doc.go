// Package mcp connects Remit to MCP servers over streamable HTTP. It is the only importer of the MCP
// SDK (with its bridge and the demo server), and no SDK type appears in what it exports: callers see
// the models defined here.
//
// # What the SDK does and what this package does
//
// The SDK negotiates the protocol, numbers the requests, sets the headers and resumes interrupted
// streams. Between it and the network stands a RoundTripper of this package (sessionTransport) that
// keeps the raw result of every request and hands the SDK a well-formed answer in its place. Three
// things follow from that:
//
//   - Hints keep their third state, numbers their digits and schemas their bytes, because results are
//     decoded here and not through the SDK's types.
//   - One broken answer ends one call. The SDK would tear down the session, and with it every other
//     call in flight on it.
//   - What went wrong is known as a fact (status, whether bytes left, what the server said) instead of
//     being read out of an error's text.
//
// # Sessions
//
// Sessions are pooled by tenant, server and credential fingerprint, never by URL, so no call travels
// on a session that another tenant or an older credential opened. A session that the server has
// forgotten is replaced exactly once a call, and a credential that it refuses is renewed exactly once a
// call, where the Target can; a call that may have taken effect is never sent twice unless the caller says
// that the tool is idempotent.
//
// A credential is taken out of everything that a server answers, so that one which echoes it brings it
// neither into a catalogue nor into the log of a Run.
//
// # Listening
//
// Listen hears of changes of a server's lists on a session of its own and without the SDK's stream, which a
// server could use to hold up a handshake or to end the session.
package mcp

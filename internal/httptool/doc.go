// SPDX-License-Identifier: Apache-2.0

// Package httptool makes the calls of HTTP tools.
//
// A call is resolved afresh: the Grant's credential and the secrets that the template
// names are read, the template is filled, and the request goes through the egress guard
// under the Grant's namespace. What a server answers is taken for hostile: it is bounded,
// decoded to text, and rid of every secret that was sent, before anybody reads it.
package httptool

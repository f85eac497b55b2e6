// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"math/big"
	"net/netip"
	"strings"

	"remit.dev/remit/internal/octool"
)

type blockInput struct {
	Block    string  `json:"block" jsonschema:"An address, or an address and a prefix length, as in 10.1.2.3, 10.0.0.0/8 or 2001:db8::/32."`
	Contains *string `json:"contains,omitempty" jsonschema:"An address of which to say whether it is in the block."`
}

type blockOutput struct {
	Block        string `json:"block" jsonschema:"The block in its usual form, without host bits."`
	Family       string `json:"family" enum:"ipv4,ipv6"`
	PrefixLength int    `json:"prefix_length"`
	First        string `json:"first"`
	Last         string `json:"last"`
	Addresses    string `json:"addresses" jsonschema:"How many addresses there are from first to last, in decimal digits."`
	Private      bool   `json:"private" jsonschema:"All of them are for private use (RFC 1918, RFC 4193)."`
	Loopback     bool   `json:"loopback"`
	LinkLocal    bool   `json:"link_local"`
	Multicast    bool   `json:"multicast"`
	Contains     *bool  `json:"contains,omitempty"`
}

func ipBlockInfo() *octool.Tool {
	return function("ip_block_info", octool.TagAdvanced,
		"Tells what a block of IP addresses is, IPv4 or IPv6. Use it for subnets, and to find whether an address is in one. It returns "+
			"the block in its usual form, the first and the last address, how many there are, and what they are for. It looks nothing up: "+
			"who owns or uses an address is not known here.",
		func(in blockInput) (blockOutput, error) {
			block, err := prefix("block", in.Block)
			if err != nil {
				return blockOutput{}, err
			}
			out := describeBlock(block)
			if in.Contains != nil {
				address, err := netip.ParseAddr(*in.Contains)
				if err != nil || address.Zone() != "" {
					return blockOutput{}, refuse("contains", "it must be an address, as in 10.1.2.3 or 2001:db8::1")
				}
				contains := block.Contains(address)
				out.Contains = &contains
			}
			return out, nil
		})
}

func describeBlock(block netip.Prefix) blockOutput {
	first, last := block.Addr(), lastOf(block)
	family := "ipv6"
	if first.Is4() {
		family = "ipv4"
	}
	return blockOutput{
		Block: block.String(), Family: family, PrefixLength: block.Bits(), First: first.String(), Last: last.String(),
		Addresses: new(big.Int).Lsh(big.NewInt(1), uint(first.BitLen()-block.Bits())).String(),
		// A block is as long as a power of two, so that both of its ends lie in one
		// of these ranges only when all of it does.
		Private:   first.IsPrivate() && last.IsPrivate(),
		Loopback:  first.IsLoopback() && last.IsLoopback(),
		LinkLocal: first.IsLinkLocalUnicast() && last.IsLinkLocalUnicast(),
		Multicast: first.IsMulticast() && last.IsMulticast(),
	}
}

// prefix reads an address, which is a block of one, or a prefix, whose host bits do
// not count.
func prefix(argument, text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		if block, err := netip.ParsePrefix(text); err == nil {
			return block.Masked(), nil
		}
	} else if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	return netip.Prefix{}, refuse(argument, "it must be an address or an address and a prefix length, as in 10.1.2.3, 10.0.0.0/8 or 2001:db8::/32")
}

// lastOf sets the host bits of a block.
func lastOf(block netip.Prefix) netip.Addr {
	bytes := block.Addr().AsSlice()
	for i := block.Bits(); i < 8*len(bytes); i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// SPDX-License-Identifier: Apache-2.0

package egress

// HostileHosts are hosts as somebody who wants to get at a cluster from within writes them
// into a URL: this machine, its neighbours and the places that hand out credentials, in the
// notations that parsers and resolvers take. Most of them stand for 127.0.0.1.
var HostileHosts = []string{
	"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0.0.0.0.", "0.1.2.3",
	"2130706433", "0x7f000001", "0X7F000001", "0x7f.1", "0x7f.0.0.1", "0177.0.0.1", "0177.0.0.01", "017700000001", "127.1", "127.0.1", "127.0.0.1.", "1", "0",
	"localhost", "LOCALHOST", "localhost.",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
	"[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2002:7f00:1::1]", "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
	"[fe80::1%25lo]", "[fe80::1]", "[::1%25lo]", "[fec0::1]", "[ff02::1]",
	"10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fd00::1]", "[::ffff:10.0.0.1]", "[2002:a00:1::]",
	"169.254.169.254", "169.254.169.254.", "2852039166", "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
	"[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "169.254.170.2", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16",
	"private.test", "mapped.test", "mixed.test", "metadata.test", "rebind.test.", "user@127.0.0.1",
}

// HostileNames resolves the names among them.
func HostileNames() Resolver {
	loopback := []string{"127.0.0.1"}
	return &answers{byName: map[string][]string{
		"localhost": {"::1 127.0.0.1"}, "LOCALHOST": loopback, "localhost.": loopback, "rebind.test.": loopback,
		"private.test": {"10.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"},
		"mixed.test": {"8.8.8.8 127.0.0.1"}, "metadata.test": {"169.254.169.254"},
	}}
}

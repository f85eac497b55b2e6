// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit.dev/remit/internal/octool"
	"remit.dev/remit/internal/schema"
)

var noon = time.Date(2026, time.March, 29, 12, 0, 0, 0, time.FixedZone("", 7200))

var (
	tools         = Provider(func() time.Time { return noon })
	outputSchemas = compileOutputSchemas()
)

func compileOutputSchemas() map[string]*schema.Schema {
	compiled := map[string]*schema.Schema{}
	for _, tool := range tools.AllTools() {
		output, err := schema.Compile(tool.OutputSchema())
		if err != nil {
			panic(err)
		}
		compiled[tool.Name()] = output
	}
	return compiled
}

// TestProvider: the functions keep every rule that others are held to (J25, J55 to
// J66), and what the model reads of one fits in a prompt.
func TestProvider(t *testing.T) {
	if found := append(octool.ValidateProvider(tools), octool.ValidateTags(tools)...); found != nil {
		t.Errorf("%+v", found)
	}
	var names []string
	for _, tool := range tools.AllTools() {
		names = append(names, tool.Name())
		if tool.Access() != octool.AccessLocal || !tool.ReadOnlyHint() || !tool.IdempotentHint() || tool.OutputSchema() == nil {
			t.Errorf("%s is not a local function that only reads", tool.Name())
		}
	}
	want := []string{"current_time", "convert_time", "time_difference", "next_cron_times", "calculate", "ip_block_info", "text_digest", "json_lookup"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// callFunction calls a function and holds its result to its schema (J42).
func callFunction(t testing.TB, name, arguments string) (string, error) {
	t.Helper()
	tool, ok := octool.Find(tools, name)
	if !ok {
		t.Fatalf("there is no function %s", name)
	}
	result, err := tool.Call(t.Context(), nil, json.RawMessage(arguments))
	if err != nil {
		if _, ok := errors.AsType[*octool.ArgumentError](err); !ok {
			t.Fatalf("%s %s fails with %T: %v", name, arguments, err, err)
		}
		return "", err
	}
	if err := outputSchemas[name].Validate(result); err != nil {
		t.Fatalf("%s gives %s, which its schema refuses: %v", name, result, err)
	}
	return string(result), nil
}

// example is a call and what comes of it: a result, or a refusal that says refused.
type example struct{ arguments, want, refused string }

func check(t *testing.T, name string, examples map[string]example) {
	t.Helper()
	for title, example := range examples {
		t.Run(title, func(t *testing.T) {
			got, err := callFunction(t, name, example.arguments)
			if example.refused != "" {
				if err == nil || !strings.Contains(err.Error(), example.refused) {
					t.Fatalf("got %s and %v, want a refusal that says %q", got, err, example.refused)
				}
				return
			}
			if err != nil || got != example.want {
				t.Fatalf("got  %s and %v\nwant %s", got, err, example.want)
			}
		})
	}
}

func TestCurrentTime(t *testing.T) {
	check(t, "current_time", map[string]example{
		"in UTC":        {`{}`, `{"time":"2026-03-29T10:00:00Z"}`, ""},
		"no arguments":  {``, `{"time":"2026-03-29T10:00:00Z"}`, ""},
		"it takes none": {`{"zone":"Europe/Berlin"}`, "", "zone"},
	})
}

// TestConvertTime: the first instants of daylight saving time in Berlin, 01:00 UTC
// on the last Sunday of March, and the examples of RFC 3339, section 5.8.
func TestConvertTime(t *testing.T) {
	check(t, "convert_time", map[string]example{
		"before the change": {`{"time":"2026-03-29T00:59:59Z","zone":"Europe/Berlin"}`,
			`{"time":"2026-03-29T01:59:59+01:00","zone":"Europe/Berlin","abbreviation":"CET","weekday":"Sunday","daylight_saving_time":false}`, ""},
		"after the change": {`{"time":"2026-03-29T01:00:00Z","zone":"Europe/Berlin"}`,
			`{"time":"2026-03-29T03:00:00+02:00","zone":"Europe/Berlin","abbreviation":"CEST","weekday":"Sunday","daylight_saving_time":true}`, ""},
		"RFC 3339": {`{"time":"1996-12-19T16:39:57-08:00","zone":"Etc/UTC"}`,
			`{"time":"1996-12-20T00:39:57Z","zone":"Etc/UTC","abbreviation":"UTC","weekday":"Friday","daylight_saving_time":false}`, ""},
		"a fraction, half an hour": {`{"time":"1985-04-12T23:20:50.52Z","zone":"Asia/Kolkata"}`,
			`{"time":"1985-04-13T04:50:50.52+05:30","zone":"Asia/Kolkata","abbreviation":"IST","weekday":"Saturday","daylight_saving_time":false}`, ""},
		"no zone of the database":   {`{"time":"2026-03-29T01:00:00Z","zone":"Mars/Olympus"}`, "", "/zone"},
		"an abbreviation":           {`{"time":"2026-03-29T01:00:00Z","zone":"CEST"}`, "", "/zone"},
		"the host's own zone":       {`{"time":"2026-03-29T01:00:00Z","zone":"Local"}`, "", "/zone"},
		"a zone with leap seconds":  {`{"time":"2026-03-29T01:00:00Z","zone":"right/UTC"}`, "", "/zone"},
		"a path":                    {`{"time":"2026-03-29T01:00:00Z","zone":"../../etc/passwd"}`, "", "/zone"},
		"no zone":                   {`{"time":"2026-03-29T01:00:00Z","zone":""}`, "", "/zone"},
		"no offset":                 {`{"time":"2026-03-29T01:00:00","zone":"Etc/UTC"}`, "", "/time: it must be a date and time of RFC 3339"},
		"no such day":               {`{"time":"2026-02-30T01:00:00Z","zone":"Etc/UTC"}`, "", "/time"},
		"a year beyond four digits": {`{"time":"9999-12-31T23:59:59Z","zone":"Asia/Tokyo"}`, "", "years 0 to 9999"},
	})
}

// TestTimeDifference: 1 March 2000 is day 60 of a leap year, the Gregorian calendar
// has 146,097 days in 400 years, and ten thousand years overflow no counter.
func TestTimeDifference(t *testing.T) {
	check(t, "time_difference", map[string]example{
		"nothing": {`{"start":"2026-01-01","end":"2026-01-01"}`,
			`{"total_seconds":"0","negative":false,"days":0,"hours":0,"minutes":0,"seconds":0,"nanoseconds":0}`, ""},
		"a leap day": {`{"start":"2000-01-01","end":"2000-03-01"}`,
			`{"total_seconds":"5184000","negative":false,"days":60,"hours":0,"minutes":0,"seconds":0,"nanoseconds":0}`, ""},
		"400 years, backwards": {`{"start":"2400-01-01","end":"2000-01-01"}`,
			`{"total_seconds":"-12622780800","negative":true,"days":146097,"hours":0,"minutes":0,"seconds":0,"nanoseconds":0}`, ""},
		"all there is": {`{"start":"0000-01-01","end":"9999-12-31T23:59:59.999999999Z"}`,
			`{"total_seconds":"315569519999.999999999","negative":false,"days":3652424,"hours":23,"minutes":59,"seconds":59,"nanoseconds":999999999}`, ""},
		"across zones, with a fraction": {`{"start":"2026-03-29T01:59:59.75+01:00","end":"2026-03-29T03:00:01.5+02:00"}`,
			`{"total_seconds":"1.75","negative":false,"days":0,"hours":0,"minutes":0,"seconds":1,"nanoseconds":750000000}`, ""},
		"parts": {`{"start":"2026-01-01","end":"2026-01-03T04:05:06Z"}`,
			`{"total_seconds":"187506","negative":false,"days":2,"hours":4,"minutes":5,"seconds":6,"nanoseconds":0}`, ""},
		"no date":      {`{"start":"yesterday","end":"2026-01-01"}`, "", "/start: it must be a date"},
		"no such date": {`{"start":"2026-01-01","end":"2026-13-01"}`, "", "/end"},
	})
}

// TestNextCronTimes: crontab(5), and a day that the change to daylight saving time
// makes an hour shorter.
func TestNextCronTimes(t *testing.T) {
	check(t, "next_cron_times", map[string]example{
		"from now, in UTC": {`{"expression":"*/30 10-11 * * *","count":3}`,
			`{"zone":"Etc/UTC","times":["2026-03-29T10:30:00Z","2026-03-29T11:00:00Z","2026-03-29T11:30:00Z"]}`, ""},
		"five unless told": {`{"expression":"0 0 1 1 *","after":"2026-01-01T00:00:00Z"}`,
			`{"zone":"Etc/UTC","times":["2027-01-01T00:00:00Z","2028-01-01T00:00:00Z","2029-01-01T00:00:00Z","2030-01-01T00:00:00Z","2031-01-01T00:00:00Z"]}`, ""},
		"29 February": {`{"expression":"0 12 29 FEB *","count":2}`,
			`{"zone":"Etc/UTC","times":["2028-02-29T12:00:00Z","2032-02-29T12:00:00Z"]}`, ""},
		"either day": {`{"expression":"0 0 13 * FRI","count":3,"after":"2026-02-10T00:00:00Z"}`,
			`{"zone":"Etc/UTC","times":["2026-02-13T00:00:00Z","2026-02-20T00:00:00Z","2026-02-27T00:00:00Z"]}`, ""},
		"the clocks of a zone": {`{"expression":"0 4 * * *","zone":"Europe/Berlin","after":"2026-03-28T00:00:00Z","count":2}`,
			`{"zone":"Europe/Berlin","times":["2026-03-28T04:00:00+01:00","2026-03-29T04:00:00+02:00"]}`, ""},
		"never":              {`{"expression":"0 0 30 2 *"}`, "", "never fires"},
		"six fields":         {`{"expression":"0 0 0 1 1 *"}`, "", "five fields"},
		"a zone within":      {`{"expression":"TZ=Europe/Berlin 0 0 1 1"}`, "", "/expression"},
		"out of range":       {`{"expression":"60 0 1 1 *"}`, "", "/expression"},
		"none of them":       {`{"expression":"0 0 * * *","count":0}`, "", "/count: it is 0, and must be from 1 to 20"},
		"too many":           {`{"expression":"0 0 * * *","count":21}`, "", "/count"},
		"no such zone":       {`{"expression":"0 0 * * *","zone":"Berlin"}`, "", "/zone"},
		"no such time":       {`{"expression":"0 0 * * *","after":"now"}`, "", "/after"},
		"without end":        {`{"expression":"` + strings.Repeat("1,", 200) + `1 0 * * *"}`, "", "more than 256"},
		"the end of the age": {`{"expression":"0 0 1 1 *","after":"9998-06-01T00:00:00Z"}`, `{"zone":"Etc/UTC","times":["9999-01-01T00:00:00Z"]}`, ""},
	})
}

// TestCalculate: what floating point gets wrong, and the order of operations.
func TestCalculate(t *testing.T) {
	for expression, want := range map[string]string{
		"0.1 + 0.2":                     `{"value":"0.3","exact":true}`,
		"1 + 2 * 3 - 4 / 8":             `{"value":"6.5","exact":true}`,
		"(1 + 2) * -3":                  `{"value":"-9","exact":true}`,
		"10 - 4 - 3":                    `{"value":"3","exact":true}`,
		"64 / 4 / 2":                    `{"value":"8","exact":true}`,
		"+1.50":                         `{"value":"1.5","exact":true}`,
		"-7 % 3":                        `{"value":"-1","exact":true}`,
		"9007199254740993 + 0.0000001":  `{"value":"9007199254740993.0000001","exact":true}`,
		"123456789123456789 * 1e18 + 1": `{"value":"123456789123456789000000000000000001","exact":true}`,
		"1/3":                           `{"value":"0.333333333333333333333333333333","exact":false,"fraction":"1/3"}`,
		"-2/3":                          `{"value":"-0.666666666666666666666666666667","exact":false,"fraction":"-2/3"}`,
		"1/3e10":                        `{"value":"0.0000000000333333333333333333333333333333","exact":false,"fraction":"1/30000000000"}`,
		"1/3 * 3":                       `{"value":"1","exact":true}`,
		"pow(2, 128) - 1":               `{"value":"340282366920938463463374607431768211455","exact":true}`,
		"pow(1.05, 2)":                  `{"value":"1.1025","exact":true}`,
		"pow(2, -3)":                    `{"value":"0.125","exact":true}`,
		"pow(0, 0)":                     `{"value":"1","exact":true}`,
		"pow(-1, 1023)":                 `{"value":"-1","exact":true}`,
		"floor(-1.5) + ceil(-1.5)":      `{"value":"-3","exact":true}`,
		"ceil(1.2) * floor(1.8)":        `{"value":"2","exact":true}`,
		"round(2.345, 2)":               `{"value":"2.35","exact":true}`,
		"round(-0.5, 0)":                `{"value":"-1","exact":true}`,
		"max(1, 3, 2) - min(4, 2)":      `{"value":"1","exact":true}`,
		"abs(-3)":                       `{"value":"3","exact":true}`,
		strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400): `{"value":"1","exact":true}`,
	} {
		arguments, _ := json.Marshal(calculateInput{expression})
		if got, err := callFunction(t, "calculate", string(arguments)); err != nil || got != want {
			t.Errorf("%s\ngot  %s and %v\nwant %s", expression, got, err, want)
		}
	}
	for expression, says := range map[string]string{
		"":                                "not an arithmetic expression",
		"1 +":                             "not an arithmetic expression",
		"1; 2":                            "not an arithmetic expression",
		"x + 1":                           "it may hold numbers",
		`"a" + "b"`:                       "not a decimal number",
		"'a'":                             "not a decimal number",
		"0x10":                            "not a decimal number",
		"010":                             "not a decimal number",
		"1_000":                           "not a decimal number",
		"2i":                              "not a decimal number",
		"1e1000":                          "not a decimal number",
		"2 ** 3":                          "pow",
		"2 ^ 3":                           "pow",
		"1 << 3":                          "not an operator",
		"1 == 1":                          "not an operator",
		"!1":                              "not an operator",
		"1 / (2 - 2)":                     "divides by zero",
		"1 % 0":                           "divides by zero",
		"1.5 % 2":                         "whole numbers",
		"pow(0, -1)":                      "divides by zero",
		"pow(2, 0.5)":                     "whole number",
		"pow(2, 1025)":                    "whole number",
		"pow(1e300, 1000)":                "digits",
		"pow(pow(2, 1000), 9)":            "digits",
		"sqrt(2)":                         `no function "sqrt"`,
		"max()":                           "number of arguments",
		"pow(2)":                          "number of arguments",
		"2(3)":                            "write a multiplication",
		"os.Exit(1)":                      "write a multiplication",
		"round(1, 101)":                   "from 0 to 100",
		"func() int { return 1 }()":       "write a multiplication",
		strings.Repeat("9", 1025):         "more than 1024",
		strings.Repeat("1e999*", 5) + "1": "digits",
	} {
		arguments, _ := json.Marshal(calculateInput{expression})
		if got, err := callFunction(t, "calculate", string(arguments)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s gives %s and %v, want a refusal that says %q", expression, got, err, says)
		}
	}
}

// TestIPBlockInfo: the blocks of RFC 1918, 4193, 4291, 3927, 5771 and 3849.
func TestIPBlockInfo(t *testing.T) {
	check(t, "ip_block_info", map[string]example{
		"10/8": {`{"block":"10.1.2.3/8","contains":"10.255.255.255"}`,
			`{"block":"10.0.0.0/8","family":"ipv4","prefix_length":8,"first":"10.0.0.0","last":"10.255.255.255","addresses":"16777216","private":true,"loopback":false,"link_local":false,"multicast":false,"contains":true}`, ""},
		"172.16/12, and what is next to it": {`{"block":"172.16.0.0/12","contains":"172.32.0.0"}`,
			`{"block":"172.16.0.0/12","family":"ipv4","prefix_length":12,"first":"172.16.0.0","last":"172.31.255.255","addresses":"1048576","private":true,"loopback":false,"link_local":false,"multicast":false,"contains":false}`, ""},
		"more than is private": {`{"block":"10.0.0.0/7"}`,
			`{"block":"10.0.0.0/7","family":"ipv4","prefix_length":7,"first":"10.0.0.0","last":"11.255.255.255","addresses":"33554432","private":false,"loopback":false,"link_local":false,"multicast":false}`, ""},
		"one address": {`{"block":"127.0.0.1"}`,
			`{"block":"127.0.0.1/32","family":"ipv4","prefix_length":32,"first":"127.0.0.1","last":"127.0.0.1","addresses":"1","private":false,"loopback":true,"link_local":false,"multicast":false}`, ""},
		"all of IPv6": {`{"block":"::/0","contains":"10.0.0.1"}`,
			`{"block":"::/0","family":"ipv6","prefix_length":0,"first":"::","last":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff","addresses":"340282366920938463463374607431768211456","private":false,"loopback":false,"link_local":false,"multicast":false,"contains":false}`, ""},
		"for documentation": {`{"block":"2001:0DB8::1/45"}`,
			`{"block":"2001:db8::/45","family":"ipv6","prefix_length":45,"first":"2001:db8::","last":"2001:db8:7:ffff:ffff:ffff:ffff:ffff","addresses":"9671406556917033397649408","private":false,"loopback":false,"link_local":false,"multicast":false}`, ""},
		"unique local": {`{"block":"fd00::/8"}`,
			`{"block":"fd00::/8","family":"ipv6","prefix_length":8,"first":"fd00::","last":"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff","addresses":"1329227995784915872903807060280344576","private":true,"loopback":false,"link_local":false,"multicast":false}`, ""},
		"link-local": {`{"block":"169.254.0.0/16"}`,
			`{"block":"169.254.0.0/16","family":"ipv4","prefix_length":16,"first":"169.254.0.0","last":"169.254.255.255","addresses":"65536","private":false,"loopback":false,"link_local":true,"multicast":false}`, ""},
		"multicast": {`{"block":"224.0.0.0/4"}`,
			`{"block":"224.0.0.0/4","family":"ipv4","prefix_length":4,"first":"224.0.0.0","last":"239.255.255.255","addresses":"268435456","private":false,"loopback":false,"link_local":false,"multicast":true}`, ""},
		"a zone":                 {`{"block":"fe80::1%eth0"}`, "", "/block"},
		"a zone in a prefix":     {`{"block":"fe80::1%eth0/64"}`, "", "/block"},
		"a name":                 {`{"block":"example.com"}`, "", "/block"},
		"a length out of range":  {`{"block":"10.0.0.0/33"}`, "", "/block"},
		"a mask":                 {`{"block":"10.0.0.0/255.0.0.0"}`, "", "/block"},
		"leading zeros":          {`{"block":"010.0.0.1"}`, "", "/block"},
		"what is no address":     {`{"block":"10.0.0.0/8","contains":"10.0.0.0/9"}`, "", "/contains"},
		"an address with a zone": {`{"block":"fe80::/64","contains":"fe80::1%1"}`, "", "/contains"},
	})
}

// TestTextDigest: the examples of FIPS 180-4, of one block and of none.
func TestTextDigest(t *testing.T) {
	check(t, "text_digest", map[string]example{
		"SHA-256": {`{"text":"abc"}`, `{"algorithm":"sha256","digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","bytes":3}`, ""},
		"SHA-256 of nothing": {`{"text":"","algorithm":"sha256"}`,
			`{"algorithm":"sha256","digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","bytes":0}`, ""},
		"SHA-384": {`{"text":"abc","algorithm":"sha384"}`,
			`{"algorithm":"sha384","digest":"cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7","bytes":3}`, ""},
		"SHA-512": {`{"text":"abc","algorithm":"sha512"}`,
			`{"algorithm":"sha512","digest":"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f","bytes":3}`, ""},
		"bytes, not characters": {`{"text":"ü","algorithm":null}`,
			`{"algorithm":"sha256","digest":"607474ca475a9724d7360aba71a56d5df77e61350e3f724cfa1f46e857e2d85f","bytes":2}`, ""},
		"an algorithm that is broken": {`{"text":"abc","algorithm":"md5"}`, "", "/algorithm"},
	})
}

// TestJSONLookup: the document and the pointers of RFC 6901, section 5.
func TestJSONLookup(t *testing.T) {
	document := `{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}`
	for pointer, want := range map[string]string{
		"/foo":   `{"found":true,"type":"array","json":"[\"bar\",\"baz\"]","size":2}`,
		"/foo/0": `{"found":true,"type":"string","json":"\"bar\""}`,
		"/":      `{"found":true,"type":"number","json":"0"}`,
		"/a~1b":  `{"found":true,"type":"number","json":"1"}`,
		"/c%d":   `{"found":true,"type":"number","json":"2"}`,
		"/e^f":   `{"found":true,"type":"number","json":"3"}`,
		"/g|h":   `{"found":true,"type":"number","json":"4"}`,
		`/i\j`:   `{"found":true,"type":"number","json":"5"}`,
		`/k"l`:   `{"found":true,"type":"number","json":"6"}`,
		"/ ":     `{"found":true,"type":"number","json":"7"}`,
		"/m~0n":  `{"found":true,"type":"number","json":"8"}`,
		"/foo/2": `{"found":false}`, "/foo/-": `{"found":false}`, "/foo/01": `{"found":false}`, "/foo/+1": `{"found":false}`,
		"/bar": `{"found":false}`, "/foo/0/x": `{"found":false}`, "/foo/99999999999999999999": `{"found":false}`,
	} {
		arguments, _ := json.Marshal(lookupInput{document, pointer})
		if got, err := callFunction(t, "json_lookup", string(arguments)); err != nil || got != want {
			t.Errorf("%q\ngot  %s and %v\nwant %s", pointer, got, err, want)
		}
	}
	check(t, "json_lookup", map[string]example{
		"the whole":            {`{"document":" { } ","pointer":""}`, `{"found":true,"type":"object","json":"{}","size":0}`, ""},
		"no number is rounded": {`{"document":"[9007199254740993, 1.10, 1e400]","pointer":""}`, `{"found":true,"type":"array","json":"[9007199254740993,1.10,1e400]","size":3}`, ""},
		"null":                 {`{"document":"{\"a\":null}","pointer":"/a"}`, `{"found":true,"type":"null","json":"null"}`, ""},
		"a boolean":            {`{"document":"[true,false]","pointer":"/1"}`, `{"found":true,"type":"boolean","json":"false"}`, ""},
		"text stays as it is":  {`{"document":"[\"<\\u00e9>\"]","pointer":"/0"}`, `{"found":true,"type":"string","json":"\"<\\u00e9>\""}`, ""},
		"a key twice":          {`{"document":"{\"a\":1,\"a\":2}","pointer":"/a"}`, "", "/document: it cannot be read: duplicate object member name"},
		"no JSON":              {`{"document":"{a:1}","pointer":""}`, "", "/document"},
		"nothing":              {`{"document":"","pointer":""}`, "", "/document"},
		"no pointer":           {`{"document":"{}","pointer":"a"}`, "", "/pointer"},
		"too many steps":       {`{"document":"{}","pointer":"` + strings.Repeat("/a", 65) + `"}`, "", "64 steps"},
		"too deep":             {`{"document":"` + strings.Repeat("[", 20_000) + `","pointer":""}`, "", "/document"},
	})
}

// TestHostileArguments: whatever the arguments, there is a result that fits its
// schema, or a refusal.
func TestHostileArguments(t *testing.T) {
	names := rapid.SampledFrom([]string{"time", "zone", "start", "end", "expression", "after", "count", "block", "contains", "text", "algorithm", "document", "pointer"})
	values := rapid.OneOf(rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.SampledFrom([]any{
		nil, "2026-03-29T01:00:00Z", "Europe/Berlin", "* * * * *", "10.0.0.0/8", "pow(9, pow(9, 9))", "1/3", `{"a":[1]}`, "/a/0", "sha512"}))
	functions := tools.AllTools()
	rapid.Check(t, func(r *rapid.T) {
		tool := rapid.SampledFrom(functions).Draw(r, "function")
		arguments, err := json.Marshal(rapid.MapOfN(names, values, 0, 4).Draw(r, "arguments"))
		if err != nil {
			r.Fatal(err)
		}
		if result, err := callFunction(t, tool.Name(), string(arguments)); (result == "") == (err == nil) {
			r.Fatalf("%s %s gives %s and %v", tool.Name(), arguments, result, err)
		}
	})
}

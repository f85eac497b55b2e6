package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrders(t *testing.T) {
	teapot := Order{ID: "A-1001", Customer: "Ada", Item: "Teapot", Status: "delivered, reported broken", TotalCents: 4200}
	refunded := teapot
	refunded.RefundedCents, refunded.Refunds = 4200, 1
	twice := teapot
	twice.RefundedCents, twice.Refunds = 4300, 2
	noted := twice
	noted.Notes = []string{"called"}
	o := newOrders()
	for _, step := range []struct {
		name string
		do   func() (Order, error)
		want Order
		err  string
	}{
		{"lookup", func() (Order, error) { return o.lookup("A-1001") }, teapot, ""},
		{"lookup of nothing", func() (Order, error) { return o.lookup("Z") }, Order{}, `there is no order "Z"`},
		{"refund", func() (Order, error) { return o.refund("A-1001", 4200, "broken") }, refunded, ""},
		{"refund again", func() (Order, error) { return o.refund("A-1001", 100, "sorry") }, twice, ""},
		{"refund nothing", func() (Order, error) { return o.refund("A-1001", 0, "x") }, Order{},
			`cents: 0 is not between 1 and the 4200 that were paid for order "A-1001"`},
		{"refund too much", func() (Order, error) { return o.refund("A-1001", 4201, "x") }, Order{},
			`cents: 4201 is not between 1 and the 4200 that were paid for order "A-1001"`},
		{"refund without reason", func() (Order, error) { return o.refund("A-1001", 1, "") }, Order{},
			`reason: a refund of order "A-1001" needs one`},
		{"refund of nothing", func() (Order, error) { return o.refund("Z", 1, "x") }, Order{}, `there is no order "Z"`},
		{"note", func() (Order, error) { return o.addNote("A-1001", "called") }, noted, ""},
		{"empty note", func() (Order, error) { return o.addNote("A-1001", "") }, Order{}, "note: must have 1 to 2000 bytes"},
		{"long note", func() (Order, error) { return o.addNote("A-1001", strings.Repeat("x", maxNote+1)) }, Order{}, "note: must have 1 to 2000 bytes"},
		{"lookup at the end", func() (Order, error) { return o.lookup("A-1001") }, noted, ""},
	} {
		got, err := step.do()
		message := ""
		if err != nil {
			message = err.Error()
		}
		if diff := cmp.Diff(step.want, got); diff != "" || message != step.err {
			t.Errorf("%s: error %q, want %q (-want +got):\n%s", step.name, message, step.err, diff)
		}
	}
}

func TestNotesAreBounded(t *testing.T) {
	o := newOrders()
	for range maxNotes {
		if _, err := o.addNote("A-1003", "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.addNote("A-1003", "x"); err == nil || err.Error() != `order "A-1003" has 100 notes already` {
		t.Errorf("got %v", err)
	}
}

package main

import (
	"fmt"
	"slices"
	"sync"
)

// Order is what the help desk knows of one order. Money is in cents.
type Order struct {
	ID            string   `json:"order_id" jsonschema:"the order's id"`
	Customer      string   `json:"customer" jsonschema:"who ordered"`
	Item          string   `json:"item" jsonschema:"what was ordered"`
	Status        string   `json:"status" jsonschema:"where the order stands"`
	TotalCents    int64    `json:"total_cents" jsonschema:"what was paid, in cents"`
	RefundedCents int64    `json:"refunded_cents" jsonschema:"the sum of all refunds, in cents"`
	Refunds       int      `json:"refunds" jsonschema:"how often the order was refunded"`
	Notes         []string `json:"notes,omitempty" jsonschema:"what people noted"`
}

// orders is the table of orders, in memory.
type orders struct {
	mu   sync.Mutex
	byID map[string]*Order
}

func newOrders() *orders {
	o := &orders{byID: map[string]*Order{}}
	for _, order := range []Order{
		{ID: "A-1001", Customer: "Ada", Item: "Teapot", Status: "delivered, reported broken", TotalCents: 4200},
		{ID: "A-1002", Customer: "Grace", Item: "Headphones", Status: "in transit", TotalCents: 12900},
		{ID: "A-1003", Customer: "Linus", Item: "Keyboard", Status: "delivered", TotalCents: 8900},
	} {
		o.byID[order.ID] = &order
	}
	return o
}

// change applies f to an order, under the lock, and returns the order as it is afterwards.
func (o *orders) change(id string, f func(*Order) error) (Order, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	order, ok := o.byID[id]
	if !ok {
		return Order{}, fmt.Errorf("there is no order %q", id)
	}
	if err := f(order); err != nil {
		return Order{}, err
	}
	copied := *order
	copied.Notes = slices.Clone(order.Notes)
	return copied, nil
}

func (o *orders) lookup(id string) (Order, error) {
	return o.change(id, func(*Order) error { return nil })
}

// refund pays money back. Doing it twice pays twice: a caller that repeats itself is found out.
func (o *orders) refund(id string, cents int64, reason string) (Order, error) {
	return o.change(id, func(order *Order) error {
		switch {
		case cents <= 0 || cents > order.TotalCents:
			return fmt.Errorf("cents: %d is not between 1 and the %d that were paid for order %q", cents, order.TotalCents, id)
		case reason == "":
			return fmt.Errorf("reason: a refund of order %q needs one", id)
		}
		order.RefundedCents += cents
		order.Refunds++
		return nil
	})
}

const (
	maxNotes = 100
	maxNote  = 2000 // bytes
)

func (o *orders) addNote(id, note string) (Order, error) {
	return o.change(id, func(order *Order) error {
		switch {
		case note == "" || len(note) > maxNote:
			return fmt.Errorf("note: must have 1 to %d bytes", maxNote)
		case len(order.Notes) >= maxNotes:
			return fmt.Errorf("order %q has %d notes already", id, maxNotes)
		}
		order.Notes = append(order.Notes, note)
		return nil
	})
}

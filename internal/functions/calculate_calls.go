// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"errors"
	"fmt"
	"go/ast"
	"math/big"
)

const (
	// maxExponent bounds the exponent of pow, and maxRoundDigits the digits that
	// round keeps.
	maxExponent    = 1024
	maxRoundDigits = 100
)

// calls are the functions of an expression, with how many arguments each takes; 0
// is one at least.
var calls = map[string]struct {
	arguments int
	apply     func([]*big.Rat) (*big.Rat, error)
}{
	"abs":   {1, func(x []*big.Rat) (*big.Rat, error) { return x[0].Abs(x[0]), nil }},
	"ceil":  {1, func(x []*big.Rat) (*big.Rat, error) { return x[0].Neg(floor(x[0].Neg(x[0]))), nil }},
	"floor": {1, func(x []*big.Rat) (*big.Rat, error) { return floor(x[0]), nil }},
	"max":   {0, func(x []*big.Rat) (*big.Rat, error) { return extreme(x, 1), nil }},
	"min":   {0, func(x []*big.Rat) (*big.Rat, error) { return extreme(x, -1), nil }},
	"pow":   {2, func(x []*big.Rat) (*big.Rat, error) { return power(x[0], x[1]) }},
	"round": {2, func(x []*big.Rat) (*big.Rat, error) { return round(x[0], x[1]) }},
}

func call(e *ast.CallExpr) (*big.Rat, error) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok {
		return nil, errors.New("write a multiplication with *")
	}
	function, ok := calls[name.Name]
	if !ok {
		return nil, fmt.Errorf("there is no function %q: use abs, ceil, floor, max, min, pow or round", name.Name)
	}
	if len(e.Args) == 0 || function.arguments > 0 && len(e.Args) != function.arguments {
		return nil, fmt.Errorf("%s takes another number of arguments, as in abs(x), max(x, y), pow(x, 2) and round(x, 2)", name.Name)
	}
	arguments := make([]*big.Rat, 0, len(e.Args))
	for _, argument := range e.Args {
		x, err := value(argument)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, x)
	}
	return function.apply(arguments)
}

// floor is the greatest whole number that is not above x.
func floor(x *big.Rat) *big.Rat {
	// Div rounds down, as a denominator is never negative.
	return new(big.Rat).SetInt(new(big.Int).Div(x.Num(), x.Denom()))
}

// extreme is the number that no other is beyond, in the direction of sign.
func extreme(numbers []*big.Rat, sign int) *big.Rat {
	found := numbers[0]
	for _, x := range numbers[1:] {
		if x.Cmp(found) == sign {
			found = x
		}
	}
	return found
}

func power(base, exponent *big.Rat) (*big.Rat, error) {
	if !exponent.IsInt() || !exponent.Num().IsInt64() || exponent.Num().Int64() < -maxExponent || exponent.Num().Int64() > maxExponent {
		return nil, fmt.Errorf("the exponent of pow must be a whole number from -%d to %d", maxExponent, maxExponent)
	}
	n := exponent.Num().Int64()
	if n < 0 {
		if base.Sign() == 0 {
			return nil, errors.New("it divides by zero, as zero to a negative power does")
		}
		base, n = new(big.Rat).Inv(base), -n
	}
	// The fewest bits that the power can have, so that it need not be worked out.
	if bits := int64(max(base.Num().BitLen(), base.Denom().BitLen())); (bits-1)*n > maxNumberBits {
		return nil, fmt.Errorf("the result of pow has more than %d digits", maxNumberBits*3/10)
	}
	e := big.NewInt(n)
	return checked(new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), e, nil), new(big.Int).Exp(base.Denom(), e, nil)))
}

// round keeps that many digits after the point, rounding a half away from zero.
func round(x, digits *big.Rat) (*big.Rat, error) {
	if !digits.IsInt() || digits.Num().Sign() < 0 || digits.Num().Cmp(big.NewInt(maxRoundDigits)) > 0 {
		return nil, fmt.Errorf("round keeps a whole number of digits, from 0 to %d", maxRoundDigits)
	}
	rounded, _ := new(big.Rat).SetString(x.FloatString(int(digits.Num().Int64())))
	return checked(rounded)
}

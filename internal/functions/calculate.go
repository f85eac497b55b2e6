// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"regexp"
	"strings"

	"remit.dev/remit/internal/octool"
)

const (
	// maxExpressionBytes bounds an expression, and with it the depth of what it is
	// parsed to.
	maxExpressionBytes = 1024
	// maxNumberBits bounds the numerator and the denominator of every number on the
	// way to a result.
	maxNumberBits = 1 << 13
	// roundedDigits are the significant digits, at least, of a result that has no
	// end as a decimal.
	roundedDigits = 30
)

type calculateInput struct {
	Expression string `json:"expression" jsonschema:"As in (19.99 + 5) * 3 / 7, with the operators + - * / % and the functions abs, ceil, floor, max, min, pow and round. At most 1024 characters."`
}

type calculateOutput struct {
	Value    string `json:"value" jsonschema:"The result as a decimal."`
	Exact    bool   `json:"exact" jsonschema:"False where the decimal has no end, and value is rounded."`
	Fraction string `json:"fraction,omitempty" jsonschema:"The exact result as a fraction, where value is rounded."`
}

func calculate() *octool.Tool {
	return function("calculate", octool.TagRecommended,
		"Works out an arithmetic expression exactly, on decimals of any size. Use it for money, for large numbers, and whenever a digit "+
			"matters. It returns the result as a decimal, and as a fraction too where the decimal would have no end and is rounded. "+
			"There are no units, variables or irrational functions.",
		func(in calculateInput) (calculateOutput, error) {
			value, err := evaluate(in.Expression)
			if err != nil {
				return calculateOutput{}, refuse("expression", err.Error())
			}
			return writeNumber(value), nil
		})
}

// writeNumber writes a number as a decimal. One without end has roundedDigits after
// the zeros that it begins with, the last rounded to the nearest and away from zero.
func writeNumber(value *big.Rat) calculateOutput {
	if digits, exact := value.FloatPrec(); exact {
		return calculateOutput{Value: value.FloatString(digits), Exact: true}
	}
	digits := roundedDigits + max(0, len(value.Denom().String())-len(new(big.Int).Abs(value.Num()).String()))
	return calculateOutput{Value: value.FloatString(digits), Fraction: value.RatString()}
}

// evaluate reads an expression with the parser of Go, of whose language it takes
// arithmetic alone.
func evaluate(expression string) (*big.Rat, error) {
	if len(expression) > maxExpressionBytes {
		return nil, fmt.Errorf("it has %d characters, more than %d: take it apart", len(expression), maxExpressionBytes)
	}
	if strings.Contains(expression, "**") || strings.Contains(expression, "^") {
		return nil, errors.New("write powers as in pow(2, 10)")
	}
	parsed, err := parser.ParseExpr(expression)
	if err != nil {
		return nil, errors.New("it is not an arithmetic expression: write one as in (19.99 + 5) * 3 / 7")
	}
	return value(parsed)
}

func value(expression ast.Expr) (*big.Rat, error) {
	switch e := expression.(type) {
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.BasicLit:
		return number(e.Value)
	case *ast.UnaryExpr:
		return unary(e)
	case *ast.BinaryExpr:
		return binary(e)
	case *ast.CallExpr:
		return call(e)
	default:
		return nil, errors.New("it may hold numbers, + - * / %, parentheses, and the functions abs, ceil, floor, max, min, pow and round")
	}
}

// numberPattern leaves out what Go has besides, as 010 is 8 there, and exponents
// that would fill the memory.
var numberPattern = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

func number(literal string) (*big.Rat, error) {
	if !numberPattern.MatchString(literal) {
		return nil, fmt.Errorf("%q is not a decimal number: write it as in 12, 0.5 or 1e9", literal)
	}
	parsed, ok := new(big.Rat).SetString(literal)
	if !ok {
		return nil, fmt.Errorf("%q is not a decimal number", literal)
	}
	return checked(parsed)
}

func checked(n *big.Rat) (*big.Rat, error) {
	if n.Num().BitLen() > maxNumberBits || n.Denom().BitLen() > maxNumberBits {
		return nil, fmt.Errorf("a number on the way has more than %d digits: take the expression apart", maxNumberBits*3/10)
	}
	return n, nil
}

func unary(e *ast.UnaryExpr) (*big.Rat, error) {
	x, err := value(e.X)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case token.ADD:
		return x, nil
	case token.SUB:
		return x.Neg(x), nil
	default:
		return nil, fmt.Errorf("%s is not an operator of arithmetic", e.Op)
	}
}

func binary(e *ast.BinaryExpr) (*big.Rat, error) {
	x, err := value(e.X)
	if err != nil {
		return nil, err
	}
	y, err := value(e.Y)
	if err != nil {
		return nil, err
	}
	if y.Sign() == 0 && (e.Op == token.QUO || e.Op == token.REM) {
		return nil, errors.New("it divides by zero")
	}
	switch e.Op {
	case token.ADD:
		x.Add(x, y)
	case token.SUB:
		x.Sub(x, y)
	case token.MUL:
		x.Mul(x, y)
	case token.QUO:
		x.Quo(x, y)
	case token.REM:
		if !x.IsInt() || !y.IsInt() {
			return nil, errors.New("% takes whole numbers")
		}
		x.SetInt(new(big.Int).Rem(x.Num(), y.Num()))
	default:
		return nil, fmt.Errorf("%s is not an operator of arithmetic: use + - * / and %%", e.Op)
	}
	return checked(x)
}

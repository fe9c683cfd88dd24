package shiverpeak

import "fmt"

// TestKind is the sort of a test.
type TestKind uint8

// The tests by which Encounters are faced.
const (
	// RollAtLeast: a roll of N or more.
	RollAtLeast TestKind = iota + 1
	// RollOdd: an odd roll.
	RollOdd
	// RollEven: an even roll.
	RollEven
	// PayLives: pay N lives, and no roll.
	PayLives
	// EitherOfTwo: up to two rolls, one of which is N or more.
	EitherOfTwo
	// BothOfTwo: two rolls, each N or more.
	BothOfTwo
	// SumOfTwo: two rolls that add up to N or more.
	SumOfTwo
	// RollUpToLives: a roll no higher than the player's lives.
	RollUpToLives
	// RollWithActive: a roll that is N or more together with the number of active
	// Encounters.
	RollWithActive
)

// Test is what an Encounter asks of a player who faces it.
type Test struct {
	Kind TestKind
	// N is what must be reached, where the kind has a number, else 0.
	N int
}

// testWords describes the tests; words are those of the deck file, with %d where
// the number stands.
var testWords = [...]struct {
	words    string
	min, max int
	text     string
}{
	RollAtLeast:    {"roll %d", 2, 6, "Roll %d or more."},
	RollOdd:        {"roll odd", 0, 0, "Roll an odd number."},
	RollEven:       {"roll even", 0, 0, "Roll an even number."},
	PayLives:       {"pay %d", 1, maxAmount, "Pay %d of your lives."},
	EitherOfTwo:    {"either of two %d", 2, 6, "Roll %d or more in one of two rolls."},
	BothOfTwo:      {"both of two %d", 2, 6, "Roll %d or more twice."},
	SumOfTwo:       {"sum of two %d", 8, 12, "Roll twice for %d or more in all."},
	RollUpToLives:  {"roll up to lives", 0, 0, "Roll no higher than the number of your lives; a 1 always does."},
	RollWithActive: {"roll %d with active", 3, 6, "Roll %d or more; each of your active Encounters adds one."},
}

// words puts the test's number, if it has one, into a format.
func (t Test) words(format string) string {
	if testWords[t.Kind].max == 0 {
		return format
	}
	return fmt.Sprintf(format, t.N)
}

// String is the test in the words of the deck file.
func (t Test) String() string { return t.words(testWords[t.Kind].words) }

// Text is the test as a sentence for players.
func (t Test) Text() string { return t.words(testWords[t.Kind].text) }

// Price is the number of lives that the test costs.
func (t Test) Price() int {
	if t.Kind == PayLives {
		return t.N
	}
	return 0
}

// Need is what one die has to show. The zero Need asks for nothing: the die
// decides something else, such as a direction.
type Need struct {
	// AtLeast is the lowest number that will do, 1 to 6, or 0.
	AtLeast int
	// AtMost is the highest number that will do, 1 to 6, or 0.
	AtMost int
	Parity Parity
}

// Parity asks for an odd or an even number.
type Parity uint8

// The parities.
const (
	AnyParity Parity = iota
	Odd
	Even
)

// met tells whether a die shows what was needed.
func (n Need) met(die int) bool {
	switch n.Parity {
	case Odd:
		return die%2 == 1
	case Even:
		return die%2 == 0
	default:
		return die >= n.AtLeast && (n.AtMost == 0 || die <= n.AtMost)
	}
}

// String is the need in words, such as "4 or more".
func (n Need) String() string {
	switch {
	case n.Parity == Odd:
		return "odd"
	case n.Parity == Even:
		return "even"
	case n.AtLeast > 0:
		return fmt.Sprintf("%d or more", n.AtLeast)
	case n.AtMost > 0:
		return fmt.Sprintf("%d or less", n.AtMost)
	default:
		return "nothing"
	}
}

// skier is what tests depend on besides the dice.
type skier struct{ lives, active int }

// pass rolls the dice of a test, one after another and no more than needed, and
// tells whether it is passed.
func (t Test) pass(by skier, roll func(Need) int) bool {
	need := Need{AtLeast: t.N}
	switch t.Kind {
	case PayLives:
		return true
	case RollOdd:
		need = Need{Parity: Odd}
	case RollEven:
		need = Need{Parity: Even}
	case RollWithActive:
		need.AtLeast = t.N - by.active
	case RollUpToLives:
		need.AtMost = min(max(by.lives, 1), 6)
	case EitherOfTwo:
		if need.met(roll(need)) {
			return true
		}
	case BothOfTwo:
		if !need.met(roll(need)) {
			return false
		}
	case SumOfTwo:
		// A first die that no six can make up for ends the test.
		need.AtLeast = t.N - 6
		first := roll(need)
		if !need.met(first) {
			return false
		}
		need.AtLeast = t.N - first
	}
	return need.met(roll(need))
}

// percent is the chance to pass the test, rounded to the nearest whole percent.
// It plays all 36 throws of two dice, so that it cannot differ from the test.
func (t Test) percent(by skier) int {
	passed := 0
	for throw := range 36 {
		dice := [2]int{throw/6 + 1, throw%6 + 1}
		rolled := 0
		if t.pass(by, func(Need) int { rolled++; return dice[rolled-1] }) {
			passed++
		}
	}
	return (passed*100 + 18) / 36
}

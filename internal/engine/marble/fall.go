package marble

import "sync"

// CanFall tells whether some sequence of at most so many drops makes a marble leave the
// board. It is exact, and the colors do not matter for it.
//
// It searches breadth first. Boards that several sequences lead to are looked at once:
// drops far from each other commute, which leaves a few thousand boards in the worst case.
func (b Board) CanFall(drops int) bool {
	// Each drop without a fall loads one gate more.
	if drops > gateCount(b.Rows())-b.heldCount() {
		return true
	}
	search := fallSearches.Get().(*fallSearch)
	defer fallSearches.Put(search)
	return search.run(b, drops)
}

// fallSearches keeps the memory of past searches for the next ones.
var fallSearches = sync.Pool{New: func() any { return &fallSearch{index: make([]uint32, 64)} }}

// fallSearch is the memory of a search: the boards to which sequences of one length
// lead, those of the next length, and a hash table over the latter (positions in next,
// from 1; 0 is free).
type fallSearch struct {
	boards, next []Board
	index        []uint32
}

func (s *fallSearch) run(start Board, drops int) bool {
	start.color0, start.color1 = 0, 0
	s.boards = append(s.boards[:0], start)
	for range drops {
		s.next = s.next[:0]
		clear(s.index)
		for _, board := range s.boards {
			for chute := FirstChute; chute <= LastChute; chute++ {
				after := board
				if after.Drop(chute, Red, nil) != 0 {
					return true
				}
				s.add(after)
			}
		}
		s.boards, s.next = s.next, s.boards
	}
	return false
}

// add adds a board to the next ones unless it is among them.
func (s *fallSearch) add(board Board) {
	if 2*len(s.next) >= len(s.index) {
		s.index = make([]uint32, 2*len(s.index))
		for i, known := range s.next {
			s.index[s.slot(known)] = uint32(i) + 1
		}
	}
	if slot := s.slot(board); s.index[slot] == 0 {
		s.next = append(s.next, board)
		s.index[slot] = uint32(len(s.next))
	}
}

// slot is where the board is in the table, or the free place where it belongs.
func (s *fallSearch) slot(board Board) uint64 {
	mask := uint64(len(s.index) - 1)
	hash := (board.right ^ board.loaded*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	slot := hash >> 32 & mask
	for s.index[slot] != 0 && s.next[s.index[slot]-1] != board {
		slot = (slot + 1) & mask
	}
	return slot
}

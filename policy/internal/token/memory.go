package token

import (
	"crypto/sha256"
	"sync"
)

// A digest stands for a token: who finds another of the same digest has broken
// SHA-256.
type digest [sha256.Size]byte

// A memory holds the claims of tokens that were verified lately. It has two
// generations of at most half its size: when the young one is full it becomes
// the old one, and what nobody has asked for meanwhile is forgotten. So all
// steps take constant time, spread over the tokens that fill a generation.
type memory struct {
	mu         sync.Mutex
	half       int
	young, old map[digest]*Claims
}

func newMemory(most int) *memory {
	return &memory{half: most / 2, young: map[digest]*Claims{}, old: map[digest]*Claims{}}
}

// recall returns a token's claims, or nil.
func (m *memory) recall(d digest) *Claims {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.young[d]; c != nil {
		return c
	}
	c := m.old[d]
	if c != nil {
		delete(m.old, d)
		m.put(d, c)
	}
	return c
}

// remember keeps a token's claims.
func (m *memory) remember(d digest, c *Claims) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(d, c)
}

// forget drops a token.
func (m *memory) forget(d digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.young, d)
	delete(m.old, d)
}

func (m *memory) put(d digest, c *Claims) {
	if len(m.young) >= m.half {
		clear(m.old)
		m.young, m.old = m.old, m.young
	}
	m.young[d] = c
}
